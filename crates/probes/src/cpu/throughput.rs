//! Probe cpu.throughput: how many arithmetic operations a second one core does when none waits for another.

use hostmark_engine::prelude::*;

use crate::kernels::operation::INDEPENDENT;

pub static PROBE: Probe = Probe {
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[Quantity::OPERATIONS_PER_CYCLE],
    axes: &[super::TYPE, super::OP],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["type", "op"] }],
    limit: Limit::OperationsPerCycle(&[("", MOST_A_CYCLE)]),
    adds: Some(&[("type", "i64"), ("op", "add")]),
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::THROUGHPUT
};

/// Largest plausible value, more than the widest cores can start: those sold have up to 8 adders, and rename up to 10 instructions a cycle.
const MOST_A_CYCLE: u32 = 12;

fn measure(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.loops(|turns| {
        std::hint::black_box(operation.independent(turns));
    })
    .rate(INDEPENDENT)
}
