//! The core's own clock, by a chain of dependent adds, and its width, by independent ones; and the warm-up that waits until it is steady.

use std::arch::asm;

use hostmark_stats::descriptive;

use super::{Clock, Ticks};

/// Turns of the chain in a first slice: about 15 µs at 3 GHz.
const FIRST_TURNS: u64 = 700;
/// A slice of the warm-up, ns.
const SLICE_NS: f64 = 50_000.0;
/// A slice beside a sample, ns.
const BESIDE_NS: f64 = 8_000.0;
/// Least time between two looks beside samples, ns: both slices then take under a fiftieth of the time.
const APART_NS: f64 = 1_000_000.0;
/// Length of the long slice in short ones: two lengths tell what is constant in both.
const LENGTH_RATIO: u64 = 8;
/// Slices of each of the two lengths.
const SLICES_OF_A_LENGTH: usize = 5;
/// Greatest time of a slice beside its adds, in slices of one turn: about 1 % of a look.
const MOST_AROUND: f64 = 2.0;
/// Slices whose minimum is one point of the warm-up.
const SLICES_A_POINT: usize = 4;
/// Successive minima that agree within this fraction are steady.
const STEADY: f64 = 0.005;

/// Times slices of the chain, so the core's frequency, and of independent adds, so the thread's share of the core's width.
#[derive(Debug, Clone)]
pub struct CoreClock {
    turns: u64,
    wide_turns: u64,
    /// Time of a slice beside its adds, ns: reading the clock, and leaving the loop.
    around_ns: f64,
    /// The frequency of each look, hertz.
    looks_hz: Vec<f64>,
    /// End of the last look beside samples.
    looked: Option<Ticks>,
}

/// Values of one look at the core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreReading {
    /// Frequency of the core, hertz.
    pub hz: f64,
    /// Independent adds that it did in a cycle.
    pub width: f64,
}

impl CoreClock {
    /// A core clock whose slices last about 8 µs on this core.
    pub fn new(clock: &Clock) -> CoreClock {
        let fitting = |slice: fn(&Clock, u64) -> f64| {
            let fastest_ns = (0..3).map(|_| slice(clock, FIRST_TURNS)).fold(f64::INFINITY, f64::min).max(1.0);
            ((FIRST_TURNS as f64 * BESIDE_NS / fastest_ns) as u64).clamp(16, 1 << 20)
        };
        let turns = fitting(slice_ns);
        let around_ns = around_ns(turns, |turns| slice_ns(clock, turns));
        CoreClock { turns, wide_turns: fitting(wide_slice_ns), around_ns, looks_hz: Vec::new(), looked: None }
    }

    /// Times a slice of each beside a sample.
    pub fn look(&mut self, clock: &Clock) -> CoreReading {
        let look = self.read(clock);
        self.looks_hz.push(look.hz);
        self.looked = Some(clock.end());
        look
    }

    pub fn read(&self, clock: &Clock) -> CoreReading {
        let cycles = (self.turns * ADDS_A_TURN) as f64;
        let hz = cycles * 1e9 / (slice_ns(clock, self.turns) - self.around_ns).max(1.0);
        let wide_ns = (wide_slice_ns(clock, self.wide_turns) - self.around_ns).max(1.0);
        let width = (self.wide_turns * WIDE_ADDS_A_TURN) as f64 / (wide_ns * hz / 1e9);
        CoreReading { hz, width }
    }

    /// The same, unless the last look was just before.
    pub fn look_again(&mut self, clock: &Clock) -> Option<CoreReading> {
        let is_due = self.looked.is_none_or(|last| clock.ns(clock.start().since(last)) >= APART_NS);
        is_due.then(|| self.look(clock))
    }

    /// The median frequency of all looks, hertz.
    pub fn median_hz(&self) -> Option<f64> {
        descriptive::median(&self.looks_hz)
    }
}

impl CoreReading {
    /// The look as a file has it: after so many samples since the look before, so many adds in a thousand cycles.
    pub fn after(self, samples: usize) -> [u64; 2] {
        [samples as u64, (self.width * 1e3).round() as u64]
    }
}

/// Time of a slice beside its turns, ns, by the shortest of some slices of two lengths: 30 ns of 8 µs are 0.4 % of a frequency.
fn around_ns(turns: u64, mut slice: impl FnMut(u64) -> f64) -> f64 {
    let mut shortest = |turns: u64| (0..SLICES_OF_A_LENGTH).map(|_| slice(turns)).fold(f64::INFINITY, f64::min);
    let short = (turns / LENGTH_RATIO).max(1);
    let (short_ns, long_ns, ratio) = (shortest(short), shortest(turns), turns as f64 / short as f64);
    // Slices that were disturbed each time tell nothing, and that of one turn is disturbed least.
    ((ratio * short_ns - long_ns) / (ratio - 1.0).max(1.0)).clamp(0.0, MOST_AROUND * shortest(1))
}

fn wide_slice_ns(clock: &Clock, turns: u64) -> f64 {
    clock.time(|| add_wide(turns))
}

fn slice_ns(clock: &Clock, turns: u64) -> f64 {
    clock.time(|| add_chain(turns))
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// True where the clock became steady in the time allowed.
    pub settled: bool,
    /// Duration of the warm-up, ns.
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

/// Adds in one turn of [`add_chain`]'s loop.
const ADDS_A_TURN: u64 = 64;

/// `turns` × 64 dependent register-register adds: one cycle each on every core (an immediate is folded by some).
#[inline(never)]
fn add_chain(turns: u64) {
    // SAFETY: arithmetic on declared registers alone.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 64",
            #[cfg(target_arch = "x86_64")]
            "add {sum}, {one}",
            #[cfg(target_arch = "aarch64")]
            "add {sum}, {sum}, {one}",
            ".endr",
            #[cfg(target_arch = "x86_64")]
            "dec {turns}; jnz 2b",
            #[cfg(target_arch = "aarch64")]
            "subs {turns}, {turns}, #1; b.ne 2b",
            sum = inout(reg) 1_u64 => _,
            one = in(reg) 1_u64,
            turns = inout(reg) turns.max(1) => _,
            options(nomem, nostack)
        );
    }
}

/// Adds in one turn of [`add_wide`]'s loop.
const WIDE_ADDS_A_TURN: u64 = 80;

/// `turns` × 80 register-register adds in ten independent chains: as many a cycle as the core has units for.
#[inline(never)]
fn add_wide(turns: u64) {
    // SAFETY: arithmetic on declared registers alone.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 8",
            ".irp sum,{a},{b},{c},{d},{e},{f},{g},{h},{i},{j}",
            #[cfg(target_arch = "x86_64")]
            "add \\sum, {one}",
            #[cfg(target_arch = "aarch64")]
            "add \\sum, \\sum, {one}",
            ".endr",
            ".endr",
            #[cfg(target_arch = "x86_64")]
            "dec {turns}; jnz 2b",
            #[cfg(target_arch = "aarch64")]
            "subs {turns}, {turns}, #1; b.ne 2b",
            a = inout(reg) 1_u64 => _,
            b = inout(reg) 2_u64 => _,
            c = inout(reg) 3_u64 => _,
            d = inout(reg) 4_u64 => _,
            e = inout(reg) 5_u64 => _,
            f = inout(reg) 6_u64 => _,
            g = inout(reg) 7_u64 => _,
            h = inout(reg) 8_u64 => _,
            i = inout(reg) 9_u64 => _,
            j = inout(reg) 10_u64 => _,
            one = in(reg) 1_u64,
            turns = inout(reg) turns.max(1) => _,
            options(nomem, nostack)
        );
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
    fn a_core_settles_when_it_is_steady_but_not_before_the_least_time_and_one_that_never_is_is_given_up() {
        assert_eq!(settle_with(|_| 50_000, 0.0, 5e6), WarmUp { settled: true, spent_ns: 400_000.0 });
        assert_eq!(settle_with(|_| 50_000, 20e6, 200e6), WarmUp { settled: true, spent_ns: 20e6 });
        let speeding_up = settle_with(|turn| 50_000 + 10_000 * (20_usize.saturating_sub(turn)) as u64, 0.0, 200e6);
        assert!(speeding_up.settled && speeding_up.spent_ns > 20.0 * 50_000.0);
        let restless = |turn: usize| if (turn / SLICES_A_POINT).is_multiple_of(2) { 50_000 } else { 60_000 };
        let given_up = settle_with(restless, 0.0, 5e6);
        assert!(!given_up.settled && given_up.spent_ns >= 5e6);
    }

    #[test]
    fn what_a_slice_takes_beside_its_adds_is_told_by_two_lengths() {
        let interrupted = std::cell::Cell::new(true);
        let slice = |turns: u64| 10.0 * turns as f64 + if interrupted.replace(false) { 5_000.0 } else { 30.0 };
        assert_eq!(around_ns(800, slice), 30.0);
        // A clock that stands still, or counts in steps of a whole slice.
        let disturbed = |turns: u64| if turns == 100 { 7000.0 } else { 30.0 + 10.0 * turns as f64 };
        assert_eq!(around_ns(800, disturbed), 80.0);
        assert_eq!([around_ns(16, |_| 0.0), around_ns(16, |turns| (turns / 16 * 1000) as f64)], [0.0; 2]);
    }

    #[test]
    fn the_core_clock_is_within_what_cores_do() {
        let clock = Clock::MonotonicRaw;
        let mut core = CoreClock::new(&clock);
        let mut widths: Vec<f64> = (0..20).map(|_| core.look(&clock).width).collect();
        let hz = core.median_hz().unwrap();
        assert!((1e8..1e10).contains(&hz), "{hz}");
        // No core has units for more than ten; an emulated one may do any number.
        widths.sort_by(f64::total_cmp);
        assert!((0.05..11.0).contains(&widths[10]), "{widths:?}");
    }
}
