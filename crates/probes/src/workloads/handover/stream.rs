//! Streams of bytes between processes: one that writes for ever, one that accepts connections, and a ring in memory that both share.

use std::cell::UnsafeCell;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use hostmark_engine::prelude::{ReasonCode, say};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::workloads::by_function;
use crate::workloads::call::{Call, fault, named, returned};
use crate::workloads::handover::Turns;
use crate::workloads::network::local;
use crate::workloads::process::Peer;
use crate::workloads::storage::files;
use crate::workloads::waits::{Alone, Shared, Word, sleep_marked, wake_marked};

/// A child that writes messages into a stream until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct Stream {
    peer: Peer,
    read_end: OwnedFd,
}

impl Stream {
    /// Starts a child bound to `cpus` that writes `message` to `write_end` over and over; the write end closes here, so that its end ends
    /// the file. Refuses when this process has several threads, whose locks would stay locked in the child.
    pub(crate) fn spawn(message: &[u8], read_end: OwnedFd, write_end: OwnedFd, cpus: &[usize]) -> io::Result<Stream> {
        let peer = Peer::spawn(cpus, move || write_for_ever(&write_end, message))?;
        Ok(Stream { peer, read_end })
    }

    /// The same through a pair of stream sockets without a name.
    pub fn by_socket_pair(message: &[u8], cpus: &[usize]) -> io::Result<Stream> {
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let (read_end, write_end) =
            rustix::net::socketpair(AddressFamily::UNIX, kind, flags, None).call("socketpair")?;
        Stream::spawn(message, read_end, write_end, cpus)
    }

    pub fn writer(&self) -> u32 {
        self.peer.pid()
    }

    /// Bytes that the socket's send buffer may hold, with the kernel's own structures; 0 where it has none.
    pub fn send_buffer_bytes(&self) -> usize {
        // Both ends have the size that the kernel gives new sockets.
        rustix::net::sockopt::socket_send_buffer_size(&self.read_end).unwrap_or(0)
    }

    /// Reads `bytes` into `block`, at most a block at a time.
    #[inline]
    pub fn read(&self, bytes: u64, block: &mut [u8]) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let most = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            // SAFETY: the kernel writes at most `most` bytes to `block`, which is that long at least.
            let got = unsafe { libc::read(self.read_end.as_raw_fd(), block.as_mut_ptr().cast(), most) };
            match got {
                0 => return Err(fault(ReasonCode::ProcessDied, say!("the writer ended"))),
                -1 => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(named("read", error));
                    }
                }
                got => left -= got as u64,
            }
        }
        Ok(())
    }
}

fn write_for_ever(end: &OwnedFd, message: &[u8]) -> io::Result<()> {
    loop {
        let mut rest = message;
        while !rest.is_empty() {
            // SAFETY: the kernel reads at most `rest.len()` bytes from `rest`.
            let written = unsafe { libc::write(end.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
            match returned("write", written as i64)? {
                0 => return Err(named("write", io::ErrorKind::WriteZero.into())),
                written => rest = &rest[written as usize..],
            }
        }
    }
}

/// A child that writes messages into a pipe until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct PipeWriter {
    stream: Stream,
    /// The pipe's capacity, bytes, as the kernel gave it.
    pub capacity: usize,
}

impl PipeWriter {
    /// Starts a child bound to `cpus` that writes `message` over and over. `capacity`: what to ask the kernel for.
    /// Refuses when this process has several threads: a lock held by one of them would stay locked in the child.
    pub fn spawn(message: &[u8], capacity: Option<usize>, cpus: &[usize]) -> io::Result<PipeWriter> {
        let (read_end, write_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).call("pipe2")?;
        if let Some(bytes) = capacity {
            rustix::pipe::fcntl_setpipe_size(&write_end, bytes).call("fcntl")?;
        }
        let capacity = rustix::pipe::fcntl_getpipe_size(&write_end).call("fcntl")?;
        Ok(PipeWriter { stream: Stream::spawn(message, read_end, write_end, cpus)?, capacity })
    }

    pub fn writer(&self) -> u32 {
        self.stream.writer()
    }

    /// Reads `bytes` from the pipe into `block`, at most a block at a time.
    #[inline]
    pub fn read(&self, bytes: u64, block: &mut [u8]) -> io::Result<()> {
        self.stream.read(bytes, block)
    }
}

/// A child that accepts and closes until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct Listener {
    _peer: Peer,
    address: SocketAddrUnix,
    closed: Turns,
    asked: u64,
}

impl Listener {
    /// Starts a child bound to `cpus` that listens at a socket file, which is made in `directory`.
    pub fn spawn(cpus: &[usize], directory: &Path) -> io::Result<Listener> {
        let path = directory.join("listener");
        let listener = local::unix_listener(&path)?;
        let address = SocketAddrUnix::new(&path)?;
        let closed = Turns::new()?;
        let peer = Peer::spawn(cpus, || {
            loop {
                closed.take(|| listener.accept().map(drop).call("accept4"))?;
            }
        })?;
        Ok(Listener { _peer: peer, address, closed, asked: 0 })
    }

    /// Makes a socket, connects it, waits until the other end has been closed, and closes it.
    #[inline(always)]
    pub fn connect_and_close(&mut self) -> io::Result<()> {
        self.asked += 1;
        let socket: OwnedFd = by_function(|| {
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).call("socket")
        })?;
        by_function(|| rustix::net::connect(&socket, &self.address)).call("connect")?;
        match files::read_byte(&socket) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(error),
            Ok(()) => Err(io::Error::other(say!("who only closes has written"))),
        }
    }

    /// Checks, after the measuring, that the child has accepted and closed every connection.
    pub fn check(&self) -> io::Result<()> {
        self.closed.expect(self.asked)
    }
}

/// Bytes that the ring holds: both copies stay in a core's own cache, and a futex call comes every some messages.
pub const CAPACITY: usize = 256 << 10;
/// Bytes copied before the other is told of them, at most: both work at once where they have two CPUs.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
#[repr(C, align(4096))]
struct SharedMemory {
    flow: FlowControl<CAPACITY, PIECE>,
    bytes: Bytes,
}

#[derive(Debug)]
#[repr(align(4096))]
struct Bytes(UnsafeCell<[u8; CAPACITY]>);

// SAFETY: which part belongs to whom is told by the flow: nobody else uses it meanwhile.
unsafe impl Sync for Bytes {}

/// The ring, as both processes see it.
#[derive(Debug)]
struct SharedRing {
    memory: Shared<SharedMemory>,
}

impl SharedRing {
    fn new() -> io::Result<SharedRing> {
        let bytes = Bytes(UnsafeCell::new([0; CAPACITY]));
        Ok(SharedRing { memory: Shared::new(SharedMemory { flow: FlowControl::default(), bytes })? })
    }

    /// The byte at an offset, from which `bytes` lie inside the ring.
    #[inline(always)]
    fn place(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= CAPACITY));
        // SAFETY: inside the array.
        unsafe { self.memory.bytes.0.get().cast::<u8>().add(offset) }
    }

    /// Copies one piece in, of `message` at most, waiting until there is room for all of it; returns how long it was.
    fn write(&self, message: &[u8]) -> io::Result<usize> {
        let (at, piece) = self.memory.flow.room(message.len())?;
        let to = self.place(at, piece);
        assert!(piece <= message.len());
        // SAFETY: inside the ring and the message, and free: the reader leaves it alone until it is told to be written.
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), to, piece) };
        self.memory.flow.wrote(piece)?;
        Ok(piece)
    }

    /// Copies one piece out, of `block` at most, waiting until there is any; returns how long it was.
    fn read(&self, block: &mut [u8]) -> io::Result<usize> {
        let (at, piece) = self.memory.flow.content(block.len())?;
        let from = self.place(at, piece);
        assert!(piece <= block.len());
        // SAFETY: inside the ring and the block, and written: the writer leaves it alone until it is told to be read.
        unsafe { std::ptr::copy_nonoverlapping(from, block.as_mut_ptr(), piece) };
        self.memory.flow.took(piece)?;
        Ok(piece)
    }
}

/// A child that copies messages into a ring until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct RingWriter {
    peer: Peer,
    ring: SharedRing,
}

impl RingWriter {
    /// Starts a child bound to `cpus` that writes `message` over and over.
    pub fn spawn(message: &[u8], cpus: &[usize]) -> io::Result<RingWriter> {
        let ring = SharedRing::new()?;
        let peer = Peer::spawn(cpus, || {
            loop {
                let mut rest = message;
                while !rest.is_empty() {
                    rest = &rest[ring.write(rest)?..];
                }
            }
        })?;
        Ok(RingWriter { peer, ring })
    }

    pub fn writer(&self) -> u32 {
        self.peer.pid()
    }

    /// Copies `bytes` out of the ring into `block`, at most a block at a time.
    #[inline]
    pub fn read(&self, bytes: u64, block: &mut [u8]) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let most = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= self.ring.read(&mut block[..most])? as u64;
        }
        Ok(())
    }
}

/// The counts of a ring of `CAPACITY` bytes that takes at most `PIECE` at once. They wrap, which the capacity divides.
#[derive(Debug, Default)]
#[repr(C)]
struct FlowControl<const CAPACITY: usize, const PIECE: usize, W = AtomicU32> {
    written: Alone<W>,
    read: Alone<W>,
    reader_sleeps: Alone<W>,
    writer_sleeps: Alone<W>,
}

impl<const CAPACITY: usize, const PIECE: usize, W: Word> FlowControl<CAPACITY, PIECE, W> {
    /// Bytes that have been written and not been read.
    #[inline(always)]
    fn filled(&self) -> usize {
        let written = self.written.0.load(Ordering::Acquire);
        written.wrapping_sub(self.read.0.load(Ordering::Acquire)) as usize
    }

    /// Returns where the writer goes on, and how many of `length` bytes it may write there; waits until there is room for them.
    #[inline(always)]
    pub(crate) fn room(&self, length: usize) -> io::Result<(usize, usize)> {
        let at = self.written.0.load(Ordering::Relaxed) as usize % CAPACITY;
        let piece = length.min(PIECE).min(CAPACITY - at);
        // Who has filled the ring sleeps until half of it is free again, so as not to be woken for each piece.
        if CAPACITY - self.filled() < piece {
            sleep_marked(&self.writer_sleeps.0, || self.filled() <= CAPACITY / 2)?;
        }
        Ok((at, piece))
    }

    #[inline(always)]
    pub(crate) fn wrote(&self, piece: usize) -> io::Result<()> {
        let count = &self.written.0;
        count.store(count.load(Ordering::Relaxed).wrapping_add(piece as u32), Ordering::Release);
        wake_marked(&self.reader_sleeps.0)
    }

    /// Returns where the reader goes on, and how many bytes of `most` it may read there; waits until there are any.
    #[inline(always)]
    pub(crate) fn content(&self, most: usize) -> io::Result<(usize, usize)> {
        if self.filled() == 0 {
            sleep_marked(&self.reader_sleeps.0, || self.filled() > 0)?;
        }
        let at = self.read.0.load(Ordering::Relaxed) as usize % CAPACITY;
        Ok((at, most.min(self.filled()).min(CAPACITY - at)))
    }

    #[inline(always)]
    pub(crate) fn took(&self, piece: usize) -> io::Result<()> {
        let count = &self.read.0;
        count.store(count.load(Ordering::Relaxed).wrapping_add(piece as u32), Ordering::Release);
        if self.filled() <= CAPACITY / 2 { wake_marked(&self.writer_sleeps.0) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::handover::tests::{beside, check_turns};
    use crate::workloads::process::in_a_child;
    use crate::workloads::waits::model::{ModelWord, every_interleaving};

    #[test]
    fn bytes_come_in_their_order() {
        in_a_child(|| {
            let message: Vec<u8> = (0..=250).collect();
            let stream = Stream::by_socket_pair(&message, &affinity::allowed()?)?;
            assert!(stream.send_buffer_bytes() > 0);
            for (nth, bytes) in [(0, 3), (3, 500), (503, 251)] {
                // A byte at a time: a read of more may give less, where the other has written no more yet.
                let mut block = [0];
                stream.read(bytes, &mut block)?;
                assert_eq!(u64::from(block[0]), (nth + bytes - 1) % 251);
            }
            Ok(())
        });
    }

    #[test]
    fn every_connection_is_closed_by_the_other_before_it_counts() {
        let directory = tempfile::tempdir().unwrap();
        let check = |listener: &Listener| {
            listener.check()?;
            std::fs::remove_file(directory.path().join("listener"))
        };
        check_turns(100, |cpus| Listener::spawn(cpus, directory.path()), Listener::connect_and_close, check);
    }

    #[test]
    fn every_byte_comes_out_as_it_went_in() {
        // A message that no boundary of the ring divides, over several times its capacity.
        let message: Vec<u8> = (0..=250).cycle().take(251 * 500).collect();
        beside(|cpus| {
            for other in [cpus[0], cpus[cpus.len() - 1]] {
                let writer = RingWriter::spawn(&message, &[other])?;
                let mut next = 0;
                for nth in 0..3000 {
                    let mut block = vec![0; 1 + nth % 997];
                    let piece = writer.ring.read(&mut block)?;
                    assert!(piece > 0);
                    for byte in &block[..piece] {
                        assert_eq!(*byte, next);
                        next = (next + 1) % 251;
                    }
                }
            }
            Ok(())
        });
    }

    /// Two ends of a ring of two bytes hand over this many, one at a time.
    const BYTES: usize = 4;

    #[test]
    #[ignore = "takes long"]
    fn both_ends_of_a_ring_come_through_in_every_interleaving() {
        every_interleaving(3, || {
            let flow = std::sync::Arc::new(FlowControl::<2, 1, ModelWord>::default());
            let writing = flow.clone();
            let writer = loom::thread::spawn(move || {
                for number in 0..BYTES {
                    assert_eq!(writing.room(9).unwrap(), (number % 2, 1));
                    writing.wrote(1).unwrap();
                }
            });
            for number in 0..BYTES {
                assert_eq!(flow.content(1).unwrap(), (number % 2, 1));
                flow.took(1).unwrap();
            }
            writer.join().unwrap();
        });
    }
}
