//! Groups of processes that all send to one another, burst after burst.

use std::io;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::workloads::call::Call;
use crate::workloads::process::Peer;

/// By what messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageChannel {
    /// A Unix stream socket for each receiver.
    Socket,
    /// A pipe for each receiver.
    Pipe,
}

/// How many there are, and what they send.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Groups, which do not know of each other.
    pub groups: usize,
    /// Senders of a group, and as many receivers.
    pub senders: usize,
    /// Messages from each sender to each receiver of its group in a burst.
    pub messages: usize,
    /// Bytes of a message.
    pub bytes: usize,
    /// By what they go.
    pub channel: MessageChannel,
}

impl Crowd {
    /// Messages of a burst.
    pub fn total(&self) -> u64 {
        (self.groups * self.senders * self.senders * self.messages) as u64
    }
}

/// A crowd that waits for its bursts; ended when dropped.
#[derive(Debug)]
pub struct Gathered {
    _members: Vec<Peer>,
    /// One for each sender: were it one for all, a quick sender could take the place of a slow one, even of another group.
    starts: Vec<OwnedFd>,
    finished: OwnedFd,
}

/// Both ends of a channel: that of the receiver first.
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

    /// One burst: all senders begin, and all messages have been read when it comes back.
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
        crate::workloads::handover::ping_pong::tests::delay();
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
    use std::time::Duration;

    use super::*;
    use crate::workloads::clock;
    use crate::workloads::handover::ping_pong::tests::{delay_turns, never_early};
    use crate::workloads::{affinity, process::in_a_child};

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
                // SAFETY: no pointer is given.
                let left = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
                assert_eq!((left, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ECHILD)));
                Ok(())
            });
        }
    }
}
