//! Loops of register additions: they take as long as the core's clock says.

use std::arch::asm;

/// Adds in one turn of [`add_chain`]'s loop.
pub(super) const ADDS_A_TURN: u64 = 64;

/// `turns` × 64 dependent register-register adds: one cycle each on every core (an immediate is folded by some).
#[inline(never)]
pub(super) fn add_chain(turns: u64) {
    // SAFETY: arithmetic on declared registers alone.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 64",
            #[cfg(target_arch = "x86_64")]
            "add {sum}, {one}",
            #[cfg(target_arch = "aarch64")]
            "add {sum}, {sum}, {one}",
            ".endr",
            #[cfg(target_arch = "x86_64")]
            "dec {turns}; jnz 2b",
            #[cfg(target_arch = "aarch64")]
            "subs {turns}, {turns}, #1; b.ne 2b",
            sum = inout(reg) 1_u64 => _,
            one = in(reg) 1_u64,
            turns = inout(reg) turns.max(1) => _,
            options(nomem, nostack)
        );
    }
}

/// Adds in one turn of [`add_wide`]'s loop.
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
            ".irp sum,{a},{b},{c},{d},{e},{f},{g},{h},{i},{j}",
            #[cfg(target_arch = "x86_64")]
            "add \\sum, {one}",
            #[cfg(target_arch = "aarch64")]
            "add \\sum, \\sum, {one}",
            ".endr",
            ".endr",
            #[cfg(target_arch = "x86_64")]
            "dec {turns}; jnz 2b",
            #[cfg(target_arch = "aarch64")]
            "subs {turns}, {turns}, #1; b.ne 2b",
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
