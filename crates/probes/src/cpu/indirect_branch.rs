//! Probe cpu.indirect_branch: a jump to one of several targets, by their number and whether their order can be learnt.

use crate::kernels::branch::Targets;
use hostmark_engine::prelude::*;

/// Targets in the array: more than predictors hold of an order that never repeats before.
const LENGTH: usize = 1 << 18;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::count(
            "targets",
            "16",
            Points::quick(&["1", "16"]).standard(&["2", "4", "64", "256"]).thorough(&["8", "32", "128"]),
        ),
        Axis::choice("order", "random", Points::quick(&["random", "cycle"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["targets", "order"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::INDIRECT_BRANCH
};

fn measure(case: &mut Case) -> Result<()> {
    let count: usize = case.param("targets")?;
    if count > crate::kernels::branch::MOST_TARGETS {
        return Err(RoundError::not_applicable(say!("the loop has 256 targets at most")));
    }
    case.may_fill(LENGTH as u64)?;
    let mut targets = match case.param::<String>("order")?.as_str() {
        "random" => Targets::random(count, LENGTH, case.seed()),
        _ => Targets::in_turn(count, LENGTH),
    };
    case.loops(|n| {
        std::hint::black_box(targets.jump(n));
    })
    .time()
}
