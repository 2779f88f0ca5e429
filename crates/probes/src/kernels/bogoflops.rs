//! The expression (1 + x) (1.5 − x) / x, element by element: an addition, a subtraction, a multiplication, a division.

/// Elements of an array: few enough for both arrays to stay in every first-level cache.
const ELEMENTS: usize = 1000;

/// Two arrays: what is computed from, and what comes of it.
pub struct Arrays<T> {
    input: Vec<T>,
    output: Vec<T>,
}

/// Arrays of a type: its bytes, what the names of x86-64's instructions for it end with, and those of AArch64's registers begin
/// with.
macro_rules! arrays {
    ($type:ty, $bytes:literal, $suffix:literal, $letter:literal) => {
        impl Arrays<$type> {
            /// Arrays with values from 1 to 2.
            #[expect(clippy::new_without_default, reason = "what a new one holds is no default of anything")]
            pub fn new() -> Self {
                let input = (0..ELEMENTS).map(|index| 1.0 + index as $type / ELEMENTS as $type).collect();
                Self { input, output: vec![0.0; ELEMENTS] }
            }

            /// Computes `n` elements, pass after pass over the arrays.
            #[inline(never)]
            pub fn compute(&mut self, mut n: u64) {
                while n > 0 {
                    let some = n.min(ELEMENTS as u64);
                    let some_elements = some as usize;
                    Self::compute_some(&self.input[..some_elements], &mut self.output[..some_elements]);
                    n -= some;
                }
            }

            // A function of its own in every build, so that the loop has the same registers in all of them.
            #[inline(never)]
            fn compute_some(input: &[$type], output: &mut [$type]) {
                let elements = input.len().min(output.len());
                if elements == 0 {
                    return;
                }
                // SAFETY: as many elements are read and written as both slices have, which are apart from each other; the
                // loop ends when its counter, not zero at first, is.
                unsafe {
                    asm_by_arch!(
                        by_arch!(
                            x86_64 { "" }
                            aarch64 { concat!("fmov ", $letter, "3, #1.0\nfmov ", $letter, "4, #1.5") }
                        ),
                        ".p2align 6",
                        "2:",
                        by_arch!(
                            x86_64 {
                                concat!(
                                    "mov", $suffix, " {x}, [{from}]\n",
                                    "movaps {sum}, {one}\n",
                                    "movaps {rest}, {more}\n",
                                    "add", $suffix, " {sum}, {x}\n",
                                    "sub", $suffix, " {rest}, {x}\n",
                                    "mul", $suffix, " {sum}, {rest}\n",
                                    "div", $suffix, " {sum}, {x}\n",
                                    "mov", $suffix, " [{to}], {sum}\n",
                                    "add {from}, ", $bytes, "\n",
                                    "add {to}, ", $bytes,
                                )
                            }
                            aarch64 {
                                concat!(
                                    "ldr ", $letter, "0, [{from}], #", $bytes, "\n",
                                    "fadd ", $letter, "1, ", $letter, "3, ", $letter, "0\n",
                                    "fsub ", $letter, "2, ", $letter, "4, ", $letter, "0\n",
                                    "fmul ", $letter, "1, ", $letter, "1, ", $letter, "2\n",
                                    "fdiv ", $letter, "1, ", $letter, "1, ", $letter, "0\n",
                                    "str ", $letter, "1, [{to}], #", $bytes,
                                )
                            }
                        ),
                        count_down!("{n}", "2b");
                        x86_64 {
                            from = inout(reg) input.as_ptr() => _,
                            to = inout(reg) output.as_mut_ptr() => _,
                            n = inout(reg) elements => _,
                            one = in(xmm_reg) 1.0 as $type,
                            more = in(xmm_reg) 1.5 as $type,
                            x = out(xmm_reg) _,
                            sum = out(xmm_reg) _,
                            rest = out(xmm_reg) _,
                        }
                        aarch64 {
                            from = inout(reg) input.as_ptr() => _,
                            to = inout(reg) output.as_mut_ptr() => _,
                            n = inout(reg) elements => _,
                            out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _,
                        }
                        options(nostack)
                    );
                }
            }
        }
    };
}

arrays!(f32, 4, "ss", "s");
arrays!(f64, 8, "sd", "d");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_computed_and_no_more_than_asked_for() {
        let (mut single, mut double) = (Arrays::<f32>::new(), Arrays::<f64>::new());
        for n in [0, 1, 2, 3, 7, 999, 1000, 2500] {
            single.output.fill(-7.0);
            double.output.fill(-7.0);
            single.compute(n);
            double.compute(n);
            for index in 0..ELEMENTS {
                let is_computed = (index as u64) < n;
                let (x, y) = (single.input[index], double.input[index]);
                let expected = if is_computed { (1.0 + x) * (1.5 - x) / x } else { -7.0 };
                assert_eq!(single.output[index], expected, "f32 {index} of {n}");
                let expected = if is_computed { (1.0 + y) * (1.5 - y) / y } else { -7.0 };
                assert_eq!(double.output[index], expected, "f64 {index} of {n}");
            }
        }
    }
}
