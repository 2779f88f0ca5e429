//! The verbs of operations that are timed in batches of one size, as reports in cycles have them.

use std::hint::black_box;

use super::Case;
use crate::beside::Beside;
use crate::clock::{Clock, Ticks};
use crate::copies;
use crate::counter_blocks::CounterBlocks;
use crate::quantity::Quantity;
use crate::sample::{MOST_SAMPLES, Samples};
use crate::stop::{Checked, Result};

/// Operations of a batch.
const BATCH: u64 = 10_000;
/// A batch of slow ones ends after this share of the round's time, with fewer: all rounds together have ten batches and more.
const MOST: f64 = 0.25;
/// The clock is read in a batch as often as this at most, once it has lasted this share of its time.
const TURNS: f64 = 16.0;

impl Case {
    /// Times an operation in batches of ten thousand, without a difference of two lengths: the value is the time of one, and
    /// [`Quantity::REFERENCE_CYCLES`] and [`Quantity::BATCH_CYCLES`] stand beside it.
    pub fn time_batches<R: Checked>(&mut self, mut op: impl FnMut() -> R) -> Result<()> {
        self.observe_batches(0, |clock, operations, most_ns| in_turns(clock, operations, most_ns, &mut op))
    }

    /// The same of batches that are timed elsewhere: `next` is told of how many operations, and after how many ns a batch ends
    /// all the same; it returns the time, and how many were done. With an `amount` other than 0 the value is that over the time.
    pub fn observe_batches(
        &mut self,
        amount: u64,
        mut next: impl FnMut(&Clock, u64, f64) -> Result<(Ticks, u64)>,
    ) -> Result<()> {
        let (budget_ns, whole_width) = (self.job.budget_ns as f64, self.whole_width());
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, &mut |_| next(&self.clock, BATCH, budget_ns).map(drop));
        }
        let mut samples = Samples::of_times(1);
        let most_ns = MOST * budget_ns;
        next(&self.clock, BATCH, most_ns)?;
        let begin = self.clock.start();
        let mut beside = Beside::begin(&self.clock, self.core.as_mut(), whole_width);
        let mut blocks = CounterBlocks::begin(&self.clock, &self.interference);
        loop {
            let (ticks, operations) = next(&self.clock, BATCH, most_ns)?;
            let ns = self.clock.ns(ticks);
            samples.push(ns, operations, ns);
            beside.add(&mut samples);
            blocks.add(&mut samples);
            let spent_ns = self.clock.ns(self.clock.start().since(begin));
            if spent_ns >= budget_ns || samples.ns.len() >= MOST_SAMPLES {
                break;
            }
        }
        beside.end(&mut samples);
        blocks.end(&mut samples);
        if let (0, Clock::Counter { ns_per_tick }) = (amount, &self.clock) {
            let ticks = |(ns, operations): (&f64, &u64)| ns / *operations as f64 / ns_per_tick;
            let cycles: Vec<f64> = samples.ns.iter().zip(&samples.iterations).map(ticks).collect();
            self.also(Quantity::BATCH_CYCLES.name, cycles.iter().map(|cycles| cycles * BATCH as f64))?;
            self.also(Quantity::REFERENCE_CYCLES.name, cycles)?;
        }
        self.keep(samples, amount)
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
