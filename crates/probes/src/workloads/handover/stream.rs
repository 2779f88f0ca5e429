//! A process that writes into a stream for ever, and reading from it.

use std::io;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use hostmark_engine::prelude::ReasonCode;

use crate::workloads::call::{Call, fault, named, returned};
use crate::workloads::process::Peer;

/// A child that writes messages into a stream until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct Stream {
    peer: Peer,
    read_end: OwnedFd,
}

impl Stream {
    /// Starts a child bound to `cpus` that writes `message` to `write_end` over and over. The write end closes here, so
    /// that the child's end is the reader's end of file.
    /// Refuses when this process has several threads: a lock held by one of them would stay locked in the child.
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

    /// The writer's process id.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::process::in_a_child;

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
}
