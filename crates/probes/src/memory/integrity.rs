//! Probe memory.integrity: whether locked memory gives back what was written to it.

use hostmark_engine::prelude::*;

use crate::kernels::words::VolatileWords;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Count,
    also: &[TESTED],
    axes: &[
        Axis::choice("pattern", "inversions", Points::quick(&["inversions", "address", "moving", "random"])),
        Axis::settled_size("amount", share),
    ],
    section: super::INTEGRITY,
    measure: Measure::Run(measure),
    ..crate::texts::memory::INTEGRITY
};

/// A part is walked as a whole, between two looks at the time.
const PART_BYTES: u64 = 4 << 20;

/// Bytes that a round tested.
const TESTED: Quantity = Quantity::given("tested", Unit::Bytes, Better::Higher, term!("tested in a round"));

/// Returns the most that a round tests by default: what it may fill, as a power of two, so that case ids stay equal.
fn share(host: &HostFacts) -> u64 {
    1 << may_fill_bytes(host).max(PART_BYTES).ilog2()
}

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("pattern")?;
    let pattern = WalkPattern::named(&name).ok_or_else(|| RoundError::internal(say!("there is no pattern {name}")))?;
    let amount: u64 = case.param("amount")?;
    // A part tells something where others have the rest, and nothing of a size that this machine has not.
    if sys::memory::of_machine().is_some_and(|(all, _)| amount > all) {
        case.may_fill(amount)?;
    }
    let (mut buffer, filling) = room(case, amount)?;
    // What is locked is tested at once.
    let mut filling = filling.without_forecast();
    let (seed, whole) = (case.seed(), buffer.bytes().len());
    let (mut from, mut locked, mut tested, mut limit) = (0, 0, 0, None);
    // No part is walked only to be thrown away: what is found does not depend on warm caches.
    case.search(|_| {
        if from == locked && limit.is_none() && from < whole {
            let to = whole.min(from + PART_BYTES as usize);
            let lock = buffer.lock(from, to).map_err(|error| {
                let (kib, hint) = ((to - from) >> 10, say!("raise RLIMIT_MEMLOCK (ulimit -l)"));
                RoundError::skipped(ReasonCode::ResourceLimit, say!("{kib} KiB cannot be locked ({error}): {hint}"))
            });
            match lock.and_then(|()| filling.advance((to - from) as u64)) {
                Ok(()) => locked = to,
                Err(error) if locked == 0 => return Err(error),
                Err(error) => limit = Some(error),
            }
        }
        if from == locked {
            from = 0;
        }
        let to = locked.min(from + PART_BYTES as usize);
        let faults =
            pattern.walk(&mut VolatileWords::of(&mut buffer.bytes_mut()[from..to]), seed.wrapping_add(from as u64));
        sound(&faults, from)?;
        (from, tested) = (to, tested.max(to));
        Ok(Some(0.0))
    })?;
    case.also(TESTED.name, [tested as f64])?;
    let walked = match limit {
        _ if tested as u64 >= amount => "all".to_owned(),
        Some(RoundError::Skipped(reason) | RoundError::Failed(reason)) => format!("a part: {reason}"),
        None if (whole as u64) < amount => "a part: no more may be filled".to_owned(),
        None => "a part: give it more time by the profile".to_owned(),
    };
    case.note("walked", walked);
    Ok(())
}

/// Reserves as much of `amount` as may be filled now, and can be had.
fn room(case: &Case, amount: u64) -> Result<(Buffer, Filling)> {
    let asked = amount.min(case.fillable_bytes().max(PART_BYTES));
    let reserve = |bytes| case.allot(1, bytes, Pages::Base, None)?.reserve();
    // Others may have taken memory since the run began.
    let smaller = std::iter::successors(Some(asked), |bytes| Some(bytes / 2)).take_while(|bytes| *bytes >= PART_BYTES);
    smaller.map(reserve).find(Result::is_ok).unwrap_or_else(|| reserve(asked))
}

impl WordMemory for VolatileWords<'_> {
    fn words(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn write(&mut self, index: usize, value: u64) {
        VolatileWords::write(self, index, value);
    }

    #[inline(always)]
    fn read(&mut self, index: usize) -> u64 {
        VolatileWords::read(self, index)
    }

    fn flush(&mut self) {
        VolatileWords::flush(self);
    }
}

/// An error with the first faults' places in the buffer, where there are any.
fn sound(faults: &Faults, from: usize) -> Result<()> {
    let shown = |fault: &Fault| {
        let Fault { index, expected, found } = *fault;
        say!("at {index:#x} expected {expected:#018x}, found {found:#018x}", index = from + index * 8)
    };
    let first = Message::joined(faults.first.iter().map(shown), say!("; "));
    match faults.count {
        0 => Ok(()),
        count => Err(RoundError::failed(ReasonCode::MemoryError, say!("memory errors: {count} wrong words, {first}"))),
    }
}

/// Memory of 64-bit words that does what it is told.
trait WordMemory {
    fn words(&self) -> usize;
    fn write(&mut self, index: usize, value: u64);
    fn read(&mut self, index: usize) -> u64;
    /// Sends what is cached to the cells, so that the next reading is theirs.
    fn flush(&mut self);
}

/// A word that was not what had been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault {
    index: usize,
    expected: u64,
    found: u64,
}

/// Faults that are kept with their words; the rest is counted.
const KEPT: usize = 4;

#[derive(Debug, Default, PartialEq)]
struct Faults {
    count: u64,
    first: Vec<Fault>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkPattern {
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
    fn named(name: &str) -> Option<WalkPattern> {
        Some(match name {
            "address" => WalkPattern::Address,
            "inversions" => WalkPattern::Inversions,
            "moving" => WalkPattern::Moving,
            "random" => WalkPattern::Random,
            _ => return None,
        })
    }

    fn walk(self, memory: &mut impl WordMemory, seed: u64) -> Faults {
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

/// March C−: write a; up: read a, write b; up: read b, write a; down: read a, write b; down: read b, write a; read a.
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
#[path = "integrity_tests.rs"]
mod tests;
