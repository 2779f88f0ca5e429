//! The sieve of Eratosthenes to a million in assembly that the kernel module shares.

use std::arch::global_asm;

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

    /// Whether it is prime, by trial.
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
