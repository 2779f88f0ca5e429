//! Probe cpu.bogoflops: a small expression with one division, element by element.

use hostmark_engine::prelude::*;

use crate::kernels::arith::Arrays;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice("type", "f64", Points::quick(&["f32", "f64"]))],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::BOGOFLOPS
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("type")?.as_str() {
        "f32" => {
            let mut arrays = Arrays::<f32>::new();
            case.loops(|n| arrays.compute(n)).time()
        }
        _ => {
            let mut arrays = Arrays::<f64>::new();
            case.loops(|n| arrays.compute(n)).time()
        }
    }
}
