//! A look at memory before a run is planned: what its first touch costs, and how much of a large last-level cache there is for this machine.
//!
//! A guest of two CPUs may be told of 300 MiB that a hundred others share, and its host may take 4 ms to back a MiB. Sizes that
//! follow from the reported cache alone would fill the run's time with set-up, and plans that do not know the first touch promise
//! what cannot be.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use hostmark_model::{HostFacts, MemoryLook};

use crate::clock::monotonic_ns;
use crate::plan::time_budget::TimeBudget;
use crate::sys::memory::{Buffer, FillPattern, Pages};

/// A last-level cache that is reported no larger is planned by as it is: twice its size is touched soon on any machine.
const TRUSTED_BYTES: u64 = 64 << 20;
/// Bytes that are touched at least, and at most as long as [`TOUCH_NS`].
const LEAST_TOUCHED: usize = 8 << 20;
const MOST_TOUCHED: usize = 64 << 20;
const TOUCH_NS: u64 = 50_000_000;
/// No larger buffer is touched where it is forecast to take longer than this: the reported size is planned by.
const MOST_LOOK_NS: f64 = 1e9;
/// A line, and the one that is fetched beside it, in numbers of 4 bytes.
const LINE: usize = 32;
/// Loads of a walk, and how many walks a time is the least of: others only add to it.
const LOADS: usize = 4_000;
const WALKS: usize = 5;
/// A load from twice as large a buffer takes no more than this many times as long where neither is in the cache, and at least
/// [`BEYOND`] times what one takes that the cache holds.
const SAME: f64 = 1.25;
const BEYOND: f64 = 1.5;
/// Times the second-level cache of what the last one holds, if it holds anything.
const IN_LAST: u64 = 2;

/// Looks at the memory of this machine; none where too little can be spared for it.
pub fn look(host: &HostFacts) -> Option<MemoryLook> {
    let room = TimeBudget::memory_bytes(host) / 2;
    let cpu = *host.usable_cpus().first()?;
    let reported = host.last_level_cache(cpu).map_or(0, |cache| cache.size_bytes);
    let most = usize::try_from((4 * reported).min(room)).ok()?.max(LEAST_TOUCHED);
    if room < 2 * LEAST_TOUCHED as u64 {
        return None;
    }
    let mut memory = Touched { buffer: Buffer::reserve(most, Pages::Pmd, None).ok()?, bytes: 0, ns: 0 };
    memory.touch(LEAST_TOUCHED);
    while memory.ns < TOUCH_NS && memory.bytes < MOST_TOUCHED.min(most) {
        memory.touch((2 * memory.bytes).min(most));
    }
    let second = host.cache(cpu, 2).map_or(1 << 20, |cache| cache.size_bytes);
    let last_cache_bytes = (reported > TRUSTED_BYTES)
        .then(|| not_held(reported, IN_LAST * second, |bytes| memory.load_ns(usize::try_from(bytes).ok()?)))
        .flatten();
    Some(MemoryLook { first_touch_bytes_per_s: memory.rate(), last_cache_bytes })
}

/// The smallest power of two from [`TRUSTED_BYTES`] to `reported` that the last-level cache does not hold; none where it may hold all of
/// them. `load_ns`: what a dependent load from so many bytes takes, none where that is not known.
fn not_held(reported: u64, held: u64, mut load_ns: impl FnMut(u64) -> Option<f64>) -> Option<u64> {
    let held_ns = load_ns(held)?;
    let sizes = std::iter::successors(Some(TRUSTED_BYTES), |bytes| Some(2 * bytes));
    let mut ns = load_ns(TRUSTED_BYTES)?;
    for bytes in sizes.take_while(|bytes| *bytes < reported) {
        let twice_ns = load_ns(2 * bytes)?;
        if ns >= BEYOND * held_ns && twice_ns <= SAME * ns {
            return Some(bytes);
        }
        ns = twice_ns;
    }
    None
}

/// Memory, as far as it is touched.
struct Touched {
    buffer: Buffer,
    bytes: usize,
    ns: u64,
}

impl Touched {
    fn touch(&mut self, bytes: usize) {
        let began = monotonic_ns();
        self.buffer.fill(self.bytes, bytes, FillPattern::START);
        self.ns += monotonic_ns().saturating_sub(began);
        self.bytes = bytes;
    }

    fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.ns.max(1) as f64
    }

    /// What a dependent load over so many bytes takes, ns; none where there is no room for them, or no time to touch them.
    fn load_ns(&mut self, bytes: usize) -> Option<f64> {
        let untouched = bytes.saturating_sub(self.bytes);
        if bytes > self.buffer.bytes().len() || untouched as f64 * 1e9 / self.rate() > MOST_LOOK_NS {
            return None;
        }
        if untouched > 0 {
            self.touch(bytes);
        }
        let lines = bytes / (LINE * size_of::<u32>());
        let mut order: Vec<u32> = (0..u32::try_from(lines).ok()?).collect();
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(lines as u64));
        let (numbers, _) = self.buffer.bytes_mut().as_chunks_mut::<4>();
        for (&from, &to) in order.iter().zip(order.iter().cycle().skip(1)) {
            numbers[from as usize * LINE] = to.to_ne_bytes();
        }
        let walk =
            |from: usize, steps: usize| (0..steps).fold(from, |at, _| u32::from_ne_bytes(numbers[at * LINE]) as usize);
        // Once around as far as that is soon done, so that the cache holds what it can; on from there, which nothing has loaded since.
        let mut at = std::hint::black_box(walk(0, lines));
        let walks = (0..WALKS).map(|_| {
            let began = monotonic_ns();
            at = std::hint::black_box(walk(at, LOADS));
            monotonic_ns().saturating_sub(began) as f64 / LOADS as f64
        });
        walks.reduce(f64::min)
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
        // Nothing is concluded from a size that could not be looked at.
        assert_eq!(not_held(300 * MIB, 4 * MIB, |bytes| (bytes <= 64 * MIB).then_some(50.0)), None);
    }

    #[test]
    fn memory_is_looked_at_as_far_as_it_can_be_spared() {
        let mut host = crate::fixture::host();
        host.memory.available_bytes = 1 << 30;
        let look = look(&host).unwrap();
        assert!(look.first_touch_bytes_per_s > 0.0);
        // No cache is reported that large.
        assert_eq!(look.last_cache_bytes, None);
        host.memory.available_bytes = 16 << 20;
        assert_eq!(super::look(&host), None);
    }
}
