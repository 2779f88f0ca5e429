//! Reads and writes of one file with many under way at once: io_uring(7) by raw system calls.

use std::io;
use std::mem::ManuallyDrop;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};

use crate::workloads::call::named;
use crate::workloads::memory::{Buffer, Pages};
use crate::workloads::storage::uring_queues::{Rings, Submission};

/// Operations of linux/io_uring.h.
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoDirection {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// A file, a block of memory for each request under way, and the rings that they go through.
pub struct IoRing {
    // Dropped before the file and the memory that the kernel may be told of.
    rings: Rings,
    file: OwnedFd,
    blocks: ManuallyDrop<Buffer>,
    block_bytes: usize,
    under_way: u32,
}

impl IoRing {
    /// A ring for `depth` requests of `block_bytes` each, for this thread alone. An error where the kernel has none or refuses
    /// it.
    pub fn new(file: OwnedFd, depth: u32, block_bytes: usize) -> io::Result<IoRing> {
        let rings = Rings::of_this_thread(depth)?;
        let blocks = ManuallyDrop::new(Buffer::map((depth as usize).saturating_mul(block_bytes), Pages::Base, None)?);
        Ok(IoRing { rings, file, blocks, block_bytes, under_way: 0 })
    }

    /// Requests that it has room for.
    pub fn depth(&self) -> usize {
        self.blocks.bytes().len() / self.block_bytes
    }

    /// The memory of `slot`, of which no request may be under way.
    pub fn block_mut(&mut self, slot: usize) -> &mut [u8] {
        &mut self.blocks.bytes_mut()[slot * self.block_bytes..][..self.block_bytes]
    }

    /// Hands the kernel a request of one block at `offset` of the file, in the memory of `slot`, of which no other may be
    /// under way. It is on its way when the call returns.
    pub fn submit(&mut self, slot: usize, direction: IoDirection, offset: u64) -> io::Result<()> {
        let address = self.block_mut(slot).as_mut_ptr() as u64;
        let submission = Submission {
            opcode: if direction == IoDirection::Read { OP_READ } else { OP_WRITE },
            file: self.file.as_raw_fd(),
            offset,
            address,
            length: self.block_bytes as u32,
            name: slot as u64,
            ..Submission::default()
        };
        // SAFETY: the memory lives as long as self, which waits for all that is under way before it goes; every request is
        // handed over by a call of its own, and no more than there are slots are under way.
        unsafe { self.rings.write(0, submission) };
        self.rings.publish(1);
        self.enter(1, 0)?;
        self.under_way += 1;
        Ok(())
    }

    /// Waits for a request to be done: its slot. An error where it failed, or moved less than a block.
    pub fn wait(&mut self) -> io::Result<usize> {
        let (slot, result) = self.next()?;
        match result {
            done if done == self.block_bytes as i32 => Ok(slot),
            done if done >= 0 => {
                Err(io::Error::other(say!("{done} of {block_bytes} bytes were moved", block_bytes = self.block_bytes)))
            }
            error => Err(named("io_uring", io::Error::from_raw_os_error(-error))),
        }
    }

    /// A request that is done, its slot, without waiting; none where none is. Errors as of [`IoRing::wait`].
    pub fn poll(&mut self) -> io::Result<Option<usize>> {
        if self.rings.completed() == 0 {
            self.rings.collect()?;
        }
        if self.rings.completed() == 0 { Ok(None) } else { self.wait().map(Some) }
    }

    fn next(&mut self) -> io::Result<(usize, i32)> {
        while self.rings.completed() == 0 {
            self.enter(0, 1)?;
        }
        let done = self.rings.completion(0);
        self.rings.take(1);
        self.under_way -= 1;
        Ok((done.name as usize, done.result))
    }

    fn enter(&self, submit: u32, complete: u32) -> io::Result<()> {
        loop {
            match self.rings.enter(submit, complete) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(taken) if taken < submit as usize => return Err(io::Error::other(say!("the ring took no request"))),
                Ok(_) => return Ok(()),
            }
        }
    }
}

impl Drop for IoRing {
    fn drop(&mut self) {
        // The kernel must be done with the memory before it is unmapped.
        while self.under_way > 0 {
            if self.next().is_err() {
                // Memory that the kernel may still write to stays mapped for good.
                return;
            }
        }
        // SAFETY: dropped here alone, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.blocks) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
    use crate::workloads::storage::files;

    #[test]
    fn what_is_written_by_many_requests_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let (depth, block) = (8, 4096);
        let file = files::unnamed(directory.path()).unwrap();
        files::fill(&file, depth as u64 * 2 * block as u64, |_| io::Result::Ok(())).unwrap();
        let copy = rustix::io::dup(&file).unwrap();
        let mut ring = match IoRing::new(file, depth, block) {
            Ok(ring) => ring,
            Err(error)
                if matches!(crate::workloads::call::errno(&error), Some(libc::EPERM | libc::ENOSYS | libc::ENOMEM)) =>
            {
                return skipped("there is no io_uring here");
            }
            Err(error) => panic!("{error}"),
        };
        let content = ring.blocks.bytes().to_vec();
        let mut round = |direction, base: u64| {
            for slot in 0..ring.depth() {
                ring.submit(slot, direction, base + (slot * block) as u64).unwrap();
            }
            let mut slots: Vec<usize> = (0..ring.depth()).map(|_| ring.wait().unwrap()).collect();
            slots.sort_unstable();
            assert_eq!(slots, (0..ring.depth()).collect::<Vec<_>>());
            ring.blocks.bytes().to_vec()
        };
        round(IoDirection::Write, 0);
        let mut read = vec![0; content.len()];
        files::read_at(&copy, 0, &mut read).unwrap();
        assert!(read == content);
        assert!(round(IoDirection::Read, content.len() as u64) != content);
        assert!(round(IoDirection::Read, 0) == content);
        // Beyond the end there is nothing to read, and what is under way when it goes is waited for.
        ring.submit(0, IoDirection::Read, 1 << 40).unwrap();
        assert!(ring.wait().is_err());
        ring.submit(1, IoDirection::Read, 0).unwrap();
    }
}
