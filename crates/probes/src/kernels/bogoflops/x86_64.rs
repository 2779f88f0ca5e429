//! The expression in scalar SSE instructions.

use std::arch::asm;

macro_rules! compute {
    ($name:ident, $type:ty, $bytes:literal, $mov:literal, $add:literal, $sub:literal, $mul:literal, $div:literal) => {
        pub(super) fn $name(input: &[$type], output: &mut [$type]) {
            let elements = input.len().min(output.len());
            if elements == 0 {
                return;
            }
            let (one, more): ($type, $type) = (1.0, 1.5);
            // SAFETY: as many elements are read and written as both slices have, which are apart from each other; the
            // loop ends when its counter, not zero at first, is.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    concat!($mov, " {x}, [{from}]"),
                    "movaps {sum}, {one}",
                    "movaps {rest}, {more}",
                    concat!($add, " {sum}, {x}"),
                    concat!($sub, " {rest}, {x}"),
                    concat!($mul, " {sum}, {rest}"),
                    concat!($div, " {sum}, {x}"),
                    concat!($mov, " [{to}], {sum}"),
                    concat!("add {from}, ", $bytes),
                    concat!("add {to}, ", $bytes),
                    "dec {n}",
                    "jnz 2b",
                    from = inout(reg) input.as_ptr() => _,
                    to = inout(reg) output.as_mut_ptr() => _,
                    n = inout(reg) elements => _,
                    one = in(xmm_reg) one,
                    more = in(xmm_reg) more,
                    x = out(xmm_reg) _,
                    sum = out(xmm_reg) _,
                    rest = out(xmm_reg) _,
                    options(nostack),
                );
            }
        }
    };
}

compute!(compute_f32, f32, 4, "movss", "addss", "subss", "mulss", "divss");
compute!(compute_f64, f64, 8, "movsd", "addsd", "subsd", "mulsd", "divsd");
