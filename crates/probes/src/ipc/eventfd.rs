//! Probe ipc.eventfd: a token to another process and back by two eventfds.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["ipc.pipe", "ipc.futex", "sched.wakeup"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::EVENTFD
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::exchange::by_eventfd(&other))
}
