//! Group ipc: two processes of one host talk.

crate::group!("ipc", shares_worker true:
    round_trip = ROUND_TRIP hand_over = HAND_OVER unix_connect = UNIX_CONNECT io_uring = IO_URING
    bandwidth = BANDWIDTH
);

use std::io;

use hostmark_engine::prelude::*;

use crate::context_switches::{ContextSwitches, SWITCHES, WAKE_UPS};
use crate::workloads;
use crate::workloads::handover::exchange::{self, Exchange, ExchangeStep, SocketKind};
use crate::workloads::handover::stream::{PipeWriter, RingWriter, Stream};
use crate::workloads::handover::sysv;
use crate::workloads::network::uring_messages::{By, Messages, Step};

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Communication");

/// Axis cpus: one CPU by default, as the costs of the way itself are compared best.
pub(crate) const PLACEMENT: Axis =
    Axis::placements("cpus", "same_cpu", Points::quick(&["same_cpu"]).standard(&["same_cache"]).thorough(APART));

const APART: &[&str] = &["smt_sibling", "other_cache", "same_package_other_node", "other_node", "free"];

/// The CPUs of the child; this process is on the first of the case's.
pub(crate) fn other_party(case: &Case) -> Result<Vec<usize>> {
    let cpus = case.thread_cpus();
    let theirs = match case.param::<String>("cpus")?.as_str() {
        "free" => &cpus[..],
        _ => &cpus[cpus.len().saturating_sub(1)..],
    };
    Ok(theirs.iter().map(|cpu| cpu.0).collect())
}

/// The lack of a host whose kernel refuses to connect two processes.
fn refused(error: io::Error) -> RoundError {
    RoundError::lacking(say!("two processes cannot be connected so"), &error)
}

/// Probe ipc.round_trip: a byte or a token to another process and back, by the way that it takes.
pub static ROUND_TRIP: Probe = Probe {
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
        Axis::placements("cpus", "same_cpu", Points::quick(&["same_cpu", "same_cache"]).standard(APART)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["by", "cpus"] }],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Run(measure_round_trip),
    ..crate::texts::ipc::ROUND_TRIP
};

fn measure_round_trip(case: &mut Case) -> Result<()> {
    let other = other_party(case)?;
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
    let mut exchange = made.map_err(refused)?;
    case.calls(|| exchange.there_and_back()).singly().time()?;
    Ok(exchange.check()?)
}

/// Probe ipc.hand_over: one process hands over to another by two semaphores, or by record locks of a file.
pub static HAND_OVER: Probe = Probe {
    axes: &[Axis::ways("by", "sysv_semaphore", Points::quick(&["sysv_semaphore", "file_lock"])), PLACEMENT],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["by", "cpus"] }],
    limit: Limit::HandOvers(1),
    blocking: true,
    measure: Measure::Run(measure_hand_over),
    ..crate::texts::ipc::HAND_OVER
};

fn measure_hand_over(case: &mut Case) -> Result<()> {
    let other = other_party(case)?;
    match case.param::<String>("by")?.as_str() {
        "file_lock" => hand_over(exchange::by_file_locks(&other, &case.scratch_dir()?), case),
        _ => hand_over(sysv::by_semaphores(&other), case),
    }
}

/// Times one hand-over of an exchange: half of a round trip.
fn hand_over<T: ExchangeStep>(made: io::Result<Exchange<T>>, case: &mut Case) -> Result<()> {
    let mut exchange = made.map_err(refused)?;
    let mut owed = 0;
    case.loops(|hand_overs| -> io::Result<()> {
        // An odd number leaves one for the next time.
        owed += hand_overs;
        while owed >= 2 {
            exchange.there_and_back()?;
            owed -= 2;
        }
        Ok(())
    })
    .time()?;
    Ok(exchange.check()?)
}

/// Probe ipc.unix_connect: a connection to a socket file that is accepted and closed.
pub static UNIX_CONNECT: Probe = Probe {
    axes: &[PLACEMENT],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure_unix_connect),
    ..crate::texts::ipc::UNIX_CONNECT
};

fn measure_unix_connect(case: &mut Case) -> Result<()> {
    let other = other_party(case)?;
    let directory = case.scratch_dir()?;
    let mut listener = workloads::handover::stream::Listener::spawn(&other, &directory).map_err(refused)?;
    case.calls(|| listener.connect_and_close()).time()?;
    Ok(listener.check()?)
}

/// Probe ipc.io_uring: a message over a socket of which one step, send, poll or receive, is made by io_uring, beside plain calls.
pub static IO_URING: Probe = Probe {
    axes: &[
        Axis::choice("op", "receive", Points::quick(&["receive"]).thorough(&["send", "poll"])),
        Axis::choice("by", "ring", Points::quick(&["ring", "call", "registered", "multishot"])),
        Axis::count("batch", "16", Points::quick(&["16"]).thorough(&["1", "64"])),
        Axis { points: Points::quick(&["call"]).thorough(&["polled"]), ..crate::submission::SUBMISSION },
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["op", "by"] },
        FullFactorial { from: Profile::Thorough, axes: &["by", "batch"] },
        FullFactorial { from: Profile::Thorough, axes: &["by", "submission"] },
    ],
    limit: Limit::KernelEntry,
    core_bound: crate::submission::CORE_BOUND,
    from: Profile::Standard,
    measure: Measure::Run(measure_io_uring),
    ..crate::texts::ipc::IO_URING
};

fn measure_io_uring(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    let step = match case.param::<String>("op")?.as_str() {
        "send" => Step::Send,
        "poll" => Step::Poll,
        _ => Step::Receive,
    };
    let by = match case.param::<String>("by")?.as_str() {
        "call" => By::Call,
        "registered" => By::Registered,
        "multishot" if step == Step::Send => {
            return Err(RoundError::not_applicable(say!("to be sent, each message needs an entry")));
        }
        "multishot" => By::Multishot,
        _ => By::Ring,
    };
    let poller = crate::submission::poller(case, by != By::Call)?;
    let what = match by {
        By::Multishot => say!("io_uring with multishot requests is not available"),
        _ => say!("io_uring is not available"),
    };
    let mut messages = Messages::new(batch, (step, by), poller).or_lacking(|| what)?;
    case.calls(|| messages.pass()).each(u64::from(batch)).time()
}

/// Probe ipc.bandwidth: how fast bytes go to another process through a pipe, a Unix socket or shared memory.
pub static BANDWIDTH: Probe = Probe {
    also: &[SWITCHES, WAKE_UPS],
    axes: &[
        Axis::ways("by", "pipe", Points::quick(&["pipe", "unix_stream", "shared_memory"])),
        Axis::size(
            "message",
            "65536",
            Points::quick(&["4096", "65536", "1048576"])
                .standard(&["16384", "262144", "4194304", "16777216"])
                .thorough(&[
                    "8192",
                    "32768",
                    "131072",
                    "524288",
                    "2097152",
                    "8388608",
                    "33554432",
                    "67108864",
                    "134217728",
                ]),
        ),
        Axis::size("block", "65536", Points::quick(&["65536"]).standard(&["4096", "1048576"])),
        Axis::choice("capacity", "default", Points::quick(&["default", "1m"])),
        Axis::near("cpus"),
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["message", "cpus"] },
        FullFactorial { from: Profile::Standard, axes: &["by", "message"] },
    ],
    blocking: true,
    measure: Measure::Run(measure_bandwidth),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::ipc::BANDWIDTH)
};

/// Bytes that an iteration reads: several times what a pipe, socket or ring holds, so that a sample takes what is written meanwhile.
const STEP_BYTES: u64 = 1 << 20;

fn measure_bandwidth(case: &mut Case) -> Result<()> {
    let writer = other_party(case)?;
    let is_large = case.param::<String>("capacity")? == "1m";
    let message = case.buffer(case.param("message")?, Pages::Base, None)?;
    let mut block = case.buffer(case.param("block")?, Pages::Base, None)?;
    match case.param::<String>("by")?.as_str() {
        "unix_stream" => {
            let stream = Stream::by_socket_pair(message.bytes(), &writer).map_err(refused)?;
            case.note("send_buffer_bytes", stream.send_buffer_bytes());
            bytes_read(case, stream.writer(), |bytes| stream.read(bytes, block.bytes_mut()))
        }
        "shared_memory" => {
            let ring = RingWriter::spawn(message.bytes(), &writer).map_err(refused)?;
            bytes_read(case, ring.writer(), |bytes| ring.read(bytes, block.bytes_mut()))
        }
        _ => {
            let pipe = PipeWriter::spawn(message.bytes(), is_large.then_some(1 << 20), &writer)
                .or_lacking(|| say!("cannot make this pipe"))?;
            case.note("capacity_bytes", pipe.capacity);
            bytes_read(case, pipe.writer(), |bytes| pipe.read(bytes, block.bytes_mut()))
        }
    }
}

/// The rate of `read`, which reads as many bytes as it is told of those that the process `writer` writes.
fn bytes_read(case: &mut Case, writer: u32, mut read: impl FnMut(u64) -> io::Result<()>) -> Result<()> {
    let turns = ContextSwitches::begin(Some(writer));
    case.loops(|steps| {
        turns.moved(steps * STEP_BYTES);
        read(steps * STEP_BYTES)
    })
    .rate(STEP_BYTES)?;
    turns.give(case)
}
