//! Accesses to the first page of a file, which several probes time: on which file, and through what.

use crate::workloads::storage::files::{self, OwnedFd};
use hostmark_engine::prelude::*;

/// Axis through: whether the page cache answers or the device.
pub const THROUGH: Axis =
    Axis::choice("through", "cache", Points::Listed { quick: &["cache"], standard: &["direct"], thorough: &[] });
/// Every binding with the cache and without.
pub const BOTH_BINDINGS: &[FullFactorial] = &[FullFactorial { from: Profile::Standard, axes: &["bind", "through"] }];
/// What an access at a file's start moves: a page on most machines.
const PAGE_BYTES: u64 = 4096;

/// A file of a page on the disk of the scratch directory.
pub fn on_disk(case: &mut Case) -> Result<OwnedFd> {
    crate::place::on_device(case, PAGE_BYTES)
}

/// The same as the axis `through` has it, and memory of a page to read it into or write it from.
pub fn at_start(case: &mut Case) -> Result<(OwnedFd, Buffer)> {
    let file = on_disk(case)?;
    if case.param::<String>("through")? == "direct" {
        files::bypass_cache(&file).map_err(|error| {
            RoundError::unable(
                ReasonCode::Filesystem,
                say!("the filesystem of the scratch directory has no direct access"),
                error,
            )
        })?;
    }
    Ok((file, case.buffer(PAGE_BYTES, Pages::Base, None)?))
}
