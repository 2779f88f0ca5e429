//! Blocks of a cached file, read or written in batches: by io_uring(7), with and without registered memory and file, or by a
//! call for each.

use std::io;
use std::mem::ManuallyDrop;

use rustix::fd::{AsRawFd, OwnedFd};

use crate::workloads::memory::{Buffer, Pages};
use crate::workloads::storage::files;
use crate::workloads::storage::uring::IoDirection;
use crate::workloads::storage::uring_nop::Batches;
use crate::workloads::storage::uring_queues::Submission;

/// Operations and flags of linux/io_uring.h.
const OP_READ_FIXED: u8 = 4;
const OP_WRITE_FIXED: u8 = 5;
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;
const ENTRY_FIXED_FILE: u8 = 1 << 0;

/// How blocks are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// pread64(2) or pwrite64(2), a call for each.
    Call,
    /// Entries of a ring.
    Ring,
    /// The same, of memory and a file that were registered once.
    Registered,
}

/// A file, memory for a batch of its blocks, and how they are asked for.
pub struct FileBatches {
    // Dropped before the file and the memory that the kernel may be told of.
    ring: Option<Batches>,
    is_registered: bool,
    file: OwnedFd,
    blocks: ManuallyDrop<Buffer>,
    block_bytes: usize,
    direction: IoDirection,
    /// The file's bytes, and where the next batch begins.
    file_bytes: u64,
    next: u64,
}

impl FileBatches {
    /// Batches of `batch` blocks of a file that holds a whole number of batches in `file_bytes`. `poller` as of a ring of
    /// operations that do nothing.
    pub fn new(
        (file, file_bytes): (OwnedFd, u64),
        (batch, block_bytes): (u32, usize),
        (direction, asked): (IoDirection, Asked),
        poller: Option<usize>,
    ) -> io::Result<FileBatches> {
        let mut blocks = Buffer::map((batch as usize).saturating_mul(block_bytes), Pages::Base, None)?;
        let ring = match asked {
            Asked::Call => None,
            _ => Some(Batches::new(batch, poller)?),
        };
        if let (Some(ring), Asked::Registered) = (&ring, asked) {
            // SAFETY: the ring is dropped before the memory.
            unsafe { ring.rings.register(blocks.bytes_mut(), &file) }?;
        }
        Ok(FileBatches {
            ring,
            is_registered: asked == Asked::Registered,
            file,
            blocks: ManuallyDrop::new(blocks),
            block_bytes,
            direction,
            file_bytes,
            next: 0,
        })
    }

    /// Moves the next batch of blocks, those after the last one's; behind the file's end it begins anew.
    #[inline]
    pub fn transfer(&mut self) -> io::Result<()> {
        let (begin, bytes) = (self.next, self.blocks.bytes().len() as u64);
        self.next = if begin + 2 * bytes > self.file_bytes { 0 } else { begin + bytes };
        let Some(ring) = &mut self.ring else { return self.by_calls(begin) };
        let (is_read, is_registered) = (self.direction == IoDirection::Read, self.is_registered);
        let opcode = match (is_read, is_registered) {
            (true, false) => OP_READ,
            (true, true) => OP_READ_FIXED,
            (false, false) => OP_WRITE,
            (false, true) => OP_WRITE_FIXED,
        };
        let (flags, file) = if is_registered { (ENTRY_FIXED_FILE, 0) } else { (0, self.file.as_raw_fd()) };
        let (address, block_bytes) = (self.blocks.bytes_mut().as_mut_ptr() as u64, self.block_bytes as u64);
        let entry = |number| Submission {
            opcode,
            flags,
            file,
            offset: begin + u64::from(number) * block_bytes,
            address: address + u64::from(number) * block_bytes,
            length: block_bytes as u32,
            ..Submission::default()
        };
        // SAFETY: each entry names a block of its own, and the memory is kept for ever if the kernel may still be at work on it.
        unsafe { ring.submit_and_complete(block_bytes as i32, entry) }
    }

    #[inline(always)]
    fn by_calls(&mut self, begin: u64) -> io::Result<()> {
        let (blocks, file, block_bytes) = (self.blocks.bytes_mut(), &self.file, self.block_bytes);
        let mut each = (begin..).step_by(block_bytes).zip(blocks.chunks_exact_mut(block_bytes));
        match self.direction {
            IoDirection::Read => each.try_for_each(|(offset, block)| files::read_at(file, offset, block)),
            IoDirection::Write => each.try_for_each(|(offset, block)| files::write_at(file, offset, block)),
        }
    }

    /// The memory of the last batch.
    pub fn blocks_mut(&mut self) -> &mut [u8] {
        self.blocks.bytes_mut()
    }
}

impl Drop for FileBatches {
    fn drop(&mut self) {
        // Memory that the kernel may still write to stays mapped for good.
        if self.ring.take().is_none_or(|ring| !ring.is_under_way) {
            // SAFETY: dropped here alone, and not used afterwards; the ring that knows of it is gone.
            unsafe { ManuallyDrop::drop(&mut self.blocks) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn however_they_are_asked_for_the_same_blocks_move_one_batch_after_another() {
        const BLOCK: usize = 512;
        let directory = tempfile::tempdir().unwrap();
        let last = crate::workloads::affinity::allowed().unwrap().last().copied();
        for (asked, poller) in
            [(Asked::Call, None), (Asked::Ring, None), (Asked::Registered, None), (Asked::Registered, last)]
        {
            let file = files::unnamed(directory.path()).unwrap();
            files::fill(&file, 8 * BLOCK as u64, |_| io::Result::Ok(())).unwrap();
            let mut content = vec![0; 8 * BLOCK];
            files::read_at(&file, 0, &mut content).unwrap();
            let of = |direction| {
                let file = files::copy(&file).unwrap();
                FileBatches::new((file, 8 * BLOCK as u64), (4, BLOCK), (direction, asked), poller)
            };
            let mut reads = match of(IoDirection::Read) {
                Ok(reads) => reads,
                Err(error)
                    if matches!(
                        crate::workloads::call::errno(&error),
                        Some(libc::ENOSYS | libc::EPERM | libc::EACCES | libc::ENOMEM)
                    ) =>
                {
                    return skipped("there is no io_uring here, or too little memory may be locked");
                }
                Err(error) => panic!("{error}"),
            };
            for half in [0, 1, 0] {
                reads.transfer().unwrap();
                assert!(reads.blocks_mut() == &content[half * 4 * BLOCK..][..4 * BLOCK], "{asked:?} {half}");
            }
            let mut writes = of(IoDirection::Write).unwrap();
            writes.blocks_mut().fill(7);
            writes.transfer().unwrap();
            let mut after = vec![0; 8 * BLOCK];
            files::read_at(&file, 0, &mut after).unwrap();
            assert!(after[..4 * BLOCK] == [7; 4 * BLOCK] && after[4 * BLOCK..] == content[4 * BLOCK..], "{asked:?}");
        }
    }
}
