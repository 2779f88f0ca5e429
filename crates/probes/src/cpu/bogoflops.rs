//! Probe cpu.bogoflops: a small expression with one division, element by element.

use hostmark_engine::prelude::*;

use crate::kernels::arith::Arrays;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["cpu.flops", "cpu.latency", "cpu.throughput"],
    axes: &[Axis::choice("type", "f64", Points::Listed { quick: &["f32", "f64"], standard: &[], thorough: &[] })],
    replaces: &["lat_ops"],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
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
