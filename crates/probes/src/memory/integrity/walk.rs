//! Walks over memory that find faulty cells: each pattern writes, reads back and compares.
//!
//! What each finds, as theory says and the tests hold it to (faults of one cell, of two cells, of addresses):
//!
//! | pattern | stuck at 0 or 1 | no change up or down | flips on a neighbour's change | set by a neighbour | two addresses, one cell | loses its value unread |
//! |---|---|---|---|---|---|---|
//! | address | yes | yes | – | – | yes | yes |
//! | inversions | yes | yes | yes | yes | yes | yes |
//! | moving | yes | yes | – | – | – | yes |
//! | random | mostly | mostly | – | – | yes | yes |
//!
//! `inversions` is the march C− (van de Goor, "Using March Tests to Test SRAMs", 1993), in 10 operations a word for each
//! of seven backgrounds, which part every two bits of a word from each other. `moving` alone has every bit of a word
//! stand out against all others, for faults that need a whole word of one value. A dash: some are found, by chance.

/// Memory of 64-bit words that does what it is told.
pub(super) trait WordMemory {
    /// How many words there are.
    fn words(&self) -> usize;
    /// Writes a word.
    fn write(&mut self, index: usize, value: u64);
    /// Reads a word.
    fn read(&mut self, index: usize) -> u64;
    /// Sends what is cached to the cells, so that the next reading is theirs.
    fn flush(&mut self);
}

/// A word that was not what had been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) index: usize,
    pub(super) expected: u64,
    pub(super) found: u64,
}

/// Faults that are kept with their words; the rest is counted.
const KEPT: usize = 4;

/// The faults that a walk met.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Faults {
    pub(super) count: u64,
    pub(super) first: Vec<Fault>,
}

impl Faults {
    #[inline(always)]
    fn compare(&mut self, index: usize, expected: u64, found: u64) {
        if expected != found {
            self.count += 1;
            if self.first.len() < KEPT {
                self.first.push(Fault { index, expected, found });
            }
        }
    }
}

/// A way to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkPattern {
    /// Every word holds its own address, then the complement, then the address again.
    Address,
    /// March C−: up and down with a background and its complement.
    Inversions,
    /// A single one, then a single zero, at every place of a word.
    Moving,
    /// Random words, then their complements.
    Random,
}

/// Backgrounds of which any two bits of a word differ in at least one, up to all 64.
const BACKGROUNDS: [u64; 7] = [
    0,
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];

impl WalkPattern {
    pub(super) fn named(name: &str) -> Option<WalkPattern> {
        Some(match name {
            "address" => WalkPattern::Address,
            "inversions" => WalkPattern::Inversions,
            "moving" => WalkPattern::Moving,
            "random" => WalkPattern::Random,
            _ => return None,
        })
    }

    /// Walks over all of the memory, once.
    pub(super) fn walk(self, memory: &mut impl WordMemory, seed: u64) -> Faults {
        let mut faults = Faults::default();
        match self {
            WalkPattern::Address => {
                // 2^32 words and more still differ: the multiplication mixes all bits, one to one.
                let own = |index: usize| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                fill_and_compare(memory, &mut faults, own);
                fill_and_compare(memory, &mut faults, |index| !own(index));
                fill_and_compare(memory, &mut faults, own);
            }
            WalkPattern::Inversions => {
                BACKGROUNDS.iter().for_each(|&background| march(memory, &mut faults, background))
            }
            WalkPattern::Moving => {
                for bit in 0..u64::BITS {
                    fill_and_compare(memory, &mut faults, |_| 1 << bit);
                    fill_and_compare(memory, &mut faults, |_| !(1 << bit));
                }
            }
            WalkPattern::Random => {
                let word = |index: usize| mixed(seed.wrapping_add(index as u64));
                fill_and_compare(memory, &mut faults, word);
                fill_and_compare(memory, &mut faults, |index| !word(index));
            }
        }
        faults
    }
}

fn fill_and_compare(memory: &mut impl WordMemory, faults: &mut Faults, value: impl Fn(usize) -> u64) {
    for index in 0..memory.words() {
        memory.write(index, value(index));
    }
    memory.flush();
    for index in 0..memory.words() {
        faults.compare(index, value(index), memory.read(index));
    }
}

/// March C−: write a everywhere; up: read a, write b; up: read b, write a; down: read a, write b; down: read b, write a;
/// read a everywhere.
fn march(memory: &mut impl WordMemory, faults: &mut Faults, a: u64) {
    let (words, b) = (memory.words(), !a);
    for index in 0..words {
        memory.write(index, a);
    }
    for (expected, next) in [(a, b), (b, a)] {
        memory.flush();
        for index in 0..words {
            faults.compare(index, expected, memory.read(index));
            memory.write(index, next);
        }
    }
    for (expected, next) in [(a, b), (b, a)] {
        memory.flush();
        for index in (0..words).rev() {
            faults.compare(index, expected, memory.read(index));
            memory.write(index, next);
        }
    }
    memory.flush();
    for index in 0..words {
        faults.compare(index, a, memory.read(index));
    }
}

/// A word that looks random, of any number: the finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
