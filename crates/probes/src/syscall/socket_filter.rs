//! Probe syscall.socket_filter: a datagram through a socket with a packet filter, by the filter's length.

use std::os::unix::net::UnixDatagram;

use crate::workloads::machine::bpf;
use crate::workloads::storage::files;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["syscall.bpf", "syscall.seccomp", "ipc.round_trip"],
    axes: &[
        Axis::choice(
            "filter",
            "attached",
            Points::Listed { quick: &["attached", "none"], standard: &[], thorough: &[] },
        ),
        Axis::count(
            "instructions",
            "64",
            Points::Listed { quick: &["64"], standard: &["2", "512", "2048"], thorough: &["8"] },
        ),
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::SOCKET_FILTER
};

fn measure(case: &mut Case) -> Result<()> {
    let (near, far) = UnixDatagram::pair().call("socketpair")?;
    if case.param::<String>("filter")? != "none" {
        let instructions = case.param("instructions")?;
        bpf::filter(&far, instructions)
            .map_err(|error| RoundError::lacking(say!("cannot attach a packet filter"), &error))?;
    }
    let (near, far) = (near.into(), far.into());
    case.loops(|n| {
        (0..n).try_for_each(|_| {
            files::write_byte(&near)?;
            files::read_byte(&far)
        })
    })
    .time()
}
