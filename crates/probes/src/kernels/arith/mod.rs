//! Chains of dependent register operations of known latency, and a loop around nothing: the rulers of every other kernel.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

/// Operations that one turn of the hot loop holds: enough for the loop's own cost to hide under their latency.
const UNROLL: u64 = 64;

/// Executes `n` multiplications of 64-bit registers, each on the result of the one before: `n` times 3 cycles on x86.
///
/// Gives `start` times `factor` to the power of `n`, modulo 2^64.
#[inline(never)]
pub fn multiply_chain(n: u64, start: u64, factor: u64) -> u64 {
    machine::multiply_chain(n / UNROLL, n % UNROLL, start, factor)
}

/// Executes `n` additions of 64-bit registers, each on the result of the one before: `n` core cycles.
///
/// Gives `start` plus `n` times `step`, modulo 2^64. The step is in a register: some cores fold immediates away.
#[inline(never)]
pub fn add_chain(n: u64, start: u64, step: u64) -> u64 {
    machine::add_chain(n / UNROLL, n % UNROLL, start, step)
}

/// Counts `n` iterations as the chains do, 64 a turn, with nothing inside: what an unrolled loop costs by itself.
#[inline(never)]
pub fn empty(n: u64) {
    machine::empty(n / UNROLL, n % UNROLL);
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
