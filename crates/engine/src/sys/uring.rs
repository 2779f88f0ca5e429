//! Reads and writes of one file with many under way at once: io_uring(7) by raw system calls.

use std::io;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::memory::{Buffer, Pages};

/// Operations and flags of linux/io_uring.h.
const IORING_OP_READ: u8 = 22;
const IORING_OP_WRITE: u8 = 23;
const IORING_ENTER_GETEVENTS: libc::c_uint = 1;
const IORING_FEAT_SINGLE_MMAP: u32 = 1;
const IORING_OFF_SQ_RING: libc::off_t = 0;
const IORING_OFF_SQES: libc::off_t = 0x1000_0000;

/// struct io_sqring_offsets and struct io_cqring_offsets: ten words each, of which these are used.
#[repr(C)]
#[derive(Default)]
struct Offsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    /// Of a submission ring: flags, dropped, array. Of a completion ring: overflow, entries, flags.
    rest: [u32; 3],
    reserved: u32,
    address: u64,
}

/// struct io_uring_params.
#[repr(C)]
#[derive(Default)]
struct Parameters {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    features: u32,
    wq_fd: u32,
    reserved: [u32; 3],
    sq: Offsets,
    cq: Offsets,
}

/// struct io_uring_sqe, 64 bytes.
#[repr(C)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    file: i32,
    offset: u64,
    address: u64,
    length: u32,
    operation_flags: u32,
    user_data: u64,
    rest: [u64; 3],
}

/// struct io_uring_cqe.
#[repr(C)]
#[derive(Clone, Copy)]
struct Completion {
    user_data: u64,
    result: i32,
    flags: u32,
}

const _: () = assert!(size_of::<Parameters>() == 120 && size_of::<Submission>() == 64 && size_of::<Completion>() == 16);

/// Memory that is shared with the kernel; unmapped when dropped.
struct Shared {
    start: NonNull<u8>,
    length: usize,
}

impl Shared {
    fn map(ring: &OwnedFd, length: usize, offset: libc::off_t) -> io::Result<Shared> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, ring.as_raw_fd(), offset) };
        match NonNull::new(address.cast::<u8>()) {
            Some(start) if address != libc::MAP_FAILED => Ok(Shared { start, length }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The word at `offset`, which the kernel reads or writes too.
    fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: the kernel gave this offset of an aligned word of the mapping, and both sides access it as a whole.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset as usize).cast()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `map` mapped; no borrow outlives self.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// A file, a block of memory for each request under way, and the ring that they go through.
pub struct Ring {
    // Dropped in this order: first the ring's memory, then its descriptor.
    entries: Shared,
    rings: Shared,
    parameters: Parameters,
    ring: OwnedFd,
    file: OwnedFd,
    blocks: ManuallyDrop<Buffer>,
    block_bytes: usize,
    under_way: u32,
}

impl Ring {
    /// A ring for `depth` requests of `block_bytes` each. An error where the kernel has none or refuses it.
    pub fn new(file: OwnedFd, depth: u32, block_bytes: usize) -> io::Result<Ring> {
        let mut parameters = Parameters::default();
        // SAFETY: the kernel reads and fills one structure of its own layout.
        let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, depth, &raw mut parameters) };
        let ring = i32::try_from(ring).ok().filter(|&ring| ring >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the descriptor has just been made, and nobody else knows it.
        let ring = unsafe { OwnedFd::from_raw_fd(ring) };
        if parameters.features & IORING_FEAT_SINGLE_MMAP == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let [.., array] = parameters.sq.rest;
        let [_, completions, _] = parameters.cq.rest;
        let ends = [
            array as usize + parameters.sq_entries as usize * size_of::<u32>(),
            completions as usize + parameters.cq_entries as usize * size_of::<Completion>(),
        ];
        let rings = Shared::map(&ring, ends[0].max(ends[1]), IORING_OFF_SQ_RING)?;
        let entries = Shared::map(&ring, parameters.sq_entries as usize * size_of::<Submission>(), IORING_OFF_SQES)?;
        let blocks = ManuallyDrop::new(Buffer::map(depth as usize * block_bytes, Pages::Base, None)?);
        Ok(Ring { entries, rings, parameters, ring, file, blocks, block_bytes, under_way: 0 })
    }

    /// Requests that it has room for.
    pub fn depth(&self) -> usize {
        self.blocks.bytes().len() / self.block_bytes
    }

    /// Hands the kernel a request of one block at `offset` of the file, in the memory of `slot`, of which no other may be
    /// under way. It is on its way when the call returns.
    pub fn submit(&mut self, slot: usize, direction: Direction, offset: u64) -> io::Result<()> {
        let memory = &mut self.blocks.bytes_mut()[slot * self.block_bytes..][..self.block_bytes];
        let submission = Submission {
            opcode: if direction == Direction::Read { IORING_OP_READ } else { IORING_OP_WRITE },
            flags: 0,
            priority: 0,
            file: self.file.as_raw_fd(),
            offset,
            address: memory.as_mut_ptr() as u64,
            length: self.block_bytes as u32,
            operation_flags: 0,
            user_data: slot as u64,
            rest: [0; 3],
        };
        let sq = &self.parameters.sq;
        let (tail, mask) = (self.rings.word(sq.tail), self.rings.word(sq.mask).load(Ordering::Relaxed));
        let at = tail.load(Ordering::Relaxed);
        let index = at & mask;
        // SAFETY: the index is below the number of entries by the mask; what the kernel was given before is behind its head,
        // as every request is handed over by a call of its own.
        unsafe { self.entries.start.as_ptr().cast::<Submission>().add(index as usize).write(submission) };
        let [.., array] = sq.rest;
        self.rings.word(array + index * size_of::<u32>() as u32).store(index, Ordering::Relaxed);
        tail.store(at.wrapping_add(1), Ordering::Release);
        self.enter(1, 0)?;
        self.under_way += 1;
        Ok(())
    }

    /// Waits for a request to be done: its slot. An error where it failed, or moved less than a block.
    pub fn wait(&mut self) -> io::Result<usize> {
        let (slot, result) = self.next()?;
        match result {
            done if done == self.block_bytes as i32 => Ok(slot),
            done if done >= 0 => Err(io::Error::other(format!("{done} of {} bytes were moved", self.block_bytes))),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    fn next(&mut self) -> io::Result<(usize, i32)> {
        loop {
            let cq = &self.parameters.cq;
            let (head, tail) = (self.rings.word(cq.head), self.rings.word(cq.tail));
            let at = head.load(Ordering::Relaxed);
            if at != tail.load(Ordering::Acquire) {
                let index = at & self.rings.word(cq.mask).load(Ordering::Relaxed);
                let [_, completions, _] = cq.rest;
                // SAFETY: the index is below the number of entries by the mask, and the kernel has filled this one.
                let done = unsafe {
                    let first = self.rings.start.as_ptr().add(completions as usize).cast::<Completion>();
                    first.add(index as usize).read()
                };
                head.store(at.wrapping_add(1), Ordering::Release);
                self.under_way -= 1;
                return Ok((done.user_data as usize, done.result));
            }
            self.enter(0, 1)?;
        }
    }

    fn enter(&self, submit: u32, complete: u32) -> io::Result<()> {
        loop {
            let flags = if complete > 0 { IORING_ENTER_GETEVENTS } else { 0 };
            let (ring, no_mask) = (self.ring.as_raw_fd(), std::ptr::null::<libc::sigset_t>());
            // SAFETY: what is submitted names memory that lives as long as self, which waits for all of it before it goes.
            let result =
                unsafe { libc::syscall(libc::SYS_io_uring_enter, ring, submit, complete, flags, no_mask, 0_usize) };
            match result {
                -1 => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
                taken if taken < i64::from(submit) => return Err(io::Error::other("the ring took no request")),
                _ => return Ok(()),
            }
        }
    }
}

impl Drop for Ring {
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
    use crate::sys::files;

    #[test]
    fn what_is_written_by_many_requests_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let (depth, block) = (8, 4096);
        let file = files::unnamed(directory.path()).unwrap();
        files::fill(&file, depth as u64 * 2 * block as u64).unwrap();
        let copy = rustix::io::dup(&file).unwrap();
        let mut ring = match Ring::new(file, depth, block) {
            Ok(ring) => ring,
            // Containers often forbid it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::ENOMEM)) => return,
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
        round(Direction::Write, 0);
        let mut read = vec![0; content.len()];
        files::read_at(&copy, 0, &mut read).unwrap();
        assert!(read == content);
        assert!(round(Direction::Read, content.len() as u64) != content);
        assert!(round(Direction::Read, 0) == content);
        // Beyond the end there is nothing to read, and what is under way when it goes is waited for.
        ring.submit(0, Direction::Read, 1 << 40).unwrap();
        assert!(ring.wait().is_err());
        ring.submit(1, Direction::Read, 0).unwrap();
    }
}
