//! Two CPUs that write neighbouring words: the distance from which on neither notices the other.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::DISTANCES;
use hostmark_engine::prelude::*;

/// Additions of one timed slice.
const ADDITIONS: u64 = 1000;
/// Slices of a distance; their median counts, as a CPU that is away makes one fast, and one that is slow makes it slow.
const SLICES: usize = 9;
/// A slice counts when the other CPU did at least one addition for so many of its own.
const OTHERS: u64 = 50;
/// How long the other CPU is waited for, ns; a busy one may be away for some of the scheduler's slices.
const PATIENCE_NS: f64 = 20e6;
/// Two CPUs that contend for a line slow each other at least by this factor.
const LEAST_CONTENTION: f64 = 2.0;
/// Told to the other CPU in the place of a word: the end.
const END: u64 = u64::MAX;

/// The words, at the start of a line whatever its size.
#[repr(align(4096))]
struct LineWords([AtomicU64; 128]);

/// A word that shares its line with no other.
#[repr(align(4096))]
struct Alone(AtomicU64);

/// What both CPUs see.
struct Shared {
    words: LineWords,
    /// Which word the other CPU is to add to.
    asked: Alone,
    /// Additions of the other CPU, with the word's number in the low bits.
    done: Alone,
}

/// Measures by false sharing.
pub(super) fn measure(case: &mut Case) -> Result<()> {
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
pub(super) fn first_alone(curve: &[(usize, f64)]) -> Option<usize> {
    let (together, alone) = (curve.first()?.1, curve.last()?.1);
    let is_alone = |cost: f64| cost < (together * alone).sqrt();
    let first = curve.iter().position(|&(_, cost)| is_alone(cost))?;
    let is_one_step = curve[first..].iter().all(|&(_, cost)| is_alone(cost));
    (together > LEAST_CONTENTION * alone && is_one_step).then_some(curve[first].0)
}
