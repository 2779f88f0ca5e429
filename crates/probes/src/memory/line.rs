//! Probes of cache lines: their size, and how many share a set.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

/// Walks of a point, of which the fastest counts.
const WALKS: usize = 6;
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

/// Probe memory.line: the size of a cache line, by what misses and by what two CPUs contend for.
pub static LINE: Probe = Probe {
    revision: 2,
    unit: Unit::Bytes,
    better: Better::Neither,
    axes: &[Axis::threads("sharers", Points::quick(&["1", "2"]))],
    limit: Limit::PowerOfTwo,
    section: super::STRUCTURE,
    measure: Measure::Run(measure_line),
    ..crate::texts::memory::LINE
};

fn measure_line(case: &mut Case) -> Result<()> {
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

/// The first distance on the high side of a curve of costs that has both sides and stays high from there on; none otherwise.
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

/// Lines that are tried at most: twice the ways of the widest L1d known.
const MOST_LINES: usize = 32;
/// The smallest distance of two lines: what a page of 4 KiB leaves to the virtual index.
const LEAST_STRIDE_BYTES: usize = 4096;
/// The largest: a 128 KiB cache of 2 ways.
const MOST_STRIDE_BYTES: usize = 65536;
/// A load that misses L1d takes over twice as long; under random replacement one line too many makes few miss.
const STEP: f64 = 1.12;
/// Numbers of lines in a row over the step that make it one.
const LASTING: usize = 3;
const LOADS: usize = 2048;

/// Probe memory.associativity: the ways of the first-level data cache, by lines that must all lie in one set.
pub static ASSOCIATIVITY: Probe = Probe {
    unit: Unit::Count,
    better: Better::Higher,
    limit: Limit::Voted,
    section: super::STRUCTURE,
    measure: Measure::Run(measure_associativity),
    ..crate::texts::memory::ASSOCIATIVITY
};

fn measure_associativity(case: &mut Case) -> Result<()> {
    // Huge pages where there are any: with base pages the lines are as many pages, which larger strides crowd in the TLB.
    let mut buffer = case.buffer((MOST_LINES * MOST_STRIDE_BYTES) as u64, Pages::Pmd, None)?;
    let mut seed = case.seed();
    case.search(|clock| {
        let mut time = |lines: usize, stride: usize| -> Result<f64> {
            seed = seed.wrapping_add(1);
            let offsets: Vec<usize> = shuffled(lines, seed).into_iter().map(|line| line * stride).collect();
            fastest_ns(clock, buffer.bytes_mut(), &offsets, LOADS, WALKS)
        };
        Ok(ways(&mut time)?.filter(|&ways| is_built(ways)).map(|ways| ways as f64))
    })
}

/// Tells whether an L1d of so many ways is built: a power of two or three times one, since its ways are as large as powers of
/// two and its size is such a number. Others that share the cache take ways away, and leave 11 or 10 of 12.
fn is_built(ways: usize) -> bool {
    ways.is_power_of_two() || (ways.is_multiple_of(3) && (ways / 3).is_power_of_two())
}

/// The ways that the times of so many lines at such a stride show.
fn ways(time: &mut impl FnMut(usize, usize) -> Result<f64>) -> Result<Option<usize>> {
    let mut before = None;
    let mut stride = LEAST_STRIDE_BYTES;
    while stride <= MOST_STRIDE_BYTES {
        let fit = fitting(&mut |lines| time(lines, stride))?;
        if fit.is_some() && fit == before {
            return Ok(fit);
        }
        (before, stride) = (fit, 2 * stride);
    }
    Ok(None)
}

/// The largest number of lines before loads become slower, and stay so.
fn fitting(time: &mut impl FnMut(usize) -> Result<f64>) -> Result<Option<usize>> {
    let (mut fastest, mut slow) = (f64::INFINITY, 0);
    for lines in 1..=MOST_LINES {
        let ns = time(lines)?;
        fastest = fastest.min(ns);
        slow = if ns > STEP * fastest { slow + 1 } else { 0 };
        if slow == LASTING {
            return Ok(Some(lines - LASTING));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(costs: [f64; 7]) -> Vec<(usize, f64)> {
        DISTANCES.into_iter().zip(costs).collect()
    }

    #[test]
    fn the_line_ends_where_the_second_word_misses_too_and_a_curve_without_one_step_reports_none() {
        for (costs, apart) in [
            ([5.6, 5.5, 5.7, 9.8, 10.1, 10.0, 10.2], Some(64)),
            ([5.6, 5.6, 5.7, 5.6, 9.8, 10.0, 10.2], Some(128)),
            // A neighbour brought along makes its line cheaper, but no hit.
            ([5.6, 5.6, 5.7, 8.2, 10.0, 10.0, 10.2], Some(64)),
            ([5.6, 5.5, 5.7, 5.6, 5.6, 10.0, 10.2], Some(256)),
            ([5.6; 7], None),
            ([5.6, 9.9, 5.6, 9.8, 10.0, 10.0, 10.2], None),
            ([10.0, 9.9, 9.9, 5.0, 5.0, 5.0, 5.0], None),
        ] {
            let curve = curve(costs);
            assert_eq!(first_apart(&curve), apart, "{costs:?}");
            // What is larger than the reported line is none.
            assert_eq!(line(&curve, 64), apart.filter(|&apart| apart <= 64), "{costs:?}");
            assert_eq!(line(&curve, 256), apart, "{costs:?}");
        }
        assert_eq!(first_apart(&[]), None);
    }

    #[test]
    fn two_cpus_are_alone_from_the_first_distance_without_contention() {
        assert_eq!(first_alone(&curve([80.0, 95.0, 70.0, 6.1, 6.0, 6.2, 6.0])), Some(64));
        assert_eq!(first_alone(&curve([80.0, 95.0, 70.0, 60.1, 6.0, 6.2, 6.0])), Some(128));
        assert_eq!(first_alone(&curve([6.0, 6.1, 6.0, 6.1, 6.0, 6.2, 6.0])), None);
        assert_eq!(first_alone(&curve([80.0, 6.0, 70.0, 6.1, 6.0, 6.2, 6.0])), None);
    }

    #[test]
    fn no_two_pairs_share_a_line_of_the_largest_size() {
        for distance in DISTANCES {
            let all: Vec<usize> = (0..64).flat_map(|pair| words(pair, distance)).collect();
            let lines = |pair: &[usize]| [pair[0] / 256, pair[1] / 256];
            for (nth, pair) in all.chunks(2).enumerate() {
                assert_eq!(pair[0] - pair[1], distance);
                let others =
                    all.chunks(2).enumerate().filter(|(other, _)| *other != nth).flat_map(|(_, pair)| lines(pair));
                assert!(others.into_iter().all(|line| !lines(pair).contains(&line)));
            }
        }
    }

    /// The most and the fewest of these words' lines that fall on a set of a cache, of those on which any fall.
    fn in_sets(words: impl Iterator<Item = usize>, sets: usize) -> (usize, usize) {
        let mut lines: Vec<usize> = words.map(|word| word / 64).collect();
        lines.sort_unstable();
        lines.dedup();
        let mut of_set = vec![0; sets];
        lines.iter().for_each(|line| of_set[line % sets] += 1);
        let used = || of_set.iter().copied().filter(|&lines| lines > 0);
        (used().max().unwrap(), used().min().unwrap())
    }

    #[test]
    fn a_pair_misses_the_first_cache_by_either_word_and_the_second_holds_both() {
        // Bytes and ways of L1d, sets and ways of the second cache: Zen 3; Skylake of clients and of servers; Emerald Rapids.
        for ((bytes, ways), (second_sets, second_ways)) in
            [((32, 8), (1024, 8)), ((32, 8), (1024, 4)), ((32, 8), (1024, 16)), ((48, 12), (2048, 16))]
        {
            let (bytes, sets) = (bytes << 10, (bytes << 10) / 64 / ways);
            for distance in DISTANCES {
                let pairs = pairs(bytes, 64);
                for word in [0, 1] {
                    let (_, fewest) = in_sets((0..pairs).map(|pair| words(pair, distance)[word]), sets);
                    assert!(fewest >= 2 * ways, "{bytes}, {distance}: {fewest} lines in a set of {ways} ways");
                }
                let (most, _) = in_sets((0..pairs).flat_map(|pair| words(pair, distance)), second_sets);
                assert!(
                    most <= second_ways,
                    "{second_sets} sets, {distance}: {most} lines in one of {second_ways} ways"
                );
            }
        }
    }

    /// A cache that hits in 1.3 ns while no set has more lines than ways, and misses always or in part beyond.
    fn cache(ways: usize, way_bytes: usize, missing: f64) -> impl FnMut(usize, usize) -> Result<f64> {
        move |lines, stride| {
            let sets_used = (way_bytes / stride).max(1);
            Ok(if lines <= ways * sets_used { 1.3 } else { 1.3 + 3.2 * missing })
        }
    }

    #[test]
    fn the_ways_are_found_whatever_the_size_of_a_way_and_none_without_a_step() {
        for (made, way_bytes) in [(8, 4096), (12, 4096), (4, 16384), (8, 16384), (2, 32768), (16, 4096)] {
            for missing in [0.1, 0.4, 1.0] {
                assert_eq!(ways(&mut cache(made, way_bytes, missing)), Ok(Some(made)), "{way_bytes} {missing}");
            }
        }
        let mut made = cache(8, 4096, 1.0);
        let mut spike = |lines, stride| Ok(made(lines, stride)? * if lines == 4 { 3.0 } else { 1.0 });
        assert_eq!(ways(&mut spike), Ok(Some(8)), "one slow time is no step");
        assert_eq!(ways(&mut |_, _| Ok(1.3)), Ok(None));
        // A step that moves with every stride is no set's.
        assert_eq!(ways(&mut cache(2, 1 << 20, 1.0)), Ok(None));
    }

    #[test]
    fn a_number_of_ways_that_no_cache_has_is_none() {
        let built: Vec<usize> = (1..=32).filter(|&ways| is_built(ways)).collect();
        assert_eq!(built, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]);
    }
}
