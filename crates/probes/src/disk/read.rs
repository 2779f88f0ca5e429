//! Probe disk.read: direct reads of a file, by pattern, block and queue depth.

pub(super) mod io_path;
pub(super) mod requests;

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::ALSO,
    related: &["disk.write", "disk.fsync", "paging.fault", "syscall.io_uring"],
    axes: super::REQUESTS,
    full_factorial: super::FULL_FACTORIAL,
    blocking: true,
    replaces: &["lmdd"],
    section: crate::section::DISKS,
    measure: Measure::Run(measure),
    ..crate::texts::disk::READ
};

fn measure(case: &mut Case) -> Result<()> {
    requests::keep(case, requests::ALL)
}
