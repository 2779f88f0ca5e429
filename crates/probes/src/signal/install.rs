//! Probe signal.install: telling the kernel what to do with a signal.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["signal.handle", "syscall.null"],
    limit: Limit::KernelEntry,
    replaces: &["lat_sig"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::signal::INSTALL
};

fn measure(case: &mut Case) -> Result<()> {
    case.calls(workloads::machine::context::install).time()
}
