//! Probe file.block: 4 KiB at the start of a file are read or overwritten, over and over, from user space.

use hostmark_engine::prelude::*;

use crate::place;
use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[super::OP, Axis::bind(), Axis::choice("through", "cache", Points::quick(&["cache"]).standard(&["direct"]))],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["op", "bind"] },
        FullFactorial { from: Profile::Standard, axes: &["op", "bind", "through"] },
    ],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::file::BLOCK
};

fn measure(case: &mut Case) -> Result<()> {
    let is_write = super::is_write(case)?;
    let (file, mut block) = place::at_start(case)?;
    match is_write {
        true => case.calls(|| files::write_at(&file, 0, block.bytes())).in_batches().time(),
        false => case.calls(|| files::read_at(&file, 0, block.bytes_mut())).in_batches().time(),
    }
}
