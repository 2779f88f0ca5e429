//! Operations under io_uring(7) by raw system calls: many reads and writes of a file, batches of cached blocks, and no-ops.

use std::io;
use std::mem::ManuallyDrop;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};

use crate::workloads::call::named;
use crate::workloads::memory::{Buffer, Pages};
use crate::workloads::storage::files;
use crate::workloads::storage::uring_queues::{Poller, Rings, Submission};

/// Operations of linux/io_uring.h.
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoDirection {
    Read,
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
    /// A ring for `depth` requests of `block_bytes` each, for this thread alone. Fails where the kernel has none or refuses it.
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

    /// Submits a request of one block at `offset` of the file, in the memory of `slot`, of which no other may be under way.
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

/// Operations and flags of linux/io_uring.h.
const OP_READ_FIXED: u8 = 4;
const OP_WRITE_FIXED: u8 = 5;
const ENTRY_FIXED_FILE: u8 = 1 << 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// pread64(2) or pwrite64(2), a call for each.
    Call,
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
    /// Batches of `batch` blocks of a file of whole batches, `file_bytes`. `poller` as of a ring of operations that do nothing.
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

/// The kernel's thread polls for so long after the last submission, ms: longer than any pause between two samples.
const POLLS_MS: u32 = 200;
/// Number of looks for a completion after which the CPU is offered to others: the kernel's thread may need this one.
const PATIENCE: u32 = 1 << 14;

/// A ring on which batches of operations that do nothing are submitted and completed.
#[derive(Debug)]
pub struct Nops(Batches);

impl Nops {
    /// A ring for batches of `batch`. `poller`: the CPU of a kernel thread that takes submissions without a call (SQPOLL).
    pub fn new(batch: u32, poller: Option<usize>) -> io::Result<Nops> {
        Batches::new(batch, poller).map(Nops)
    }

    /// Submits a batch, waits for all completions and takes them; fails when one is missing, failed or another batch's.
    #[inline]
    pub fn submit_and_complete(&mut self) -> io::Result<()> {
        // SAFETY: an operation that does nothing names no memory.
        unsafe { self.0.submit_and_complete(0, |_| Submission::default()) }
    }
}

/// A ring for batches of one size, each of which is completed before the next.
#[derive(Debug)]
pub(crate) struct Batches {
    pub rings: Rings,
    batch: u32,
    is_polled: bool,
    /// Operations so far: the name of the next.
    done: u32,
    /// True where the kernel may still be at work on a batch: it was handed over, and not all of it was seen to end.
    pub is_under_way: bool,
}

impl Batches {
    /// Makes rings like [`Nops::new`].
    pub fn new(batch: u32, poller: Option<usize>) -> io::Result<Batches> {
        let cpu = poller.map(u32::try_from).transpose().map_err(|_| io::ErrorKind::InvalidInput)?;
        let rings = Rings::new(batch, cpu.map(|cpu| Poller { cpu, idle_ms: POLLS_MS }))?;
        Ok(Batches::on(rings, batch, cpu.is_some()))
    }

    /// Makes the batches on a ring that has room for them.
    pub fn on(rings: Rings, batch: u32, is_polled: bool) -> Batches {
        Batches { rings, batch, is_polled, done: 0, is_under_way: false }
    }

    /// Submits what `entry` makes of each number below the batch's size, as [`Nops::submit_and_complete`] does; each must end
    /// with `result`.
    ///
    /// # Safety
    /// What the entries name has to live until this returns, and if [`Batches::is_under_way`] then, for ever.
    #[inline(always)]
    pub unsafe fn submit_and_complete(&mut self, result: i32, entry: impl Fn(u32) -> Submission) -> io::Result<()> {
        for number in 0..self.batch {
            let name = u64::from(self.done.wrapping_add(number));
            // SAFETY: the caller's; the batch before has been completed.
            unsafe { self.rings.write(number, Submission { name, ..entry(number) }) };
        }
        self.is_under_way = true;
        self.rings.publish(self.batch);
        self.hand_over(self.batch, self.batch)?;
        self.complete(result)
    }

    /// Has the kernel take `submit` published entries; where it has to be called for that, it is back when `complete` more have ended.
    #[inline(always)]
    pub fn hand_over(&self, submit: u32, complete: u32) -> io::Result<()> {
        if self.is_polled {
            return self.rings.wake(submit);
        }
        match self.rings.enter(submit, complete)? {
            taken if taken == submit as usize => Ok(()),
            _ => Err(io::Error::other(say!("the kernel took a part of the batch"))),
        }
    }

    /// Spins until `count` completions are there.
    #[inline(always)]
    pub fn await_completions(&self, count: u32) {
        let mut looks = 0_u32;
        while self.rings.completed() < count {
            looks += 1;
            if looks.is_multiple_of(PATIENCE) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    #[inline(always)]
    fn complete(&mut self, result: i32) -> io::Result<()> {
        self.await_completions(self.batch);
        self.is_under_way = false;
        // Those that other threads of the kernel do may end in any order, but each once.
        let mut numbers = 0;
        for ahead in 0..self.batch {
            let done = self.rings.completion(ahead);
            let number = (done.name as u32).wrapping_sub(self.done);
            if number >= self.batch || done.result != result {
                return Err(done.unexpected());
            }
            numbers += u64::from(number);
        }
        if numbers != u64::from(self.batch) * u64::from(self.batch - 1) / 2 {
            return Err(io::Error::other(say!("the kernel took a part of the batch")));
        }
        self.rings.take(self.batch);
        self.done = self.done.wrapping_add(self.batch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
    use crate::workloads::storage::files;

    /// Returns `None`, and says so, where there is no io_uring, or too little memory may be locked.
    fn here<T>(made: io::Result<T>) -> Option<T> {
        let lacks = [libc::EPERM, libc::ENOSYS, libc::ENOMEM, libc::EACCES];
        match made {
            Ok(made) => Some(made),
            Err(error) if crate::workloads::call::errno(&error).is_some_and(|errno| lacks.contains(&errno)) => {
                skipped("there is no io_uring here, or too little memory may be locked");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn what_is_written_by_many_requests_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let (depth, block) = (8, 4096);
        let file = files::unnamed(directory.path()).unwrap();
        files::fill(&file, depth as u64 * 2 * block as u64, |_| io::Result::Ok(())).unwrap();
        let copy = rustix::io::dup(&file).unwrap();
        let Some(mut ring) = here(IoRing::new(file, depth, block)) else { return };
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
            let Some(mut reads) = here(of(IoDirection::Read)) else { return };
            for half in [0, 1, 0] {
                reads.transfer().unwrap();
                assert!(reads.blocks.bytes_mut() == &content[half * 4 * BLOCK..][..4 * BLOCK], "{asked:?} {half}");
            }
            let mut writes = of(IoDirection::Write).unwrap();
            writes.blocks.bytes_mut().fill(7);
            writes.transfer().unwrap();
            let mut after = vec![0; 8 * BLOCK];
            files::read_at(&file, 0, &mut after).unwrap();
            assert!(after[..4 * BLOCK] == [7; 4 * BLOCK] && after[4 * BLOCK..] == content[4 * BLOCK..], "{asked:?}");
        }
    }

    #[test]
    fn every_operation_of_every_batch_is_completed_once() {
        let last = crate::workloads::affinity::allowed().unwrap().last().copied();
        for poller in [None, last] {
            for batch in [1, 3, 32] {
                let Some(mut nops) = here(Nops::new(batch, poller)) else { return };
                (0..100).for_each(|_| nops.submit_and_complete().unwrap());
                assert_eq!(nops.0.done, 100 * batch);
            }
        }
    }
}
