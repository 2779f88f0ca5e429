//! How far a ring of bytes has been written and read, and how its two ends wait for each other.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::workloads::waits::{Alone, Word, sleep_marked, wake_marked};

/// The counts of a ring that holds `CAPACITY` bytes, and takes `PIECE` of them at once at most. They wrap, which the capacity
/// divides.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct FlowControl<const CAPACITY: usize, const PIECE: usize, W = AtomicU32> {
    written: Alone<W>,
    read: Alone<W>,
    reader_sleeps: Alone<W>,
    writer_sleeps: Alone<W>,
}

impl<const CAPACITY: usize, const PIECE: usize, W: Word> FlowControl<CAPACITY, PIECE, W> {
    /// Bytes that have been written and not been read.
    #[inline(always)]
    fn filled(&self) -> usize {
        let written = self.written.0.load(Ordering::Acquire);
        written.wrapping_sub(self.read.0.load(Ordering::Acquire)) as usize
    }

    /// Where the writer goes on, and how many of `length` bytes it may write there; waits until there is room for them.
    #[inline(always)]
    pub(crate) fn room(&self, length: usize) -> io::Result<(usize, usize)> {
        let at = self.written.0.load(Ordering::Relaxed) as usize % CAPACITY;
        let piece = length.min(PIECE).min(CAPACITY - at);
        // Who has filled the ring sleeps until half of it is free again, so as not to be woken for each piece.
        if CAPACITY - self.filled() < piece {
            sleep_marked(&self.writer_sleeps.0, || self.filled() <= CAPACITY / 2)?;
        }
        Ok((at, piece))
    }

    /// The writer has written a piece.
    #[inline(always)]
    pub(crate) fn wrote(&self, piece: usize) -> io::Result<()> {
        let count = &self.written.0;
        count.store(count.load(Ordering::Relaxed).wrapping_add(piece as u32), Ordering::Release);
        wake_marked(&self.reader_sleeps.0)
    }

    /// Where the reader goes on, and how many bytes of `most` it may read there; waits until there are any.
    #[inline(always)]
    pub(crate) fn content(&self, most: usize) -> io::Result<(usize, usize)> {
        if self.filled() == 0 {
            sleep_marked(&self.reader_sleeps.0, || self.filled() > 0)?;
        }
        let at = self.read.0.load(Ordering::Relaxed) as usize % CAPACITY;
        Ok((at, most.min(self.filled()).min(CAPACITY - at)))
    }

    /// The reader has read a piece.
    #[inline(always)]
    pub(crate) fn took(&self, piece: usize) -> io::Result<()> {
        let count = &self.read.0;
        count.store(count.load(Ordering::Relaxed).wrapping_add(piece as u32), Ordering::Release);
        if self.filled() <= CAPACITY / 2 { wake_marked(&self.writer_sleeps.0) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::waits::model::{ModelWord, every_interleaving};

    /// Two ends of a ring of two bytes hand over this many, one at a time.
    const BYTES: usize = 4;

    #[test]
    #[ignore = "takes long"]
    fn both_ends_of_a_ring_come_through_in_every_interleaving() {
        every_interleaving(3, || {
            let flow = std::sync::Arc::new(FlowControl::<2, 1, ModelWord>::default());
            let writing = flow.clone();
            let writer = loom::thread::spawn(move || {
                for number in 0..BYTES {
                    assert_eq!(writing.room(9).unwrap(), (number % 2, 1));
                    writing.wrote(1).unwrap();
                }
            });
            for number in 0..BYTES {
                assert_eq!(flow.content(1).unwrap(), (number % 2, 1));
                flow.took(1).unwrap();
            }
            writer.join().unwrap();
        });
    }
}
