//! Probe cpu.latency: how long one arithmetic operation takes when the next one waits for it.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["cpu.throughput", "cpu.parallelism", "cpu.frequency", "cpu.bogoflops"],
    axes: &[TYPE, OP],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["type", "op"] }],
    limit: Limit::CyclesPerOp,
    replaces: &["lat_ops"],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::LATENCY
};

/// All that lmbench's four tables of operations show, in every profile.
const TYPE: Axis = Axis {
    points: Points::Listed { quick: &["i64", "f64", "i32", "f32"], standard: &[], thorough: &[] },
    ..super::TYPE
};
const OP: Axis = Axis {
    points: Points::Listed {
        quick: &["add", "mul", "div", "bit", "mod"],
        standard: &["div_small", "mod_small"],
        thorough: &[],
    },
    ..super::OP
};

fn measure(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.loops(|n| {
        std::hint::black_box(operation.chain(n));
    })
    .time()
}
