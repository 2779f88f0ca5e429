//! A branch that goes as a pattern says: what it costs shows what the branch predictor knows of the pattern.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

use super::random::Random;

/// So many branches before its own is a direction loaded: a wrong guess is then found out at once, and its cost is the
/// core's alone, without the latency of a load.
const AHEAD: usize = 3;

/// Directions of a branch, one a byte, gone through over and over.
pub struct Pattern {
    directions: Vec<u8>,
    next: usize,
}

impl Pattern {
    /// `length` random directions, as likely one as the other.
    pub fn random(length: usize, seed: u64) -> Pattern {
        let mut random = Random::new(seed);
        Pattern { directions: (0..length.max(1)).map(|_| (random.next() >> 63) as u8).collect(), next: 0 }
    }

    /// One direction after the other, in memory of `length` bytes: what every predictor with a history knows.
    pub fn alternating(length: usize) -> Pattern {
        Pattern { directions: (0..length.max(2)).map(|index| (index % 2) as u8).collect(), next: 0 }
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
        let count = machine::branch(&self.directions, first, ahead(AHEAD), n);
        self.next = ((self.next as u64 + n) % length as u64) as usize;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(pattern: &Pattern, from: usize, n: usize) -> u64 {
        let length = pattern.directions.len();
        (from..from + n).map(|index| u64::from(pattern.directions[index % length])).sum()
    }

    #[test]
    fn a_branch_goes_as_its_pattern_says_and_goes_on_where_it_stopped() {
        for mut pattern in [Pattern::random(1, 1), Pattern::random(1000, 2), Pattern::alternating(64)] {
            let mut from = 0;
            for n in [1, 0, 2, 999, 64, 5000] {
                assert_eq!(pattern.branch(n as u64), expected(&pattern, from, n), "{n} from {from}");
                from += n;
            }
        }
    }

    #[test]
    fn random_directions_are_balanced_and_their_own_for_each_seed() {
        let mut pattern = Pattern::random(1 << 16, 3);
        let second = pattern.branch(1 << 16);
        assert!((31_000..34_500).contains(&second), "{second}");
        assert_ne!(pattern.directions, Pattern::random(1 << 16, 4).directions);
    }
}
