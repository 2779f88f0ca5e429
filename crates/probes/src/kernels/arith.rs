//! Arithmetic of known work: chains of dependent operations and a loop around nothing (the rulers of every other latency), the
//! expression of lmbench's bogoflops, and the sieve of Eratosthenes, which the kernel module shares.

use std::arch::{asm, global_asm};

use super::UNROLL;

/// Executes an instruction `n` times, each on the result of the one before.
macro_rules! chain {
    ($n:ident, $start:ident, $operand:ident, $instruction:expr) => {{
        let mut value = $start;
        // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is zero.
        unsafe {
            asm!(
                unrolled!("{turns}", "{rest}", $instruction),
                turns = inout(reg) $n / UNROLL => _,
                rest = inout(reg) $n % UNROLL => _,
                value = inout(reg) value,
                operand = in(reg) $operand,
                options(nomem, nostack),
            );
        }
        value
    }};
}

/// Executes `n` multiplications of 64-bit registers, each on the result of the one before: `n` times 3 cycles on x86.
///
/// Gives `start` times `factor` to the power of `n`, modulo 2^64.
#[inline(never)]
pub fn multiply_chain(n: u64, start: u64, factor: u64) -> u64 {
    chain!(
        n,
        start,
        factor,
        by_arch!(x86_64 { "imul {value}, {operand}" } aarch64 { "mul {value}, {value}, {operand}" })
    )
}

/// Executes `n` additions of 64-bit registers, each on the result of the one before: `n` core cycles.
///
/// Gives `start` plus `n` times `step`, modulo 2^64. The step is in a register: some cores fold immediates away.
#[inline(never)]
pub fn add_chain(n: u64, start: u64, step: u64) -> u64 {
    chain!(n, start, step, by_arch!(x86_64 { "add {value}, {operand}" } aarch64 { "add {value}, {value}, {operand}" }))
}

/// Counts `n` iterations as the chains do, 64 a turn, with nothing inside: what an unrolled loop costs by itself.
#[inline(never)]
pub fn empty(n: u64) {
    // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is zero.
    unsafe {
        asm!(
            unrolled!("{turns}", "{rest}", ""),
            turns = inout(reg) n / UNROLL => _,
            rest = inout(reg) n % UNROLL => _,
            options(nomem, nostack),
        );
    }
}

/// Elements of an array: few enough for both arrays to stay in every first-level cache.
const ELEMENTS: usize = 1000;

/// Two arrays: what is computed from, and what comes of it.
pub struct Arrays<T> {
    input: Vec<T>,
    output: Vec<T>,
}

/// Arrays of a type: its bytes, the suffix of x86-64's instructions and the prefix of AArch64's registers.
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

/// Numbers below this are sieved.
pub const BELOW: usize = 1_000_000;
/// Primes below a million (OEIS A006880): a sieve that finds another number is wrong, and no fast one.
pub const PRIMES: usize = 78_498;
/// Odd numbers below [`BELOW`], a bit each.
pub const WORDS: usize = (BELOW / 2).div_ceil(64);

global_asm!(
    #[cfg(target_arch = "x86_64")]
    include_str!("loops/sieve_x86_64.inc"),
    #[cfg(target_arch = "aarch64")]
    include_str!("loops/sieve_aarch64.inc"),
    ".pushsection .text.hm_sieve, \"ax\", %progbits",
    ".p2align 6",
    "hm_sieve:",
    "hostmark_sieve",
    "ret",
    ".popsection",
    ".globl hm_sieve",
    ".hidden hm_sieve",
    ".type hm_sieve, %function",
    #[cfg(target_arch = "x86_64")]
    options(att_syntax),
    options(raw)
);

unsafe extern "C" {
    /// Clears the words, strikes all multiples, and counts what is left.
    fn hm_sieve(composite: &mut [u64; WORDS]) -> u64;
}

/// Sieves with a bit for each odd number; gives the number of primes, 2 among them.
pub fn sieve(composite: &mut [u64; WORDS]) -> usize {
    // SAFETY: the loop takes its length from the array's, and stays inside: each index is below half of a million.
    unsafe { hm_sieve(composite) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [u64; 9] = [0, 1, 2, 63, 64, 65, 127, 128, 1000];

    #[test]
    fn a_chain_does_its_operation_n_times() {
        for n in LENGTHS {
            let expected = (0..n).fold(3u64, |x, _| x.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            assert_eq!(multiply_chain(n, 3, 0x9e37_79b9_7f4a_7c15), expected, "n = {n}");
            assert_eq!(add_chain(n, u64::MAX - 5, 7), (u64::MAX - 5).wrapping_add(7 * n), "n = {n}");
            empty(n);
        }
    }

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

    /// Tells whether it is prime, by trial.
    fn is_prime(number: usize) -> bool {
        number > 1
            && (2..).take_while(|divisor| divisor * divisor <= number).all(|divisor| !number.is_multiple_of(divisor))
    }

    #[test]
    fn what_is_left_is_prime_and_all_that_is_prime_whatever_was_there_before() {
        for before in [0, u64::MAX, 0x5a5a_1234_5678_9abc] {
            let mut composite = Box::new([before; WORDS]);
            assert_eq!(sieve(&mut composite), PRIMES);
            // 1, at index 0, is left too: 2 is counted in its place.
            for index in 1..BELOW / 2 {
                let is_struck = composite[index / 64] >> (index % 64) & 1 == 1;
                assert_eq!(is_struck, !is_prime(2 * index + 1), "{}", 2 * index + 1);
            }
            assert_eq!(composite[WORDS - 1] >> (BELOW / 2 % 64), 0, "beyond the last number");
        }
    }
}
