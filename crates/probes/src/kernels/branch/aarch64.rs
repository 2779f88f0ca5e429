//! The branch in AArch64 instructions.

use std::arch::asm;

use super::AHEAD;

/// Goes through the branch `n` times, `n` not zero, first as `first` says and then on from index `at`, inside of the
/// directions; gives how often it was not taken.
pub(super) fn branch(directions: &[u8], first: [u8; AHEAD], at: usize, n: u64) -> u64 {
    let bytes = directions.as_ptr_range();
    let mut count: u64 = 0;
    // SAFETY: reads stay inside the slice, as `at` does and the pointer wraps at its end; the loop ends when its counter
    // is zero.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "mov w6, w7",
            "mov w7, w8",
            "mov w8, w0",
            "ldrb w0, [x1], #1",
            "cmp x1, x2",
            "csel x1, x3, x1, eq",
            "cbz w6, 3f",
            "add x4, x4, #1",
            "3:",
            "subs x5, x5, #1",
            "b.ne 2b",
            inout("x1") bytes.start.wrapping_add(at) => _,
            inout("x5") n => _,
            inout("x4") count,
            in("x2") bytes.end,
            in("x3") bytes.start,
            out("x6") _,
            inout("x7") u64::from(first[0]) => _,
            inout("x8") u64::from(first[1]) => _,
            inout("x0") u64::from(first[2]) => _,
            options(readonly, nostack),
        );
    }
    count
}
