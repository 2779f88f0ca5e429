//! Probe ipc.unix_dgram: a datagram of one byte to another process and back between two socket files.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["ipc.unix_stream", "ipc.socketpair", "net.udp"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::UNIX_DGRAM
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::round_trip(case, workloads::handover::exchange::by_unix_datagram(&other, &directory))
}
