//! Probe syscall.byte: one byte through the virtual file system, with next to no device behind it.

use std::path::Path;

use crate::workloads::storage::files;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::ways("call", "read", Points::quick(&["read", "write"]))],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::BYTE
};

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<String>("call")? == "write" {
        let file = files::open(Path::new("/dev/null"), true)
            .map_err(|error| RoundError::lacking(say!("/dev/null cannot be opened"), &error))?;
        return case.calls(|| files::write_byte(&file)).time();
    }
    let file = files::open(Path::new("/dev/zero"), false)
        .map_err(|error| RoundError::lacking(say!("/dev/zero cannot be opened"), &error))?;
    case.calls(|| files::read_byte(&file)).time()
}
