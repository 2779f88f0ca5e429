//! A pipe with a process behind it that writes for ever.

use std::io;

use rustix::fd::{AsRawFd, OwnedFd};

use super::peer::Peer;

/// A child that writes messages into a pipe until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct PipeWriter {
    _peer: Peer,
    read_end: OwnedFd,
    /// The pipe's capacity, bytes, as the kernel gave it.
    pub capacity: usize,
}

impl PipeWriter {
    /// Starts a child bound to `cpus` that writes `message` over and over. `capacity`: what to ask the kernel for.
    /// Refuses when this process has several threads: a lock held by one of them would stay locked in the child.
    pub fn spawn(message: &[u8], capacity: Option<usize>, cpus: &[usize]) -> io::Result<PipeWriter> {
        let (read_end, write_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        if let Some(bytes) = capacity {
            rustix::pipe::fcntl_setpipe_size(&write_end, bytes)?;
        }
        let capacity = rustix::pipe::fcntl_getpipe_size(&write_end)?;
        let peer = Peer::spawn(cpus, || {
            write_for_ever(&write_end, message);
            Ok(())
        })?;
        // The write end closes here, so that the child's end is the reader's end of file.
        Ok(PipeWriter { _peer: peer, read_end, capacity })
    }

    /// Reads `bytes` from the pipe into `block`, at most a block at a time.
    #[inline]
    pub fn read(&self, bytes: u64, block: &mut [u8]) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let most = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            // SAFETY: the kernel writes at most `most` bytes to `block`, which is that long at least.
            let got = unsafe { libc::read(self.read_end.as_raw_fd(), block.as_mut_ptr().cast(), most) };
            match got {
                0 => return Err(io::Error::other("the writer ended")),
                -1 => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
                got => left -= got as u64,
            }
        }
        Ok(())
    }
}

fn write_for_ever(end: &OwnedFd, message: &[u8]) {
    loop {
        let mut rest = message;
        while !rest.is_empty() {
            // SAFETY: the kernel reads at most `rest.len()` bytes from `rest`.
            let written = unsafe { libc::write(end.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) if written > 0 => rest = &rest[written..],
                _ => return,
            }
        }
    }
}
