//! Probe process.thread: a thread is made, ends at once, and is joined.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(|case| case.calls(workloads::processes::program::create_and_join).time()),
    ..crate::texts::process::THREAD
};
