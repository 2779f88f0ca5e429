//! Probe file.mmap_open_reread: a cached file is opened, mapped, loaded and unmapped, by size.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    axes: &[super::SIZE, crate::place::PLACE],
    measure: Measure::Run(measure),
    ..crate::texts::file::MMAP_OPEN_REREAD
};

fn measure(case: &mut Case) -> Result<()> {
    let (path, size) = super::cached_by_name(case)?;
    let kernel = super::loading(case, Mapping::file(&path.open()?, size, Sharing::Shared, false)?.bytes())?;
    super::passes(case, size, || {
        let file = path.open()?;
        let mut mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
        super::sum(kernel, mapping.bytes());
        Ok(())
    })
}
