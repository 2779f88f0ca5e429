//! The branch in AArch64 instructions.

use std::arch::asm;

/// Goes through the branch `n` times, `n` not zero; gives how often it was not taken and the next index.
pub(super) fn branch(directions: &[u8], from: usize, n: u64) -> (u64, usize) {
    let bytes = directions.as_ptr_range();
    let mut at = bytes.start.wrapping_add(from);
    let mut count: u64 = 0;
    // SAFETY: reads stay inside the slice, as `from` does and the pointer wraps at its end; the loop ends when its
    // counter is zero.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "ldrb w0, [x1], #1",
            "cmp x1, x2",
            "csel x1, x3, x1, eq",
            "cbz w0, 3f",
            "add x4, x4, #1",
            "3:",
            "subs x5, x5, #1",
            "b.ne 2b",
            inout("x1") at,
            inout("x5") n => _,
            inout("x4") count,
            in("x2") bytes.end,
            in("x3") bytes.start,
            out("x0") _,
            options(readonly, nostack),
        );
    }
    (count, at.addr() - bytes.start.addr())
}
