//! A ring of bytes in memory that two processes share: one copies in, the other copies out.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::futex::{wait, wake};
use super::peer::Peer;
use super::shared::Shared;

/// Bytes that the ring holds: both copies stay in a core's own cache, and a futex call comes every some messages.
pub const CAPACITY: usize = 256 << 10;
/// Bytes copied before the other is told of them, at most: both work at once where they have two CPUs.
pub const PIECE: usize = 64 << 10;
/// Which word is which.
const WRITTEN: usize = 0;
const READ: usize = 1;
const READER_SLEEPS: usize = 2;
const WRITER_SLEEPS: usize = 3;

/// A word with two lines of its own: prefetchers take pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Word(AtomicU32);

/// What both processes share.
#[derive(Debug)]
#[repr(C, align(4096))]
struct Memory {
    words: [Word; 4],
    bytes: Bytes,
}

#[derive(Debug)]
#[repr(align(4096))]
struct Bytes(UnsafeCell<[u8; CAPACITY]>);

// SAFETY: which part belongs to whom is told by the words: nobody else uses it meanwhile.
unsafe impl Sync for Bytes {}

/// The ring, as both processes see it. The counts of bytes wrap, which the capacity divides.
#[derive(Debug)]
struct Ring {
    memory: Shared<Memory>,
}

impl Ring {
    fn new() -> io::Result<Ring> {
        let bytes = Bytes(UnsafeCell::new([0; CAPACITY]));
        Ok(Ring { memory: Shared::new(Memory { words: Default::default(), bytes })? })
    }

    #[inline(always)]
    fn word(&self, which: usize) -> &AtomicU32 {
        &self.memory.words[which].0
    }

    /// The byte at an offset, from which `bytes` lie inside the ring.
    #[inline(always)]
    fn place(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= CAPACITY));
        // SAFETY: inside the array.
        unsafe { self.memory.bytes.0.get().cast::<u8>().add(offset) }
    }

    /// Bytes that have been written and not been read.
    #[inline(always)]
    fn filled(&self) -> usize {
        let written = self.word(WRITTEN).load(Ordering::Acquire);
        written.wrapping_sub(self.word(READ).load(Ordering::Acquire)) as usize
    }

    /// Copies one piece in, of `message` at most, waiting until there is room for all of it; returns how long it was.
    fn write(&self, message: &[u8]) -> io::Result<usize> {
        let count = self.word(WRITTEN);
        let at = count.load(Ordering::Relaxed) as usize % CAPACITY;
        let piece = message.len().min(PIECE).min(CAPACITY - at);
        // Who has filled the ring sleeps until half of it is free again, so as not to be woken for each piece.
        if CAPACITY - self.filled() < piece {
            self.sleep_while(READ, WRITER_SLEEPS, |ring| ring.filled() > CAPACITY / 2)?;
        }
        let to = self.place(at, piece);
        // SAFETY: inside the ring, and free: the reader leaves it alone until the count says that it is written.
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), to, piece) };
        count.store(count.load(Ordering::Relaxed).wrapping_add(piece as u32), Ordering::Release);
        self.wake_if(READER_SLEEPS, WRITTEN, true)?;
        Ok(piece)
    }

    /// Copies one piece out, of `block` at most, waiting until there is any; returns how long it was.
    fn read(&self, block: &mut [u8]) -> io::Result<usize> {
        if self.filled() == 0 {
            self.sleep_while(WRITTEN, READER_SLEEPS, |ring| ring.filled() == 0)?;
        }
        let count = self.word(READ);
        let at = count.load(Ordering::Relaxed) as usize % CAPACITY;
        let piece = block.len().min(self.filled()).min(CAPACITY - at);
        let from = self.place(at, piece);
        // SAFETY: inside the ring, and written: the writer leaves it alone until the count says that it is read.
        unsafe { std::ptr::copy_nonoverlapping(from, block.as_mut_ptr(), piece) };
        count.store(count.load(Ordering::Relaxed).wrapping_add(piece as u32), Ordering::Release);
        self.wake_if(WRITER_SLEEPS, READ, self.filled() <= CAPACITY / 2)?;
        Ok(piece)
    }

    /// Sleeps until the other's count has grown as far as needed, and says meanwhile that it does.
    #[cold]
    fn sleep_while(&self, count: usize, sleeps: usize, is_early: impl Fn(&Ring) -> bool) -> io::Result<()> {
        let count = self.word(count);
        loop {
            self.word(sleeps).store(1, Ordering::Relaxed);
            // Either the other sees the mark after it has counted on, or this sees its count: never neither.
            fence(Ordering::SeqCst);
            let seen = count.load(Ordering::Acquire);
            if !is_early(self) {
                self.word(sleeps).store(0, Ordering::Relaxed);
                return Ok(());
            }
            wait(count, seen, false)?;
        }
    }

    /// Wakes the other when it sleeps and `is_worth` it.
    #[inline(always)]
    fn wake_if(&self, sleeps: usize, count: usize, is_worth: bool) -> io::Result<()> {
        fence(Ordering::SeqCst);
        let sleeps = self.word(sleeps);
        if is_worth && sleeps.load(Ordering::Relaxed) == 1 {
            sleeps.store(0, Ordering::Relaxed);
            wake(self.word(count), false)?;
        }
        Ok(())
    }
}

/// A child that copies messages into a ring until it is dropped; it dies with its parent.
#[derive(Debug)]
pub struct RingWriter {
    _peer: Peer,
    ring: Ring,
}

impl RingWriter {
    /// Starts a child bound to `cpus` that writes `message` over and over.
    pub fn spawn(message: &[u8], cpus: &[usize]) -> io::Result<RingWriter> {
        let ring = Ring::new()?;
        let peer = Peer::spawn(cpus, || {
            loop {
                let mut rest = message;
                while !rest.is_empty() {
                    rest = &rest[ring.write(rest)?..];
                }
            }
        })?;
        Ok(RingWriter { _peer: peer, ring })
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
    use crate::sys::affinity;
    use crate::sys::process::in_a_child;

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
