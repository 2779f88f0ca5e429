//! Probe cpu.atomic: how long an atomic operation takes, alone on its line and with others after the same line.

use hostmark_engine::prelude::*;

use crate::kernels::atomic::{self, Lonely};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Atomic operation", zh: "原子操作" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "All threads, each on a CPU of its own, increase one word over and over; the value is the time that an increment \
                 takes a thread (all threads' time over all increments). fetch_add is one instruction; compare_and_swap \
                 reads, adds and swaps if nobody came between, and tries again if somebody did: only increments that took \
                 count. method: lock xadd and lock cmpxchg on x86-64; on aarch64 lse (ldaddal, casal) or ll_sc (ldaxr, stlxr).",
            zh: "所有线程各占一个 CPU，反复给同一个字加一；数值为一个线程完成一次加一的时间（全部线程的时间除以全部次数）。fetch_add 是一条指令；\
                 compare_and_swap 先读、加一，若无人插入则交换，否则重试：只计成功的次数。method：x86-64 为 lock xadd 和 lock cmpxchg；aarch64 \
                 为 lse（ldaddal、casal）或 ll_sc（ldaxr、stlxr）。",
        },
        why: Text {
            en: "Reference counts, statistics counters, queues and every lock are made of these. One thread shows what the \
                 instruction costs; several show what sharing costs, as the line moves from core to core.",
            zh: "引用计数、统计计数器、队列和各种锁都由它们构成。单线程显示指令本身的代价；多线程显示共享的代价，因为缓存行在核心之间来回搬动。",
        },
        reading: Text {
            en: "Alone 18 to 20 core cycles on Intel (5 to 8 ns), 7 to 20 on AMD, 5 to 20 on arm with LSE. With n threads at \
                 least n times a line transfer of cpu.core_to_core, less where a core does several increments before it gives the \
                 line up; compare_and_swap costs more, as tries are lost. If LSE is there and far slower than ll_sc with many threads or \
                 the reverse, libraries should be built for the better one.",
            zh: "单独时 Intel 为 18 到 20 个核心周期（5 到 8 ns），AMD 为 7 到 20，arm 用 LSE 为 5 到 20。n 个线程时约为 cpu.core_to_core 一次行传输的 \
                 n 倍以上，若核心在让出缓存行之前完成好几次加一则更少；compare_and_swap 因有失败的尝试而更贵。若线程多时 LSE 与 ll_sc 相差悬殊，\
                 应按较好的一种构建程序库。",
        },
    },
    axes: &[
        Axis::choice(
            "op",
            "fetch_add",
            Points::Listed { quick: &["fetch_add"], standard: &["compare_and_swap"], thorough: &[] },
        ),
        Axis::choice("method", "best", Points::Listed { quick: &["best"], standard: &["lse", "ll_sc"], thorough: &[] }),
        Axis::threads("threads", Points::OfHost(threads)),
    ],
    cross: &[Cross { from: Profile::Standard, axes: &["op", "threads"] }],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
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
    let method = atomic::method(&name).ok_or_else(|| Stop::skipped(format!("this architecture has no {name}")))?;
    if !(method.is_available)() {
        return Err(Stop::skipped(format!("this CPU has no {name}")));
    }
    case.note("method", method.name);
    let is_add = case.param::<String>("op")? == "fetch_add";
    let word = Lonely::default();
    let increase = |n| match is_add {
        true => method.fetch_add(&word.0, n),
        false => method.compare_and_swap(&word.0, n),
    };
    match case.thread_cpus().as_slice() {
        [] | [_] => case.time_n(increase),
        cpus => case.parallel_time(cpus, |_| Ok(increase)),
    }
}
