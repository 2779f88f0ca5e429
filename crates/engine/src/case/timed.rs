//! Operations that the probe times itself, on the clock that it is shown, and values that are no times.

use hostmark_model::ReasonCode;
use hostmark_say::say;

use super::Case;
use crate::case::copies;
use crate::clock::{Clock, Ticks};
use crate::quantity::Quantity;
use crate::round_error::{Result, RoundError};
use crate::sampling::latencies::LatencySampler;
use crate::sampling::sample::{CoreMonitor, CounterBlocks, MOST_SAMPLES, Samples};

pub(super) const BATCH: u64 = 10_000;
/// A batch of slow ones ends after this share of the round's time, with fewer: all rounds together have ten batches and more.
const MOST: f64 = 0.25;

/// A time, and of how many operations: one where it is the time alone.
pub trait Elapsed {
    /// The time, and how many operations it is of.
    fn of(self) -> (Ticks, u64);
}

impl Elapsed for Ticks {
    fn of(self) -> (Ticks, u64) {
        (self, 1)
    }
}

impl Elapsed for (Ticks, u64) {
    fn of(self) -> (Ticks, u64) {
        self
    }
}

/// Operation that times itself.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Timed<'case, F> {
    case: &'case mut Case,
    next: F,
}

/// The same, each operation by itself in a histogram.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct TimedSingly<'case, F> {
    timed: Timed<'case, F>,
    least: u64,
}

/// The same in batches of a size that the engine gives.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct TimedBatches<'case, F>(Timed<'case, F>);

impl Case {
    /// Samples that the probe takes itself: `next` returns the time of one operation, or that of several with their number.
    pub fn timed<T: Elapsed, F: FnMut(&Clock) -> Result<T>>(&mut self, next: F) -> Timed<'_, F> {
        Timed { case: self, next }
    }

    /// Batches: `next` is given their operations and a limit in ns, and returns the time and the operations done.
    pub fn timed_batches<F: FnMut(&Clock, u64, f64) -> Result<(Ticks, u64)>>(
        &mut self,
        next: F,
    ) -> TimedBatches<'_, F> {
        TimedBatches(Timed { case: self, next })
    }
}

impl<'case, T: Elapsed, F: FnMut(&Clock) -> Result<T>> Timed<'case, F> {
    pub fn time(self) -> Result<()> {
        self.measure(0)
    }

    /// A rate: an operation moves `amount` bytes or does `amount` things.
    pub fn rate(self, amount: u64) -> Result<()> {
        self.measure(amount)
    }

    /// A rate of everything that the round timed, as one sample: pieces are no rates, since what comes late in one is in the next.
    pub fn rate_of_the_whole(self, amount: u64) -> Result<()> {
        let Timed { case, next } = self;
        Timed { case: &mut *case, next }.measure(amount)?;
        case.yielded.samples.iter_mut().for_each(Samples::join);
        Ok(())
    }

    fn measure(self, amount: u64) -> Result<()> {
        let Timed { case, mut next } = self;
        case.samples_of((Samples::of_times(1), amount), MOST_TIMED, |clock| {
            let (ticks, operations) = next(clock)?.of();
            let ns = clock.ns(ticks);
            Ok((ns, operations, ns))
        })
    }
}

impl<'case, F: FnMut(&Clock) -> Result<Ticks>> Timed<'case, F> {
    /// Records tails: every operation goes into a histogram, of which the engine makes the declared percentiles ([`Quantity::P99`]); a
    /// sample is the median of a batch, and the thread's surroundings are read around batches alone.
    pub fn singly(self) -> TimedSingly<'case, F> {
        TimedSingly { timed: self, least: 0 }
    }
}

impl<F: FnMut(&Clock) -> Result<Ticks>> TimedSingly<'_, F> {
    /// Takes so many operations in each round at least, as far as they take 0.2 s: enough for a percentile.
    pub fn at_least(self, operations: u64) -> Self {
        TimedSingly { least: operations, ..self }
    }

    pub fn time(self) -> Result<()> {
        let TimedSingly { timed: Timed { case, mut next }, least } = self;
        if case.start_barrier()? {
            return copies::for_ever(&case.clock, &mut |_| next(&case.clock).map(drop));
        }
        let sampler = LatencySampler {
            clock: &case.clock,
            interference: &case.interference,
            budget_ns: case.job.budget_ns as f64,
            least,
        };
        let taken = sampler.take(case.own.iterations, &mut next)?;
        case.yielded.histogram = Some(taken.histogram);
        case.yielded.mean_ns = Some(taken.mean_ns);
        case.keep(taken.samples, 0)
    }
}

impl<F: FnMut(&Clock, u64, f64) -> Result<(Ticks, u64)>> TimedBatches<'_, F> {
    /// The time of one operation, with [`Quantity::REFERENCE_CYCLES`] and [`Quantity::BATCH_CYCLES`] beside it.
    pub fn time(self) -> Result<()> {
        self.measure(0)
    }

    /// A rate: an operation moves `amount` bytes or does `amount` things.
    pub fn rate(self, amount: u64) -> Result<()> {
        self.measure(amount)
    }

    fn measure(self, amount: u64) -> Result<()> {
        let Timed { case, mut next } = self.0;
        let budget_ns = case.job.budget_ns as f64;
        if case.start_barrier()? {
            return copies::for_ever(&case.clock, &mut |_| next(&case.clock, BATCH, budget_ns).map(drop));
        }
        let mut samples = Samples::of_times(1);
        let most_ns = MOST * budget_ns;
        next(&case.clock, BATCH, most_ns)?;
        let begin = case.clock.start();
        let mut beside = CoreMonitor::begin(&case.clock, case.core.as_mut());
        let mut blocks = CounterBlocks::begin(&case.clock, &case.interference);
        loop {
            let (ticks, operations) = next(&case.clock, BATCH, most_ns)?;
            let ns = case.clock.ns(ticks);
            samples.push(ns, operations, ns);
            beside.add(&mut samples);
            blocks.add(&mut samples);
            let spent_ns = case.clock.ns(case.clock.start().since(begin));
            if spent_ns >= budget_ns || samples.ns.len() >= MOST_SAMPLES {
                break;
            }
        }
        beside.end(&mut samples);
        blocks.end(&mut samples);
        if let (0, Clock::Counter { ns_per_tick }) = (amount, &case.clock) {
            let ticks = |(ns, operations): (&f64, &u64)| ns / *operations as f64 / ns_per_tick;
            let cycles: Vec<f64> = samples.ns.iter().zip(&samples.iterations).map(ticks).collect();
            case.also(Quantity::BATCH_CYCLES.name, cycles.iter().map(|cycles| cycles * BATCH as f64))?;
            case.also(Quantity::REFERENCE_CYCLES.name, cycles)?;
        }
        case.keep(samples, amount)
    }
}

/// Times of one round at most, and values.
const MOST_TIMED: usize = 100_000;
const MOST_COUNTED: usize = 200;
/// A search without a result ends after this multiple of its time, and so many ns at least: busy machines give turns of 10 ms.
const MOST_SEARCHED: f64 = 4.0;
const LEAST_SEARCHED_NS: f64 = 250e6;

impl Case {
    /// Values that are no times, in the probe's unit: sizes, counts, the clock's own step.
    pub fn values(&mut self, mut next: impl FnMut() -> Result<f64>) -> Result<()> {
        self.samples_of((Samples::of_values(1), 0), MOST_COUNTED, |clock| {
            let start = clock.start();
            let value = next()?;
            Ok((value, 1, clock.ns(clock.start().since(start))))
        })
    }

    /// Samples until the time is over, `most` of them: `next` gives a value, of how many operations it is, and the time that it took.
    fn samples_of(
        &mut self,
        (mut samples, amount): (Samples, u64),
        most: usize,
        mut next: impl FnMut(&Clock) -> Result<(f64, u64, f64)>,
    ) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, &mut |_| next(&self.clock).map(drop));
        }
        // The first is thrown away, as every round's first sample is.
        next(&self.clock)?;
        let begin = self.clock.start();
        let mut blocks = CounterBlocks::begin(&self.clock, &self.interference);
        loop {
            let (value, operations, ns) = next(&self.clock)?;
            samples.push(value, operations, ns);
            blocks.add(&mut samples);
            let spent_ns = self.clock.ns(self.clock.start().since(begin));
            if spent_ns >= self.job.budget_ns as f64 || samples.ns.len() >= most {
                blocks.end(&mut samples);
                return self.keep(samples, amount);
            }
        }
    }

    /// Values that are no times and that `next` finds by times of its own: at which stride, of how many pages a cost
    /// changes. None is an attempt that showed nothing; a round without any other has not measured.
    pub fn search(&mut self, mut next: impl FnMut(&Clock) -> Result<Option<f64>>) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, &mut |_| next(&self.clock).map(drop));
        }
        let mut samples = Samples::of_values(1);
        let begin = self.clock.start();
        let mut beside = CoreMonitor::begin(&self.clock, self.core.as_mut());
        let mut blocks = CounterBlocks::begin(&self.clock, &self.interference);
        loop {
            let start = self.clock.start();
            let value = next(&self.clock)?;
            let now = self.clock.start();
            let (spent_ns, budget_ns) = (self.clock.ns(now.since(begin)), self.job.budget_ns as f64);
            if let Some(value) = value {
                samples.push(value, 1, self.clock.ns(now.since(start)));
                beside.add(&mut samples);
                blocks.add(&mut samples);
            }
            let is_over = spent_ns >= budget_ns || samples.ns.len() >= MOST_COUNTED;
            if is_over && !samples.ns.is_empty() {
                beside.end(&mut samples);
                blocks.end(&mut samples);
                return self.keep(samples, 0);
            }
            if spent_ns >= (MOST_SEARCHED * budget_ns).max(LEAST_SEARCHED_NS) {
                return Err(RoundError::skipped(
                    ReasonCode::Inconclusive,
                    say!("the times of this round show no step"),
                ));
            }
        }
    }
}
