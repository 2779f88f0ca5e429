//! io_uring by its three system calls and its shared memory: operations that do nothing, in batches.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{arch, checked};

/// Constants of the kernel's interface (include/uapi/linux/io_uring.h).
const SETUP_SQPOLL: u32 = 1 << 1;
const ENTER_GETEVENTS: usize = 1 << 0;
const ENTER_SQ_WAKEUP: usize = 1 << 1;
const SQ_NEED_WAKEUP: u32 = 1 << 0;
const OFFSET_SQ: i64 = 0;
const OFFSET_CQ: i64 = 0x800_0000;
const OFFSET_ENTRIES: i64 = 0x1000_0000;
/// What a submission entry and a completion entry are long, bytes, and where each carries the number that names it.
const ENTRY_BYTES: usize = 64;
const ENTRY_NAME: usize = 32;
const COMPLETION_BYTES: usize = 16;
/// The kernel's thread polls for so long after the last submission, ms: longer than any pause between two samples.
const POLLS_MS: u32 = 200;
/// After so many looks for a completion the CPU is offered to others: the kernel's thread may need this one.
const PATIENCE: u32 = 1 << 14;

/// io_uring_params of the kernel: what is asked for, and where everything lies.
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

/// io_sqring_offsets and io_cqring_offsets, which differ in what the last three are called.
#[repr(C)]
#[derive(Default)]
struct Offsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    /// Submissions: flags. Completions: overflow.
    fifth: u32,
    /// Submissions: dropped. Completions: the entries.
    sixth: u32,
    /// Submissions: the array of indices. Completions: flags.
    seventh: u32,
    reserved: u32,
    user: u64,
}

/// Memory that the kernel shares with this process.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn of(ring: &OwnedFd, offset: i64, bytes: usize) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, ring.as_raw_fd(), offset) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::other("mmap gave address 0"))?;
        Ok(Mapping { start, bytes })
    }

    /// Where `bytes` bytes at `offset` lie.
    #[inline(always)]
    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset + bytes <= self.bytes, "the kernel's offsets lie in its memory");
        // SAFETY: inside the mapping, as checked.
        unsafe { self.start.as_ptr().add(offset) }
    }

    #[inline(always)]
    fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: four bytes inside the mapping, which lives as long as self; the kernel aligns its words.
        unsafe { AtomicU32::from_ptr(self.at(offset as usize, 4).cast()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `of` mapped; no borrow outlives self.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A ring on which batches of operations that do nothing are submitted and completed.
#[derive(Debug)]
pub struct Nops {
    submissions: Mapping,
    completions: Mapping,
    entries: Mapping,
    ring: OwnedFd,
    parameters: Box<Parameters>,
    batch: u32,
    is_polled: bool,
    /// Operations so far: the name of the next.
    done: u32,
}

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parameters").field("flags", &self.flags).finish_non_exhaustive()
    }
}

impl Nops {
    /// A ring for batches of `batch`. `is_polled`: a thread of the kernel takes submissions without being called (SQPOLL).
    pub fn new(batch: u32, is_polled: bool) -> io::Result<Nops> {
        let mut parameters = Box::<Parameters>::default();
        if is_polled {
            parameters.flags = SETUP_SQPOLL;
            parameters.sq_thread_idle = POLLS_MS;
        }
        let asked = std::ptr::from_mut(&mut *parameters) as usize;
        // SAFETY: the kernel reads and writes one structure of parameters.
        let ring = checked(unsafe { arch::call(libc::SYS_io_uring_setup, [batch as usize, asked, 0, 0, 0, 0]) })?;
        // SAFETY: the kernel made this descriptor for us, and nobody else knows it.
        let ring = unsafe { OwnedFd::from_raw_fd(ring as i32) };
        let (sq, cq) = (&parameters.sq, &parameters.cq);
        let submissions = Mapping::of(&ring, OFFSET_SQ, sq.seventh as usize + 4 * parameters.sq_entries as usize)?;
        let completion_bytes = cq.sixth as usize + COMPLETION_BYTES * parameters.cq_entries as usize;
        let completions = Mapping::of(&ring, OFFSET_CQ, completion_bytes)?;
        let entries = Mapping::of(&ring, OFFSET_ENTRIES, ENTRY_BYTES * parameters.sq_entries as usize)?;
        // Each place of the queue has the entry of the same number.
        for index in 0..parameters.sq_entries {
            submissions.word(sq.seventh + 4 * index).store(index, Ordering::Relaxed);
        }
        Ok(Nops { submissions, completions, entries, ring, parameters, batch, is_polled, done: 0 })
    }

    /// Submits a batch, waits until all of it is completed, and takes the completions; an error when one is missing, failed
    /// or is another one's.
    #[inline]
    pub fn submit_and_complete(&mut self) -> io::Result<()> {
        let sq = &self.parameters.sq;
        let tail = self.submissions.word(sq.tail);
        let (from, mask) = (tail.load(Ordering::Relaxed), self.parameters.sq_entries - 1);
        for number in 0..self.batch {
            let entry = ENTRY_BYTES * (from.wrapping_add(number) & mask) as usize;
            let name = u64::from(self.done.wrapping_add(number));
            let place = self.entries.at(entry, ENTRY_BYTES);
            // SAFETY: one entry inside the mapping, aligned to 8 bytes; an entry of zeros does nothing (IORING_OP_NOP), and the
            // kernel does not read it before the tail has passed it.
            unsafe {
                place.write_bytes(0, ENTRY_BYTES);
                place.add(ENTRY_NAME).cast::<u64>().write(name);
            }
        }
        tail.store(from.wrapping_add(self.batch), Ordering::Release);
        self.submit()?;
        self.complete()
    }

    fn submit(&self) -> io::Result<()> {
        if !self.is_polled {
            return match self.enter(self.batch as usize, self.batch as usize, ENTER_GETEVENTS)? {
                taken if taken == self.batch as usize => Ok(()),
                _ => Err(io::Error::other("the kernel took a part of the batch")),
            };
        }
        // The new tail must be seen before the flag is read.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.submissions.word(self.parameters.sq.fifth).load(Ordering::Relaxed) & SQ_NEED_WAKEUP != 0 {
            self.enter(self.batch as usize, 0, ENTER_SQ_WAKEUP)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn enter(&self, submitted: usize, least: usize, flags: usize) -> io::Result<usize> {
        let arguments = [self.ring.as_raw_fd() as usize, submitted, least, flags, 0, 0];
        // SAFETY: no signal mask is given; all else lies in the memory that is shared already.
        checked(unsafe { arch::call(libc::SYS_io_uring_enter, arguments) })
    }

    fn complete(&mut self) -> io::Result<()> {
        let cq = &self.parameters.cq;
        let (head, tail) = (self.completions.word(cq.head), self.completions.word(cq.tail));
        let from = head.load(Ordering::Relaxed);
        let mut looks = 0_u32;
        while tail.load(Ordering::Acquire).wrapping_sub(from) < self.batch {
            looks += 1;
            if looks.is_multiple_of(PATIENCE) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        let mask = self.parameters.cq_entries - 1;
        for number in 0..self.batch {
            let offset = cq.sixth as usize + COMPLETION_BYTES * (from.wrapping_add(number) & mask) as usize;
            let place = self.completions.at(offset, COMPLETION_BYTES);
            // SAFETY: one completion inside the mapping, which the kernel wrote before it moved the tail: name and result.
            let (name, result) = unsafe { (place.cast::<u64>().read(), place.add(8).cast::<i32>().read()) };
            if name != u64::from(self.done.wrapping_add(number)) || result != 0 {
                return Err(io::Error::other(format!("operation {name} ended with {result}")));
            }
        }
        head.store(from.wrapping_add(self.batch), Ordering::Release);
        self.done = self.done.wrapping_add(self.batch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_every_batch_is_completed_once() {
        assert_eq!(size_of::<Parameters>(), 120);
        for is_polled in [false, true] {
            for batch in [1, 3, 32] {
                let mut nops = match Nops::new(batch, is_polled) {
                    Ok(nops) => nops,
                    // Kernels, containers and emulators without it.
                    Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EACCES)) => {
                        return;
                    }
                    Err(error) => panic!("{error}"),
                };
                (0..100).for_each(|_| nops.submit_and_complete().unwrap());
                assert_eq!(nops.done, 100 * batch);
            }
        }
    }
}
