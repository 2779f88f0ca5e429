//! The virtual counter of aarch64, read in order, and the chain of dependent adds.

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

/// Adds turned in one round of [`add_chain`]'s loop.
pub(super) const ADDS_A_TURN: u64 = 64;

/// `turns` × 64 dependent register-register adds: one cycle each.
#[inline(never)]
pub(super) fn add_chain(turns: u64) {
    // SAFETY: arithmetic on declared registers alone.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 64",
            "add {sum}, {sum}, {one}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            sum = inout(reg) 1_u64 => _,
            one = in(reg) 1_u64,
            turns = inout(reg) turns.max(1) => _,
            options(nomem, nostack)
        );
    }
}

/// Adds turned in one round of [`add_wide`]'s loop.
pub(super) const WIDE_ADDS_A_TURN: u64 = 80;

/// `turns` × 80 register-register adds in ten independent chains: as many a cycle as the core has units for.
#[inline(never)]
pub(super) fn add_wide(turns: u64) {
    // SAFETY: arithmetic on declared registers alone.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 8",
            "add {a}, {a}, {one}",
            "add {b}, {b}, {one}",
            "add {c}, {c}, {one}",
            "add {d}, {d}, {one}",
            "add {e}, {e}, {one}",
            "add {f}, {f}, {one}",
            "add {g}, {g}, {one}",
            "add {h}, {h}, {one}",
            "add {i}, {i}, {one}",
            "add {j}, {j}, {one}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            a = inout(reg) 1_u64 => _,
            b = inout(reg) 2_u64 => _,
            c = inout(reg) 3_u64 => _,
            d = inout(reg) 4_u64 => _,
            e = inout(reg) 5_u64 => _,
            f = inout(reg) 6_u64 => _,
            g = inout(reg) 7_u64 => _,
            h = inout(reg) 8_u64 => _,
            i = inout(reg) 9_u64 => _,
            j = inout(reg) 10_u64 => _,
            one = in(reg) 1_u64,
            turns = inout(reg) turns.max(1) => _,
            options(nomem, nostack)
        );
    }
}

/// The architecture defines a constant rate, and a counter that is the same on every CPU.
pub(super) fn check(_host: &HostFacts) -> Result<(), CounterUnusable> {
    Ok(())
}
