//! Probe ipc.sysv_semaphore: one process hands over to another by two System V semaphores.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["ipc.futex", "ipc.message_queue", "ipc.pipe"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(1),
    blocking: true,
    replaces: &["lat_sem"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::SYSV_SEMAPHORE
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::hand_over(case, workloads::handover::sysv::by_semaphores(&other))
}
