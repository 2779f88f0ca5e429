//! A process that accepts connections at a socket file, and closes each at once.

use std::io;
use std::path::Path;

use hostmark_engine::prelude::say;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::workloads::call::Call;
use crate::workloads::handover::ping_pong::Turns;
use crate::workloads::process::Peer;
use crate::workloads::{by_function, network::local, storage::files};

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

    /// Called after the measuring: an error unless the child has accepted and closed every connection.
    pub fn check(&self) -> io::Result<()> {
        self.closed.expect(self.asked)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::clock;
    use crate::workloads::handover::ping_pong::tests::{delay_turns, never_early};
    use crate::workloads::process::in_a_child;

    #[test]
    fn every_connection_is_closed_by_the_other_before_it_counts() {
        let directory = tempfile::tempdir().unwrap();
        in_a_child(|| {
            for (delay, times) in [(Duration::from_millis(5), 5), (Duration::ZERO, 100)] {
                delay_turns(delay);
                let begin_ns = clock::monotonic_ns();
                let mut listener = Listener::spawn(&affinity::allowed()?, directory.path())?;
                never_early(begin_ns, delay, times, || listener.connect_and_close())?;
                listener.check()?;
                std::fs::remove_file(directory.path().join("listener"))?;
            }
            Ok(())
        });
    }
}
