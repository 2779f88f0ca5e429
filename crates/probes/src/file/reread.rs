//! Probes file.reread, file.open_reread, file.mmap_reread and file.mmap_open_reread: a cached file is read or loaded again, by size.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static REREAD: Probe = Probe {
    axes: &[super::SIZE, super::DATA, crate::place::PLACE],
    measure: Measure::Run(|case| {
        let (file, size) = super::cached(case)?;
        let mut block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
        let kernel = super::summing(case, block.bytes())?;
        super::passes(case, size, || super::read_all(&file, size, block.bytes_mut(), kernel))
    }),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::file::REREAD)
};

pub static OPEN_REREAD: Probe = Probe {
    axes: &[super::SIZE, super::DATA, crate::place::PLACE],
    measure: Measure::Run(|case| {
        let (path, size) = super::cached_by_name(case)?;
        let mut block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
        let kernel = super::summing(case, block.bytes())?;
        super::passes(case, size, || super::read_all(&path.open()?, size, block.bytes_mut(), kernel))
    }),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::file::OPEN_REREAD)
};

pub static MMAP_REREAD: Probe = Probe {
    revision: 2,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[super::SIZE, crate::place::PLACE],
    limit: Limit::BytesPerCycle,
    measure: Measure::Run(|case| {
        let (file, size) = super::cached(case)?;
        let mut mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
        mapping.read_every(Pages::Base.bytes(), size);
        let memory = mapping.bytes();
        let kernel = super::loading(case, memory)?;
        case.steadied(memory.len() as u64, || super::sum(kernel, memory));
        case.loops(|n| (0..n).for_each(|_| super::sum(kernel, memory))).rate(size as u64)
    }),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::file::MMAP_REREAD)
};

pub static MMAP_OPEN_REREAD: Probe = Probe {
    axes: &[super::SIZE, crate::place::PLACE],
    measure: Measure::Run(|case| {
        let (path, size) = super::cached_by_name(case)?;
        let kernel = super::loading(case, Mapping::file(&path.open()?, size, Sharing::Shared, false)?.bytes())?;
        super::passes(case, size, || {
            let file = path.open()?;
            let mut mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
            super::sum(kernel, mapping.bytes());
            Ok(())
        })
    }),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::file::MMAP_OPEN_REREAD)
};
