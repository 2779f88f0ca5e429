//! Probe syscall.fstat: the status of an open file.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.stat", "syscall.null"],
    axes: &[crate::place::PLACE],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::FSTAT
};

fn measure(case: &mut Case) -> Result<()> {
    let path = crate::place::directory(case)?.join("file");
    workloads::storage::files::write(&path, b"x", 0o600)?;
    let file = workloads::storage::files::open(&path, false)?;
    case.calls(|| workloads::storage::path_ops::fstat(&file)).time()
}
