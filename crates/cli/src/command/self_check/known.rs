//! Probes of known cost: delays by the kernel's clock, sleeps, a chain of multiplications.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hostmark_engine::prelude::*;
use hostmark_engine::probe::Catalogue;
use hostmark_probes::kernels::arith;
use hostmark_probes::workloads::machine::timer::ClockSource;

/// The delay of `known.delay`, ns.
pub static DELAY_NS: AtomicU64 = AtomicU64::new(20_000);
/// What `known.changed` adds to its delay, ns.
pub static CHANGE_NS: AtomicU64 = AtomicU64::new(0);
/// How many times as long all others of its delays are.
pub static STRETCH: AtomicU64 = AtomicU64::new(1);
/// The duration of each sleep of `known.sleep` by `CLOCK_MONOTONIC`, ns.
pub static SLEPT_NS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// A sleep of `known.sleep`, ns.
pub static SLEEP_NS: AtomicU64 = AtomicU64::new(SHORTEST_SLEEP_NS);
/// The usual one.
pub const SHORTEST_SLEEP_NS: u64 = 5_000_000;
/// The delay of `known.changed` without a change, ns, and of the one that is never changed and shorter.
pub const UNCHANGED_NS: u64 = 20_000;
const SHORT_NS: u64 = 10_000;
/// Readings of a clock that are timed at once, and how often.
const READINGS: u32 = 20;
/// A clock that takes longer than 10 µs has fewer samples in a round than tell anything.
const MOST_STRETCH: u64 = 100;

const TITLE: Text = term!("known");

/// A probe without texts.
pub const fn known(measure: fn(&mut Case) -> Result<()>) -> Probe {
    Probe { title: TITLE, section: TITLE, measure: Measure::Run(measure), ..Probe::PLAIN }
}

/// Spins until the kernel's clock has advanced by `ns`; returns at most the cost of one reading later.
fn delay(ns: u64) {
    let until = ClockSource::MonotonicRaw.read() + ns;
    while ClockSource::MonotonicRaw.read() < until {}
}

fn sleep() {
    let begun = ClockSource::Monotonic.read();
    std::thread::sleep(std::time::Duration::from_nanos(SLEEP_NS.load(Ordering::Relaxed)));
    let slept = ClockSource::Monotonic.read() - begun;
    SLEPT_NS.lock().unwrap_or_else(PoisonError::into_inner).push(slept);
}

/// How many times as long delays have to be, so that one reading is a hundredth of the shortest at most: some clocks take microseconds.
pub fn stretch() -> u64 {
    let reading_ns = || {
        let before = ClockSource::MonotonicRaw.read();
        (0..READINGS).for_each(|_| _ = std::hint::black_box(ClockSource::MonotonicRaw.read()));
        (ClockSource::MonotonicRaw.read() - before) / u64::from(READINGS)
    };
    let least_ns = (0..READINGS).map(|_| reading_ns()).min().unwrap_or(0);
    (100 * least_ns).div_ceil(SHORT_NS).clamp(1, MOST_STRETCH)
}

static DELAY: Probe = known(|case| case.calls(|| delay(DELAY_NS.load(Ordering::Relaxed))).time());
static SLEEP: Probe = known(|case| case.calls(sleep).time());
static MULTIPLY: Probe = known(|case| {
    case.loops(|n| {
        std::hint::black_box(arith::multiply_chain(n, 3, std::hint::black_box(5)));
    })
    .time()
});
static GROUP: Group = Group {
    name: "known",
    shares_worker: false,
    probes: &[("delay", &DELAY), ("sleep", &SLEEP), ("multiply", &MULTIPLY)],
};

/// Probes whose values are known.
pub static KNOWN: Catalogue = &[&GROUP];

/// A delay of a copy.
fn stretched(ns: u64) {
    delay(STRETCH.load(Ordering::Relaxed) * ns);
}

static SHORT: Probe = known(|case| case.calls(|| stretched(SHORT_NS)).time());
static CHANGED: Probe = known(|case| case.calls(|| stretched(UNCHANGED_NS + CHANGE_NS.load(Ordering::Relaxed))).time());
static LONG: Probe = known(|case| case.calls(|| stretched(2 * UNCHANGED_NS)).time());
static COPY: Group =
    Group { name: "known", shares_worker: false, probes: &[("short", &SHORT), ("changed", &CHANGED), ("long", &LONG)] };

/// Probes of which [`CHANGE_NS`] makes one slower.
pub static COPIES: Catalogue = &[&COPY];
