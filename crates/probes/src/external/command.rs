//! Probe external.command: the time, CPU time and memory of any command.

use hostmark_engine::prelude::*;

use crate::executed::{self, AXES, PEAK_MEMORY, SYSTEM, USER};

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[USER, SYSTEM, PEAK_MEMORY],
    axes: AXES,
    blocking: true,
    needs: &[Need::Command],
    related: &["external.rate", "external.time", "process.spawn", "disk.fsync", "paging.fault"],
    section: crate::section::EXTERNAL,
    measure: Measure::Run(executed::timed),
    ..crate::texts::external::COMMAND
};
