//! A look at memory before a run is planned: what first touch costs, and how much of a large last-level cache there is for this machine.
//!
//! A guest of two CPUs may be told of 300 MiB that a hundred others share, and its host may take 4 ms to back a MiB. Sizes that
//! follow from the reported cache alone would fill the run's time with set-up, and plans that do not know the first touch promise
//! what cannot be. A worker looks, so that what it fills is gone with it.

use hostmark_model::{Event, Job, MemoryLook, RoundNoise};

use crate::clock::Clock;
use crate::round_error::Result;
use crate::sampling::last_cache;
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

/// The smallest power of two from [`TRUSTED_BYTES`] to `reported` that the last-level cache does not hold; none where it may hold all of
/// them. `load_ns`: what a dependent load from so many bytes takes, none where that is not known. Where small sizes miss already, no large
/// ones are touched.
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
        last_cache::load_ns(&mut self.buffer.bytes_mut()[..bytes], self.clock).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
