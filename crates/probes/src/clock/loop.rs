//! Probe clock.loop: the cost of the loop around a measured body.

use hostmark_engine::prelude::*;

use crate::kernels::arith;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["clock.read", "clock.resolution", "cpu.frequency"],
    replaces: &["loop_o"],
    core_bound: CoreBound::Yes,
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
    ..crate::texts::clock::LOOP
};

fn measure(case: &mut Case) -> Result<()> {
    case.loops(arith::empty).time()
}
