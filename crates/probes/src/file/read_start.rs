//! Probe file.read_start: 4 KiB at the start of a file are read, over and over, from user space.

use hostmark_engine::prelude::*;

use crate::place;
use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[Axis::bind(), place::THROUGH],
    full_factorial: place::BOTH_BINDINGS,
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::file::READ_START
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, mut block) = place::at_start(case)?;
    case.calls(|| files::read_at(&file, 0, block.bytes_mut())).in_batches().time()
}
