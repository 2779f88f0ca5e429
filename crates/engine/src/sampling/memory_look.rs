//! A look at memory before a run is planned: what first touch costs, and how much of a large last-level cache there is for this machine.
//!
//! A guest of two CPUs may be told of 300 MiB that a hundred others share, and its host may take 4 ms to back a MiB. Sizes that
//! follow from the reported cache alone would fill the run's time with set-up, and plans that do not know the first touch promise
//! what cannot be. A worker looks, so that what it fills is gone with it.

use hostmark_model::{Event, Job, MemoryLook, ReasonCode, RoundNoise};
use hostmark_say::say;
use hostmark_stats::descriptive;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::clock::Clock;
use crate::round_error::{Result, RoundError};
use crate::sampling::sample::{Interference, is_disturbed};
use crate::sys::memory::{Buffer, FillPattern, Pages};
use crate::sys::usage::ThreadCounters;

/// A last-level cache that is reported no larger is planned by as it is: twice its size is touched soon on any machine.
const TRUSTED_BYTES: u64 = 64 << 20;
/// Bytes that are touched at least, and at most as long as [`TOUCH_NS`].
const LEAST_TOUCHED: usize = 8 << 20;
const MOST_TOUCHED: usize = 64 << 20;
const TOUCH_NS: f64 = 50e6;
/// No more is touched where that is forecast to take longer in all: the reported size is planned by.
const MOST_LOOK_NS: f64 = 1e9;
/// A load from twice as large a buffer takes no more than this many times as long where neither is in the cache, and at least
/// [`BEYOND`] times what one takes that the cache holds.
const SAME: f64 = 1.25;
const BEYOND: f64 = 1.5;
/// The first size that is looked at. Up to the trusted one a load that misses takes so many times as long as one that hits: translation
/// alone may double what a cache takes.
const FIRST_BYTES: u64 = 16 << 20;
const FAR_BEYOND: f64 = 3.0;
/// No last-level cache of today's servers takes as long to answer, ns: what takes longer is memory, however large the cache that the
/// host tells of, and where neighbours leave nothing of it to compare with.
pub const SLOWER_THAN_CACHES_NS: f64 = 100.0;
/// Times the second-level cache of what the last one holds, if it holds anything.
const IN_LAST: u64 = 2;

/// Looks, where a job asks for it.
pub(crate) fn answer(job: &Job, clock: &Clock) -> Option<Result<Vec<Event>>> {
    job.look_at_memory.then(|| {
        let look = look_here(&job.caches_bytes, job.memory_bytes / 2, clock)?.map(Event::MemoryLook);
        Ok(look.into_iter().chain([Event::Done { noise: RoundNoise::default() }]).collect())
    })
}

/// The look of this process, which may fill `room` bytes.
fn look_here(caches_bytes: &[u64], room: u64, clock: &Clock) -> Result<Option<MemoryLook>> {
    if room < 2 * LEAST_TOUCHED as u64 {
        return Ok(None);
    }
    let reported = caches_bytes.last().copied().unwrap_or(0);
    let most = ((4 * reported).min(room) as usize).max(LEAST_TOUCHED);
    let buffer = Buffer::reserve(most, Pages::Pmd, None)?;
    let mut memory = Touched { buffer, bytes: 0, ns: 0.0, clean: (0, 0.0), clock };
    memory.touch(LEAST_TOUCHED);
    while memory.ns < TOUCH_NS && memory.bytes < MOST_TOUCHED.min(most) {
        memory.touch((2 * memory.bytes).min(most));
    }
    let second = caches_bytes.get(1).copied().unwrap_or(1 << 20);
    let last_cache_bytes = (reported > TRUSTED_BYTES)
        .then(|| not_held(reported, IN_LAST * second, |bytes| memory.load_ns(usize::try_from(bytes).ok()?)))
        .flatten();
    Ok(Some(MemoryLook { first_touch_bytes_per_s: memory.rate(), last_cache_bytes }))
}

/// The smallest power of two from [`TRUSTED_BYTES`] to `reported` that the last-level cache does not hold; none where it may hold all.
/// `load_ns`: time of a dependent load from so many bytes, if known. Where small sizes miss, no large ones are touched.
fn not_held(reported: u64, held: u64, mut load_ns: impl FnMut(u64) -> Option<f64>) -> Option<u64> {
    let held_ns = load_ns(held)?;
    let sizes = std::iter::successors(Some(FIRST_BYTES.max(2 * held)), |bytes| Some(2 * bytes));
    let mut before_ns = None;
    for bytes in sizes.take_while(|bytes| *bytes < reported) {
        let ns = before_ns.map_or_else(|| load_ns(bytes), Some)?;
        let twice_ns = load_ns(2 * bytes)?;
        let beyond = if bytes < TRUSTED_BYTES { FAR_BEYOND } else { BEYOND };
        if ns >= SLOWER_THAN_CACHES_NS.min(beyond * held_ns) && twice_ns <= SAME * ns {
            return Some(bytes.max(TRUSTED_BYTES));
        }
        before_ns = Some(twice_ns);
    }
    None
}

/// Memory, as far as it is touched.
struct Touched<'a> {
    buffer: Buffer,
    bytes: usize,
    ns: f64,
    /// Bytes and time of what nothing disturbed.
    clean: (usize, f64),
    clock: &'a Clock,
}

impl Touched<'_> {
    fn touch(&mut self, bytes: usize) {
        let interference = Interference::Thread(ThreadCounters::open());
        let (before, from) = (interference.read(), self.bytes);
        let ns = self.clock.time(|| {
            self.buffer.fill(from, bytes, FillPattern::START);
        });
        if !is_disturbed(&before, &interference.read(), ns) {
            self.clean = (self.clean.0 + bytes - from, self.clean.1 + ns);
        }
        (self.bytes, self.ns) = (bytes, self.ns + ns);
    }

    /// Bytes a second: of what nothing disturbed, if there is any.
    fn rate(&self) -> f64 {
        let (bytes, ns) = if self.clean.0 > 0 { self.clean } else { (self.bytes, self.ns) };
        bytes as f64 * 1e9 / ns.max(1.0)
    }

    /// Time of a dependent load over so many bytes, ns; none where there is no room for them, no time to touch them, or others had the CPU.
    fn load_ns(&mut self, bytes: usize) -> Option<f64> {
        let untouched = bytes.saturating_sub(self.bytes);
        if bytes > self.buffer.bytes().len() || self.ns + untouched as f64 * 1e9 / self.rate() > MOST_LOOK_NS {
            return None;
        }
        if untouched > 0 {
            self.touch(bytes);
        }
        load_ns(&mut self.buffer.bytes_mut()[..bytes], self.clock).ok()
    }
}

/// A line, in numbers of 4 bytes: no two steps of the walk meet in one, on any machine of today.
const LINE: usize = 32;
const LINE_BYTES: usize = LINE * size_of::<u32>();
/// Lines of the smallest buffer over the second cache's: none of it stays there.
const BEYOND_THE_SECOND: u64 = 2;
/// The largest buffer: so much is gone over in some milliseconds, and lies in the last cache of any server.
pub(crate) const MOST_BYTES: u64 = 16 << 20;
/// Divisor of the last cache's size: others that share it have some too.
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

/// Looks at the last cache if the job asks for it.
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
fn load_ns(memory: &mut [u8], clock: &Clock) -> Result<f64> {
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

/// Two passes take as long where they differ by no more than this share.
const AS_LONG: f64 = 0.03;
/// Passes at most, and how long they may take, ns: noise on a busy machine must not keep them going.
pub(crate) const MOST_PASSES: usize = 16;
const MOST_NS: f64 = 30e6;
/// Passes that turn back so often, slower after faster or faster after slower, are noise: a cache fills or empties one way.
const TURNS_OF_NOISE: usize = 2;
/// A pass that takes so long, ns, meets what it has left itself: what was there before is gone in its first part.
pub(crate) const LONG_NS: f64 = 20e6;

/// Helper that goes over memory before it is measured.
#[derive(Debug, Clone)]
pub struct Steady {
    clock: Clock,
    most_passes: usize,
}

impl Default for Steady {
    fn default() -> Steady {
        Steady::new(Clock::MonotonicRaw)
    }
}

impl Steady {
    pub(crate) fn new(clock: Clock) -> Steady {
        Steady { clock, most_passes: MOST_PASSES }
    }

    /// Returns a helper for memory that no cache holds: one pass is enough, as nothing of it is cached and earlier contents are gone.
    pub(crate) fn outside_caches(clock: Clock) -> Steady {
        Steady { clock, most_passes: 1 }
    }

    /// Times some work, ns.
    pub fn ns(&self, work: impl FnOnce()) -> f64 {
        self.clock.time(work)
    }

    /// Tells whether a pass is so short, ns, that another one before measuring is worth it.
    pub fn is_short(pass_ns: f64) -> bool {
        pass_ns < LONG_NS
    }

    /// Does `pass` until it takes as long as the one before, and returns how long, ns. The pass keeps its own results.
    pub fn after<R>(&self, mut pass: impl FnMut() -> R) -> f64 {
        // Nothing in it fails.
        until_steady(self.most_passes, || Ok(self.clock.time(|| drop(std::hint::black_box(pass()))))).unwrap_or(0.0)
    }
}

/// The time of a pass that takes as long as the one before, ns; where none does, the shorter of the last two that noise parts, or the last.
pub(crate) fn until_steady(most_passes: usize, mut pass_ns: impl FnMut() -> Result<f64>) -> Result<f64> {
    let (mut before_ns, mut spent_ns) = (f64::INFINITY, 0.0);
    let (mut was_faster, mut turns) = (None, 0);
    for pass in 0..most_passes {
        let ns = pass_ns()?;
        spent_ns += ns;
        if pass > 0 {
            let is_faster = ns < before_ns;
            turns += usize::from(was_faster.replace(is_faster).is_some_and(|was_faster| was_faster != is_faster));
        }
        let is_settled = (ns - before_ns).abs() <= AS_LONG * ns || turns >= TURNS_OF_NOISE;
        before_ns = if is_settled { ns.min(before_ns) } else { ns };
        if is_settled || ns >= LONG_NS || spent_ns >= MOST_NS {
            break;
        }
    }
    Ok(before_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    const MIB: u64 = 1 << 20;

    /// Loads of a machine whose last-level cache holds so many MiB for it: 20 ns within, 120 ns beyond, a part of each between.
    fn machine(held_mib: u64) -> impl FnMut(u64) -> Option<f64> {
        move |bytes| {
            let hits = (held_mib as f64 * MIB as f64 / bytes as f64).min(1.0);
            Some(20.0 * hits + 120.0 * (1.0 - hits))
        }
    }

    #[test]
    fn a_cache_that_others_hold_is_planned_by_what_is_left_of_it() {
        // Reported are 300 MiB: of a guest that has 11 of them, of one that has half, and of one that has all.
        assert_eq!(not_held(300 * MIB, 4 * MIB, machine(11)), Some(64 * MIB));
        assert_eq!(not_held(300 * MIB, 4 * MIB, machine(100)), Some(256 * MIB));
        assert_eq!(not_held(300 * MIB, 4 * MIB, machine(1000)), None);
        assert_eq!([140.0, 70.0].map(|ns| not_held(105 * MIB, 4 * MIB, |_| Some(ns))), [Some(64 * MIB), None]);
        // Nothing is concluded from a size that could not be looked at, and none is looked at in vain.
        assert_eq!(not_held(300 * MIB, 4 * MIB, |bytes| (bytes <= 64 * MIB).then_some(50.0)), None);
        let mut load_ns = machine(5);
        assert_eq!(not_held(300 * MIB, 4 * MIB, |bytes| (bytes <= 64 * MIB).then(|| load_ns(bytes))?), Some(64 * MIB));
    }

    #[test]
    fn memory_is_looked_at_as_far_as_it_can_be_spared() {
        let look = |room| {
            let job = Job::bare("", Vec::new()).with(|job| (job.look_at_memory, job.memory_bytes) = (true, 2 * room));
            answer(&job, &Clock::MonotonicRaw).unwrap().unwrap()
        };
        assert!(matches!(
            look(256 * MIB)[..],
            [
                Event::MemoryLook(MemoryLook { first_touch_bytes_per_s: 1.0.., last_cache_bytes: None }),
                Event::Done { .. }
            ]
        ));
        assert!(matches!(look(4 * MIB)[..], [Event::Done { .. }]));
        assert!(answer(&Job::bare("", Vec::new()), &Clock::MonotonicRaw).is_none());
    }

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

    /// Returns how many of these passes were made, and the resulting time.
    fn of(passes_ns: &[f64]) -> (usize, f64) {
        let mut made = 0;
        let ns = until_steady(MOST_PASSES, || {
            made += 1;
            Ok(passes_ns[(made - 1).min(passes_ns.len() - 1)])
        });
        (made, ns.unwrap())
    }

    #[test]
    fn passes_go_on_while_a_cache_fills_and_end_soon_where_none_does() {
        assert_eq!(of(&[5e6, 4.2e6, 3.7e6, 3.3e6, 3.1e6, 3.05e6]), (6, 3.05e6));
        assert_eq!(of(&[5e6, 5e6]), (2, 5e6));
        assert_eq!(of(&[3e6, 25e6]), (2, 25e6), "what takes long needs no pass before it");
        let restless: Vec<f64> = (0..20).map(|pass| [1e5, 2e5][pass % 2]).collect();
        assert_eq!(of(&restless), (4, 1e5), "what goes to and fro comes to no rest");
        let falling: Vec<f64> = (0..20).map(|pass| 15e6 * 0.9_f64.powi(pass)).collect();
        assert_eq!(of(&falling).0, 3, "no longer than the time for it");
        let endless: Vec<f64> = falling.iter().map(|ns| ns / 1e3).collect();
        assert_eq!(of(&endless).0, MOST_PASSES);
        let mut passes = 0;
        Steady::outside_caches(Clock::MonotonicRaw).after(|| passes += 1);
        assert_eq!(passes, 1);
    }
}
