//! A look at the last cache: what a load from it costs now, so that a run tells whether its share of it changed.
//!
//! The kernel knows nothing of the guests, and of the other programs, that share this cache. What it held when the run began is gone
//! over once per replicate: as neighbours take their part of the cache and of the way to it, a load takes longer.

use hostmark_say::say;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use hostmark_model::{Event, Job, ReasonCode, RoundNoise};
use hostmark_stats::descriptive;

use crate::clock::Clock;
use crate::round_error::{Result, RoundError};
use crate::sampling::sample::{Interference, is_disturbed};
use crate::sys::usage::ThreadCounters;

/// A line, in numbers of 4 bytes: no two steps of the walk meet in one, on any machine of today.
const LINE: usize = 32;
const LINE_BYTES: usize = LINE * size_of::<u32>();
/// Lines of the smallest buffer over the second cache's: none of it stays there.
const BEYOND_THE_SECOND: u64 = 2;
/// The largest buffer: so much is gone over in some milliseconds, and lies in the last cache of any server.
pub(crate) const MOST_BYTES: u64 = 16 << 20;
/// Of the last cache at most: whoever shares it has some too.
const SHARE: u64 = 4;
/// A load from a buffer twice as large that takes this many times as long has left the plateau.
const OFF_THE_PLATEAU: f64 = 1.25;
/// Loads timed at once, and how often: under 20 ms in all, at 100 ns a load.
const LOADS: usize = 8_000;
const TURNS: usize = 15;
/// Lines that are walked before: all of [`MOST_BYTES`].
const AROUND: usize = MOST_BYTES as usize / LINE_BYTES;
/// Stretches at most, where something disturbs them, and how many undisturbed ones a look needs.
const MOST_TURNS: usize = 3 * TURNS;
const ENOUGH: usize = 5;

/// Whether a job asks for a look, and what came of it.
pub(crate) fn look(job: &Job, clock: &Clock) -> Option<Result<Vec<Event>>> {
    let bytes = job.look_at_cache?;
    Some(if bytes == 0 { find(job, clock) } else { walked_ns(bytes, clock).map(|ns| seen(bytes, ns)) })
}

fn seen(bytes: u64, ns: f64) -> Vec<Event> {
    vec![Event::LastCache { bytes, ns }, Event::Done { noise: RoundNoise::default() }]
}

/// Looks for the largest buffer that the last cache holds, by doubling, while a load takes about as long.
fn find(job: &Job, clock: &Clock) -> Result<Vec<Event>> {
    let sizes = sizes(&job.caches_bytes, job.memory_bytes);
    let mut found: Option<(u64, f64)> = None;
    for bytes in sizes {
        let ns = walked_ns(bytes, clock)?;
        if found.is_some_and(|(_, smallest_ns)| ns > OFF_THE_PLATEAU * smallest_ns) {
            break;
        }
        found = Some((bytes, found.map_or(ns, |(_, smallest_ns)| smallest_ns.min(ns))));
    }
    let (bytes, _) = found
        .ok_or_else(|| RoundError::skipped(ReasonCode::Hardware, say!("no cache beyond the second is told of")))?;
    Ok(seen(bytes, walked_ns(bytes, clock)?))
}

/// The buffers that are tried, from small to large; none where there is no third cache.
fn sizes(caches_bytes: &[u64], memory_bytes: u64) -> Vec<u64> {
    let [_, second, .., last] = *caches_bytes else { return Vec::new() };
    let most = MOST_BYTES.min(last / SHARE).min(memory_bytes / 4);
    let doubled = std::iter::successors(Some(BEYOND_THE_SECOND * second), |bytes| bytes.checked_mul(2));
    if caches_bytes.len() < 3 { Vec::new() } else { doubled.take_while(|bytes| *bytes > 0 && *bytes <= most).collect() }
}

/// Time of a dependent load over so many bytes, ns.
fn walked_ns(bytes: u64, clock: &Clock) -> Result<f64> {
    load_ns(&mut vec![0; (bytes as usize).max(2 * LINE_BYTES)], clock)
}

/// Time of a dependent load over this memory, ns: the median of several stretches of one random cycle over all lines.
/// Failed where the thread was kept waiting in nearly all of them: that time is the scheduler's and not the cache's.
pub(crate) fn load_ns(memory: &mut [u8], clock: &Clock) -> Result<f64> {
    let (numbers, _) = memory.as_chunks_mut();
    link(numbers);
    let walk =
        |from: usize, steps: usize| (0..steps).fold(from, |at, _| u32::from_ne_bytes(numbers[at * LINE]) as usize);
    // Once around as far as that is soon done, so that the cache holds what it can; on from there, which nothing has loaded since.
    let mut at = std::hint::black_box(walk(0, (numbers.len() / LINE).min(AROUND)));
    let interference = Interference::Thread(ThreadCounters::open());
    undisturbed_ns(&interference, || clock.time(|| at = std::hint::black_box(walk(at, LOADS))))
        .map(|ns| ns / LOADS as f64)
}

/// The median of stretches that nothing disturbed.
fn undisturbed_ns(interference: &Interference, mut stretch_ns: impl FnMut() -> f64) -> Result<f64> {
    let mut clean = Vec::new();
    for _ in 0..MOST_TURNS {
        let before = interference.read();
        let ns = stretch_ns();
        if !is_disturbed(&before, &interference.read(), ns) {
            clean.push(ns);
        }
        if clean.len() == TURNS {
            break;
        }
    }
    let median = descriptive::median(&clean).filter(|_| clean.len() >= ENOUGH);
    median.ok_or_else(|| {
        RoundError::failed(ReasonCode::Disturbed, say!("others had the CPU while the last cache was looked at"))
    })
}

/// Links all lines to a random cycle: the first number of each is the place of the next one.
fn link(numbers: &mut [[u8; 4]]) {
    let lines = numbers.len() / LINE;
    let mut order: Vec<u32> = (0..u32::try_from(lines).unwrap_or(u32::MAX)).collect();
    order.shuffle(&mut Pcg64Mcg::seed_from_u64(lines as u64));
    for (&from, &to) in order.iter().zip(order.iter().cycle().skip(1)) {
        numbers[from as usize * LINE] = to.to_ne_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn the_walk_meets_every_line_once_before_it_is_back() {
        for lines in [2, 3, 1000] {
            let mut next = vec![[0; 4]; lines * LINE];
            link(&mut next);
            let mut at = 0;
            let mut met = vec![false; lines];
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut met[at], true), "{lines}");
                at = u32::from_ne_bytes(next[at * LINE]) as usize;
            }
            assert_eq!(at, 0);
        }
    }

    #[test]
    fn a_stretch_that_waited_for_its_cpu_is_none_of_the_look() {
        let look = |is_disturbed: fn(u64) -> bool| {
            let script = std::rc::Rc::new(crate::sampling::sample::Script::default());
            let interference = Interference::Scripted(script.clone());
            let mut turn = 0;
            undisturbed_ns(&interference, || {
                turn += 1;
                if !is_disturbed(turn) {
                    return 100.0;
                }
                let mut counted = script.counted.get();
                counted.run_delay_ns += 300;
                script.counted.set(counted);
                400.0
            })
        };
        assert_eq!(look(|turn| turn % 3 != 0), Ok(100.0));
        assert!(matches!(look(|turn| turn > 2), Err(RoundError::Failed(_))));
    }

    #[test]
    fn buffers_lie_between_the_second_cache_and_a_part_of_the_last() {
        let mib = |mib: u64| mib << 20;
        let caches = [48 << 10, mib(2), mib(260)];
        assert_eq!(sizes(&caches, mib(4096)), [mib(4), mib(8), mib(16)]);
        assert_eq!(sizes(&[32 << 10, mib(1), mib(32)], mib(4096)), [mib(2), mib(4), mib(8)]);
        // Neither where there is little memory nor where the last cache is the second.
        assert_eq!(sizes(&caches, mib(20)), [mib(4)]);
        assert!(sizes(&[32 << 10, mib(1)], mib(4096)).is_empty());
        assert!(sizes(&[32 << 10, mib(4), mib(6)], mib(4096)).is_empty());
        assert!(sizes(&[0, 0, 0], mib(4096)).is_empty() && sizes(&[], 0).is_empty());
    }

    #[test]
    fn a_job_without_a_look_has_none_and_one_with_it_learns_what_a_load_takes() {
        let clock = Clock::MonotonicRaw;
        let job = Job::bare("", Vec::new());
        assert!(look(&job, &clock).is_none());
        let asked = job.with(|job| job.look_at_cache = Some(1 << 20));
        // Its caches are two.
        let lost = asked.clone().with(|job| job.look_at_cache = Some(0));
        assert!(matches!(look(&lost, &clock), Some(Err(RoundError::Skipped(_)))));
        let Some(events) = (0..20).find_map(|_| look(&asked, &clock).unwrap().ok()) else {
            return skipped("others have the CPU all the time");
        };
        assert!(matches!(events[..], [Event::LastCache { bytes: 1_048_576, ns }, Event::Done { .. }] if ns > 0.0));
    }
}
