//! Faults that wait for a device: random reads of a file whose pages were dropped from the cache.

use hostmark_engine::prelude::*;
use sys::usage::thread_faults;

use super::pass::{Pass, passes};
use crate::kernels::random::Random;
use crate::workloads::mappings::mapping::{Mapping, Sharing};
use crate::workloads::storage::files;

/// Bytes of a pass.
const MAJOR_BYTES: usize = 1 << 20;

/// Measures them.
pub(super) fn major(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    let file = crate::place::on_device(case, MAJOR_BYTES as u64)?;
    let mut offsets: Vec<usize> = (0..MAJOR_BYTES / page).map(|number| number * page).collect();
    Random::new(case.seed()).shuffle(&mut offsets);
    let (device, mut bytes) = (crate::place::Device::of(case)?, 0);
    passes(case, None, |clock| {
        files::drop_cache(&file)?;
        let mapping = Mapping::file(&file, MAJOR_BYTES, Sharing::Shared, false)?;
        mapping.expect_random()?;
        let before = thread_faults()?;
        let pass = Pass::of(clock, || mapping.read_at(&offsets))?;
        match thread_faults()?.major - before.major {
            0 => Err(crate::place::keeps_pages()),
            major => {
                bytes += major * page as u64;
                Ok(Pass { faults: major, ..pass })
            }
        }
    })?;
    device.give(case, bytes, |work| work.read_bytes)
}
