//! Probe ipc.unix_connect: a connection to a socket file that is accepted and closed.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    axes: &[super::PLACEMENT],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::UNIX_CONNECT
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    let mut listener = workloads::handover::stream::Listener::spawn(&other, &directory).map_err(super::refused)?;
    case.calls(|| listener.connect_and_close()).time()?;
    Ok(listener.check()?)
}
