//! Probe cpu.branch: what a conditional branch costs, by the length of the pattern that its directions repeat.

use hostmark_engine::prelude::*;

use crate::kernels::branch::BranchPattern;

/// The pattern of two directions in turn.
pub(super) const ALTERNATING: &str = "2";
/// A random pattern so long that no predictor holds it.
pub(super) const UNKNOWABLE: &str = "1048576";
/// Passes over a pattern before it is measured: what a predictor can learn of it, it has learnt by then.
const LESSONS: u64 = 16;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::count(
        "pattern",
        UNKNOWABLE,
        Points::quick(&[ALTERNATING, UNKNOWABLE])
            .standard(&["1024", "2048", "4096", "8192", "16384", "32768", "65536", "131072", "262144"])
            .thorough(&["1536", "3072", "6144", "12288", "24576", "49152"]),
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::BRANCH
};

fn measure(case: &mut Case) -> Result<()> {
    let length: u64 = case.param("pattern")?;
    case.may_fill(length)?;
    let longest = UNKNOWABLE.parse().unwrap_or(1 << 20);
    let mut pattern = match length {
        0..=2 => BranchPattern::alternating(longest),
        _ => BranchPattern::random(length as usize, case.seed()),
    };
    if length < longest as u64 {
        pattern.branch(LESSONS * length);
    }
    case.loops(|n| {
        std::hint::black_box(pattern.branch(n));
    })
    .time()
}
