//! Probe ipc.round_trip: a byte or a token to another process and back, by the way that it takes.

use std::io;

use hostmark_engine::prelude::*;

use crate::workloads::handover::exchange::{self, SocketKind};
use crate::workloads::handover::sysv;

pub static PROBE: Probe = Probe {
    also: &[Quantity::P50, Quantity::P99, Quantity::P999, Quantity::MEAN],
    axes: &[
        Axis::ways(
            "by",
            "pipe",
            Points::quick(&[
                "pipe",
                "fifo",
                "unix_stream",
                "unix_dgram",
                "socketpair",
                "eventfd",
                "posix_queue",
                "futex",
            ])
            .standard(&["socketpair_dgram", "socketpair_seqpacket", "sysv_queue"]),
        ),
        // The default way stands for all in the quick profile.
        Axis::placements("cpus", "same_cpu", Points::quick(&["same_cpu", "same_cache"]).standard(super::APART)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["by", "cpus"] }],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::ROUND_TRIP
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    match case.param::<String>("by")?.as_str() {
        "fifo" => there_and_back(exchange::by_fifo(&other, &case.scratch_dir()?), case),
        "unix_stream" => there_and_back(exchange::by_unix_stream(&other, &case.scratch_dir()?), case),
        "unix_dgram" => there_and_back(exchange::by_unix_datagram(&other, &case.scratch_dir()?), case),
        "socketpair" => there_and_back(exchange::by_socket_pair(&other, SocketKind::Stream), case),
        "socketpair_dgram" => there_and_back(exchange::by_socket_pair(&other, SocketKind::Datagram), case),
        "socketpair_seqpacket" => there_and_back(exchange::by_socket_pair(&other, SocketKind::SeqPacket), case),
        "eventfd" => there_and_back(exchange::by_eventfd(&other), case),
        "posix_queue" => there_and_back(exchange::by_queues(&other), case),
        "sysv_queue" => there_and_back(sysv::by_queues(&other), case),
        "futex" => there_and_back(exchange::by_futex(&other), case),
        _ => there_and_back(exchange::by_pipe(&other), case),
    }
}

/// Times an exchange there and back; one that cannot be made is the host's lack.
fn there_and_back<T: exchange::ExchangeStep>(made: io::Result<exchange::Exchange<T>>, case: &mut Case) -> Result<()> {
    let mut exchange = made.map_err(super::refused)?;
    case.calls(|| exchange.there_and_back()).singly().time()?;
    Ok(exchange.check()?)
}
