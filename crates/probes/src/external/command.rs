//! Probe external.command: the time, CPU time and memory of any command.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[super::USER, super::SYSTEM, super::PEAK_MEMORY],
    axes: super::AXES,
    blocking: true,
    needs: &[Need::Command],
    measure: Measure::Run(super::timed),
    ..crate::texts::external::COMMAND
};
