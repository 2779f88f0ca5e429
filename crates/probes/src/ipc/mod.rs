//! Group ipc: two processes of one host talk.

mod bandwidth;
mod hand_over;
mod io_uring;
mod round_trip;
mod unix_connect;

crate::group!("ipc", shares_worker true: round_trip hand_over unix_connect io_uring bandwidth);

use std::io;

use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Communication");

/// Axis cpus: one CPU by default, as the costs of the way itself are compared best.
const PLACEMENT: Axis =
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
