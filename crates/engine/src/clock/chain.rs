//! The core's own clock, by a chain of dependent adds; and the warm-up that waits until it is steady.

use super::{Clock, Ticks, arch};

/// Turns of the chain in a first slice: about 15 µs at 3 GHz.
const FIRST_TURNS: u64 = 700;
/// A slice of the warm-up, ns.
const SLICE_NS: f64 = 50_000.0;
/// A slice beside a sample, ns.
const BESIDE_NS: f64 = 8_000.0;
/// From one slice beside samples to the next, at least, ns: slices then take under a hundredth of the time.
const APART_NS: f64 = 1_000_000.0;
/// Slices whose minimum is one point of the warm-up.
const SLICES_A_POINT: usize = 4;
/// Successive minima that agree within this fraction are steady.
const STEADY: f64 = 0.005;

/// Times slices of the chain, and so the core's frequency.
#[derive(Debug, Clone)]
pub struct CoreClock {
    turns: u64,
    seen_hz: Vec<f64>,
    /// When the last slice beside samples ended.
    looked: Option<Ticks>,
}

impl CoreClock {
    /// A core clock whose slices last about 8 µs on this core.
    pub fn new(clock: &Clock) -> CoreClock {
        let fastest_ns = (0..3).map(|_| slice_ns(clock, FIRST_TURNS)).fold(f64::INFINITY, f64::min).max(1.0);
        let turns = (FIRST_TURNS as f64 * BESIDE_NS / fastest_ns) as u64;
        CoreClock { turns: turns.clamp(16, 1 << 20), seen_hz: Vec::new(), looked: None }
    }

    /// Times one slice beside a sample and returns the core's frequency, hertz.
    pub fn look(&mut self, clock: &Clock) -> f64 {
        let hz = (self.turns * arch::ADDS_A_TURN) as f64 * 1e9 / slice_ns(clock, self.turns).max(1.0);
        self.seen_hz.push(hz);
        hz
    }

    /// Times one slice beside samples, unless the last was just before.
    pub fn look_again(&mut self, clock: &Clock) {
        if self.looked.is_none_or(|last| clock.ns(clock.start().since(last)) >= APART_NS) {
            self.look(clock);
            self.looked = Some(clock.end());
        }
    }

    /// The median frequency of all looks, hertz.
    pub fn median_hz(&self) -> Option<f64> {
        hostmark_stats::descriptive::median(&self.seen_hz)
    }
}

fn slice_ns(clock: &Clock, turns: u64) -> f64 {
    clock.time(|| arch::add_chain(turns))
}

/// How a warm-up ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// Whether the clock became steady in the time allowed.
    pub settled: bool,
    /// How long it took, ns.
    pub spent_ns: f64,
}

/// Runs the chain for at least `least_ns`, then until the minima of 50 µs slices agree within 0.5 %, at most `most_ns`.
pub fn warm_up(clock: &Clock, least_ns: f64, most_ns: f64) -> WarmUp {
    let first_ns = slice_ns(clock, FIRST_TURNS).max(1.0);
    let turns = ((FIRST_TURNS as f64 * SLICE_NS / first_ns) as u64).clamp(16, 1 << 22);
    settle(clock, least_ns, most_ns, || slice_ns(clock, turns))
}

fn settle(clock: &Clock, least_ns: f64, most_ns: f64, mut slice: impl FnMut() -> f64) -> WarmUp {
    let start = clock.start();
    let mut last = f64::INFINITY;
    loop {
        let point = (0..SLICES_A_POINT).map(|_| slice()).fold(f64::INFINITY, f64::min);
        let spent_ns = clock.ns(clock.start().since(start));
        let settled = (point / last - 1.0).abs() <= STEADY;
        last = point;
        if (settled && spent_ns >= least_ns) || spent_ns >= most_ns {
            return WarmUp { settled, spent_ns };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FakeClock;

    fn settle_with(slices_ns: impl Fn(usize) -> u64, least_ns: f64, most_ns: f64) -> WarmUp {
        let fake = FakeClock::new(0);
        let mut turn = 0;
        settle(&Clock::Fake(fake.clone()), least_ns, most_ns, || {
            let ns = slices_ns(turn);
            turn += 1;
            fake.advance(ns);
            ns as f64
        })
    }

    #[test]
    fn a_steady_core_settles_at_once_but_not_before_the_least_time() {
        assert_eq!(settle_with(|_| 50_000, 0.0, 5e6), WarmUp { settled: true, spent_ns: 400_000.0 });
        assert_eq!(settle_with(|_| 50_000, 20e6, 200e6), WarmUp { settled: true, spent_ns: 20e6 });
    }

    #[test]
    fn a_core_that_speeds_up_settles_when_it_has() {
        let speeding_up = |turn: usize| 50_000 + 10_000 * (20_usize.saturating_sub(turn)) as u64;
        let warm_up = settle_with(speeding_up, 0.0, 200e6);
        assert!(warm_up.settled && warm_up.spent_ns > 20.0 * 50_000.0);
    }

    #[test]
    fn a_core_that_never_settles_is_given_up_and_said_so() {
        let restless = |turn: usize| if (turn / SLICES_A_POINT).is_multiple_of(2) { 50_000 } else { 60_000 };
        let warm_up = settle_with(restless, 0.0, 5e6);
        assert!(!warm_up.settled && warm_up.spent_ns >= 5e6);
    }

    #[test]
    fn the_core_clock_is_within_what_cores_do() {
        let clock = Clock::MonotonicRaw;
        let mut core = CoreClock::new(&clock);
        for _ in 0..20 {
            core.look(&clock);
        }
        let hz = core.median_hz().unwrap();
        assert!((1e8..1e10).contains(&hz), "{hz}");
    }
}
