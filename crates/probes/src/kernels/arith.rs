//! Chains of dependent register operations of known latency, and a loop around nothing: the rulers of every other kernel.

use std::arch::asm;

use super::assembly::UNROLL;

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

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [u64; 9] = [0, 1, 2, 63, 64, 65, 127, 128, 1000];

    #[test]
    fn multiply_chain_multiplies_n_times() {
        for n in LENGTHS {
            let expected = (0..n).fold(3u64, |x, _| x.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            assert_eq!(multiply_chain(n, 3, 0x9e37_79b9_7f4a_7c15), expected, "n = {n}");
        }
    }

    #[test]
    fn add_chain_adds_n_times() {
        for n in LENGTHS {
            assert_eq!(add_chain(n, u64::MAX - 5, 7), (u64::MAX - 5).wrapping_add(7 * n), "n = {n}");
        }
    }

    #[test]
    fn empty_ends() {
        for n in LENGTHS {
            empty(n);
        }
    }
}
