//! Group file: files that are made, removed, read again from the cache, and written.

mod block;
mod create_delete;
mod io_uring;
mod kernel_block;
mod read_small;
mod reread;
mod write;

crate::group!("file":
    create_delete read_small reread = reread::REREAD open_reread = reread::OPEN_REREAD
    mmap_reread = reread::MMAP_REREAD mmap_open_reread = reread::MMAP_OPEN_REREAD write block io_uring kernel_block
);

use hostmark_engine::prelude::*;

use crate::fastest::Candidates;
use crate::kernels::bandwidth::{self, ReadKernel};
use crate::workloads::storage::files::{self, OwnedFd};
use crate::workloads::storage::path_ops::{FileNames, KernelPath};

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Files");

/// Axis size of files that are made and removed.
const SMALL: Axis = Axis::size("size", "0", Points::quick(&["0", "10240"]).standard(&["1024", "4096"]));
/// Axis size of files that are read again.
const SIZE: Axis = Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::InAll(1));
/// Axis data: what becomes of what was read.
const DATA: Axis = Axis::choice("data", "sum", Points::quick(&["sum"]).standard(&["unused"]));
/// Axis op: whether the block at a file's start is read or overwritten.
const OP: Axis = Axis::ways("op", "read", Points::quick(&["read", "write"]));
/// Largest read or write, as many programs do.
const BLOCK_BYTES: usize = 64 << 10;
/// Returns the sizes: from one sector to as much as the profile and the memory allow.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    const STANDARD: [u64; 6] = [512, 4 << 10, 64 << 10, 1 << 20, 8 << 20, 256 << 20];
    const THOROUGH: [u64; 6] = [1 << 10, 16 << 10, 256 << 10, 2 << 20, 32 << 20, 1 << 30];
    let listed = [64 << 20]
        .into_iter()
        .chain(if profile >= Profile::Standard { STANDARD.to_vec() } else { Vec::new() })
        .chain(if profile >= Profile::Thorough { THOROUGH.to_vec() } else { Vec::new() });
    let most = largest_buffer(profile).max(64 << 20).min(host.fillable_bytes() / 4);
    listed.filter(|&size| size <= most).collect()
}

/// Tells whether the case overwrites.
fn is_write(case: &Case) -> Result<bool> {
    Ok(case.param::<String>("op")? == "write")
}

/// Returns `count` names for files in a directory of the round, and the content of each, of the axis `size`.
fn small_files(case: &mut Case, count: usize) -> Result<(FileNames, Vec<u8>)> {
    let size: usize = case.param("size")?;
    let directory = crate::place::directory(case)?;
    crate::place::may_hold(case, &directory, (count * size.next_multiple_of(4096)) as u64)?;
    Ok((FileNames::new(&directory.join("files"), count)?, vec![b'x'; size]))
}

/// The file that the case's axes name, with its data in the cache.
fn cached(case: &mut Case) -> Result<(OwnedFd, usize)> {
    let size: u64 = case.param("size")?;
    let directory = crate::place::directory(case)?;
    Ok((crate::place::filled(case, &directory, size)?, usize::try_from(size)?))
}

/// The same by a name, to be opened.
fn cached_by_name(case: &mut Case) -> Result<(KernelPath, usize)> {
    let size: u64 = case.param("size")?;
    let directory = crate::place::directory(case)?;
    let mut filling = crate::place::may_hold(case, &directory, size)?;
    let path = directory.join("file");
    std::fs::File::create_new(&path).call("openat")?;
    files::fill(&files::open(&path, true)?, size, |written| filling.advance(written))?;
    Ok((KernelPath::new(&path)?, usize::try_from(size)?))
}

/// Returns the kernel that loads every byte of such memory: the fastest of all, by trials on it in the case's first round.
fn loading(case: &mut Case, memory: &[u8]) -> Result<&'static ReadKernel> {
    let is_cached = memory.len() as u64 <= case.llc_bytes();
    let usual = bandwidth::best_read(if is_cached { bandwidth::Reach::Caches } else { bandwidth::Reach::Memory });
    let kernels = Candidates::of_reads(case, 1, usual)?;
    let whole = memory.len() / bandwidth::CHUNK_BYTES * bandwidth::CHUNK_BYTES;
    kernels.chosen(case, (whole as u64, whole as u64), |kernel, part, times| {
        // Refused is only what is no whole number of chunks.
        let _ = kernel.run(&memory[part], times);
    })
}

/// Returns the kernel that loads every byte that was read into `block`, where it is to be loaded.
fn summing(case: &mut Case, block: &[u8]) -> Result<Option<&'static ReadKernel>> {
    match case.param::<String>("data")?.as_str() {
        "unused" => Ok(None),
        _ => loading(case, block).map(Some),
    }
}

/// A rate of passes over `size` bytes, of which one that went wrong ends the round.
#[inline(always)]
fn passes(case: &mut Case, size: usize, mut pass: impl FnMut() -> std::io::Result<()>) -> Result<()> {
    case.loops(|n| (0..n).try_for_each(|_| pass())).rate(size as u64)
}

/// Loads every byte of `memory`; what is less than a kernel's chunk is loaded a byte at a time.
#[inline(always)]
fn sum(kernel: &ReadKernel, memory: &[u8]) {
    let whole = memory.len() / bandwidth::CHUNK_BYTES * bandwidth::CHUNK_BYTES;
    if whole > 0 {
        // Refused is only what is no whole number of chunks.
        let _ = kernel.run(&memory[..whole], 1);
    }
    for &byte in &memory[whole..] {
        std::hint::black_box(byte);
    }
}

/// Reads the file from its start to its end, a block at a time, and sums every block where a kernel is given.
#[inline(always)]
fn read_all(file: &OwnedFd, size: usize, block: &mut [u8], kernel: Option<&ReadKernel>) -> std::io::Result<()> {
    let mut done = 0;
    while done < size {
        let part = &mut block[..BLOCK_BYTES.min(size - done)];
        files::read_at(file, done as u64, part)?;
        if let Some(kernel) = kernel {
            sum(kernel, part);
        }
        done += part.len();
    }
    Ok(())
}
