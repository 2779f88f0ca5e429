//! The clock: the CPU's constant-rate counter where it can be trusted, `CLOCK_MONOTONIC_RAW` where not, a fake one in tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hostmark_model::{CalibratedClock, ClockFacts, HostFacts, Message, displays_its_message};
use hostmark_say::say;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
mod chain;

pub(crate) use crate::sys::clock::{monotonic_ns, monotonic_raw_ns, sleep};
pub use arch::SOURCE;
pub use chain::{CoreClock, CoreReading, WarmUp, warm_up};

/// An instant of a [`Clock`], in its own ticks; only differences mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Ticks since `earlier`; 0 when `earlier` is later.
    pub fn since(self, earlier: Ticks) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }
}

/// Reason why the CPU's counter is not used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CounterUnusable {
    /// Neither the CPU nor the kernel vouches for a constant rate.
    NotConstant { clock_source: String },
    /// The kernel tried the counter and gave it up.
    GivenUp { clock_source: String },
    /// Architecture without an instruction that reads counter and CPU together.
    NoOrderedRead,
    /// Reading it in user space is forbidden.
    Forbidden,
    /// Two calibrations disagree.
    Unstable {
        /// Drift between two readings, in parts per million.
        parts_per_million: f64,
    },
}

impl From<&CounterUnusable> for Message {
    fn from(error: &CounterUnusable) -> Message {
        match error {
            CounterUnusable::NotConstant { clock_source } => say!(
                "the counter's rate is not known to be constant (no invariant bit, kernel clock source {clock_source})"
            ),
            CounterUnusable::GivenUp { clock_source } => {
                say!("the kernel gave the counter up as unstable (clock source {clock_source})")
            }
            CounterUnusable::NoOrderedRead => say!("this CPU has no rdtscp"),
            CounterUnusable::Forbidden => say!("reading the counter is forbidden to this process (PR_SET_TSC)"),
            CounterUnusable::Unstable { parts_per_million } => {
                say!("two calibrations of the counter differ by {parts_per_million:.0} ppm")
            }
        }
    }
}

displays_its_message!(CounterUnusable);

#[derive(Debug, Clone)]
pub enum Clock {
    /// The CPU's constant-rate counter (TSC, CNTVCT).
    Counter { ns_per_tick: f64 },
    /// `CLOCK_MONOTONIC_RAW`; a tick is a nanosecond.
    MonotonicRaw,
    /// A clock that moves when a test says so; a tick is a nanosecond.
    Fake(FakeClock),
}

impl Clock {
    /// The clock that the parent calibrated.
    pub fn calibrated(clock: &CalibratedClock) -> Clock {
        match *clock {
            CalibratedClock::Counter { hz, .. } => Clock::Counter { ns_per_tick: 1e9 / hz },
            CalibratedClock::MonotonicRaw => Clock::MonotonicRaw,
        }
    }

    /// Reads the clock so that nothing later begins before the reading.
    #[inline(always)]
    pub fn start(&self) -> Ticks {
        match self {
            Clock::Counter { .. } => Ticks(arch::start()),
            Clock::MonotonicRaw => Ticks(monotonic_raw_ns()),
            Clock::Fake(fake) => Ticks(fake.read()),
        }
    }

    /// Reads the clock so that everything earlier is done before the reading.
    #[inline(always)]
    pub fn end(&self) -> Ticks {
        match self {
            Clock::Counter { .. } => Ticks(arch::end()),
            Clock::MonotonicRaw => Ticks(monotonic_raw_ns()),
            Clock::Fake(fake) => Ticks(fake.read()),
        }
    }

    pub fn ns(&self, ticks: Ticks) -> f64 {
        match self {
            Clock::Counter { ns_per_tick } => ticks.0 as f64 * ns_per_tick,
            Clock::MonotonicRaw | Clock::Fake(_) => ticks.0 as f64,
        }
    }

    pub fn ticks(&self, ns: f64) -> Ticks {
        match self {
            Clock::Counter { ns_per_tick } => Ticks((ns / ns_per_tick).round() as u64),
            Clock::MonotonicRaw | Clock::Fake(_) => Ticks(ns as u64),
        }
    }

    #[inline(always)]
    pub fn time(&self, work: impl FnOnce()) -> f64 {
        let start = self.start();
        work();
        let end = self.end();
        self.ns(end.since(start))
    }
}

/// The CPU's counter, in ticks.
#[inline(always)]
pub fn read_counter() -> u64 {
    arch::start()
}

/// The time since the run's command was given: the hard limit counts from there.
pub trait Wall {
    /// Time since the command began.
    fn elapsed(&self) -> Duration;

    /// Extra time that estimates and the report will take, compared with an idle machine.
    fn report_delay(&self) -> Duration {
        Duration::ZERO
    }
}

/// Least time between the two instants of a calibration; an error of 100 ns then is one part in a million.
const SPAN: Duration = Duration::from_millis(50);
/// Two calibrations that differ by more than this many parts in a million make the counter unusable.
const TOLERATED_PPM: f64 = 200.0;

/// The counter and the kernel's clock at one instant.
#[derive(Debug, Clone, Copy)]
struct Instant {
    ticks: u64,
    raw_ns: u64,
}

impl Instant {
    /// The tightest of some pairs of readings, so that an interruption between the two does not count.
    fn now() -> Instant {
        let pair = || {
            let before = monotonic_raw_ns();
            let ticks = arch::start();
            let after = monotonic_raw_ns();
            (after - before, Instant { ticks, raw_ns: before + (after - before) / 2 })
        };
        let (_, tightest) = (0..32).map(|_| pair()).min_by_key(|(width, _)| *width).unwrap_or_else(pair);
        tightest
    }

    fn hz_until(self, later: Instant) -> f64 {
        (later.ticks.wrapping_sub(self.ticks)) as f64 * 1e9 / later.raw_ns.saturating_sub(self.raw_ns).max(1) as f64
    }
}

/// A run's clock, with what is needed to check it at the end.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// The clock, as workers get it.
    pub clock: CalibratedClock,
    reason: Option<CounterUnusable>,
    first: Option<Instant>,
}

/// Chooses and calibrates the run's clock; takes 100 ms where the counter is usable.
pub fn choose(host: &HostFacts) -> Calibration {
    match arch::check(host).and_then(|()| calibrate()) {
        Ok((first, hz)) => {
            let synchronized = cfg!(target_arch = "aarch64") || host.kernel.clock_source.as_deref() == Some("tsc");
            Calibration { clock: CalibratedClock::Counter { hz, synchronized }, reason: None, first: Some(first) }
        }
        Err(reason) => Calibration { clock: CalibratedClock::MonotonicRaw, reason: Some(reason), first: None },
    }
}

fn calibrate() -> Result<(Instant, f64), CounterUnusable> {
    let first = Instant::now();
    sleep(SPAN);
    let second = Instant::now();
    sleep(SPAN);
    let third = Instant::now();
    agree(first.hz_until(second), second.hz_until(third))?;
    Ok((first, first.hz_until(third)))
}

fn agree(one_hz: f64, other_hz: f64) -> Result<(), CounterUnusable> {
    let parts_per_million = (one_hz / other_hz - 1.0).abs() * 1e6;
    // A rate of 0 makes this NaN or infinite, which no rate may be.
    if parts_per_million <= TOLERATED_PPM { Ok(()) } else { Err(CounterUnusable::Unstable { parts_per_million }) }
}

impl Calibration {
    /// Calibration of a machine without a counter, for runs that no worker measures.
    #[cfg(any(test, feature = "tests"))]
    pub const NONE: Calibration = Calibration { clock: CalibratedClock::MonotonicRaw, reason: None, first: None };

    /// The clock's facts; checks the rate over the whole time since the calibration.
    pub fn facts(&self) -> ClockFacts {
        match (&self.clock, self.first) {
            (CalibratedClock::Counter { hz, .. }, Some(first)) => ClockFacts {
                source: arch::SOURCE.into(),
                hz: *hz,
                reason: None,
                message: None,
                drift: Some(first.hz_until(Instant::now()) / hz - 1.0),
            },
            _ => ClockFacts {
                source: "monotonic_raw".into(),
                hz: 1e9,
                reason: self.reason.as_ref().map(ToString::to_string),
                message: self.reason.as_ref().map(Message::from),
                drift: None,
            },
        }
    }
}

/// Pairs of readings that a clock is judged by.
const READINGS: usize = 200;

/// The step in which a clock counts, from successive readings; none when it stood still.
///
/// A clock that is seen to repeat itself steps more slowly than it is read: its step is the smallest one seen. One that
/// never does is read more slowly than it steps: two steps that differ do so by whole steps of the clock.
pub fn smallest_step(readings: &[u64]) -> Option<u64> {
    let mut steps: Vec<u64> = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    steps.sort_unstable();
    let smallest = steps.iter().copied().find(|&step| step > 0)?;
    if steps[0] == 0 {
        return Some(smallest);
    }
    let differences = steps.windows(2).map(|pair| pair[1] - pair[0]).filter(|&difference| difference > 0);
    Some(differences.min().unwrap_or(smallest).min(smallest))
}

/// A clock's precision, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Precision {
    /// The step in which the clock counts.
    pub resolution_ns: f64,
    /// The cost of one start and one end with nothing between them.
    pub cost_ns: f64,
}

impl Precision {
    /// Measures `clock`: some microseconds for a counter.
    pub fn of(clock: &Clock) -> Precision {
        let mut readings = [0; 2 * READINGS];
        for pair in readings.chunks_exact_mut(2) {
            pair[0] = clock.start().0;
            pair[1] = clock.end().0;
        }
        let cost = readings.chunks_exact(2).map(|pair| pair[1].saturating_sub(pair[0])).min();
        let ns = |ticks: Option<u64>| clock.ns(Ticks(ticks.unwrap_or(0)));
        Precision { resolution_ns: ns(smallest_step(&readings)), cost_ns: ns(cost) }
    }

    /// The shortest sample that this precision allows: a thousand times both, so that they cost under 0.1 %.
    pub fn shortest_sample_ns(&self) -> f64 {
        1000.0 * (self.resolution_ns + self.cost_ns)
    }
}

/// A clock in nanoseconds; its clones are one clock. Every reading costs [`FakeClock::new`]'s `cost_ns`.
#[derive(Debug, Clone, Default)]
pub struct FakeClock {
    now_ns: Arc<AtomicU64>,
    cost_ns: u64,
}

impl FakeClock {
    /// A clock at 0 whose readings take `cost_ns` each.
    pub fn new(cost_ns: u64) -> FakeClock {
        FakeClock { now_ns: Arc::default(), cost_ns }
    }

    /// Lets `ns` nanoseconds pass.
    pub fn advance(&self, ns: u64) {
        self.now_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Reads the clock, which takes its cost.
    pub fn read(&self) -> u64 {
        self.now_ns.fetch_add(self.cost_ns, Ordering::Relaxed) + self.cost_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FakeClock;

    #[test]
    fn the_rate_is_ticks_over_time() {
        let first = Instant { ticks: 1_000, raw_ns: 500 };
        let later = Instant { ticks: 1_000 + 250_000_000, raw_ns: 500 + 100_000_000 };
        assert_eq!(first.hz_until(later), 2.5e9);
    }

    #[test]
    fn calibrations_that_differ_make_the_counter_unusable() {
        assert!(agree(2.5e9, 2.5e9 * 1.0001).is_ok());
        assert!(matches!(agree(2.5e9, 2.4e9), Err(CounterUnusable::Unstable { .. })));
        assert!(agree(0.0, 0.0).is_err());
    }

    #[test]
    fn without_a_counter_the_facts_carry_the_reason() {
        let reason = Some(CounterUnusable::NoOrderedRead);
        let facts = Calibration { clock: CalibratedClock::MonotonicRaw, reason, first: None }.facts();
        assert_eq!((facts.source.as_str(), facts.reason.as_deref()), ("monotonic_raw", Some("this CPU has no rdtscp")));
    }

    #[test]
    fn a_clock_steps_by_its_smallest_step_or_by_what_its_steps_differ_by_where_it_never_repeats_itself() {
        for (readings, step) in [
            (&[0, 0, 42, 42, 83, 125][..], Some(41)),
            (&[0, 46, 92, 140, 193], Some(2)),
            (&[0, 50, 100], Some(50)),
            (&[7, 7, 7], None),
            (&[], None),
        ] {
            assert_eq!(smallest_step(readings), step, "{readings:?}");
        }
    }

    #[test]
    fn a_fake_clock_has_the_precision_it_was_given() {
        let precision = Precision::of(&Clock::Fake(FakeClock::new(25)));
        assert_eq!(precision, Precision { resolution_ns: 25.0, cost_ns: 25.0 });
        assert_eq!(precision.shortest_sample_ns(), 50_000.0);
    }
}
