//! Probe ipc.socketpair: a byte to another process and back through a pair of unnamed sockets, by their type.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["ipc.unix_stream", "ipc.unix_dgram", "ipc.pipe"],
    axes: &[
        Axis::choice(
            "type",
            "stream",
            Points::Listed { quick: &["stream"], standard: &["dgram", "seqpacket"], thorough: &[] },
        ),
        super::PLACEMENT,
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_unix"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::SOCKETPAIR
};

fn measure(case: &mut Case) -> Result<()> {
    use crate::workloads::handover::exchange::SocketKind;
    let kind = match case.param::<String>("type")?.as_str() {
        "dgram" => SocketKind::Datagram,
        "seqpacket" => SocketKind::SeqPacket,
        _ => SocketKind::Stream,
    };
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::exchange::by_socket_pair(&other, kind))
}
