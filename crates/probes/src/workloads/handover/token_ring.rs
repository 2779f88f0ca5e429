//! Rings and groups of processes or threads: a token handed on through pipes, and bursts of messages from all to all.

use std::cell::{Cell, RefCell};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use hostmark_engine::prelude::{ReasonCode, say};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::workloads::affinity;
use crate::workloads::call::{Call, fault};
use crate::workloads::process::Peer;
use crate::workloads::storage::files;

/// Number of looks for the cause of a failed tour, and their distance: a thread that ends the ring is about to end itself.
const LOOKS: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    Process,
    Thread,
}

/// Members that wait for a byte, do their work and hand it on; the caller is one of them. They end with the ring.
#[derive(Debug)]
pub struct Ring {
    /// Dropped first: threads end when nothing can come any more.
    out: Option<OwnedFd>,
    back: OwnedFd,
    /// The token's value, to which every other member adds one.
    token: Cell<u8>,
    others: u8,
    _processes: Vec<Peer>,
    threads: RefCell<Vec<JoinHandle<io::Result<()>>>>,
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).call("pipe2")
}

impl Ring {
    /// Makes a ring of `members`, the caller being number 0, the others bound by `cpus`. `make` runs in each. Refuses with several threads.
    pub fn new<W: FnMut()>(
        member: Member,
        members: usize,
        cpus: impl Fn(usize) -> Vec<usize>,
        make: impl Fn() -> io::Result<W> + Clone + Send + 'static,
    ) -> io::Result<Ring> {
        let (mut from, out) = pipe()?;
        let (mut processes, mut threads) = (Vec::new(), Vec::new());
        for number in 1..members {
            // The member alone has both ends: where it ends, the next one's input ends, and so on round to the caller.
            let (next, to) = pipe()?;
            let from = std::mem::replace(&mut from, next);
            let (make, cpus) = (make.clone(), cpus(number));
            match member {
                Member::Process => processes.push(Peer::spawn(&cpus, move || hand_on(&from, &to, make()?))?),
                Member::Thread => threads.push(
                    std::thread::Builder::new()
                        .spawn(move || {
                            affinity::bind(&cpus)?;
                            hand_on(&from, &to, make()?)
                        })
                        .call("pthread_create")?,
                ),
            }
        }
        let others = (members.saturating_sub(1) % 256) as u8;
        Ok(Ring {
            out: Some(out),
            back: from,
            token: Cell::new(0),
            others,
            _processes: processes,
            threads: RefCell::new(threads),
        })
    }

    /// Sends the token round, and waits for it: all other members have worked when it is back, and it tells so.
    #[inline(always)]
    pub fn tour(&self) -> io::Result<()> {
        let token = self.token.get();
        if let Some(out) = &self.out {
            files::give_byte(out, token).map_err(|error| self.cause(error))?;
        }
        let back = files::take_byte(&self.back).map_err(|error| self.cause(error))?;
        self.token.set(back);
        match back == token.wrapping_add(self.others) {
            true => Ok(()),
            false => Err(io::Error::other(say!("the token came back without having been with every member"))),
        }
    }
}

impl Ring {
    /// Finds why a tour failed: mostly a thread has ended, and only it knows why. A process says so in its last words.
    #[cold]
    fn cause(&self, error: io::Error) -> io::Error {
        let is_echo =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe);
        for _ in 0..LOOKS {
            let mut threads = self.threads.borrow_mut();
            while let Some(ended) = threads.iter().position(JoinHandle::is_finished) {
                match threads.swap_remove(ended).join() {
                    Ok(Err(error)) if !is_echo(&error) => return error,
                    Ok(_) => {}
                    Err(_) => return fault(ReasonCode::Internal, say!("a thread of the ring panicked")),
                }
            }
            if threads.is_empty() {
                break;
            }
            drop(threads);
            crate::workloads::clock::sleep(LOOK_AGAIN);
        }
        error
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.out = None;
        for thread in self.threads.get_mut().drain(..) {
            // It ended because its input did.
            let _ = thread.join();
        }
    }
}

fn hand_on(from: &OwnedFd, to: &OwnedFd, mut work: impl FnMut()) -> io::Result<()> {
    loop {
        let token = files::take_byte(from)?;
        work();
        files::give_byte(to, token.wrapping_add(1))?;
    }
}

/// Pipes of a ring, with this process at both ends of each: a token goes through them without a switch.
#[derive(Debug)]
pub struct Pipes(Vec<(OwnedFd, OwnedFd)>);

impl Pipes {
    pub fn new(count: usize) -> io::Result<Pipes> {
        Ok(Pipes((0..count).map(|_| pipe()).collect::<io::Result<_>>()?))
    }

    /// Passes the token through all of them, and works after each.
    #[inline(always)]
    pub fn tour(&self, mut work: impl FnMut()) -> io::Result<()> {
        for (from, to) in &self.0 {
            files::write_byte(to)?;
            files::read_byte(from)?;
            work();
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageChannel {
    /// A Unix stream socket for each receiver.
    Socket,
    /// A pipe for each receiver.
    Pipe,
}

/// Numbers of processes, and their messages.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Groups, which do not know of each other.
    pub groups: usize,
    /// Senders of a group, and as many receivers.
    pub senders: usize,
    /// Messages from each sender to each receiver of its group in a burst.
    pub messages: usize,
    pub bytes: usize,
    pub channel: MessageChannel,
}

impl Crowd {
    pub fn total(&self) -> u64 {
        (self.groups * self.senders * self.senders * self.messages) as u64
    }
}

/// A crowd that waits for its bursts; ended when dropped.
#[derive(Debug)]
pub struct Gathered {
    _members: Vec<Peer>,
    /// Pipes, one for each sender: were it one for all, a quick sender could take the place of a slow one, even of another group.
    starts: Vec<OwnedFd>,
    finished: OwnedFd,
}

/// Returns both ends of a channel: that of the receiver first.
fn ends(channel: MessageChannel) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(match channel {
        MessageChannel::Pipe => rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).call("pipe2")?,
        MessageChannel::Socket => {
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .call("socketpair")?
        }
    })
}

impl Gathered {
    /// Starts all members on `cpus`. Refuses when this process has several threads.
    pub fn new(crowd: Crowd, cpus: &[usize]) -> io::Result<Gathered> {
        let (finished, finishing) = ends(MessageChannel::Pipe)?;
        let (mut members, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..crowd.groups {
            let channels = (0..crowd.senders).map(|_| ends(crowd.channel)).collect::<io::Result<Vec<_>>>()?;
            for (from, _) in &channels {
                members.push(Peer::spawn(cpus, || receive(&crowd, from, &finishing))?);
            }
            for _ in 0..crowd.senders {
                let (starting, start) = ends(MessageChannel::Pipe)?;
                starts.push(start);
                members.push(Peer::spawn(cpus, || send(&crowd, &starting, &channels, &finishing))?);
            }
        }
        Ok(Gathered { _members: members, starts, finished })
    }

    /// Runs one burst: all senders begin, and all messages have been read when it comes back.
    pub fn burst(&self) -> io::Result<()> {
        self.starts.iter().try_for_each(|start| write_whole(start, &[0]))?;
        read_whole(&self.finished, &mut vec![0; 2 * self.starts.len()])
    }
}

fn send(crowd: &Crowd, starting: &OwnedFd, channels: &[(OwnedFd, OwnedFd)], finishing: &OwnedFd) -> io::Result<()> {
    let message = vec![0x5a; crowd.bytes];
    loop {
        read_whole(starting, &mut [0])?;
        for _ in 0..crowd.messages {
            for (_, to) in channels {
                write_whole(to, &message)?;
            }
        }
        write_whole(finishing, &[0])?;
    }
}

fn receive(crowd: &Crowd, from: &OwnedFd, finishing: &OwnedFd) -> io::Result<()> {
    let mut message = vec![0; crowd.bytes];
    loop {
        #[cfg(test)]
        crate::workloads::handover::tests::delay();
        for _ in 0..crowd.senders * crowd.messages {
            read_whole(from, &mut message)?;
        }
        write_whole(finishing, &[0])?;
    }
}

fn write_whole(to: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(to, bytes)).call("write")?;
        bytes = &bytes[written..];
    }
    Ok(())
}

fn read_whole(from: &OwnedFd, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut *bytes)).call("read")? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => bytes = &mut bytes[got..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::workloads::handover::tests::{delay_turns, never_early};
    use crate::workloads::process::in_a_child;
    use crate::workloads::processes::tests::assert_no_child;
    use crate::workloads::{affinity, clock};

    #[test]
    fn every_thread_of_a_ring_works_once_a_tour_and_ends_with_it() {
        let worked = Arc::new(AtomicU32::new(0));
        let counter = worked.clone();
        let make = move || {
            let counter = counter.clone();
            Ok(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })
        };
        let ring = Ring::new(Member::Thread, 5, |_| affinity::allowed().unwrap(), make).unwrap();
        for tours in 1..=10 {
            ring.tour().unwrap();
            assert_eq!(worked.load(Ordering::Relaxed), 4 * tours);
        }
        drop(ring);
        assert_eq!(Arc::strong_count(&worked), 1, "a thread is left");
    }

    #[test]
    fn a_ring_of_processes_goes_round_and_leaves_none_behind() {
        in_a_child(|| {
            let ring = Ring::new(Member::Process, 4, |_| affinity::allowed().unwrap(), || Ok(|| ()))?;
            (0..100).try_for_each(|_| ring.tour())?;
            drop(ring);
            assert_no_child();
            Ok(())
        });
    }

    #[test]
    fn a_token_that_missed_a_member_is_reported() {
        let mut ring = Ring::new(Member::Thread, 3, |_| affinity::allowed().unwrap(), || Ok(|| ())).unwrap();
        ring.tour().unwrap();
        // As if there were another member, which the token does not come to.
        ring.others += 1;
        assert!(ring.tour().unwrap_err().to_string().contains("every member"));
    }

    #[test]
    fn a_member_that_ends_breaks_the_ring_and_does_not_hang_it() {
        let broken = || -> io::Result<fn()> { Err(io::Error::other("no work")) };
        in_a_child(move || {
            let ring = Ring::new(Member::Process, 4, |_| affinity::allowed().unwrap(), broken)?;
            assert!(ring.tour().is_err());
            Ok(())
        });
        assert!(Ring::new(Member::Thread, 4, |_| affinity::allowed().unwrap(), broken).unwrap().tour().is_err());
    }

    #[test]
    fn one_process_passes_through_every_pipe() {
        let mut worked = 0;
        Pipes::new(7).unwrap().tour(|| worked += 1).unwrap();
        assert_eq!(worked, 7);
    }

    #[test]
    fn bursts_end_whatever_they_go_by() {
        for channel in [MessageChannel::Socket, MessageChannel::Pipe] {
            let crowd = Crowd { groups: 2, senders: 3, messages: 50, bytes: 100, channel };
            assert_eq!(crowd.total(), 900);
            in_a_child(|| {
                // Slow receivers: a burst is not over before all that it sent was read.
                let delay = Duration::from_millis(5);
                delay_turns(delay);
                let begin_ns = clock::monotonic_ns();
                let gathered = Gathered::new(crowd, &affinity::allowed()?)?;
                never_early(begin_ns, delay, 3, || gathered.burst())?;
                drop(gathered);
                assert_no_child();
                Ok(())
            });
        }
    }
}
