//! Values that are no times.

use hostmark_model::ReasonCode;
use hostmark_say::say;

use super::Case;
use crate::case::copies;
use crate::clock::Clock;
use crate::round_error::{Result, RoundError};
use crate::sampling::core_monitor::CoreMonitor;
use crate::sampling::counter_blocks::CounterBlocks;
use crate::sampling::sample::Samples;

/// Values counted in one round at most.
const MOST_COUNTED: usize = 200;
/// A search without any result ends after this multiple of its time, and not before so many ns: a busy machine gives a
/// thread a turn every some tens of milliseconds.
const MOST_SEARCHED: f64 = 4.0;
const LEAST_SEARCHED_NS: f64 = 250e6;

impl Case {
    /// Values that are no times, in the probe's unit: sizes, counts, the clock's own step.
    pub fn values(&mut self, mut next: impl FnMut() -> Result<f64>) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, &mut |_| next().map(drop));
        }
        let mut samples = Samples::of_values(1);
        // The first is thrown away, as every round's first sample is.
        next()?;
        let begin = self.clock.start();
        let mut blocks = CounterBlocks::begin(&self.clock, &self.interference);
        loop {
            let start = self.clock.start();
            let value = next()?;
            let now = self.clock.start();
            samples.push(value, 1, self.clock.ns(now.since(start)));
            blocks.add(&mut samples);
            if self.clock.ns(now.since(begin)) >= self.job.budget_ns as f64 || samples.ns.len() >= MOST_COUNTED {
                blocks.end(&mut samples);
                return self.keep(samples, 0);
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
