//! A process that accepts connections at a socket file, and closes each at once.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::files;
use super::peer::Peer;

/// A child that accepts and closes until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct Listener {
    _peer: Peer,
    address: SocketAddrUnix,
}

impl Listener {
    /// Starts a child bound to `cpus` that listens at a socket file, which is made in `directory`.
    pub fn spawn(cpus: &[usize], directory: &Path) -> io::Result<Listener> {
        let path = directory.join("listener");
        let listener = UnixListener::bind(&path)?;
        let address = SocketAddrUnix::new(&path)?;
        let peer = Peer::spawn(cpus, move || {
            loop {
                drop(listener.accept()?);
            }
        })?;
        Ok(Listener { _peer: peer, address })
    }

    /// Makes a socket, connects it, waits until the other end has been closed, and closes it.
    #[inline(always)]
    pub fn connect_and_close(&self) -> io::Result<()> {
        let socket: OwnedFd =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::net::connect(&socket, &self.address)?;
        match files::read_byte(&socket) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(error),
            Ok(()) => Err(io::Error::other("who only closes has written")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::affinity;
    use crate::sys::process::in_a_child;

    #[test]
    fn every_connection_is_closed_by_the_other() {
        let directory = tempfile::tempdir().unwrap();
        in_a_child(|| {
            let listener = Listener::spawn(&affinity::allowed()?, directory.path())?;
            (0..100).try_for_each(|_| listener.connect_and_close())
        });
    }
}
