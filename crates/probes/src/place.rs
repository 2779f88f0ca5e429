//! Places of the files that a probe measures: axis `place`; and accesses to the first page of one, which several probes time.

use std::path::{Path, PathBuf};

use hostmark_engine::prelude::*;

use crate::workloads::storage::files::{self, OwnedFd};

/// Place of the files: memory shows the kernel's own path; the standard profile adds the filesystem of `--scratch`.
pub const PLACE: Axis = Axis::choice("place", "tmpfs", Points::quick(&["tmpfs"]).standard(&["scratch"]));

/// The note of what lies below the filesystem.
const LIES_ON: &str = "lies_on";

/// A directory of this round at the case's place; its filesystem is noted.
pub fn directory(case: &mut Case) -> Result<PathBuf> {
    if case.param::<String>("place")? != "tmpfs" {
        return scratch(case);
    }
    let directory = case.memory_dir()?;
    // Nothing lies below it.
    note(case, &directory, &[])?;
    Ok(directory)
}

/// The scratch directory, whatever it lies on; that is noted.
pub fn scratch(case: &mut Case) -> Result<PathBuf> {
    let directory = case.scratch_dir()?;
    let stack = storage_stack(&Root::here(), &directory);
    note(case, &directory, &stack)?;
    Ok(directory)
}

/// Notes the filesystem, and all that lies below it: `ext4 on loop0 on /x/image on ext4 on vda`.
fn note(case: &mut Case, directory: &Path, stack: &[String]) -> Result<()> {
    case.note("filesystem", sys::regular::filesystem(directory)?);
    if stack.len() > 1 {
        case.note(LIES_ON, stack.join(" on "));
    }
    Ok(())
}

/// Checks that a file of so many bytes fits; Skipped where it would not leave as much room again, or more memory than may be filled.
pub fn may_hold(case: &Case, directory: &Path, bytes: u64) -> Result<Filling> {
    let filling = case.filling(bytes)?;
    let room = files::room(directory)?;
    match room / 2 < bytes {
        true => {
            let (needs, has) = (bytes >> 20, room >> 20);
            let text = say!("needs a file of {needs} MiB where there is room for {has} MiB");
            Err(RoundError::Skipped(ReasonCode::TooLittleSpace.because(text).lacking(bytes, room / 2)))
        }
        false => Ok(filling),
    }
}

/// A file of `bytes` varying bytes in `directory`, without a name, so that nothing of it outlives the round.
pub fn filled(case: &mut Case, directory: &Path, bytes: u64) -> Result<OwnedFd> {
    let mut filling = may_hold(case, directory, bytes)?;
    let file = files::unnamed(directory)?;
    files::fill(&file, bytes, |written| filling.advance(written))?;
    Ok(file)
}

/// The scratch directory, where it lies on a device; skipped where it does not.
pub fn with_device(case: &mut Case) -> Result<PathBuf> {
    let directory = case.scratch_dir()?;
    let stack = storage_stack(&Root::here(), &directory);
    if is_memory(&stack) || sys::regular::filesystem(&directory)? == "tmpfs" {
        let stack = stack.join(" on ");
        let lies = say!("the scratch directory lies in memory ({stack}); name one on a disk by --scratch");
        return Err(RoundError::skipped(ReasonCode::Filesystem, lies));
    }
    note(case, &directory, &stack)?;
    Ok(directory)
}

/// Reason why a case that takes pages out of the cache has no value where they stay in it.
pub fn keeps_pages() -> RoundError {
    RoundError::skipped(ReasonCode::Filesystem, say!("the filesystem keeps its pages, though asked to drop them"))
}

/// Largest file that stays until the run ends, bytes.
const LARGEST_KEPT: u64 = 64 << 20;

/// A file of `bytes` varying bytes in the scratch directory, written to its device. One of at most [`LARGEST_KEPT`] is written once: it gets
/// a name in the run's directory, above that of the round, where later rounds find it.
pub fn on_device(case: &mut Case, bytes: u64) -> Result<OwnedFd> {
    let directory = with_device(case)?;
    let kept = directory.join(format!("../kept-{bytes}"));
    if let Ok(file) = files::open_both_ways(&kept) {
        return Ok(file);
    }
    let (mut filling, every_bytes) = may_hold(case, &directory, bytes)?.to_device();
    let file = files::unnamed(&directory)?;
    let mut cached_bytes = 0;
    files::fill(&file, bytes, |written| -> Result<()> {
        cached_bytes += written;
        if cached_bytes >= every_bytes {
            // Else the cache would hide how fast the device is.
            files::sync_data(&file)?;
            cached_bytes = 0;
        }
        filling.advance(written)
    })?;
    files::sync(&file)?;
    if bytes <= LARGEST_KEPT {
        // Without a name, a later round writes its own.
        let _ = files::give_name(&file, &kept);
    }
    Ok(file)
}

/// The device that a case's file lies on, and what it had done before samples began.
pub struct Device {
    stack: Vec<String>,
    before: Option<DeviceWork>,
}

impl Device {
    /// Returns the device of the scratch directory.
    pub fn of(case: &mut Case) -> Result<Device> {
        let stack = storage_stack(&Root::here(), &case.scratch_dir()?);
        Ok(Device { before: device_work(&Root::here(), &stack), stack })
    }

    /// Gives the case what share of `asked` the device did meanwhile, counted as `work` has it. Others may have asked it for more.
    pub fn give(self, case: &mut Case, asked: u64, work: impl Fn(DeviceWork) -> u64) -> Result<()> {
        let did = self.before.zip(device_work(&Root::here(), &self.stack));
        let did = did.map(|(before, after)| work(after).saturating_sub(work(before)));
        let share = did.filter(|_| asked > 0).map(|did| (did as f64 / asked as f64).min(1.0));
        case.also(Quantity::DEVICE_SHARE.name, share)
    }
}

/// Bytes that an access at a file's start moves: a page on most machines.
const PAGE_BYTES: u64 = 4096;

/// A file of a page on the disk of the scratch directory.
pub fn on_disk(case: &mut Case) -> Result<OwnedFd> {
    on_device(case, PAGE_BYTES)
}

/// The same as the axis `through` has it, and memory of a page to read it into or write it from.
pub fn at_start(case: &mut Case) -> Result<(OwnedFd, Buffer)> {
    let file = on_disk(case)?;
    if case.param::<String>("through")? == "direct" {
        files::bypass_cache(&file).or_unable(ReasonCode::Filesystem, || {
            say!("the filesystem of the scratch directory has no direct access")
        })?;
    }
    Ok((file, case.buffer(PAGE_BYTES, Pages::Base, None)?))
}
