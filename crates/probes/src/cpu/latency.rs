//! Probe cpu.latency: how long one arithmetic operation takes when the next one waits for it.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[TYPE, OP],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["type", "op"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::LATENCY
};

/// All that lmbench's four tables of operations show, in every profile.
const TYPE: Axis = Axis { points: Points::quick(&["i64", "f64", "i32", "f32"]), ..super::TYPE };
const OP: Axis = Axis {
    points: Points::quick(&["add", "mul", "div", "bit", "mod"]).standard(&["div_small", "mod_small"]),
    ..super::OP
};

fn measure(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.loops(|n| {
        std::hint::black_box(operation.chain(n));
    })
    .time()
}
