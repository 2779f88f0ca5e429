//! The seeded random numbers that order a chain: SplitMix64, chosen because a chain needs one number a node and little quality.

/// A generator whose whole state is one 64-bit word.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Puts them in random order.
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last as u32 + 1) as usize);
        }
    }

    /// A number under `bound`; the bias is at most `bound` in 2^32, which no chain notices.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

/// Makes `order` one random cycle (Sattolo): following `order[i]` from anywhere visits every index once.
pub(super) fn one_cycle(order: &mut [u32], random: &mut Random) {
    for (index, slot) in (0..).zip(order.iter_mut()) {
        *slot = index;
    }
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u32) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_visited_once() {
        for length in [1usize, 2, 3, 64, 1000] {
            let mut order = vec![0; length];
            one_cycle(&mut order, &mut Random::new(7));
            let mut seen = vec![false; length];
            let mut at = 0;
            for _ in 0..length {
                assert!(!std::mem::replace(&mut seen[at], true), "index {at} twice in {length}");
                at = order[at] as usize;
            }
            assert_eq!(at, 0);
        }
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
