//! Probe ipc.futex: a token to another process and back by two futexes in shared memory.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["syscall.futex", "ipc.eventfd", "sched.context_switch", "cpu.core_to_core"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::FUTEX
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::futex::by_futex(&other))
}
