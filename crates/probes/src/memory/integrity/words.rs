//! The machine's own words as they are walked, and what is told of their faults.

use super::walk::{Fault, Faults, WordMemory};
use crate::kernels::words::VolatileWords;
use hostmark_engine::prelude::*;

impl WordMemory for VolatileWords<'_> {
    fn words(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn write(&mut self, index: usize, value: u64) {
        VolatileWords::write(self, index, value);
    }

    #[inline(always)]
    fn read(&mut self, index: usize) -> u64 {
        VolatileWords::read(self, index)
    }

    fn flush(&mut self) {
        VolatileWords::flush(self);
    }
}

/// An error with the first faults' places in the buffer, where there are any.
pub(super) fn sound(faults: &Faults, from: usize) -> Result<()> {
    let shown = |fault: &Fault| {
        let Fault { index, expected, found } = *fault;
        say!("at {index:#x} expected {expected:#018x}, found {found:#018x}", index = from + index * 8)
    };
    let first = Message::joined(faults.first.iter().map(shown), say!("; "));
    match faults.count {
        0 => Ok(()),
        count => Err(RoundError::failed(ReasonCode::MemoryError, say!("memory errors: {count} wrong words, {first}"))),
    }
}
