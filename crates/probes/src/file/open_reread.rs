//! Probe file.open_reread: a cached file is opened, read and closed, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    axes: &[super::SIZE, super::DATA, crate::place::PLACE],
    measure: Measure::Run(measure),
    ..crate::texts::file::OPEN_REREAD
};

fn measure(case: &mut Case) -> Result<()> {
    let (path, size) = super::cached_by_name(case)?;
    let mut block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    let kernel = super::summing(case, block.bytes())?;
    super::passes(case, size, || super::read_all(&path.open()?, size, block.bytes_mut(), kernel))
}
