//! Probe disk.write: direct overwrites of a file, by pattern, block and queue depth.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::ALSO,
    related: &["disk.read", "disk.fsync", "file.write"],
    axes: super::REQUESTS,
    full_factorial: super::FULL_FACTORIAL,
    blocking: true,
    replaces: &["lmdd"],
    section: crate::section::DISKS,
    measure: Measure::Run(measure),
    ..crate::texts::disk::WRITE
};

fn measure(case: &mut Case) -> Result<()> {
    super::read::keep(case, 0)
}
