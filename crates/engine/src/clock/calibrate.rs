//! The counter's rate against `CLOCK_MONOTONIC_RAW`, found before a run and checked after it.

use std::time::Duration;

use hostmark_model::{CalibratedClock, ClockFacts, HostFacts, Message};

use super::{CounterUnusable, arch, monotonic_raw_ns};

/// How long the two instants of a calibration are apart at least; an error of 100 ns then is one part in a million.
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
    std::thread::sleep(SPAN);
    let second = Instant::now();
    std::thread::sleep(SPAN);
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
    /// That of a machine without a counter, for runs that no worker measures.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
