//! Group ipc: two processes of one host talk.

mod eventfd;
mod fifo;
mod file_lock;
mod futex;
mod io_uring;
mod message_queue;
mod pipe;
mod pipe_bandwidth;
mod shared_memory_bandwidth;
mod socketpair;
mod sysv_semaphore;
mod unix_bandwidth;
mod unix_connect;
mod unix_dgram;
mod unix_stream;

crate::group!("ipc", shares_worker true:
    pipe fifo unix_stream unix_dgram socketpair eventfd message_queue futex sysv_semaphore file_lock unix_connect io_uring
    pipe_bandwidth unix_bandwidth shared_memory_bandwidth);

use std::io;

use crate::context_switches::{ContextSwitches, SWITCHES, WAKE_UPS};
use crate::workloads::handover::exchange::{Exchange, ExchangeStep};
use hostmark_engine::prelude::*;

/// Axis cpus of most round trips: one CPU by default, as the costs of the way itself are compared best.
const PLACEMENT: Axis = Axis::placements(
    "cpus",
    "same_cpu",
    Points::Listed { quick: &["same_cpu"], standard: &["same_cache"], thorough: APART },
);

/// Axis cpus of the round trip that stands for all in the quick profile.
const PLACEMENT_NOTED: Axis = Axis::placements(
    "cpus",
    "same_cpu",
    Points::Listed { quick: &["same_cpu", "same_cache"], standard: APART, thorough: &[] },
);

/// The other placements.
const APART: &[&str] = &["smt_sibling", "other_cache", "same_package_other_node", "other_node", "free"];

/// Axis message of the bandwidths, bytes.
const MESSAGE: Axis = Axis::size(
    "message",
    "65536",
    Points::Listed {
        quick: &["65536"],
        standard: &["4096", "16384", "262144", "1048576", "4194304", "16777216"],
        thorough: &["8192", "32768", "131072", "524288", "2097152", "8388608", "33554432", "67108864", "134217728"],
    },
);

/// What one read of the bandwidths asks for, bytes.
const BLOCK_BYTES: u64 = 64 << 10;

/// What one iteration reads, bytes: several times what a pipe, a socket or a ring holds, and whole times of powers of two, so
/// that a sample takes what was written meanwhile and not what was there.
const STEP_BYTES: u64 = 1 << 20;

/// The CPUs of the child; this process is on the first of the case's.
pub(crate) fn other_party(case: &Case) -> Result<Vec<usize>> {
    let cpus = case.thread_cpus();
    let theirs = match case.param::<String>("cpus")?.as_str() {
        "free" => &cpus[..],
        _ => &cpus[cpus.len().saturating_sub(1)..],
    };
    Ok(theirs.iter().map(|cpu| cpu.0).collect())
}

/// What the kernel refused when two processes were to be connected.
fn refused(error: io::Error) -> RoundError {
    RoundError::lacking(say!("two processes cannot be connected so"), &error)
}

/// Further quantities of the round trips.
const TAILS: &[Quantity] = &[Quantity::P50, Quantity::P99, Quantity::P999, Quantity::MEAN];

/// Further quantities of the bandwidths.
const TAKEN_TURNS: &[Quantity] = &[SWITCHES, WAKE_UPS];

/// Times an exchange there and back; one that cannot be made is the host's lack.
fn round_trip<T: ExchangeStep>(case: &mut Case, made: io::Result<Exchange<T>>) -> Result<()> {
    let mut exchange = made.map_err(refused)?;
    case.calls(|| exchange.there_and_back()).singly().time()?;
    Ok(exchange.check()?)
}

/// Times one hand-over of an exchange: half of a round trip.
fn hand_over<T: ExchangeStep>(case: &mut Case, made: io::Result<Exchange<T>>) -> Result<()> {
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

/// The rate of `read`, which reads as many bytes as it is told of those that the process `writer` writes.
fn bytes_read(case: &mut Case, writer: u32, mut read: impl FnMut(u64) -> io::Result<()>) -> Result<()> {
    let turns = ContextSwitches::with(writer);
    case.loops(|steps| {
        turns.moved(steps * STEP_BYTES);
        read(steps * STEP_BYTES)
    })
    .rate(STEP_BYTES)?;
    turns.give(case)
}
