//! Probe file.reread: a cached file is read again, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    axes: &[super::SIZE, super::DATA, crate::place::PLACE],
    measure: Measure::Run(measure),
    ..crate::texts::file::REREAD
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, size) = super::cached(case)?;
    let mut block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    let kernel = super::summing(case, block.bytes())?;
    super::passes(case, size, || super::read_all(&file, size, block.bytes_mut(), kernel))
}
