//! Times of single operations: every one is counted in a histogram, and a sample is the median of a batch of them.

use hdrhistogram::Histogram as Recorder;
use hostmark_model::{Histogram, Message};
use hostmark_say::say;
use hostmark_stats::descriptive::median_in_place;

use crate::clock::{Clock, Ticks};
use crate::round_error::{Result, RoundError};
use crate::sampling::sample::{CounterBlocks, Interference, Samples, Totals};
use crate::sampling::sampler::{Body, fits};

/// Batches that a round's time is cut into: the kernel's counters are read around batches, never between operations.
const BATCHES: f64 = 80.0;
/// Digits that a histogram tells apart: values of one count differ by a thousandth at most.
const DIGITS: u8 = 3;
/// The longest time that is told apart from longer ones, ns: no round lasts so long.
const LONGEST_NS: u64 = 1_000_000_000_000;
/// The longest that a round lasts for the sake of its least number of operations, ns.
const LONGEST_FOR_LEAST_NS: f64 = 200e6;
/// A last batch that the end of the round's time cut short is a sample from this share of its operations on.
const WHOLE_ENOUGH: f64 = 0.5;

#[derive(Debug)]
pub(crate) struct Latencies {
    pub samples: Samples,
    pub histogram: Histogram,
    /// The mean of all, ns.
    pub mean_ns: f64,
}

/// Sampler of a round's single operations.
pub(crate) struct LatencySampler<'a> {
    pub clock: &'a Clock,
    pub interference: &'a Interference,
    /// Time for samples, ns.
    pub budget_ns: f64,
    /// Operations that a round takes even where the time is over, as far as they take 0.2 s.
    pub least: u64,
}

impl LatencySampler<'_> {
    /// Takes operations until the time is over. `hint`: operations of a batch that an earlier round found.
    pub(crate) fn take(&self, hint: Option<u64>, next: &mut dyn FnMut(&Clock) -> Result<Ticks>) -> Result<Latencies> {
        let mut recorder = recorder()?;
        let batch = self.find_batch(hint, next)?;
        let mut samples = Samples::of_times(batch);
        let mut times: Vec<f64> = vec![0.0; usize::try_from(batch).unwrap_or(usize::MAX)];
        let begin = self.clock.start();
        let (mut is_over, mut sum_ns, mut whole) = (false, 0.0, Totals::default());
        let mut blocks = CounterBlocks::begin(self.clock, self.interference);
        while !is_over {
            let from = self.clock.start();
            let (mut done, mut until) = (0, from);
            while done < times.len() && !is_over {
                let ns = self.clock.ns(next(self.clock)?);
                times[done] = ns;
                sum_ns += ns;
                done += 1;
                recorder.saturating_record(ns.round() as u64);
                until = self.clock.start();
                let spent_ns = self.clock.ns(until.since(begin));
                let is_enough = whole.operations + done as u64 >= self.least || spent_ns >= LONGEST_FOR_LEAST_NS;
                is_over = spent_ns >= self.budget_ns && is_enough;
            }
            whole = Totals { operations: whole.operations + done as u64, ns: self.clock.ns(until.since(begin)) };
            let is_whole = done as f64 >= WHOLE_ENOUGH * times.len() as f64;
            if let Some(ns) = median_in_place(&mut times[..done]).filter(|_| is_whole || samples.ns.is_empty()) {
                samples.push(ns, 1, self.clock.ns(until.since(from)));
                blocks.add(&mut samples);
            }
        }
        blocks.end(&mut samples);
        samples.whole = whole;
        // The loop above is over after an operation at least.
        Ok(Latencies { samples, histogram: counted(&recorder), mean_ns: sum_ns / whole.operations as f64 })
    }

    /// Finds how many operations make a batch. The operations that it takes to find out are thrown away, as a round's first sample is.
    fn find_batch(&self, hint: Option<u64>, next: &mut dyn FnMut(&Clock) -> Result<Ticks>) -> Result<u64> {
        let target_ns = self.budget_ns / BATCHES;
        let mut timed = |operations: u64| -> Result<f64> {
            let start = self.clock.start();
            for _ in 0..operations {
                next(self.clock)?;
            }
            Ok(self.clock.ns(self.clock.end().since(start)))
        };
        if let Some(hint) = hint.filter(|&hint| (1..=MOST_OPERATIONS).contains(&hint))
            && fits(hint, &mut timed)?
        {
            let ns = timed(hint)?;
            if (hint == 1 && ns >= target_ns) || (0.5 * target_ns..2.0 * target_ns).contains(&ns) {
                return Ok(hint);
            }
        }
        let mut operations = 1;
        loop {
            let mut ns = timed(operations)?;
            if (0.5 * target_ns..self.budget_ns).contains(&ns) {
                // A second look tells whether one of them was only put off.
                ns = ns.min(timed(operations)?);
            }
            if ns >= 0.5 * target_ns {
                return Ok(((operations as f64 * target_ns / ns) as u64).max(1));
            }
            // Never in one leap: the first operations are often slow ones.
            operations = (operations as f64 * (target_ns / ns.max(1.0)).clamp(2.0, 16.0)) as u64;
            if operations > MOST_OPERATIONS {
                return Err(RoundError::wrong(say!("the operation takes no time, however often it is done")));
            }
        }
    }
}

/// A batch of more has operations that take less than reading the clock does.
const MOST_OPERATIONS: u64 = 1 << 28;

pub(crate) fn recorder() -> Result<Recorder<u64>> {
    Recorder::new_with_bounds(1, LONGEST_NS, DIGITS).map_err(|error| RoundError::internal(Message::plain(error)))
}

pub(crate) fn histogram(ns: impl IntoIterator<Item = f64>) -> Result<Histogram> {
    let mut recorder = recorder()?;
    ns.into_iter().for_each(|ns| recorder.saturating_record(ns.round() as u64));
    Ok(counted(&recorder))
}

/// Counts `operations`, each timed by itself, after one that brings back what reading the kernel's counters drove out.
pub(crate) fn count_singles(
    recorder: &mut Recorder<u64>,
    clock: &Clock,
    operations: u64,
    body: &mut Body<'_>,
) -> Result<()> {
    body(1)?;
    for _ in 0..operations {
        let start = clock.start();
        body(1)?;
        let ns = clock.ns(clock.end().since(start));
        recorder.saturating_record(ns.round() as u64);
    }
    Ok(())
}

/// The middle of each range that holds operations, and how many.
pub(crate) fn counted(recorder: &Recorder<u64>) -> Histogram {
    let range = |value: u64| recorder.lowest_equivalent(value).midpoint(recorder.highest_equivalent(value));
    let (values, counts) =
        recorder.iter_recorded().map(|step| (range(step.value_iterated_to()), step.count_at_value())).unzip();
    Histogram { values, counts }
}

#[cfg(test)]
#[path = "latencies_tests.rs"]
mod tests;
