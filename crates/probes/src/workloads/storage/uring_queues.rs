//! The two rings of an io_uring(7) as this process shares them with the kernel: made, filled and read, by raw system calls.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use hostmark_engine::prelude::say;
use hostmark_engine::prelude::sys::mapped::{Mapped, READ_WRITE};
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::workloads::call::errno;
use crate::workloads::{checked, machine::arch};

/// Constants of the kernel's interface (include/uapi/linux/io_uring.h).
const SETUP_SQPOLL: u32 = 1 << 1;
const SETUP_SQ_AFF: u32 = 1 << 2;
const SETUP_COOP_TASKRUN: u32 = 1 << 8;
const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
const SETUP_DEFER_TASKRUN: u32 = 1 << 13;
const FEATURE_SINGLE_MMAP: u32 = 1 << 0;
const ENTER_GETEVENTS: usize = 1 << 0;
const ENTER_SQ_WAKEUP: usize = 1 << 1;
const SQ_NEED_WAKEUP: u32 = 1 << 0;
const REGISTER_BUFFERS: usize = 0;
const REGISTER_FILES: usize = 2;
const REGISTER_BUFFER_RING: usize = 22;
const OFFSET_RINGS: libc::off_t = 0;
const OFFSET_ENTRIES: libc::off_t = 0x1000_0000;

/// io_uring_params of the kernel: what is asked for, and where everything lies.
#[repr(C)]
#[derive(Debug, Default)]
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
#[derive(Debug, Default)]
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

/// io_uring_sqe, 64 bytes; zeros are an operation that does nothing (IORING_OP_NOP).
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Submission {
    pub opcode: u8,
    pub flags: u8,
    pub priority: u16,
    pub file: i32,
    pub offset: u64,
    pub address: u64,
    pub length: u32,
    pub operation_flags: u32,
    pub name: u64,
    pub rest: [u64; 3],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Completion {
    pub name: u64,
    /// Result of the operation; negative is an error.
    pub result: i32,
    pub flags: u32,
}

impl Completion {
    pub fn unexpected(self) -> io::Error {
        let (name, result) = (self.name, self.result);
        io::Error::other(say!("operation {name} ended with {result}"))
    }
}

const _: () = assert!(size_of::<Parameters>() == 120 && size_of::<Submission>() == 64 && size_of::<Completion>() == 16);

/// Memory that is shared with the kernel.
#[derive(Debug)]
struct Mapping(Mapped);

impl Mapping {
    fn of(ring: &OwnedFd, offset: libc::off_t, bytes: usize) -> io::Result<Mapping> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Ok(Mapping(Mapped::of_file(ring.as_fd(), offset, bytes, READ_WRITE, flags)?))
    }

    /// Item `index` of those that begin at `offset`.
    #[inline(always)]
    fn item<T>(&self, offset: u32, index: u32) -> *mut T {
        let at = offset as usize + index as usize * size_of::<T>();
        assert!(at + size_of::<T>() <= self.0.bytes(), "the kernel's offsets lie in its memory");
        // SAFETY: inside the mapping, as checked.
        unsafe { self.0.start().add(at).cast() }
    }

    /// A word that both sides access as a whole.
    #[inline(always)]
    fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: inside the mapping, which lives as long as self; the kernel aligns its words.
        unsafe { AtomicU32::from_ptr(self.item(offset, 0)) }
    }
}

/// A thread of the kernel that looks for submissions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Poller {
    /// CPU of the thread. Left to itself it would be bound to those of the thread that makes the ring (Linux 6.2 and later).
    pub cpu: u32,
    /// Time without submissions after which it sleeps, ms.
    pub idle_ms: u32,
}

/// Rings of submissions and completions, which have one mapping (Linux 5.4 and later), and the entries of the first.
#[derive(Debug)]
pub(crate) struct Rings {
    // Dropped in this order: first the memory, then the descriptor.
    entries: Mapping,
    rings: Mapping,
    // Apart from what the measuring thread writes.
    parameters: Box<Parameters>,
    ring: OwnedFd,
}

impl Rings {
    /// Rings for so many submissions; with a poller a kernel thread takes them. Fails where the kernel has no rings or refuses them.
    pub fn new(entries: u32, poller: Option<Poller>) -> io::Result<Rings> {
        Rings::set_up(
            entries,
            poller.map_or(Parameters::default(), |Poller { cpu, idle_ms }| Parameters {
                flags: SETUP_SQPOLL | SETUP_SQ_AFF,
                sq_thread_cpu: cpu,
                sq_thread_idle: idle_ms,
                ..Parameters::default()
            }),
        )
    }

    /// Rings for so many submissions, all handed over and waited for by the thread that makes them. The end of a request is
    /// then kept until the thread waits (IORING_SETUP_DEFER_TASKRUN, Linux 6.1 and later, or _COOP_TASKRUN, 5.19), where
    /// else the thread is interrupted for it, which a waiting thread pays with a way out of the kernel and back.
    pub fn of_this_thread(entries: u32) -> io::Result<Rings> {
        const KINDS: [u32; 3] = [SETUP_COOP_TASKRUN | SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN, SETUP_COOP_TASKRUN, 0];
        let mut refused = None;
        for flags in KINDS {
            match Rings::set_up(entries, Parameters { flags, ..Parameters::default() }) {
                // An older kernel does not know the flags.
                Err(error) if errno(&error) == Some(libc::EINVAL) => refused = Some(error),
                made => return made,
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
    }

    fn set_up(entries: u32, mut parameters: Parameters) -> io::Result<Rings> {
        let filled = (&raw mut parameters) as usize;
        // SAFETY: the kernel reads and fills one structure of its own layout.
        let ring = checked("io_uring_setup", unsafe {
            arch::call(libc::SYS_io_uring_setup, [entries as usize, filled, 0, 0, 0, 0])
        })?;
        // SAFETY: the kernel made this descriptor for us, and nobody else knows it.
        let ring = unsafe { OwnedFd::from_raw_fd(ring as i32) };
        if parameters.features & FEATURE_SINGLE_MMAP == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (sq, cq) = (&parameters.sq, &parameters.cq);
        let end_of_indices = sq.seventh as usize + parameters.sq_entries as usize * size_of::<u32>();
        let end_of_completions = cq.sixth as usize + parameters.cq_entries as usize * size_of::<Completion>();
        let rings = Mapping::of(&ring, OFFSET_RINGS, end_of_indices.max(end_of_completions))?;
        let bytes = parameters.sq_entries as usize * size_of::<Submission>();
        let entries = Mapping::of(&ring, OFFSET_ENTRIES, bytes)?;
        // Each place of the ring has the entry of the same number.
        for index in 0..parameters.sq_entries {
            // SAFETY: a word inside the mapping, which the kernel does not read before something is submitted.
            unsafe { rings.item::<u32>(sq.seventh, index).write(index) };
        }
        Ok(Rings { entries, rings, parameters: Box::new(parameters), ring })
    }

    /// Writes the entry of the submission that is `ahead` of the next; [`Rings::publish`] hands it over.
    ///
    /// # Safety
    /// What the entry names has to live until its completion has been taken. As many as there are entries may be under way.
    #[inline(always)]
    pub unsafe fn write(&mut self, ahead: u32, submission: Submission) {
        let tail = self.rings.word(self.parameters.sq.tail).load(Ordering::Relaxed);
        let index = tail.wrapping_add(ahead) & (self.parameters.sq_entries - 1);
        // SAFETY: the index is below the number of entries by the mask; the kernel does not read it before the tail has
        // passed it.
        unsafe { self.entries.item::<Submission>(0, index).write(submission) };
    }

    /// Lets the kernel see the next `count` submissions.
    #[inline(always)]
    pub fn publish(&mut self, count: u32) {
        let tail = self.rings.word(self.parameters.sq.tail);
        tail.store(tail.load(Ordering::Relaxed).wrapping_add(count), Ordering::Release);
    }

    /// Makes the memory of `block` the ring's buffer 0 and `file` its file 0, by io_uring_register(2): requests then name them by
    /// these numbers, and the kernel neither pins pages nor counts users of the file for each.
    ///
    /// # Safety
    /// The memory has to live as long as the rings.
    pub unsafe fn register(&self, block: &mut [u8], file: &OwnedFd) -> io::Result<()> {
        let vector = libc::iovec { iov_base: block.as_mut_ptr().cast(), iov_len: block.len() };
        // SAFETY: the kernel reads one vector, whose memory lives as the caller says.
        unsafe { self.call_register(REGISTER_BUFFERS, (&raw const vector) as usize, 1) }?;
        self.register_files(&[file.as_raw_fd()])
    }

    /// Makes these the ring's files, by their places.
    pub fn register_files(&self, files: &[RawFd]) -> io::Result<()> {
        // SAFETY: the kernel reads as many descriptors.
        unsafe { self.call_register(REGISTER_FILES, files.as_ptr() as usize, files.len()) }
    }

    /// Has requests take their memory from group 0, a ring of `entries` buffers at `address` that the caller fills (Linux 5.19 and
    /// later).
    ///
    /// # Safety
    /// The ring, at a page's begin, and the buffers that are in it have to live as long as the rings and what is under way.
    pub unsafe fn register_buffer_ring(&self, address: u64, entries: u32) -> io::Result<()> {
        // struct io_uring_buf_reg: the address, the number of entries, and zeros for the group, flags and what is reserved.
        let group = [address, u64::from(entries), 0, 0, 0];
        // SAFETY: the kernel reads one structure; the memory that it names lives as the caller says.
        unsafe { self.call_register(REGISTER_BUFFER_RING, group.as_ptr() as usize, 1) }
    }

    /// # Safety
    /// `first` is where `count` of what the kernel expects of `what` lie, and what these name lives as long as the kernel may use it.
    unsafe fn call_register(&self, what: usize, first: usize, count: usize) -> io::Result<()> {
        let arguments = [self.ring.as_raw_fd() as usize, what, first, count, 0, 0];
        // SAFETY: the caller's.
        checked("io_uring_register", unsafe { arch::call(libc::SYS_io_uring_register, arguments) }).map(drop)
    }

    /// io_uring_enter(2): submits `submit` and waits for `complete` completions; how many were submitted.
    #[inline(always)]
    pub fn enter(&self, submit: u32, complete: u32) -> io::Result<usize> {
        self.call(submit, complete, if complete > 0 { ENTER_GETEVENTS } else { 0 })
    }

    /// Has the kernel hand over what is done and kept until the thread asks, without waiting.
    #[inline(always)]
    pub fn collect(&self) -> io::Result<()> {
        match self.call(0, 0, ENTER_GETEVENTS) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Wakes the kernel thread that takes submissions, if it has gone to sleep.
    #[inline(always)]
    pub fn wake(&self, submitted: u32) -> io::Result<()> {
        // The new tail must be seen before the flag is read.
        fence(Ordering::SeqCst);
        if self.rings.word(self.parameters.sq.fifth).load(Ordering::Relaxed) & SQ_NEED_WAKEUP != 0 {
            self.call(submitted, 0, ENTER_SQ_WAKEUP)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn call(&self, submit: u32, complete: u32, flags: usize) -> io::Result<usize> {
        let arguments = [self.ring.as_raw_fd() as usize, submit as usize, complete as usize, flags, 0, 0];
        // SAFETY: no signal mask is given; what is submitted names memory that lives, as `write` asks.
        checked("io_uring_enter", unsafe { arch::call(libc::SYS_io_uring_enter, arguments) })
    }

    #[inline(always)]
    pub fn completed(&self) -> u32 {
        let cq = &self.parameters.cq;
        let tail = self.rings.word(cq.tail).load(Ordering::Acquire);
        tail.wrapping_sub(self.rings.word(cq.head).load(Ordering::Relaxed))
    }

    /// Completions since the rings were made, as the kernel counts them.
    #[cfg(test)]
    pub fn completed_ever(&self) -> u32 {
        self.rings.word(self.parameters.cq.tail).load(Ordering::Acquire)
    }

    /// The completion that is `ahead` of the next; it has to be one of [`Rings::completed`], or else is an old one.
    #[inline(always)]
    pub fn completion(&self, ahead: u32) -> Completion {
        let cq = &self.parameters.cq;
        let head = self.rings.word(cq.head).load(Ordering::Relaxed);
        let index = head.wrapping_add(ahead) & (self.parameters.cq_entries - 1);
        // SAFETY: the index is below the number of entries by the mask, and any bits are a completion.
        unsafe { self.rings.item::<Completion>(cq.sixth, index).read() }
    }

    /// Gives the places of the next `count` completions back.
    #[inline(always)]
    pub fn take(&mut self, count: u32) {
        let head = self.rings.word(self.parameters.cq.head);
        head.store(head.load(Ordering::Relaxed).wrapping_add(count), Ordering::Release);
    }
}
