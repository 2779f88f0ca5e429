//! Probe ipc.file_lock: one process hands over to another by record locks of a file.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["ipc.sysv_semaphore", "ipc.futex"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(1),
    blocking: true,
    replaces: &["lat_fcntl"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::FILE_LOCK
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::hand_over(case, workloads::handover::file_lock::by_file_locks(&other, &directory))
}
