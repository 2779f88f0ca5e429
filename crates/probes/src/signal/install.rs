//! Probe signal.install: telling the kernel what to do with a signal.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| case.calls(workloads::machine::context::install).time()),
    ..crate::texts::signal::INSTALL
};
