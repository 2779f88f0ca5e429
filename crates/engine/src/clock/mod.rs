//! The clock: the CPU's constant-rate counter where it can be trusted, `CLOCK_MONOTONIC_RAW` where not, a fake one in tests.

pub(crate) mod wall;

mod adds;
mod calibrate;
mod chain;
mod fake;
mod precision;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

pub use arch::SOURCE;
pub use calibrate::{Calibration, choose};
pub use chain::{CoreClock, CoreReading, WarmUp, warm_up};
pub use fake::FakeClock;
pub use precision::{Precision, smallest_step};

use hostmark_model::CalibratedClock;
use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;

pub(crate) use crate::sys::clock::{monotonic_ns, monotonic_raw_ns};

/// An instant of a [`Clock`], in its own ticks; only differences mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Ticks since `earlier`; 0 when `earlier` is later.
    pub fn since(self, earlier: Ticks) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }
}

/// Why the CPU's counter is not used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CounterUnusable {
    /// Neither the CPU nor the kernel vouches for a constant rate.
    NotConstant {
        /// The kernel's clock source.
        clock_source: String,
    },
    /// The kernel tried the counter and gave it up.
    GivenUp {
        /// The kernel's clock source.
        clock_source: String,
    },
    /// There is no instruction that reads counter and CPU together.
    NoOrderedRead,
    /// Reading it in user space is forbidden.
    Forbidden,
    /// Two calibrations disagree.
    Unstable {
        /// By how much.
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

/// What times a sample.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The CPU's constant-rate counter (TSC, CNTVCT).
    Counter {
        /// Nanoseconds a tick.
        ns_per_tick: f64,
    },
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

    /// A number of ticks as nanoseconds.
    pub fn ns(&self, ticks: Ticks) -> f64 {
        match self {
            Clock::Counter { ns_per_tick } => ticks.0 as f64 * ns_per_tick,
            Clock::MonotonicRaw | Clock::Fake(_) => ticks.0 as f64,
        }
    }

    /// Nanoseconds as a number of ticks.
    pub fn ticks(&self, ns: f64) -> Ticks {
        match self {
            Clock::Counter { ns_per_tick } => Ticks((ns / ns_per_tick).round() as u64),
            Clock::MonotonicRaw | Clock::Fake(_) => Ticks(ns as u64),
        }
    }

    /// Times `work` once, in nanoseconds.
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
