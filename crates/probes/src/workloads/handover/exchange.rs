//! Two processes that hand a byte or a token to and fro: the ways of it that are descriptors.

use std::ffi::CStr;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

use hostmark_engine::prelude::{ReasonCode, say};
use rustix::event::EventfdFlags;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use crate::workloads::call::{Call, fault};
use crate::workloads::handover::Turns;
use crate::workloads::ipc_cleanup::{self, Object, Record};
use crate::workloads::machine::arch::{self, until_done};
use crate::workloads::network::local;
use crate::workloads::process::Peer;
use crate::workloads::storage::files::{self, copy};
use crate::workloads::waits::{Alone, Shared, give, take};
use crate::workloads::{checked, exit_message};

/// Another process and this one, each waiting for its turn until the other has had its own.
#[derive(Debug)]
pub struct Exchange<T> {
    peer: Peer,
    turn: T,
    /// Turns that this process has had.
    own: u64,
    /// Turns that the other has had.
    theirs: Turns,
    /// Turns that the other may take before ours.
    ahead: u64,
}

/// A process' part of an exchange, done over and over.
pub trait ExchangeStep: FnMut() -> io::Result<()> {}

impl<T: FnMut() -> io::Result<()>> ExchangeStep for T {}

impl<T: ExchangeStep> Exchange<T> {
    /// Starts a child bound to `cpus` that takes its turns for ever; its error is its end. `near` is this process' turn: it
    /// hands over, and comes back when the token has. The child's turn, made there by `make_far`, waits for the token and
    /// hands it back: all that it has to hold before the first turn is made before this comes back. Each process drops what
    /// belongs to the other, so that descriptors tell of the other's end.
    pub(crate) fn start<F: ExchangeStep>(
        cpus: &[usize],
        near: T,
        make_far: impl FnOnce() -> io::Result<F>,
    ) -> io::Result<Exchange<T>> {
        let (ready, signal) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).call("pipe2")?;
        let theirs = Turns::new()?;
        let mut near = Some(near);
        let ours = &mut near;
        let peer = Peer::spawn(cpus, || {
            drop(ours.take());
            let mut far = make_far()?;
            rustix::io::write(&signal, b"x").call("write")?;
            drop(signal);
            loop {
                theirs.take(&mut far)?;
            }
        })?;
        // Some ways of waiting never end when the other has gone: one that could not begin is noticed here.
        files::read_byte(&ready).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                exit_message::settle();
                fault(ReasonCode::ProcessDied, say!("the other process could not begin"))
            }
            _ => error,
        })?;
        let turn = near.ok_or_else(|| fault(ReasonCode::ProcessDied, say!("its own half is gone")))?;
        Ok(Exchange { peer, turn, own: 0, theirs, ahead: 0 })
    }

    /// The same exchange, of which the other has so many turns before ours.
    pub(crate) fn ahead_by(self, ahead: u64) -> Exchange<T> {
        Exchange { ahead, ..self }
    }

    /// Hands the token to the other process and waits until it is back.
    #[inline(always)]
    pub fn there_and_back(&mut self) -> io::Result<()> {
        self.own += 1;
        (self.turn)()
    }

    pub fn pid(&self) -> u32 {
        self.peer.pid()
    }

    /// Checks, after measuring, that the other had a turn for each of ours; else the timed turns were no hand-overs.
    pub fn check(&self) -> io::Result<()> {
        self.theirs.expect(self.own + self.ahead)
    }
}

/// Two ends of a party: what it writes to and what it reads from.
#[derive(Debug)]
struct ExchangeEnds {
    to: OwnedFd,
    from: OwnedFd,
}

/// Bytes by two one-way channels, each a pair of what is read and what is written. The other does `work` in its turn.
fn by_channels<W: ExchangeStep>(
    cpus: &[usize],
    there: (OwnedFd, OwnedFd),
    back: (OwnedFd, OwnedFd),
    mut work: W,
) -> io::Result<Exchange<impl ExchangeStep + use<W>>> {
    let near = ExchangeEnds { to: there.1, from: back.0 };
    let far = ExchangeEnds { to: back.1, from: there.0 };
    Exchange::start(
        cpus,
        move || files::write_byte(&near.to).and_then(|()| files::read_byte(&near.from)),
        move || Ok(move || files::read_byte(&far.from).and_then(|()| work()).and_then(|()| files::write_byte(&far.to))),
    )
}

/// Bytes by two connected sockets.
fn by_sockets(cpus: &[usize], near: OwnedFd, far: OwnedFd) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    Exchange::start(
        cpus,
        move || files::write_byte(&near).and_then(|()| files::read_byte(&near)),
        move || Ok(move || files::read_byte(&far).and_then(|()| files::write_byte(&far))),
    )
}

/// A byte through two pipes.
pub fn by_pipe(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    working(cpus, || Ok(()))
}

/// The same with somebody who does `work` before it answers.
pub fn working<W: ExchangeStep>(cpus: &[usize], work: W) -> io::Result<Exchange<impl ExchangeStep + use<W>>> {
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).call("pipe2");
    by_channels(cpus, pipe()?, pipe()?, work)
}

/// A byte through two named pipes, which are made in `directory`.
pub fn by_fifo(cpus: &[usize], directory: &Path) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    by_channels(cpus, fifo(&directory.join("there"))?, fifo(&directory.join("back"))?, || Ok(()))
}

/// Opens both ends of a new named pipe, the one to read from first.
fn fifo(path: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .call("mknodat")?;
    // Without waiting for who writes, since that is opened next.
    let read =
        rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).call("openat")?;
    let write = files::open(path, true)?;
    rustix::fs::fcntl_setfl(&read, OFlags::empty()).call("fcntl")?;
    Ok((read, write))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketKind {
    /// Bytes in their order.
    Stream,
    Datagram,
    /// Messages of a connection.
    SeqPacket,
}

/// A byte through a pair of sockets that have no name.
pub fn by_socket_pair(cpus: &[usize], kind: SocketKind) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let kind = match kind {
        SocketKind::Stream => SocketType::STREAM,
        SocketKind::Datagram => SocketType::DGRAM,
        SocketKind::SeqPacket => SocketType::SEQPACKET,
    };
    let (near, far) =
        rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).call("socketpair")?;
    by_sockets(cpus, near, far)
}

/// A byte through a connection to a socket's file, which is made in `directory`.
pub fn by_unix_stream(cpus: &[usize], directory: &Path) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let path = directory.join("socket");
    let listener = local::unix_listener(&path)?;
    let near = local::unix_stream(&path)?;
    let (far, _) = listener.accept().call("accept4")?;
    by_sockets(cpus, near.into(), far.into())
}

/// A datagram of one byte between two sockets that have files in `directory`.
pub fn by_unix_datagram(cpus: &[usize], directory: &Path) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let (near_path, far_path) = (directory.join("near"), directory.join("far"));
    let (near, far) = (local::unix_datagram(&near_path)?, local::unix_datagram(&far_path)?);
    near.connect(&far_path).call("connect")?;
    far.connect(&near_path).call("connect")?;
    by_sockets(cpus, near.into(), far.into())
}

/// A token by the counters of two eventfds.
pub fn by_eventfd(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let eventfd = || rustix::event::eventfd(0, EventfdFlags::CLOEXEC).call("eventfd2");
    let (there, back) = (eventfd()?, eventfd()?);
    let (near, far) = ((copy(&there)?, copy(&back)?), (back, there));
    Exchange::start(
        cpus,
        move || add_one(&near.0).and_then(|()| take_all(&near.1)),
        move || Ok(move || take_all(&far.1).and_then(|()| add_one(&far.0))),
    )
}

/// Adds one to an eventfd's counter.
#[inline(always)]
pub(crate) fn add_one(eventfd: &OwnedFd) -> io::Result<()> {
    let mut one = 1_u64.to_ne_bytes();
    checked("write", arch::transfer(libc::SYS_write, eventfd.as_raw_fd(), one.as_mut_ptr(), one.len())).map(drop)
}

/// Waits until an eventfd's counter is more than zero, and makes it zero.
#[inline(always)]
pub(crate) fn take_all(eventfd: &OwnedFd) -> io::Result<()> {
    let mut count = [0; 8];
    checked("read", arch::transfer(libc::SYS_read, eventfd.as_raw_fd(), count.as_mut_ptr(), count.len())).map(drop)
}

/// A token by two words that processes share. Each turn: set the other's word, wake it, and sleep until the own word is set.
pub fn by_futex(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let words = Rc::new(Shared::new([Alone::<AtomicU32>::default(), Alone::default()])?);
    let (near, far) = (words.clone(), words);
    Exchange::start(
        cpus,
        move || give(&near[0].0).and_then(|()| take(&near[1].0)),
        move || Ok(move || take(&far[0].0).and_then(|()| give(&far[1].0))),
    )
}

/// Attributes of a queue for the kernel: flags, messages that it holds, bytes of one, and the messages in it now.
#[repr(C)]
struct Attributes {
    flags: libc::c_long,
    most_messages: libc::c_long,
    message_bytes: libc::c_long,
    messages: libc::c_long,
    reserved: [libc::c_long; 4],
}

/// A queue of one message of one byte, which has lost its name already. Its name is written down before it is given.
fn queue() -> io::Result<OwnedFd> {
    let object = Object::queue()?;
    let Object::Queue { number, .. } = object else { return Err(io::ErrorKind::InvalidInput.into()) };
    let _record = Record::of(object);
    named(&ipc_cleanup::queue_name(number)?)
}

fn named(name: &CStr) -> io::Result<OwnedFd> {
    let attributes = Attributes { flags: 0, most_messages: 1, message_bytes: 1, messages: 0, reserved: [0; 4] };
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    let arguments =
        [name.as_ptr() as usize, flags as usize, ipc_cleanup::MODE as usize, &raw const attributes as usize, 0, 0];
    // SAFETY: a name that ends in zero, and attributes, both only read.
    let opened = checked("mq_open", unsafe { arch::call(libc::SYS_mq_open, arguments) })?;
    // SAFETY: a descriptor that is new, and nobody else's.
    let queue = unsafe { OwnedFd::from_raw_fd(opened as i32) };
    // SAFETY: the same name.
    checked("mq_unlink", unsafe { arch::call(libc::SYS_mq_unlink, [name.as_ptr() as usize, 0, 0, 0, 0, 0]) })?;
    Ok(queue)
}

#[inline(always)]
fn send(queue: &OwnedFd) -> io::Result<()> {
    // SAFETY: one byte, which is only read; no timeout.
    unsafe {
        until_done(
            "mq_timedsend",
            libc::SYS_mq_timedsend,
            [queue.as_raw_fd() as usize, b"x".as_ptr() as usize, 1, 0, 0, 0],
        )
    }
    .map(drop)
}

#[inline(always)]
fn receive(queue: &OwnedFd) -> io::Result<()> {
    let mut byte = [0_u8];
    let arguments = [queue.as_raw_fd() as usize, byte.as_mut_ptr() as usize, 1, 0, 0, 0];
    // SAFETY: room for one byte, which is the most that a message has; nobody asks for its priority; no timeout.
    unsafe { until_done("mq_timedreceive", libc::SYS_mq_timedreceive, arguments) }.map(drop)
}

/// A message of one byte through two queues.
pub fn by_queues(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let (there, back) = (queue()?, queue()?);
    let (to, from) = (copy(&there)?, copy(&back)?);
    Exchange::start(
        cpus,
        move || send(&to).and_then(|()| receive(&from)),
        move || Ok(move || receive(&there).and_then(|()| send(&back))),
    )
}

/// Bytes of the file that are locked: one more than processes.
const BYTES: i64 = 3;

/// A place among the file's bytes, the lock of which is held.
#[derive(Debug)]
struct LockedByte {
    file: OwnedFd,
    byte: i64,
}

impl LockedByte {
    /// Opens `path` and locks its byte number `byte`.
    fn take(path: &Path, byte: i64) -> io::Result<LockedByte> {
        let file = std::fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.call("openat")?.into();
        lock(&file, byte)?;
        Ok(LockedByte { file, byte })
    }

    /// Goes on to the next byte, waiting until it is free, and frees this one.
    #[inline(always)]
    fn advance(&mut self) -> io::Result<()> {
        let next = (self.byte + 1) % BYTES;
        lock(&self.file, next)?;
        unlock(&self.file, self.byte)?;
        self.byte = next;
        Ok(())
    }
}

#[inline(always)]
fn lock(file: &OwnedFd, byte: i64) -> io::Result<()> {
    set(file, libc::F_SETLKW, libc::F_WRLCK, byte)
}

#[inline(always)]
fn unlock(file: &OwnedFd, byte: i64) -> io::Result<()> {
    set(file, libc::F_SETLK, libc::F_UNLCK, byte)
}

#[inline(always)]
fn set(file: &OwnedFd, command: i32, kind: i32, byte: i64) -> io::Result<()> {
    let lock = libc::flock { l_type: kind as i16, l_whence: libc::SEEK_SET as i16, l_start: byte, l_len: 1, l_pid: 0 };
    let arguments = [file.as_raw_fd() as usize, command as usize, &raw const lock as usize, 0, 0, 0];
    // SAFETY: a lock, which these commands only read.
    unsafe { until_done("fcntl", libc::SYS_fcntl, arguments) }.map(drop)
}

/// Turns by the locks of three bytes of a file in `directory`. Each process holds one byte and waits for the next; with one byte free, a
/// step of one allows one step of the other, so that none goes twice. A turn of each is two hand-overs.
pub fn by_file_locks(cpus: &[usize], directory: &Path) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let path = directory.join("locked");
    let mut near = LockedByte::take(&path, 0)?;
    let exchange = Exchange::start(
        cpus,
        move || near.advance(),
        move || {
            // Locks belong to a process: the child takes its own, and this one does not begin before it has it.
            let mut far = LockedByte::take(&path, 1)?;
            Ok(move || far.advance())
        },
    )?;
    // The free byte lies before the other: it has the first turn, and this process waits for that.
    Ok(exchange.ahead_by(1))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::handover::tests::check_turns;
    use crate::workloads::process::in_a_child;

    /// The law of all exchanges: none comes back before the other's turn, and both have as many turns.
    pub(in crate::workloads) fn check<T: ExchangeStep>(make: impl Fn(&[usize]) -> io::Result<Exchange<T>>) {
        let turn = |exchange: &mut Exchange<T>| {
            exchange.there_and_back()?;
            // It counts a turn after it has had it.
            assert!(exchange.theirs.taken() + 1 >= exchange.own);
            Ok(())
        };
        check_turns(1000, make, turn, Exchange::check);
    }

    #[test]
    fn a_byte_goes_to_and_fro_by_each_descriptor() {
        check(by_pipe);
        check(by_eventfd);
        for kind in [SocketKind::Stream, SocketKind::Datagram, SocketKind::SeqPacket] {
            check(|cpus| by_socket_pair(cpus, kind));
        }
        check(by_futex);
        match queue() {
            // A kernel without them says so: that is what a probe skips by.
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOSYS)),
            Ok(_) => check(by_queues),
        }
    }

    #[test]
    fn a_byte_goes_to_and_fro_by_each_file() {
        let here = || tempfile::tempdir().unwrap();
        check(|cpus| by_fifo(cpus, here().path()));
        check(|cpus| by_unix_stream(cpus, here().path()));
        check(|cpus| by_unix_datagram(cpus, here().path()));
        let locks = here();
        check(|cpus| by_file_locks(cpus, locks.path()));
    }

    #[test]
    fn work_is_done_in_each_turn_and_its_error_ends_the_exchange() {
        in_a_child(|| {
            let done = Turns::new()?;
            let work = || match done.taken() {
                5 => Err(io::ErrorKind::Other.into()),
                _ => done.take(|| Ok(())),
            };
            let mut exchange = working(&affinity::allowed()?, work)?;
            for turn in 1..=5 {
                exchange.there_and_back()?;
                assert_eq!(done.taken(), turn);
            }
            assert_eq!(exchange.there_and_back().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            Ok(())
        });
    }

    #[test]
    fn the_end_of_the_other_is_an_error_and_no_signal() {
        in_a_child(|| {
            let mut exchange = by_pipe(&affinity::allowed()?)?;
            exchange.there_and_back()?;
            exchange.peer.kill()?;
            while exchange.there_and_back().is_ok() {}
            Ok(())
        });
    }

    #[test]
    fn a_peer_that_cannot_begin_is_reported() {
        in_a_child(|| {
            let refused = by_eventfd(&[1 << 16]).map(drop).unwrap_err();
            assert!(refused.to_string().contains("could not begin"));
            Ok(())
        });
    }

    #[test]
    #[ignore = "takes long"]
    fn turns_without_the_other_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        in_a_child(|| {
            let mut exchange = by_file_locks(&affinity::allowed()?, directory.path())?;
            exchange.there_and_back()?;
            exchange.peer.kill()?;
            // With its locks gone nothing stops this process.
            (0..100).try_for_each(|_| exchange.there_and_back())?;
            assert!(exchange.check().unwrap_err().to_string().contains("not every one happened"));
            Ok(())
        });
    }
}
