//! Probe clock.loop: the cost of the loop around a measured body.

use hostmark_engine::prelude::*;

use crate::kernels::arith;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| case.loops(arith::empty).time()),
    ..crate::texts::clock::LOOP
};
