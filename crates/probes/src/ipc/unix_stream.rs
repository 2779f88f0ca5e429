//! Probe ipc.unix_stream: a byte to another process and back over a connection to a socket file.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["ipc.socketpair", "ipc.unix_dgram", "ipc.pipe", "net.tcp"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_unix"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::UNIX_STREAM
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::round_trip(case, workloads::handover::exchange::by_unix_stream(&other, &directory))
}
