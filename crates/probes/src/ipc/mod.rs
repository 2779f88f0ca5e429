//! Group ipc: two processes of one host talk.

mod eventfd;
mod fifo;
mod pipe;
mod pipe_bandwidth;
mod socketpair;
mod unix_dgram;
mod unix_stream;

crate::group!("ipc": pipe fifo unix_stream unix_dgram socketpair eventfd pipe_bandwidth);

use std::io;

use hostmark_engine::prelude::*;
use sys::exchange::{Exchange, Turn};

/// Axis cpus of most round trips: one CPU by default, as the costs of the way itself are compared best.
const PLACEMENT: Axis = Axis::placements(
    "cpus",
    "same_cpu",
    Points::Listed { quick: &["same_cpu"], standard: &["same_cache"], thorough: APART },
);

/// Axis cpus of the round trips that stand for all in the quick profile.
const PLACEMENT_TOLD: Axis = Axis::placements(
    "cpus",
    "same_cpu",
    Points::Listed { quick: &["same_cpu", "same_cache"], standard: APART, thorough: &[] },
);

/// The other placements.
const APART: &[&str] = &["smt_sibling", "other_cache", "other_node", "free"];

/// The CPUs of the child; this process is on the first of the case's.
fn other_party(case: &Case) -> Result<Vec<usize>> {
    let cpus = case.thread_cpus();
    let theirs = match case.param::<String>("cpus")?.as_str() {
        "free" => &cpus[..],
        _ => &cpus[cpus.len().saturating_sub(1)..],
    };
    Ok(theirs.iter().map(|cpu| cpu.0).collect())
}

/// What the kernel refused when two processes were to be connected.
fn refused(error: io::Error) -> Stop {
    Stop::skipped(format!("two processes cannot be connected so: {error}"))
}

/// Times an exchange there and back; one that cannot be made is the host's lack.
fn round_trip<T: Turn>(case: &mut Case, made: io::Result<Exchange<T>>) -> Result<()> {
    let mut exchange = made.map_err(refused)?;
    case.time(|| exchange.there_and_back())
}
