//! Probe clock.resolution: the smallest time that two readings of a clock tell apart.

use crate::workloads::machine::timer::ClockSource;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Neither,
    related: &["clock.read", "clock.loop"],
    axes: &[super::sources(&["tsc", "monotonic"], &["monotonic_raw", "syscall"])],
    replaces: &["enough"],
    section: crate::section::CLOCKS,
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
        None => Err(RoundError::failed(ReasonCode::CheckFailed, say!("the clock stood still over 500 readings"))),
    })
}
