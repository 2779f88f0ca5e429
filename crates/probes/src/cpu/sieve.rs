//! Probe cpu.sieve: the sieve of Eratosthenes to a million, over and over: a pure load of one core or of all.

use hostmark_engine::prelude::*;

use crate::kernels::sieve::{BELOW, PRIMES, WORDS, sieve};

pub static PROBE: Probe = Probe {
    title: Text { en: "Prime sieve to 10^6", zh: "筛法求 10^6 以内素数" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "The sieve of Eratosthenes runs over the odd numbers below a million, one bit each: 62.5 KB, which fit \
                 L2. One operation is a whole sieve, and each must find 78 498 primes. Each of several threads runs \
                 its own sieve on its own CPU; the value is their sum while all run. With several copies, separate \
                 processes do so, and the value is that of one of them.",
            zh: "对一百万以内的奇数做埃拉托斯特尼筛法，每个数一位：占 62.5 KB，能放进 L2 缓存。一次操作是完整的一遍筛，每遍都必须找到 \
                 78 498 个素数。多线程时各自在自己的 CPU 上筛，数值为共同时间窗口内的总和。多份（copies）时由各自的进程来筛，数值为其中一份的速率。",
        },
        why: Text {
            en: "It is a plain program: shifts, masks, loads, stores and well-predicted branches, no system calls and \
                 hardly any memory traffic. Whatever it loses in a guest, beside a neighbour or with all CPUs busy, is \
                 the CPU's own loss.",
            zh: "它是一个普通程序：移位、掩码、加载、存储和易预测的分支，没有系统调用，几乎不占内存。它在虚拟机里、与\
                 邻居虚拟机共处或全部 CPU 忙碌时的损失，就是 CPU 自身的损失。",
        },
        reading: Text {
            en: "Sieves per second: with threads the sum of all, with copies that of one. All threads together should \
                 give one thread's rate times the number of cores.",
            zh: "每秒筛的次数。threads 给出合计，copies 给出其中一份：全部线程合计应为单线程乘以核心数。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 925 a second on one CPU at \
                 3.1 GHz, and 1.90 to 1.99 times that on two (docs/accuracy.md, where sysbench cpu gives the same \
                 ratio). Scaled by clock and cycles, 500 to 2000 covers the servers of the last ten years.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：单 CPU 3.1 GHz 时每秒 925 次，两个 CPU 为其 1.90 \
                 到 1.99 倍（见 docs/accuracy.md，sysbench cpu 给出同样的比值）。按频率与周期推算，近十年的服务器在 500 到 2000 之间。",
        },
        causes: Text {
            en: "On one CPU less than the clock explains: a neighbour on the sibling thread, steal, or a CPU quota \
                 (hostmark host). On all CPUs less than the number of cores: the power limit, SMT siblings, or CPUs \
                 that the hypervisor shares with other guests.",
            zh: "单 CPU 低于频率所能解释：兄弟线程上的其他负载、steal，或 CPU 配额（见 hostmark host）。全部 CPU 少于\
                 核心数的倍数：功耗限制、SMT 兄弟线程，或虚拟机监控程序让其他虚拟机共用这些 CPU。",
        },
    },
    related: &["cpu.scaling", "cpu.frequency", "sched.noise"],
    axes: &[
        Axis::threads("threads", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
        Axis::copies(Profile::Quick),
        Axis::bind_elsewhere(),
    ],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let found = sieve(&mut [0; WORDS]);
    if found != PRIMES {
        return Err(RoundError::failed(
            ReasonCode::CheckFailed,
            format!("found {found} primes below {BELOW}, not {PRIMES}"),
        ));
    }
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(sieve_n()).rate(1),
        cpus => case.workers(cpus, |_| Ok(sieve_n())).rate(1),
    }
}

fn sieve_n() -> impl FnMut(u64) {
    let mut composite = Box::new([0; WORDS]);
    move |n| {
        for _ in 0..n {
            std::hint::black_box(sieve(&mut composite));
        }
    }
}
