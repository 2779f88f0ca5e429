//! Probe cpu.per_cpu_counter: an increment of the CPU's own counter by a restartable sequence, beside a shared one and a thread's own.

use std::sync::atomic::{AtomicU64, Ordering};

use hostmark_engine::prelude::*;

use crate::kernels::atomic;
use crate::kernels::restartable::{CpuCounters, Restartable, add_alone};

pub static PROBE: Probe = Probe {
    title: Text { en: "Per-CPU counter (rseq)", zh: "每 CPU 计数器（rseq）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "All threads, each on its own CPU, add one over and over; the value is the time per increment of a thread. way=rseq: to the \
                 counter of the CPU that the thread is on, by a restartable sequence: announce it (a store), read the CPU's number, \
                 increment; the kernel starts it again where it interrupted the thread in between. way=atomic: to one counter of all \
                 threads, as cpu.atomic. way=thread: to a counter of the thread's own, by a plain increment. Afterwards all counters \
                 together must equal the increments. The thread's registration is glibc's (2.35 and later), else the probe's own; x86-64 \
                 only.",
            zh: "所有线程各占一个 CPU，反复加一；数值为一个线程完成一次加一的时间。way=rseq：加到线程所在 CPU 的计数器上，用可重启序列：先声明（一次存储），再读 CPU 号，\
                 然后加一；线程若在其间被中断，由内核从头再来。way=atomic：加到所有线程共用的一个计数器上，与 cpu.atomic 相同。way=thread：用普通加一指令加到线程自己的计数器上。\
                 最后所有计数器之和必须等于加一的次数。线程的注册由 glibc（2.35 起）完成，否则由探针自行注册；仅限 x86-64。",
        },
        why: Text {
            en: "Allocators (TCMalloc, jemalloc forks), tracers and statistics keep data per CPU, since there may be a thousand threads and \
                 only some CPUs. A restartable sequence lets them do without atomic instructions.",
            zh: "内存分配器（如 TCMalloc）、跟踪器和统计按 CPU 存放数据，因为线程可能上千，而 CPU 只有若干个。可重启序列使它们不需要原子指令。",
        },
        reading: Text {
            en: "rseq has two stores where thread has one, and like it does not rise with the threads. An increment waits for the one \
                 before it: 1 core cycle where the core renames memory (Zen 2 and later, Golden Cove and later), so that the second \
                 store decides; 4 to 5 elsewhere, which hide what the sequence adds. atomic costs more alone and rises with each \
                 thread. Interrupted sequences are rare: one per preemption at most.",
            zh: "rseq 有两次存储，thread 只有一次；两者都不随线程数上升。每次加一要等前一次完成：核心对内存重命名时（Zen 2 及以后、Golden Cove 及以后）为 1 个核心周期，\
                 此时由第二次存储决定；其他核心为 4 到 5 个周期，掩盖了序列多出的指令。atomic 单独就更贵，每多一个线程还要上升。被中断的序列很少：每次抢占最多一次。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), alone: rseq 0.54 ns (2.0 core cycles), thread \
                 0.27 (1.0), atomic 2.05 (7.5; uops.info has 7 to 20 for AMD Zen). With two threads: 0.55, 0.27 and 8 to 9.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测，单线程：rseq 0.54 ns（2.0 个核心周期），thread 0.27（1.0），atomic \
                 2.05（7.5；uops.info 给出 AMD Zen 为 7 到 20）。两个线程：0.55、0.27 与 8 到 9。",
        },
        causes: Text {
            en: "Counters of two CPUs on one line; a C library older than 2.35 or with glibc.pthread.rseq=0, by which programs fall back to \
                 atomic instructions; kernels without CONFIG_RSEQ; filters that refuse the call.",
            zh: "两个 CPU 的计数器位于同一缓存行；C 库早于 2.35 或设有 glibc.pthread.rseq=0，程序退回原子指令；内核没有 CONFIG_RSEQ；过滤器拒绝该调用。",
        },
    },
    related: &["cpu.atomic", "cpu.core_to_core", "cpu.store_forwarding"],
    axes: &[
        Axis::choice(
            "way",
            "rseq",
            Points::Listed { quick: &["rseq", "atomic", "thread"], standard: &[], thorough: &[] },
        ),
        Axis::threads("threads", Points::OfHost(crate::running::powers_of_two)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["way", "threads"] }],
    limit: Limit::CyclesPerOp,
    from: Profile::Standard,
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// How a thread adds.
enum Adder {
    Restartable(Restartable),
    Shared(&'static atomic::AtomicMethod),
    Alone(Cpu),
}

impl Adder {
    fn of(way: &str, cpu: Cpu) -> Result<Adder> {
        let none = |error| RoundError::lacking("there are no restartable sequences here", &error);
        match way {
            "atomic" => atomic::method("best")
                .map(Adder::Shared)
                .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, "no atomic operation is known here")),
            "thread" => Ok(Adder::Alone(cpu)),
            _ => Restartable::of_this_thread().map(Adder::Restartable).map_err(none),
        }
    }

    fn add(&self, counters: &CpuCounters, n: u64) {
        match self {
            Adder::Restartable(thread) => {
                thread.add(counters, n);
            }
            Adder::Shared(method) => method.fetch_add(counters.of(0), n),
            Adder::Alone(cpu) => add_alone(counters.of(cpu.0), n),
        }
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let way: String = case.param("way")?;
    let (counters, due) = (CpuCounters::default(), AtomicU64::new(0));
    let make = |cpu: Cpu| {
        let (adder, counters, due) = (Adder::of(&way, cpu)?, &counters, &due);
        Ok::<_, RoundError>(move |n: u64| {
            adder.add(counters, n);
            due.fetch_add(n, Ordering::Relaxed);
        })
    };
    let [here] = case.cpus::<1>()?;
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(make(here)?).time()?,
        cpus => case.workers(cpus, make).time()?,
    }
    match (due.load(Ordering::Relaxed), counters.sum()) {
        (due, sum) if due == sum => Ok(()),
        (due, sum) => {
            let text = format!("{due} increments were made, and the counters came to {sum}");
            Err(RoundError::failed(ReasonCode::CheckFailed, text))
        }
    }
}
