//! Probe cpu.atomic: how long an increment of a word takes, by an atomic operation alone on its line and with others after the same line,
//! and of a counter that each CPU or thread has for itself.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernels::atomic::{self, Lonely};
use crate::kernels::restartable::{CpuCounters, Restartable, add_alone};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("op", "fetch_add", Points::quick(&["fetch_add"]).standard(&["compare_and_swap", "rseq", "plain"])),
        Axis::choice("method", "best", Points::quick(&["best"]).standard(&["lse", "ll_sc"])),
        Axis::threads("threads", Points::OfHost(threads)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "threads"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::ATOMIC
};

/// 1 and all; from the standard profile on the powers of two between.
fn threads(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len().max(1) as u64;
    let between = (1..).map(|power| 1 << power).take_while(|&threads| threads < all);
    let between: Vec<u64> = if profile >= Profile::Standard { between.collect() } else { Vec::new() };
    [1, all].into_iter().chain(between).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("op")?.as_str() {
        "fetch_add" => shared(case, true),
        "compare_and_swap" => shared(case, false),
        op => apart(case, op == "rseq"),
    }
}

/// Measures increments of one word by all threads.
fn shared(case: &mut Case, is_add: bool) -> Result<()> {
    let name: String = case.param("method")?;
    let method = atomic::method(&name)
        .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no {name}")))?;
    if !(method.is_available)() {
        return Err(RoundError::skipped(ReasonCode::Hardware, say!("this CPU has no {name}")));
    }
    case.note("method", method.name);
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

/// Measures increments of a counter of the CPU's own, or of the thread's, none of which may be lost.
fn apart(case: &mut Case, is_of_cpu: bool) -> Result<()> {
    let (counters, due) = (CpuCounters::default(), AtomicU64::new(0));
    let make = |cpu: Cpu| {
        let thread = is_of_cpu.then(Restartable::of_this_thread).transpose();
        let none = |error| RoundError::lacking(say!("there are no restartable sequences here"), &error);
        let (thread, counters, due) = (thread.map_err(none)?, &counters, &due);
        Ok::<_, RoundError>(move |n: u64| {
            match &thread {
                Some(thread) => _ = thread.add(counters, n),
                None => add_alone(counters.of(cpu.0), n),
            }
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
            let text = say!("{due} increments were made, and the counters came to {sum}");
            Err(RoundError::wrong(text))
        }
    }
}
