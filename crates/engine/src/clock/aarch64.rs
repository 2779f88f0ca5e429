//! The virtual counter of aarch64, read in order.

use std::arch::asm;

use hostmark_model::HostFacts;

use super::CounterUnusable;

/// The counter's name in a run file.
pub const SOURCE: &str = "cntvct";

/// `isb; mrs cntvct_el0; isb` (Arm ARM D12: the counter may be read ahead of earlier instructions without the barrier).
#[inline(always)]
pub(super) fn start() -> u64 {
    let ticks: u64;
    // SAFETY: reads the virtual counter, which Linux lets user space read.
    unsafe {
        asm!("isb", "mrs {0}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

/// The same as [`start`]: both sides are ordered.
#[inline(always)]
pub(super) fn end() -> u64 {
    start()
}

/// The architecture defines a constant rate, and a counter that is the same on every CPU.
pub(super) fn check(_host: &HostFacts) -> Result<(), CounterUnusable> {
    Ok(())
}
