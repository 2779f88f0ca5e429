//! How requests reach a file on a device.

use hostmark_engine::prelude::*;
use sys::files::{self, OwnedFd};
use sys::uring::{Direction, Ring};

/// How requests reach the file.
pub(super) enum Door {
    Ring(Ring),
    Plain { file: OwnedFd, memory: Buffer },
}

impl Door {
    /// The ring, or plain calls where the kernel refuses one and there is no more than one request at a time.
    pub fn open(case: &mut Case, file: OwnedFd, depth: u32, block: usize) -> Result<Door> {
        let spare = file.try_clone()?;
        match Ring::new(file, depth, block) {
            Ok(ring) => {
                case.note("interface", "io_uring");
                Ok(Door::Ring(ring))
            }
            Err(error) if depth > 1 => Err(Stop::skipped(format!("io_uring cannot be had: {error}"))),
            Err(_) => {
                case.note("interface", "pread and pwrite");
                Ok(Door::Plain { file: spare, memory: Buffer::map(block, Pages::Base, None)? })
            }
        }
    }

    /// Requests that it has room for.
    pub fn depth(&self) -> usize {
        match self {
            Door::Ring(ring) => ring.depth(),
            Door::Plain { .. } => 1,
        }
    }

    /// Hands over a request of one block, in the memory of `slot`.
    pub fn submit(&mut self, slot: usize, direction: Direction, offset: u64) -> std::io::Result<()> {
        match self {
            Door::Ring(ring) => ring.submit(slot, direction, offset),
            Door::Plain { file, memory } => match direction {
                Direction::Read => files::read_at(file, offset, memory.bytes_mut()),
                Direction::Write => files::write_at(file, offset, memory.bytes()),
            },
        }
    }

    /// Waits for a request to be done: its slot.
    pub fn wait(&mut self) -> std::io::Result<usize> {
        match self {
            Door::Ring(ring) => ring.wait(),
            // It was done when it was handed over.
            Door::Plain { .. } => Ok(0),
        }
    }
}
