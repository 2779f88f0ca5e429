//! Probe file.mmap_reread: a mapped cached file is loaded again, by size.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[super::SIZE, crate::place::PLACE],
    limit: Limit::BytesPerCycle,
    measure: Measure::Run(measure),
    ..crate::texts::file::MMAP_REREAD
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, size) = super::cached(case)?;
    let mut mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
    mapping.read_every(Pages::Base.bytes(), size);
    let memory = mapping.bytes();
    let kernel = super::loading(case, memory)?;
    case.steadied(memory.len() as u64, || super::sum(kernel, memory));
    case.loops(|n| (0..n).for_each(|_| super::sum(kernel, memory))).rate(size as u64)
}
