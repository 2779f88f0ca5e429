//! Probe memory.line: the size of a cache line, by what misses and by what two CPUs contend for.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

/// Distances that are tried, bytes; no CPU's line is larger than half of the last.
const DISTANCES: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];
/// Space of each pair of words, bytes, at a multiple of [`ALIGN_BYTES`] that varies also among pairs which lie a power of
/// two apart: so that the lines fall on as many sets of the second-level cache as they can.
const SPACE_BYTES: usize = 2048;
const ALIGN_BYTES: usize = 256;
/// Pairs for each line of L1d. In an eighth of its sets, on which so aligned words fall, they are four times what it holds; and
/// a second cache of 256 KiB with four ways still holds both words of each.
const PAIRS_A_LINE: f64 = 0.5;
/// A distance counts as two lines from this part of the way between the lowest and the highest cost on.
const PART: f64 = 0.5;
/// Two misses instead of one: a smaller step is none.
const LEAST_STEP: f64 = 1.25;

/// The largest L1d known, where the host does not tell its own.
const LARGEST_L1D_BYTES: u64 = 128 << 10;
const WALKS: usize = 6;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Bytes,
    better: Better::Neither,
    axes: &[Axis::threads("sharers", Points::quick(&["1", "2"]))],
    limit: Limit::PowerOfTwo,
    section: super::STRUCTURE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::LINE
};

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<usize>("sharers")? > 1 {
        return measure_neighbours(case);
    }
    let l1d_bytes = if case.l1d_bytes() == 0 { LARGEST_L1D_BYTES } else { case.l1d_bytes() };
    let pairs = pairs(l1d_bytes as usize, case.line_bytes() as usize);
    let mut buffer = case.buffer((pairs * SPACE_BYTES) as u64, Pages::Pmd, None)?;
    let (mut seed, reported) = (case.seed(), case.line_bytes() as usize);
    case.search(|clock| {
        let mut curve = Vec::new();
        for distance in DISTANCES {
            seed = seed.wrapping_add(1);
            let words: Vec<usize> = shuffled(pairs, seed).into_iter().flat_map(|pair| words(pair, distance)).collect();
            let ns = fastest_ns(clock, buffer.bytes_mut(), &words, words.len(), WALKS)?;
            curve.push((distance, ns));
        }
        Ok(line(&curve, reported).map(|bytes| bytes as f64))
    })
}

/// Returns how many pairs miss an L1d of so many bytes, each by one line at least.
fn pairs(l1d_bytes: usize, line_bytes: usize) -> usize {
    (l1d_bytes as f64 / line_bytes as f64 * PAIRS_A_LINE) as usize
}

/// Returns the offsets of a pair's two words: the upper first, as prefetchers of L1d follow ascending loads.
fn words(pair: usize, distance: usize) -> [usize; 2] {
    let places = SPACE_BYTES / ALIGN_BYTES / 2;
    let turned: usize =
        std::iter::successors(Some(pair), |pair| Some(pair / places)).take_while(|pair| *pair > 0).sum();
    let lower = pair * SPACE_BYTES + turned % places * ALIGN_BYTES;
    [lower + distance, lower]
}

/// Returns the line size that a curve shows. Where prefetchers bring lines in by groups, the second load hits within a group:
/// on Zen 5 every curve steps at 256 bytes. A size larger than the line that the host reports is taken for such a group.
fn line(curve: &[(usize, f64)], reported: usize) -> Option<usize> {
    first_apart(curve).filter(|&bytes| bytes <= reported)
}

/// The first distance of a curve of costs that is on its high side, when there is a low and a high side and all from there
/// on are high; none otherwise.
fn first_apart(curve: &[(usize, f64)]) -> Option<usize> {
    let (low, high) = (curve.first()?.1, curve.last()?.1);
    let is_apart = |cost: f64| cost > low + PART * (high - low);
    let first = curve.iter().position(|&(_, cost)| is_apart(cost))?;
    let is_one_step = curve[first..].iter().all(|&(_, cost)| is_apart(cost));
    (high > LEAST_STEP * low && is_one_step).then_some(curve[first].0)
}

/// Additions of one timed slice.
const ADDITIONS: u64 = 1000;
/// Slices of a distance; their median counts, as a CPU that is away makes one fast, and one that is slow makes it slow.
const SLICES: usize = 9;
/// A slice counts when the other CPU did at least one addition for so many of its own.
const OTHERS: u64 = 50;
/// Longest wait for the other CPU, ns; a busy one may be away for some of the scheduler's slices.
const PATIENCE_NS: f64 = 20e6;
/// Two CPUs that contend for a line slow each other at least by this factor.
const LEAST_CONTENTION: f64 = 2.0;
/// Number that tells the other CPU, in the place of a word, to end.
const END: u64 = u64::MAX;

/// The words, at the start of a line whatever its size.
#[repr(align(4096))]
struct LineWords([AtomicU64; 128]);

/// A word that shares its line with no other.
#[repr(align(4096))]
struct Alone(AtomicU64);

struct Shared {
    words: LineWords,
    /// Word to which the other CPU is to add.
    asked: Alone,
    /// Additions of the other CPU, with the word's number in the low bits.
    done: Alone,
}

/// Measures by false sharing.
fn measure_neighbours(case: &mut Case) -> Result<()> {
    let [here, there] = case.cpus()?;
    case.pin(here)?;
    let words = LineWords(std::array::from_fn(|_| AtomicU64::new(1)));
    let shared = Shared { words, asked: Alone(AtomicU64::new(1)), done: Alone(AtomicU64::new(0)) };
    std::thread::scope(|scope| {
        let others = threads::start(scope, [|| add_where_asked(&shared, there)])?;
        let searched = case.search(|clock| {
            if others.iter().any(|other| other.is_finished()) {
                // Why, it says itself.
                return Err(RoundError::failed(ReasonCode::ProcessDied, say!("the other thread has ended")));
            }
            let mut curve = Vec::new();
            for bytes in DISTANCES {
                match contention(clock, &shared, bytes / 8) {
                    Some(ns) => curve.push((bytes, ns)),
                    None => return Ok(None),
                }
            }
            Ok(first_alone(&curve).map(|bytes| bytes as f64))
        });
        shared.asked.0.store(END, Relaxed);
        threads::join(others).and(searched)
    })
}

/// The other CPU: adds to the word that it is told until it is told the end.
fn add_where_asked(shared: &Shared, cpu: Cpu) -> Result<()> {
    threads::bind(cpu)?;
    let mut done = 0;
    loop {
        let word = shared.asked.0.load(Relaxed);
        let Some(own) = shared.words.0.get(word as usize) else { return Ok(()) };
        for _ in 0..8 {
            own.fetch_add(1, Relaxed);
        }
        done += 8;
        shared.done.0.store(done << 8 | word, Relaxed);
    }
}

/// Nanoseconds of an addition to the first word while the other CPU adds to word `other`; none when it does not come.
fn contention(clock: &Clock, shared: &Shared, other: usize) -> Option<f64> {
    shared.asked.0.store(other as u64, Relaxed);
    let begin = clock.start();
    let mut slices = Vec::with_capacity(SLICES);
    while slices.len() < SLICES {
        let before = shared.done.0.load(Relaxed);
        let ns = clock.time(|| {
            for _ in 0..ADDITIONS {
                shared.words.0[0].fetch_add(1, Relaxed);
            }
        });
        let after = shared.done.0.load(Relaxed);
        let is_at_it = before & 0xff == other as u64 && (after >> 8) - (before >> 8) >= ADDITIONS / OTHERS;
        if is_at_it {
            slices.push(ns / ADDITIONS as f64);
        } else if clock.ns(clock.start().since(begin)) > PATIENCE_NS {
            return None;
        }
    }
    slices.sort_by(f64::total_cmp);
    Some(slices[SLICES / 2])
}

/// The first distance of a curve that is on its low side, when all before it are high and all from there on are low.
fn first_alone(curve: &[(usize, f64)]) -> Option<usize> {
    let (together, alone) = (curve.first()?.1, curve.last()?.1);
    let is_alone = |cost: f64| cost < (together * alone).sqrt();
    let first = curve.iter().position(|&(_, cost)| is_alone(cost))?;
    let is_one_step = curve[first..].iter().all(|&(_, cost)| is_alone(cost));
    (together > LEAST_CONTENTION * alone && is_one_step).then_some(curve[first].0)
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
