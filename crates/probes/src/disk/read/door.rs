//! How requests reach a file on a device.

use hostmark_engine::prelude::*;
use sys::content::Content;
use sys::files::{self, OwnedFd};
use sys::uring::{Direction, Ring};

/// How requests reach the file, and what they write.
pub(super) struct Door {
    way: Way,
    content: Content,
}

enum Way {
    Ring(Ring),
    Plain { file: OwnedFd, memory: Buffer },
}

impl Door {
    /// The ring, or plain calls where the kernel refuses one and there is no more than one request at a time.
    pub fn open(case: &mut Case, file: OwnedFd, depth: u32, block: usize) -> Result<Door> {
        let spare = file.try_clone()?;
        let way = match Ring::new(file, depth, block) {
            Ok(ring) => Way::Ring(ring),
            Err(error) if depth > 1 => return Err(Stop::skipped(format!("io_uring cannot be had: {error}"))),
            Err(_) => Way::Plain { file: spare, memory: Buffer::map(block, Pages::Base, None)? },
        };
        case.note("interface", if matches!(way, Way::Ring(_)) { "io_uring" } else { "pread and pwrite" });
        let mut door = Door { way, content: Content::new()? };
        for slot in 0..door.depth() {
            let block = door.way.block_mut(slot);
            door.content.fill(block);
        }
        Ok(door)
    }

    /// Requests that it has room for.
    pub fn depth(&self) -> usize {
        match &self.way {
            Way::Ring(ring) => ring.depth(),
            Way::Plain { .. } => 1,
        }
    }

    /// Hands over a request of one block, in the memory of `slot`. No two blocks that are written are alike.
    pub fn submit(&mut self, slot: usize, direction: Direction, offset: u64) -> std::io::Result<()> {
        if direction == Direction::Write {
            self.content.renew(self.way.block_mut(slot));
        }
        match &mut self.way {
            Way::Ring(ring) => ring.submit(slot, direction, offset),
            Way::Plain { file, memory } => match direction {
                Direction::Read => files::read_at(file, offset, memory.bytes_mut()),
                Direction::Write => files::write_at(file, offset, memory.bytes()),
            },
        }
    }

    /// Waits for a request to be done: its slot.
    pub fn wait(&mut self) -> std::io::Result<usize> {
        match &mut self.way {
            Way::Ring(ring) => ring.wait(),
            // It was done when it was handed over.
            Way::Plain { .. } => Ok(0),
        }
    }
}

impl Way {
    fn block_mut(&mut self, slot: usize) -> &mut [u8] {
        match self {
            Way::Ring(ring) => ring.block_mut(slot),
            Way::Plain { memory, .. } => memory.bytes_mut(),
        }
    }
}
