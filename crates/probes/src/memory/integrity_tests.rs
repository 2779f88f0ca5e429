//! Faults are injected into a memory made of a vector, and each pattern must find those of the module's table.

use super::*;

/// Defect of a cell, or of a pair of cells.
#[derive(Clone, Copy, Debug)]
enum Defect {
    /// A bit is always so.
    Stuck { at: usize, bit: u32, one: bool },
    /// A bit never changes to one, or to zero.
    NoChange { at: usize, bit: u32, up: bool },
    /// A bit flips whenever one bit of another word, or of its own, changes to one (or to zero).
    Inverted { by: (usize, u32), up: bool, at: (usize, u32) },
    /// A bit takes a value whenever one bit of another word changes to one (or to zero).
    Set { by: (usize, u32), up: bool, at: (usize, u32), one: bool },
    /// An address reaches the cell of another.
    SameCell { at: usize, as_of: usize },
    /// A bit is lost in the cells, once, before the reading that comes next.
    Lost { at: usize, bit: u32, after_flushes: u32 },
}

struct Broken {
    cells: Vec<u64>,
    defect: Option<Defect>,
    flushes: u32,
}

impl Broken {
    fn new(words: usize, defect: impl Into<Option<Defect>>) -> Broken {
        Broken { cells: vec![0x1234_5678; words], defect: defect.into(), flushes: 0 }
    }

    fn cell(&self, index: usize) -> usize {
        match self.defect {
            Some(Defect::SameCell { at, as_of }) if at == index => as_of,
            _ => index,
        }
    }
}

fn is_one(word: u64, bit: u32) -> bool {
    word >> bit & 1 == 1
}

fn with(word: u64, bit: u32, one: bool) -> u64 {
    word & !(1 << bit) | u64::from(one) << bit
}

impl WordMemory for Broken {
    fn words(&self) -> usize {
        self.cells.len()
    }

    fn write(&mut self, index: usize, value: u64) {
        let cell = self.cell(index);
        let old = self.cells[cell];
        let changes = |word: usize, bit: u32, up: bool| {
            word == cell && is_one(old, bit) != is_one(value, bit) && is_one(value, bit) == up
        };
        self.cells[cell] = match self.defect {
            Some(Defect::Stuck { at, bit, one }) if at == cell => with(value, bit, one),
            Some(Defect::NoChange { at, bit, up }) if changes(at, bit, up) => with(value, bit, !up),
            _ => value,
        };
        match self.defect {
            Some(Defect::Inverted { by, up, at }) if changes(by.0, by.1, up) => self.cells[at.0] ^= 1 << at.1,
            Some(Defect::Set { by, up, at, one }) if changes(by.0, by.1, up) => {
                self.cells[at.0] = with(self.cells[at.0], at.1, one);
            }
            _ => {}
        }
    }

    fn read(&mut self, index: usize) -> u64 {
        self.cells[self.cell(index)]
    }

    fn flush(&mut self) {
        self.flushes += 1;
        if let Some(Defect::Lost { at, bit, after_flushes }) = self.defect
            && self.flushes == after_flushes
        {
            self.cells[at] ^= 1 << bit;
        }
    }
}

const WORDS: usize = 200;
const PLACES: [usize; 4] = [0, 7, 64, WORDS - 1];
const BITS: [u32; 4] = [0, 1, 31, 63];

fn places() -> impl Iterator<Item = (usize, u32)> {
    PLACES.into_iter().flat_map(|at| BITS.into_iter().map(move |bit| (at, bit)))
}

/// The injected defects, by the columns of the module's table.
fn defects() -> [Vec<Defect>; 6] {
    let either = [false, true];
    let one_cell = |make: fn(usize, u32, bool) -> Defect| {
        places().flat_map(|(at, bit)| either.map(|way| make(at, bit, way))).collect::<Vec<Defect>>()
    };
    // Every pair of different words, and every pair of bits of one word.
    let pairs: Vec<((usize, u32), (usize, u32))> =
        places().flat_map(|by| places().map(move |at| (by, at))).filter(|(by, at)| by.0 != at.0).collect();
    let inverted = pairs.iter().flat_map(|&(by, at)| either.map(|up| Defect::Inverted { by, up, at }));
    let set = pairs
        .iter()
        .flat_map(|&(by, at)| either.into_iter().flat_map(move |up| either.map(|one| Defect::Set { by, up, at, one })));
    let same = PLACES.into_iter().flat_map(|at| PLACES.map(|as_of| Defect::SameCell { at, as_of }));
    [
        one_cell(|at, bit, one| Defect::Stuck { at, bit, one }),
        one_cell(|at, bit, up| Defect::NoChange { at, bit, up }),
        inverted.collect(),
        set.collect(),
        same.filter(|defect| !matches!(defect, Defect::SameCell { at, as_of } if at == as_of)).collect(),
        places().map(|(at, bit)| Defect::Lost { at, bit, after_flushes: 2 }).collect(),
    ]
}

/// The share of the defects that a pattern finds.
fn found(pattern: WalkPattern, defects: &[Defect]) -> f64 {
    let finds = |defect: &&Defect| pattern.walk(&mut Broken::new(WORDS, **defect), 5).count > 0;
    defects.iter().filter(finds).count() as f64 / defects.len() as f64
}

#[test]
fn sound_memory_has_no_faults() {
    for pattern in [WalkPattern::Address, WalkPattern::Inversions, WalkPattern::Moving, WalkPattern::Random] {
        for words in [0, 1, WORDS] {
            assert_eq!(pattern.walk(&mut Broken::new(words, None), 3), Faults::default(), "{pattern:?}");
        }
    }
}

#[test]
fn each_pattern_finds_what_the_table_says() {
    use WalkPattern::{Address, Inversions, Moving, Random};
    let kinds = defects();
    let all = |pattern, kind: usize| assert_eq!(found(pattern, &kinds[kind]), 1.0, "{pattern:?} {kind}");
    let some = |pattern, kind: usize| assert!(found(pattern, &kinds[kind]) < 1.0, "{pattern:?} finds all of {kind}");
    (0..6).for_each(|kind| all(Inversions, kind));
    for (pattern, finds, misses) in [
        (Address, vec![0, 1, 4, 5], vec![2, 3]),
        (Moving, vec![0, 1, 5], vec![2, 3, 4]),
        (Random, vec![4, 5], vec![2, 3]),
    ] {
        finds.into_iter().for_each(|kind| all(pattern, kind));
        misses.into_iter().for_each(|kind| some(pattern, kind));
    }
    // Both values of a bit are written, and one of both changes.
    assert_eq!(found(Random, &kinds[0]), 1.0);
    assert!(found(Random, &kinds[1]) >= 0.5);
}

#[test]
fn bits_of_one_word_that_disturb_each_other_are_found_by_inversions() {
    // The one follows the other: they are joined.
    struct Joined(Vec<u64>, u32, u32);
    impl WordMemory for Joined {
        fn words(&self) -> usize {
            self.0.len()
        }
        fn write(&mut self, index: usize, value: u64) {
            self.0[index] = if index == 3 { with(value, self.2, is_one(value, self.1)) } else { value };
        }
        fn read(&mut self, index: usize) -> u64 {
            self.0[index]
        }
        fn flush(&mut self) {}
    }
    for one in 0..64 {
        for other in (0..64).filter(|&other| other != one) {
            assert!(WalkPattern::Inversions.walk(&mut Joined(vec![0; 8], one, other), 0).count > 0, "{one} {other}");
        }
    }
}

#[test]
fn a_fault_is_reported_with_its_place_and_both_words() {
    let defect = Defect::Stuck { at: 17, bit: 5, one: true };
    let faults = WalkPattern::Inversions.walk(&mut Broken::new(WORDS, defect), 0);
    // A background without the bit is read three times, its complement with it twice, and the other way round.
    assert_eq!(faults.first[0], Fault { index: 17, expected: 0, found: 1 << 5 });
    assert_eq!(faults.first.len(), KEPT);
    assert!(faults.count > KEPT as u64);
}
