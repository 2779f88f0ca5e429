//! Probe cpu.atomic: how long an atomic operation takes, alone on its line and with others after the same line.

use crate::kernels::atomic::{self, Lonely};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("op", "fetch_add", Points::quick(&["fetch_add"]).standard(&["compare_and_swap"])),
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
    let name: String = case.param("method")?;
    let method = atomic::method(&name)
        .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no {name}")))?;
    if !(method.is_available)() {
        return Err(RoundError::skipped(ReasonCode::Hardware, say!("this CPU has no {name}")));
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
