//! The machine's own words as they are walked, and what is told of their faults.

use hostmark_engine::prelude::*;

use super::walk::{Fault, Faults, Memory};
use crate::kernels::words::Words;

impl Memory for Words<'_> {
    fn words(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn write(&mut self, index: usize, value: u64) {
        Words::write(self, index, value);
    }

    #[inline(always)]
    fn read(&mut self, index: usize) -> u64 {
        Words::read(self, index)
    }

    fn flush(&mut self) {
        Words::flush(self);
    }
}

/// An error with the first faults' places in the buffer, where there are any.
pub(super) fn sound(faults: &Faults, from: usize) -> Result<()> {
    let told = |fault: &Fault| {
        let Fault { index, expected, found } = *fault;
        format!("at {:#x} expected {expected:#018x}, found {found:#018x}", from + index * 8)
    };
    let first: Vec<String> = faults.first.iter().map(told).collect();
    match faults.count {
        0 => Ok(()),
        count => Err(RoundError::failed(
            ReasonCode::MemoryError,
            format!("memory errors: {count} wrong words, {}", first.join("; ")),
        )),
    }
}
