//! The expression in scalar floating-point instructions.

use std::arch::asm;

macro_rules! compute {
    ($name:ident, $type:ty, $bytes:literal, $r:literal) => {
        pub(super) fn $name(input: &[$type], output: &mut [$type]) {
            let elements = input.len().min(output.len());
            if elements == 0 {
                return;
            }
            // SAFETY: as many elements are read and written as both slices have, which are apart from each other; the
            // loop ends when its counter, not zero at first, is.
            unsafe {
                asm!(
                    concat!("fmov ", $r, "3, #1.0"),
                    concat!("fmov ", $r, "4, #1.5"),
                    ".p2align 6",
                    "2:",
                    concat!("ldr ", $r, "0, [{from}], #", $bytes),
                    concat!("fadd ", $r, "1, ", $r, "3, ", $r, "0"),
                    concat!("fsub ", $r, "2, ", $r, "4, ", $r, "0"),
                    concat!("fmul ", $r, "1, ", $r, "1, ", $r, "2"),
                    concat!("fdiv ", $r, "1, ", $r, "1, ", $r, "0"),
                    concat!("str ", $r, "1, [{to}], #", $bytes),
                    "subs {n}, {n}, #1",
                    "b.ne 2b",
                    from = inout(reg) input.as_ptr() => _,
                    to = inout(reg) output.as_mut_ptr() => _,
                    n = inout(reg) elements => _,
                    out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _,
                    options(nostack),
                );
            }
        }
    };
}

compute!(compute_f32, f32, 4, "s");
compute!(compute_f64, f64, 8, "d");
