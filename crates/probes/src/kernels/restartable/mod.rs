//! A counter for each CPU, and increments of it that need no lock: the kernel restarts one that it interrupts (rseq).

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use hostmark_engine::prelude::sys::waits::Alone;

pub use machine::Restartable;

/// No kernel of an architecture with these loops knows more CPUs.
const SLOTS: usize = 8192;

/// A counter for each CPU that there can be.
#[derive(Debug)]
pub struct CpuCounters(Box<[Alone<AtomicU64>]>);

impl Default for CpuCounters {
    fn default() -> CpuCounters {
        CpuCounters((0..SLOTS).map(|_| Alone::default()).collect())
    }
}

impl CpuCounters {
    pub fn of(&self, cpu: usize) -> &AtomicU64 {
        &self.0[cpu % SLOTS].0
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().map(|slot| slot.0.load(Ordering::Relaxed)).sum()
    }
}

/// Adds one to a counter, `n` times, by load, addition and store: for who is its only thread.
pub fn add_alone(counter: &AtomicU64, n: u64) {
    if n > 0 {
        // SAFETY: the word is there; a loop that counts ends when its counter, not zero at first, is.
        unsafe {
            asm_by_arch!(
                ".p2align 5", "2:",
                by_arch!(
                    x86_64 { "inc qword ptr [{word}]" }
                    aarch64 { "ldr {sum}, [{word}]\nadd {sum}, {sum}, #1\nstr {sum}, [{word}]" }
                ),
                count_down!("{n}", "2b");
                x86_64 {} aarch64 { sum = out(reg) _, }
                word = in(reg) counter.as_ptr(), n = inout(reg) n => _, options(nostack)
            );
        }
    }
}
