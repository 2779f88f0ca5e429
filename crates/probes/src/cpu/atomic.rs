//! Probe cpu.atomic: how long an atomic operation takes, alone on its line and with others after the same line.

use hostmark_engine::prelude::*;

use crate::kernels::atomic::{self, Lonely};

pub static PROBE: Probe = Probe {
    title: Text { en: "Atomic operation", zh: "原子操作" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "All threads, each on its own CPU, increment one shared word over and over. The value is the time per \
                 increment of a thread (the time of all threads divided by all increments). op=fetch_add is one \
                 instruction. compare_and_swap reads, adds and swaps if no other thread came between, and retries \
                 otherwise; only successful increments count. method: lock xadd and lock cmpxchg on x86-64; on aarch64 \
                 lse (ldaddal, casal) or ll_sc (ldaxr, stlxr).",
            zh: "所有线程各占一个 CPU，反复给同一个字加一；数值为一个线程完成一次加一的时间（全部线程的时间除以全部次数）。fetch_add 是一条指令；\
                 compare_and_swap 先读、加一，若无人插入则交换，否则重试：只计成功的次数。method：x86-64 为 lock xadd 和 lock cmpxchg；aarch64 \
                 为 lse（ldaddal、casal）或 ll_sc（ldaxr、stlxr）。",
        },
        why: Text {
            en: "Reference counts, statistics counters, queues and all locks are built from these. One thread shows \
                 the cost of the instruction; several show the cost of sharing, as the line moves from core to core.",
            zh: "引用计数、统计计数器、队列和各种锁都由它们构成。单线程显示指令本身的代价；多线程显示共享的代价，因为缓存行在核心之间来回搬动。",
        },
        reading: Text {
            en: "One thread shows the cost of the instruction, which waits until all earlier stores have left the \
                 core. n threads share one line, so each waits for n line transfers (cpu.core_to_core), or fewer if a \
                 core makes several increments before it gives the line up. compare_and_swap costs more, because some \
                 attempts fail.",
            zh: "单线程显示指令本身的代价：它要等先前的存储全部离开核心。n 个线程共用一个缓存行，每个要等 n 次 cpu.core_to_core 的行传输；若核心在让出之前完成好几次\
                 加一则更少。compare_and_swap 因有失败的尝试而更贵。",
        },
        typical: Text {
            en: "Alone: 18 to 20 core cycles on Intel since Skylake, 7 to 20 on AMD Zen (uops.info), 5 to 20 on Arm \
                 with LSE. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 18.0 cycles, 5.8 \
                 ns alone, 17 to 22 ns an increment with two threads.",
            zh: "单线程：Skylake 以来的 Intel 为 18 到 20 个核心周期，AMD Zen 为 7 到 20（uops.info），Arm 用 LSE 为 5 到 20。用 \
                 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：单独 18.0 个周期，即 5.8 ns；两个线程时每次加一 17 到 22 \
                 ns。",
        },
        causes: Text {
            en: "Threads on distant cores or sockets; an Arm library built for ll_sc on a machine with LSE, or the \
                 reverse: build it for the better one. A split lock, across two lines, costs thousands of cycles, and \
                 recent kernels trap it; this probe does not measure it.",
            zh: "线程位于相距较远的核心或插槽；Arm 上有 LSE 的机器却用 ll_sc 构建的库，或相反：应按较好的一种构建。跨两个缓存行的分裂锁要数千个周期，且会被新内核截获；这\
                 里不测。",
        },
    },
    related: &["cpu.core_to_core", "syscall.futex", "memory.line"],
    axes: &[
        Axis::choice(
            "op",
            "fetch_add",
            Points::Listed { quick: &["fetch_add"], standard: &["compare_and_swap"], thorough: &[] },
        ),
        Axis::choice("method", "best", Points::Listed { quick: &["best"], standard: &["lse", "ll_sc"], thorough: &[] }),
        Axis::threads("threads", Points::OfHost(threads)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "threads"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// 1 and all; from the standard profile on the powers of two between.
fn threads(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len().max(1) as u64;
    let between = (1..).map(|power| 1 << power).take_while(|&threads| threads < all);
    let between: Vec<u64> = if profile >= Profile::Standard { between.collect() } else { Vec::new() };
    [1, all].into_iter().chain(between).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("method")?;
    let method = atomic::method(&name)
        .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, format!("this architecture has no {name}")))?;
    if !(method.is_available)() {
        return Err(RoundError::skipped(ReasonCode::Hardware, format!("this CPU has no {name}")));
    }
    case.note("method", method.name);
    let is_add = case.param::<String>("op")? == "fetch_add";
    let word = Lonely::default();
    let increase = |n| match is_add {
        true => method.fetch_add(&word.0, n),
        false => method.compare_and_swap(&word.0, n),
    };
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(increase).time(),
        cpus => case.workers(cpus, |_| Ok(increase)).time(),
    }
}
