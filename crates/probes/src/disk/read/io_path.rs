//! How requests reach a file on a device.

use crate::workloads::storage::files::{self, OwnedFd};
use crate::workloads::storage::random_blocks::Content;
use crate::workloads::storage::uring::{IoDirection, IoRing};
use hostmark_engine::prelude::*;

/// How requests reach the file, and what they write there, if they do.
pub struct IoPath {
    way: IoMethod,
    written: Option<Content>,
}

enum IoMethod {
    Ring(IoRing),
    Plain { file: OwnedFd, memory: Buffer, is_done: bool },
}

impl IoPath {
    /// The ring, or plain calls where the kernel refuses one and there is no more than one request at a time.
    /// `writes` says whether anything is to be written.
    pub fn open(case: &mut Case, file: OwnedFd, writes: bool, depth: u32, block: usize) -> Result<IoPath> {
        let spare = files::copy(&file)?;
        let way = match IoRing::new(file, depth, block) {
            Ok(ring) => IoMethod::Ring(ring),
            Err(error) if depth > 1 => return Err(RoundError::lacking(say!("io_uring is not available"), &error)),
            Err(_) => {
                let memory = case.buffer(block as u64, Pages::Base, None)?;
                IoMethod::Plain { file: spare, memory, is_done: false }
            }
        };
        case.note("interface", if matches!(way, IoMethod::Ring(_)) { "io_uring" } else { "pread and pwrite" });
        let mut io_path = IoPath { way, written: None };
        if writes {
            let mut content = Content::new()?;
            (0..io_path.depth()).for_each(|slot| content.fill(io_path.way.block_mut(slot)));
            io_path.written = Some(content);
        }
        Ok(io_path)
    }

    /// Requests that it has room for.
    pub fn depth(&self) -> usize {
        match &self.way {
            IoMethod::Ring(ring) => ring.depth(),
            IoMethod::Plain { .. } => 1,
        }
    }

    /// Hands over a request of one block, in the memory of `slot`. No two blocks that are written are alike.
    pub fn submit(&mut self, slot: usize, direction: IoDirection, offset: u64) -> std::io::Result<()> {
        if let Some(content) = self.written.as_mut().filter(|_| direction == IoDirection::Write) {
            content.renew(self.way.block_mut(slot));
        }
        match &mut self.way {
            IoMethod::Ring(ring) => ring.submit(slot, direction, offset),
            IoMethod::Plain { file, memory, is_done } => {
                *is_done = true;
                match direction {
                    IoDirection::Read => files::read_at(file, offset, memory.bytes_mut()),
                    IoDirection::Write => files::write_at(file, offset, memory.bytes()),
                }
            }
        }
    }

    /// Waits for a request to be done: its slot.
    pub fn wait(&mut self) -> std::io::Result<usize> {
        match &mut self.way {
            IoMethod::Ring(ring) => ring.wait(),
            // It was done when it was handed over.
            IoMethod::Plain { is_done, .. } => {
                *is_done = false;
                Ok(0)
            }
        }
    }

    /// A request that is done, its slot, without waiting; none where none is.
    pub fn poll(&mut self) -> std::io::Result<Option<usize>> {
        match &mut self.way {
            IoMethod::Ring(ring) => ring.poll(),
            IoMethod::Plain { is_done, .. } => Ok(std::mem::take(is_done).then_some(0)),
        }
    }
}

impl IoMethod {
    fn block_mut(&mut self, slot: usize) -> &mut [u8] {
        match self {
            IoMethod::Ring(ring) => ring.block_mut(slot),
            IoMethod::Plain { memory, .. } => memory.bytes_mut(),
        }
    }
}
