//! Messages between connected sockets of one thread: sent, asked for and received by calls, or one of these steps by io_uring(7).

use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU16, Ordering};

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, RawFd};

use crate::workloads::call::{Call, named};
use crate::workloads::memory::{Buffer, Pages};
use crate::workloads::network::local::Poll;
use crate::workloads::storage::uring::Batches;
use crate::workloads::storage::uring_queues::{Completion, Rings, Submission};
use crate::workloads::{checked, machine::arch};

/// Operations and flags of linux/io_uring.h.
const OP_POLL_ADD: u8 = 6;
const OP_SEND: u8 = 26;
const OP_RECV: u8 = 27;
const ENTRY_FIXED_FILE: u8 = 1 << 0;
const ENTRY_BUFFER_SELECT: u8 = 1 << 5;
const RECEIVE_MULTISHOT: u16 = 1 << 1;
const POLL_MULTISHOT: u32 = 1 << 0;
const COMPLETION_BUFFER: u32 = 1 << 0;
const COMPLETION_MORE: u32 = 1 << 1;
const COMPLETION_BUFFER_SHIFT: u32 = 16;

/// Size of a message, bytes: a cache line.
pub const MESSAGE_BYTES: usize = 64;
const RECEIVED: i32 = MESSAGE_BYTES as i32;
const READABLE: i32 = libc::POLLIN as i32;
/// Flags of a send that never waits: there is room for the message, or else something is wrong.
const SEND_FLAGS: i32 = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
const RECEIVE_FLAGS: i32 = libc::MSG_DONTWAIT;
/// The name of the operation that does nothing behind requests that stay.
const BEHIND_ALL: u64 = u64::MAX;

/// The step that is not made by a plain call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Send,
    /// The sockets are asked whether a message has come.
    Poll,
    Receive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Uses a call for each message, or one to ask for all.
    Call,
    /// Uses an entry of a ring for each.
    Ring,
    /// Uses entries of a ring, with sockets that were registered once.
    Registered,
    /// Uses one entry a socket that was made once, and completes for each message.
    Multishot,
}

/// Pairs of sockets, a message for each, and how it gets through.
pub struct Messages {
    // Dropped before the sockets and the memory that the kernel may be told of.
    ring: Option<Batches>,
    step: Step,
    by: By,
    memory: ManuallyDrop<Memory>,
    poll: Poll,
    pairs: Vec<(UnixStream, UnixStream)>,
    /// Messages so far: what the next begins with.
    sent: u64,
}

/// A message of each pair as it is sent, and as it comes.
struct Memory {
    sent: Buffer,
    received: Buffer,
    /// The ring that names those to be received into, where the kernel chooses.
    provided: Option<Provided>,
}

impl Messages {
    /// `pairs` pairs of Unix stream sockets. `poller`: the CPU of a thread of the kernel that takes submissions without being
    /// called (SQPOLL). An error where the kernel refuses any of it; that of a request says that it knows no such.
    pub fn new(pairs: u32, (step, by): (Step, By), poller: Option<usize>) -> io::Result<Messages> {
        let count = pairs as usize;
        let pair = |_| UnixStream::pair().call("socketpair");
        let ends = (0..pairs).map(pair).collect::<io::Result<Vec<_>>>()?;
        let block = || Buffer::map(count.saturating_mul(MESSAGE_BYTES), Pages::Base, None);
        let memory = Memory { sent: block()?, received: block()?, provided: None };
        let poll = Poll::of(ends.iter().map(|(_, far)| far.as_raw_fd()));
        let memory = ManuallyDrop::new(memory);
        let mut messages = Messages { ring: None, step, by, memory, poll, pairs: ends, sent: 0 };
        // One more for what tells that all before it were taken.
        let entries = pairs + u32::from(by == By::Multishot);
        messages.ring = match (by, poller) {
            (By::Call, _) => None,
            (_, Some(_)) => Some(Batches::new(entries, poller)?),
            (_, None) => Some(Batches::on(Rings::of_this_thread(entries)?, entries, false)),
        };
        match by {
            By::Registered => messages.register()?,
            By::Multishot => messages.arm()?,
            _ => {}
        }
        Ok(messages)
    }

    /// Sends a message on each pair and receives it: the named step by the ring, the others by calls. Fails if anything else came.
    #[inline]
    pub fn pass(&mut self) -> io::Result<()> {
        for message in self.memory.sent.bytes_mut().chunks_exact_mut(MESSAGE_BYTES) {
            self.sent += 1;
            message[..size_of::<u64>()].copy_from_slice(&self.sent.to_le_bytes());
        }
        if self.by == By::Multishot {
            return self.by_multishot();
        }
        let is_by_ring = |step| self.step == step && self.by != By::Call;
        let (sends, receives) = (is_by_ring(Step::Send), is_by_ring(Step::Receive));
        if sends {
            self.by_ring(RECEIVED)?
        } else {
            self.send()?
        };
        match (self.step, self.by) {
            (Step::Poll, By::Call) => self.ask()?,
            (Step::Poll, _) => self.by_ring(READABLE)?,
            _ => {}
        }
        if receives {
            self.by_ring(RECEIVED)?
        } else {
            self.receive()?
        };
        self.compare()
    }

    fn compare(&self) -> io::Result<()> {
        if self.memory.sent.bytes() == self.memory.received.bytes() { Ok(()) } else { Err(other_message()) }
    }

    #[inline(always)]
    fn send(&self) -> io::Result<()> {
        for ((near, _), message) in self.pairs.iter().zip(self.memory.sent.bytes().chunks_exact(MESSAGE_BYTES)) {
            transfer(("sendto", libc::SYS_sendto), near.as_raw_fd(), message.as_ptr() as usize, SEND_FLAGS)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn receive(&mut self) -> io::Result<()> {
        let into = self.memory.received.bytes_mut().chunks_exact_mut(MESSAGE_BYTES);
        for ((_, far), message) in self.pairs.iter().zip(into) {
            transfer(("recvfrom", libc::SYS_recvfrom), far.as_raw_fd(), message.as_mut_ptr() as usize, RECEIVE_FLAGS)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn ask(&mut self) -> io::Result<()> {
        if self.poll.ask()? == self.pairs.len() { Ok(()) } else { Err(other_message()) }
    }

    /// The step of all pairs by entries of the ring, each of which must end with `result`.
    #[inline(always)]
    fn by_ring(&mut self, result: i32) -> io::Result<()> {
        let Messages { ring: Some(ring), step, by, memory, pairs, .. } = self else { return Err(other_message()) };
        let (opcode, address, operation_flags) = match step {
            Step::Send => (OP_SEND, memory.sent.bytes().as_ptr() as u64, SEND_FLAGS),
            Step::Receive => (OP_RECV, memory.received.bytes_mut().as_mut_ptr() as u64, RECEIVE_FLAGS),
            Step::Poll => (OP_POLL_ADD, 0, READABLE),
        };
        // A message and its buffer; to be asked about a socket takes neither.
        let length = if *step == Step::Poll { 0 } else { MESSAGE_BYTES };
        let entry = |number: u32| {
            let (near, far) = &pairs[number as usize];
            let (flags, file) = match by {
                By::Registered => (ENTRY_FIXED_FILE, number as RawFd),
                _ if *step == Step::Send => (0, near.as_raw_fd()),
                _ => (0, far.as_raw_fd()),
            };
            Submission {
                opcode,
                flags,
                file,
                address: address + u64::from(number) * length as u64,
                length: length as u32,
                operation_flags: operation_flags as u32,
                ..Submission::default()
            }
        };
        // SAFETY: each entry names a message of its own, and the memory is kept for ever if the kernel may still be at work on it.
        unsafe { ring.submit_and_complete(result, entry) }
    }

    fn register(&self) -> io::Result<()> {
        let end = |(near, far): &(UnixStream, UnixStream)| match self.step {
            Step::Send => near.as_raw_fd(),
            Step::Receive | Step::Poll => far.as_raw_fd(),
        };
        let files: Vec<RawFd> = self.pairs.iter().map(end).collect();
        self.ring.as_ref().map_or(Ok(()), |ring| ring.rings.register_files(&files))
    }

    /// Hands over one request a socket, which is never done; an error where the kernel knows no such request.
    fn arm(&mut self) -> io::Result<()> {
        let Messages { ring: Some(ring), step, memory, pairs, .. } = self else { return Err(other_message()) };
        let memory: &mut Memory = memory;
        if *step == Step::Receive {
            let provided = Provided::of(&mut memory.received)?;
            // SAFETY: both live until the ring is dropped, and for ever if the kernel may still be at work on them.
            unsafe { ring.rings.register_buffer_ring(provided.address(), provided.entries()) }?;
            memory.provided = Some(provided);
        }
        let (count, mut ahead) = (pairs.len() as u32, 0);
        for (_, far) in pairs.iter() {
            let (file, name) = (far.as_raw_fd(), u64::from(ahead));
            let of_all = Submission { file, name, ..Submission::default() };
            let request = match step {
                Step::Receive => {
                    Submission { opcode: OP_RECV, flags: ENTRY_BUFFER_SELECT, priority: RECEIVE_MULTISHOT, ..of_all }
                }
                _ => Submission {
                    opcode: OP_POLL_ADD,
                    length: POLL_MULTISHOT,
                    operation_flags: READABLE as u32,
                    ..of_all
                },
            };
            // SAFETY: the memory that the kernel takes for it lives as said above; there is room for one more than there are pairs.
            unsafe { ring.rings.write(ahead, request) };
            ahead += 1;
        }
        // SAFETY: an operation that does nothing names no memory.
        unsafe { ring.rings.write(ahead, Submission { name: BEHIND_ALL, ..Submission::default() }) };
        ring.rings.publish(count + 1);
        ring.hand_over(count + 1, 1)?;
        ring.await_completions(1);
        let first = ring.rings.completion(0);
        ring.rings.take(1);
        match first.result {
            0 if first.name == BEHIND_ALL => Ok(()),
            error @ ..0 => Err(named("io_uring", io::Error::from_raw_os_error(-error))),
            _ => Err(other_message()),
        }
    }

    #[inline(always)]
    fn by_multishot(&mut self) -> io::Result<()> {
        // Until all is seen to have come the kernel may write at any time.
        self.ring.iter_mut().for_each(|ring| ring.is_under_way = true);
        self.send()?;
        let count = self.pairs.len() as u32;
        let Messages { ring: Some(ring), step, memory, .. } = self else { return Err(other_message()) };
        let memory: &mut Memory = memory;
        ring.hand_over(0, count)?;
        ring.await_completions(count);
        let mut numbers = 0;
        for ahead in 0..count {
            let done = ring.rings.completion(ahead);
            let is_as_asked = match (&mut memory.provided, *step) {
                (Some(provided), Step::Receive) => {
                    let message = &memory.sent.bytes()[done.name as usize % count as usize * MESSAGE_BYTES..];
                    provided.message_of(&memory.received, done) == Some(&message[..MESSAGE_BYTES])
                }
                _ => done.result == READABLE,
            };
            if done.name >= u64::from(count) || done.flags & COMPLETION_MORE == 0 || !is_as_asked {
                return Err(done.unexpected());
            }
            numbers += done.name;
        }
        ring.rings.take(count);
        if numbers != u64::from(count) * u64::from(count - 1) / 2 {
            return Err(other_message());
        }
        ring.is_under_way = false;
        match &mut memory.provided {
            Some(provided) => provided.publish(),
            None => {
                self.receive()?;
                self.compare()?;
            }
        }
        Ok(())
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        // Memory that the kernel may still write to stays mapped for good.
        if self.ring.take().is_none_or(|ring| !ring.is_under_way) {
            // SAFETY: dropped here alone, and not used afterwards; the ring that knows of it is gone.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

#[cold]
fn other_message() -> io::Error {
    io::Error::other(say!("a message came that was not sent, or none did"))
}

/// sendto(2) or recvfrom(2) of one message without an address: send(2) and recv(2). `address` is that of a message.
#[inline(always)]
fn transfer((name, call): (&'static str, libc::c_long), socket: RawFd, address: usize, flags: i32) -> io::Result<()> {
    // SAFETY: the kernel reads or writes at most one message at the address of one, which the callers own.
    let moved =
        checked(name, unsafe { arch::call(call, [socket as usize, address, MESSAGE_BYTES, flags as usize, 0, 0]) })?;
    if moved == MESSAGE_BYTES { Ok(()) } else { Err(other_message()) }
}

/// io_uring_buf: a buffer that the kernel may choose. The last 16 bits of the first are the ring's end.
#[repr(C)]
struct ProvidedEntry {
    address: u64,
    length: u32,
    name: u16,
    end: AtomicU16,
}

/// A ring of buffers of which the kernel takes the next for each message, given back when it was looked at.
struct Provided {
    ring: Buffer,
    /// Capacity, a power of two, less one.
    mask: u16,
    given: u16,
    first: u64,
}

impl Provided {
    /// All messages that `received` has room for.
    fn of(received: &mut Buffer) -> io::Result<Provided> {
        let count = received.bytes().len() / MESSAGE_BYTES;
        let places = u16::try_from(count.next_power_of_two()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let ring = Buffer::map(usize::from(places) * size_of::<ProvidedEntry>(), Pages::Base, None)?;
        let first = received.bytes_mut().as_mut_ptr() as u64;
        let mut provided = Provided { ring, mask: places - 1, given: 0, first };
        (0..count as u16).for_each(|name| provided.give(name));
        provided.publish();
        Ok(provided)
    }

    fn address(&self) -> u64 {
        self.ring.bytes().as_ptr() as u64
    }

    fn entries(&self) -> u32 {
        u32::from(self.mask) + 1
    }

    #[inline(always)]
    fn entry(&mut self, place: u16) -> *mut ProvidedEntry {
        let at = usize::from(place & self.mask) * size_of::<ProvidedEntry>();
        self.ring.bytes_mut()[at..][..size_of::<ProvidedEntry>()].as_mut_ptr().cast()
    }

    /// Puts a buffer behind the others; [`Provided::publish`] lets the kernel see it.
    #[inline(always)]
    fn give(&mut self, name: u16) {
        let address = self.first + u64::from(name) * MESSAGE_BYTES as u64;
        let entry = self.entry(self.given);
        // SAFETY: inside the ring, as the slice says, and aligned as pages are; the kernel does not read it before the end has
        // passed it. The end itself, in the first entry, is left as it is.
        unsafe {
            (&raw mut (*entry).address).write(address);
            (&raw mut (*entry).length).write(MESSAGE_BYTES as u32);
            (&raw mut (*entry).name).write(name);
        }
        self.given = self.given.wrapping_add(1);
    }

    #[inline(always)]
    fn publish(&mut self) {
        let (first, given) = (self.entry(0), self.given);
        // SAFETY: the first entry's last word, which both sides access as a whole.
        unsafe { &(*first).end }.store(given, Ordering::Release);
    }

    /// The message that came by this completion; its buffer goes back. None where none came.
    #[inline(always)]
    fn message_of<'a>(&mut self, received: &'a Buffer, done: Completion) -> Option<&'a [u8]> {
        if done.result != RECEIVED || done.flags & COMPLETION_BUFFER == 0 {
            return None;
        }
        let name = (done.flags >> COMPLETION_BUFFER_SHIFT) as u16;
        let message = received.bytes().get(usize::from(name) * MESSAGE_BYTES..)?.get(..MESSAGE_BYTES);
        self.give(name);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
    use crate::workloads::call::errno;

    const STEPS: [Step; 3] = [Step::Send, Step::Poll, Step::Receive];
    const WAYS: [By; 4] = [By::Call, By::Ring, By::Registered, By::Multishot];

    /// Returns `None`, and says so, where kernels, containers and emulators have no such thing, or too little lockable memory.
    fn of(pairs: u32, step: Step, by: By, poller: Option<usize>) -> Option<Messages> {
        match Messages::new(pairs, (step, by), poller) {
            Ok(messages) => Some(messages),
            Err(error)
                if by != By::Call
                    && matches!(
                        errno(&error),
                        Some(libc::ENOSYS | libc::EPERM | libc::EACCES | libc::ENOMEM | libc::EINVAL)
                    ) =>
            {
                skipped(&format!("no {step:?} by {by:?} here: {error}"));
                None
            }
            Err(error) => panic!("{step:?} {by:?}: {error}"),
        }
    }

    #[test]
    fn every_message_of_every_pair_comes_once_whichever_step_is_made_how() {
        let last = crate::workloads::affinity::allowed().unwrap().last().copied();
        for (step, by, poller) in STEPS.into_iter().flat_map(|step| {
            WAYS.into_iter().flat_map(move |by| [None, last].into_iter().map(move |poller| (step, by, poller)))
        }) {
            if by == By::Call && poller.is_some() || by == By::Multishot && step == Step::Send {
                continue;
            }
            for pairs in [1, 3, 16] {
                let Some(mut messages) = of(pairs, step, by, poller) else { continue };
                for _ in 0..20 {
                    messages.pass().unwrap_or_else(|error| panic!("{step:?} {by:?} {poller:?} {pairs}: {error}"));
                }
                assert_eq!(messages.sent, 20 * u64::from(pairs));
                // The kernel counts what it completed: each message once, and what told of the requests being there.
                let told = match by {
                    By::Call => 0,
                    By::Multishot => 20 * pairs + 1,
                    By::Ring | By::Registered => 20 * pairs,
                };
                assert_eq!(messages.ring.as_ref().map_or(0, |ring| ring.rings.completed_ever()), told);
                // Nothing is left in any socket.
                assert!(messages.receive().is_err());
            }
        }
    }

    #[test]
    fn a_message_that_nobody_sent_is_an_error() {
        for step in STEPS {
            for by in WAYS {
                if by == By::Multishot && step == Step::Send {
                    continue;
                }
                let Some(mut messages) = of(3, step, by, None) else { continue };
                messages.pass().unwrap();
                // One before the others, as long as they.
                rustix::io::write(&messages.pairs[1].0, &[7; MESSAGE_BYTES]).unwrap();
                assert!(messages.pass().is_err(), "{step:?} {by:?}");
            }
        }
    }
}
