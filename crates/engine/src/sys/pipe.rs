//! A pipe with a process behind it that writes for ever.

use std::io;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::{Pid, Signal, WaitOptions};

use super::affinity;

/// A child that writes messages into a pipe until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct PipeWriter {
    child: Pid,
    read_end: OwnedFd,
    /// The pipe's capacity, bytes, as the kernel gave it.
    pub capacity: usize,
}

impl PipeWriter {
    /// Starts a child bound to `cpus` that writes `message` over and over. `capacity`: what to ask the kernel for.
    /// Refuses when this process has several threads: a lock held by one of them would stay locked in the child.
    pub fn spawn(message: &[u8], capacity: Option<usize>, cpus: &[usize]) -> io::Result<PipeWriter> {
        if std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1) {
            return Err(io::Error::other("a process with several threads cannot fork a peer"));
        }
        let (read_end, write_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        if let Some(bytes) = capacity {
            rustix::pipe::fcntl_setpipe_size(&write_end, bytes)?;
        }
        let capacity = rustix::pipe::fcntl_getpipe_size(&write_end)?;
        let parent = std::process::id();
        // SAFETY: one thread, as checked: the child's copy of every lock is free. It calls nothing that returns to Rust's
        // runtime, and ends by exit_group.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child == 0 {
            if super::process::die_with_parent(parent) && affinity::bind(cpus).is_ok() {
                write_for_ever(&write_end, message);
            }
            loop {
                // SAFETY: ends the child.
                unsafe { libc::syscall(libc::SYS_exit_group, 1) };
            }
        }
        let child = i32::try_from(child).ok().and_then(Pid::from_raw).ok_or_else(io::Error::last_os_error)?;
        // The write end closes here, so that the child's end is the reader's end of file.
        Ok(PipeWriter { child, read_end, capacity })
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

impl Drop for PipeWriter {
    fn drop(&mut self) {
        // A child that has ended by itself is still there to be waited for.
        let _ = rustix::process::kill_process(self.child, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.child), WaitOptions::empty());
    }
}
