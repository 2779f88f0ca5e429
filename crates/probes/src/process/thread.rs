//! Probe process.thread: a thread is made, ends at once, and is joined.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["process.fork_exit", "ipc.round_trip", "sched.context_switch"],
    limit: Limit::KernelEntry,
    blocking: true,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::process::THREAD
};

fn measure(case: &mut Case) -> Result<()> {
    case.calls(workloads::processes::program::create_and_join).time()
}
