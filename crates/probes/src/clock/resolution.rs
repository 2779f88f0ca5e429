//! Probe clock.resolution: the smallest time that two readings of a clock tell apart.

use crate::workloads::machine::timer::ClockSource;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    better: Better::Neither,
    axes: &[super::sources(&["tsc", "monotonic"], &["monotonic_raw", "syscall"])],
    measure: Measure::Run(measure),
    ..crate::texts::clock::RESOLUTION
};

fn measure(case: &mut Case) -> Result<()> {
    let source = super::source(case)?;
    let ns_a_step = match source {
        ClockSource::Counter => case.counter_ns_per_tick()?,
        _ => 1.0,
    };
    case.values(|| match source.step() {
        Some(step) => Ok(step as f64 * ns_a_step),
        None => Err(RoundError::wrong(say!("the clock stood still over 500 readings"))),
    })
}
