//! Operations that the engine calls one by one.

use std::hint::black_box;

use super::Case;
use crate::case::copies;
use crate::clock::{Clock, Ticks};
use crate::round_error::{Checked, Result};
use crate::sampling::latencies;

/// The clock is read in a batch as often as this at most, once it has lasted this share of its time.
const TURNS: f64 = 16.0;

/// An operation of 100 ns or more, of which each call does the thing measured.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Calls<'case, F> {
    case: &'case mut Case,
    op: F,
}

/// The same, each call of which does the thing measured so many times.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct CallsEach<'case, F> {
    calls: Calls<'case, F>,
    times: u64,
}

/// The same, each call of which is also timed by itself.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct CallsSingly<'case, F>(Calls<'case, F>);

/// The same, timed in batches of ten thousand.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct CallsInBatches<'case, F>(Calls<'case, F>);

impl Case {
    /// An operation of 100 ns or more; what it returns is kept from the optimiser, and an error ends the round.
    #[inline(always)]
    pub fn calls<R: Checked, F: FnMut() -> R>(&mut self, op: F) -> Calls<'_, F> {
        Calls { case: self, op }
    }
}

impl<'case, R: Checked, F: FnMut() -> R> Calls<'case, F> {
    /// A call does the thing measured so many times; the value is that of one.
    #[inline(always)]
    pub fn each(self, times: u64) -> CallsEach<'case, F> {
        CallsEach { calls: self, times }
    }

    /// Tails matter as well: after each sample as many operations again are timed one by one, and go into a histogram from which the
    /// engine fills in the percentiles that the probe declares. No clock is read inside the samples, so that the value is that of
    /// [`Calls::time`].
    pub fn singly(self) -> CallsSingly<'case, F> {
        CallsSingly(self)
    }

    /// Timed in batches of ten thousand, without a difference of two lengths: [`Quantity::REFERENCE_CYCLES`] and
    /// [`Quantity::BATCH_CYCLES`] stand beside the value.
    ///
    /// [`Quantity::REFERENCE_CYCLES`]: crate::quantity::Quantity::REFERENCE_CYCLES
    /// [`Quantity::BATCH_CYCLES`]: crate::quantity::Quantity::BATCH_CYCLES
    pub fn in_batches(self) -> CallsInBatches<'case, F> {
        CallsInBatches(self)
    }

    /// The time of one operation.
    #[inline(always)]
    pub fn time(self) -> Result<()> {
        let Calls { case, mut op } = self;
        case.sample(0, &mut |iterations| {
            for _ in 0..iterations {
                black_box(op()).check()?;
            }
            Ok(())
        })
    }
}

impl<R: Checked, F: FnMut() -> R> CallsEach<'_, F> {
    /// The time of one.
    #[inline(always)]
    pub fn time(self) -> Result<()> {
        let CallsEach { calls: Calls { case, op }, times } = self;
        case.calls(op).time()?;
        case.share(times);
        Ok(())
    }
}

impl<R: Checked, F: FnMut() -> R> CallsSingly<'_, F> {
    /// The time of one operation.
    pub fn time(self) -> Result<()> {
        let Calls { case, mut op } = self.0;
        let body = &mut |iterations| {
            for _ in 0..iterations {
                black_box(op()).check()?;
            }
            Ok(())
        };
        if case.start_barrier()? {
            return copies::for_ever(&case.clock, body);
        }
        let (hint, clock) = (case.own.iterations, case.clock.clone());
        let mut recorder = latencies::recorder()?;
        let samples = case.sampler().take_and(hint, body, &mut |body, iterations| {
            latencies::count_singles(&mut recorder, &clock, iterations, body)
        })?;
        case.yielded.histogram = Some(latencies::counted(&recorder));
        case.keep(samples, 0)?;
        case.count(body)
    }
}

impl<R: Checked, F: FnMut() -> R> CallsInBatches<'_, F> {
    /// The time of one operation.
    pub fn time(self) -> Result<()> {
        let Calls { case, mut op } = self.0;
        case.timed_batches(|clock, operations, most_ns| in_turns(clock, operations, most_ns, &mut op)).time()
    }
}

/// Does `op` so often, or until `most_ns` are over. The clock is read after one operation, two, four and so on, and in the end
/// every sixteenth of the time: next to nothing of a batch, however long an operation lasts.
#[inline(always)]
fn in_turns<R: Checked>(
    clock: &Clock,
    operations: u64,
    most_ns: f64,
    op: &mut impl FnMut() -> R,
) -> Result<(Ticks, u64)> {
    let (mut done, mut turn) = (0, 1);
    let start = clock.start();
    loop {
        for _ in 0..turn {
            black_box(op()).check()?;
        }
        done += turn;
        let spent = clock.end().since(start);
        let spent_ns = clock.ns(spent);
        if done >= operations || spent_ns >= most_ns {
            return Ok((spent, done));
        }
        if spent_ns < most_ns / TURNS {
            turn *= 2;
        }
        turn = turn.min(operations - done);
    }
}

#[cfg(test)]
mod tests {
    use super::super::timed::BATCH;
    use super::*;
    use crate::clock::FakeClock;

    #[test]
    fn a_batch_is_ten_thousand_operations_or_as_many_as_its_time_has() {
        let fake = FakeClock::new(1);
        let clock = Clock::Fake(fake.clone());
        let batch =
            |each_ns: u64, most_ns: f64| in_turns(&clock, BATCH, most_ns, &mut || fake.advance(each_ns)).unwrap();
        let (ticks, operations) = batch(100, 1e9);
        assert_eq!(operations, BATCH);
        // The clock was read some tens of times at most.
        assert!((1_000_000..1_000_100).contains(&ticks.0), "{ticks:?}");
        let (ticks, operations) = batch(1_000_000, 1e9);
        assert!((1000..=1130).contains(&operations), "{operations}");
        assert!(ticks.0 >= 1_000_000 * operations);
        assert_eq!(batch(2_000_000_000, 1e9).1, 1);
    }
}
