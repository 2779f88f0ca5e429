//! Probe ipc.pipe: a byte to another process and back through two pipes.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["ipc.eventfd", "ipc.futex", "sched.context_switch", "sched.wakeup", "ipc.pipe_bandwidth"],
    axes: &[super::PLACEMENT_NOTED],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_pipe"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::PIPE
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::exchange::by_pipe(&other))
}
