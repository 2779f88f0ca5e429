//! Probe syscall.write_null: write(2) of one byte through the virtual file system, with next to no device behind it.

use std::path::Path;

use crate::workloads;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.null", "syscall.read_zero", "file.write"],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::WRITE_NULL
};

fn measure(case: &mut Case) -> Result<()> {
    let file = workloads::storage::files::open(Path::new("/dev/null"), true)
        .map_err(|error| RoundError::lacking(say!("/dev/null cannot be opened"), &error))?;
    case.calls(|| workloads::storage::files::write_byte(&file)).time()
}
