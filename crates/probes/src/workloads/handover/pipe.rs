//! A pipe with a process behind it that writes for ever.

use std::io;

use crate::workloads::call::Call;
use crate::workloads::handover::stream::Stream;

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

    /// The writer's process id.
    pub fn writer(&self) -> u32 {
        self.stream.writer()
    }

    /// Reads `bytes` from the pipe into `block`, at most a block at a time.
    #[inline]
    pub fn read(&self, bytes: u64, block: &mut [u8]) -> io::Result<()> {
        self.stream.read(bytes, block)
    }
}
