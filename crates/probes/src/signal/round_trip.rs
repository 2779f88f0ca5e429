//! Probe signal.round_trip: a signal to another process and its answer by one.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    axes: &[CPUS],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::ipc::SECTION,
    measure: Measure::Run(measure),
    ..crate::texts::signal::ROUND_TRIP
};

/// CPUs of the two processes.
const CPUS: Axis = Axis::placements(
    "cpus",
    "same_cpu",
    Points::quick(&["same_cpu"]).standard(&["same_cache"]).thorough(&[
        "smt_sibling",
        "other_cache",
        "same_package_other_node",
        "other_node",
        "free",
    ]),
);

fn measure(case: &mut Case) -> Result<()> {
    let other = crate::ipc::other_party(case)?;
    let mut pair = workloads::handover::ping_pong::SignalPair::start(&other)?;
    case.calls(|| pair.there_and_back()).time()?;
    Ok(pair.check()?)
}
