//! A ring of bytes in memory that two processes share: one copies in, the other copies out.

use std::cell::UnsafeCell;
use std::io;

use crate::workloads::handover::flow::FlowControl;
use crate::workloads::process::Peer;
use crate::workloads::waits::Shared;

/// Bytes that the ring holds: both copies stay in a core's own cache, and a futex call comes every some messages.
pub const CAPACITY: usize = 256 << 10;
/// Bytes copied before the other is told of them, at most: both work at once where they have two CPUs.
pub const PIECE: usize = 64 << 10;

/// What both processes share.
#[derive(Debug)]
#[repr(C, align(4096))]
struct SharedMemory {
    flow: FlowControl<CAPACITY, PIECE>,
    bytes: Bytes,
}

#[derive(Debug)]
#[repr(align(4096))]
struct Bytes(UnsafeCell<[u8; CAPACITY]>);

// SAFETY: which part belongs to whom is told by the flow: nobody else uses it meanwhile.
unsafe impl Sync for Bytes {}

/// The ring, as both processes see it.
#[derive(Debug)]
struct SharedRing {
    memory: Shared<SharedMemory>,
}

impl SharedRing {
    fn new() -> io::Result<SharedRing> {
        let bytes = Bytes(UnsafeCell::new([0; CAPACITY]));
        Ok(SharedRing { memory: Shared::new(SharedMemory { flow: FlowControl::default(), bytes })? })
    }

    /// The byte at an offset, from which `bytes` lie inside the ring.
    #[inline(always)]
    fn place(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= CAPACITY));
        // SAFETY: inside the array.
        unsafe { self.memory.bytes.0.get().cast::<u8>().add(offset) }
    }

    /// Copies one piece in, of `message` at most, waiting until there is room for all of it; returns how long it was.
    fn write(&self, message: &[u8]) -> io::Result<usize> {
        let (at, piece) = self.memory.flow.room(message.len())?;
        let to = self.place(at, piece);
        assert!(piece <= message.len());
        // SAFETY: inside the ring and the message, and free: the reader leaves it alone until it is told to be written.
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), to, piece) };
        self.memory.flow.wrote(piece)?;
        Ok(piece)
    }

    /// Copies one piece out, of `block` at most, waiting until there is any; returns how long it was.
    fn read(&self, block: &mut [u8]) -> io::Result<usize> {
        let (at, piece) = self.memory.flow.content(block.len())?;
        let from = self.place(at, piece);
        assert!(piece <= block.len());
        // SAFETY: inside the ring and the block, and written: the writer leaves it alone until it is told to be read.
        unsafe { std::ptr::copy_nonoverlapping(from, block.as_mut_ptr(), piece) };
        self.memory.flow.took(piece)?;
        Ok(piece)
    }
}

/// A child that copies messages into a ring until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct RingWriter {
    peer: Peer,
    ring: SharedRing,
}

impl RingWriter {
    /// Starts a child bound to `cpus` that writes `message` over and over.
    pub fn spawn(message: &[u8], cpus: &[usize]) -> io::Result<RingWriter> {
        let ring = SharedRing::new()?;
        let peer = Peer::spawn(cpus, || {
            loop {
                let mut rest = message;
                while !rest.is_empty() {
                    rest = &rest[ring.write(rest)?..];
                }
            }
        })?;
        Ok(RingWriter { peer, ring })
    }

    /// The writer's process id.
    pub fn writer(&self) -> u32 {
        self.peer.pid()
    }

    /// Copies `bytes` out of the ring into `block`, at most a block at a time.
    #[inline]
    pub fn read(&self, bytes: u64, block: &mut [u8]) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let most = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= self.ring.read(&mut block[..most])? as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::process::in_a_child;

    #[test]
    fn every_byte_comes_out_as_it_went_in() {
        // A message that no boundary of the ring divides, over several times its capacity.
        let message: Vec<u8> = (0..=250).cycle().take(251 * 500).collect();
        in_a_child(|| {
            let cpus = affinity::allowed()?;
            affinity::bind(&cpus[..1])?;
            for other in [cpus.first(), cpus.last()].into_iter().flatten() {
                let writer = RingWriter::spawn(&message, &[*other])?;
                let mut next = 0;
                for nth in 0..3000 {
                    let mut block = vec![0; 1 + nth % 997];
                    let piece = writer.ring.read(&mut block)?;
                    assert!(piece > 0);
                    for byte in &block[..piece] {
                        assert_eq!(*byte, next);
                        next = (next + 1) % 251;
                    }
                }
            }
            Ok(())
        });
    }
}
