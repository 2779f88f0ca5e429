//! A branch that goes as a pattern says: what it costs shows what the branch predictor knows of the pattern.

use super::random::Random;

/// So many branches before its own is a direction loaded: a wrong guess is then found out at once, and its cost is the
/// core's alone, without the latency of a load.
const AHEAD: usize = 3;

/// Directions of a branch, one a byte, gone through over and over.
pub struct BranchPattern {
    directions: Vec<u8>,
    next: usize,
}

impl BranchPattern {
    /// `length` random directions, as likely one as the other.
    pub fn random(length: usize, seed: u64) -> BranchPattern {
        let mut random = Random::new(seed);
        BranchPattern { directions: (0..length.max(1)).map(|_| (random.next() >> 63) as u8).collect(), next: 0 }
    }

    /// One direction after the other, in memory of `length` bytes: what every predictor with a history knows.
    pub fn alternating(length: usize) -> BranchPattern {
        BranchPattern { directions: (0..length.max(2)).map(|index| (index % 2) as u8).collect(), next: 0 }
    }

    /// Goes through the branch `n` times, on from where it stopped. Gives how often it went the second way.
    #[inline(never)]
    pub fn branch(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let length = self.directions.len();
        let ahead = |steps: usize| (self.next + steps) % length;
        let first = [0, 1, 2].map(|steps| self.directions[ahead(steps)]);
        let count = branch(&self.directions, first, ahead(AHEAD), n);
        self.next = ((self.next as u64 + n) % length as u64) as usize;
        count
    }
}

/// Goes through the branch `n` times, `n` not zero, first as `first` says and then on from index `at`, inside of the
/// directions; gives how often it was not taken.
fn branch(directions: &[u8], first: [u8; AHEAD], at: usize, n: u64) -> u64 {
    let bytes = directions.as_ptr_range();
    let mut count: u64 = 0;
    // SAFETY: reads stay inside the slice, as `at` does and the pointer wraps at its end; the loop ends when its counter
    // is zero. The encodings are chosen so that no jump of x86-64 crosses 32 bytes of code: some cores decode such a one
    // slowly.
    unsafe {
        asm_by_arch!(
            ".p2align 6",
            "2:",
            by_arch!(
                x86_64 {
                    "mov r9d, r10d
                     mov r10d, r11d
                     mov r11d, eax
                     movzx eax, byte ptr [rsi]
                     add rsi, 1
                     cmp rsi, rdx
                     cmove rsi, rdi
                     test r9d, r9d
                     jz 3f
                     add r8, 1"
                }
                aarch64 {
                    "mov w6, w7
                     mov w7, w8
                     mov w8, w0
                     ldrb w0, [x1], #1
                     cmp x1, x2
                     csel x1, x3, x1, eq
                     cbz w6, 3f
                     add x4, x4, #1"
                }
            ),
            "3:",
            count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
            x86_64 {
                inout("rsi") bytes.start.wrapping_add(at) => _,
                inout("rcx") n => _,
                inout("r8") count,
                in("rdx") bytes.end,
                in("rdi") bytes.start,
                out("r9") _,
                inout("r10") u64::from(first[0]) => _,
                inout("r11") u64::from(first[1]) => _,
                inout("rax") u64::from(first[2]) => _,
            }
            aarch64 {
                inout("x1") bytes.start.wrapping_add(at) => _,
                inout("x5") n => _,
                inout("x4") count,
                in("x2") bytes.end,
                in("x3") bytes.start,
                out("x6") _,
                inout("x7") u64::from(first[0]) => _,
                inout("x8") u64::from(first[1]) => _,
                inout("x0") u64::from(first[2]) => _,
            }
            options(readonly, nostack)
        );
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(pattern: &BranchPattern, from: usize, n: usize) -> u64 {
        let length = pattern.directions.len();
        (from..from + n).map(|index| u64::from(pattern.directions[index % length])).sum()
    }

    #[test]
    fn a_branch_goes_as_its_pattern_says_and_goes_on_where_it_stopped() {
        for mut pattern in [BranchPattern::random(1, 1), BranchPattern::random(1000, 2), BranchPattern::alternating(64)]
        {
            let mut from = 0;
            for n in [1, 0, 2, 999, 64, 5000] {
                assert_eq!(pattern.branch(n as u64), expected(&pattern, from, n), "{n} from {from}");
                from += n;
            }
        }
    }

    #[test]
    fn random_directions_are_balanced_and_their_own_for_each_seed() {
        let mut pattern = BranchPattern::random(1 << 16, 3);
        let second = pattern.branch(1 << 16);
        assert!((31_000..34_500).contains(&second), "{second}");
        assert_ne!(pattern.directions, BranchPattern::random(1 << 16, 4).directions);
    }
}
