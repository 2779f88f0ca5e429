//! How a round's samples are taken: how many iterations, and two lengths.

use hostmark_model::ReasonCode;
use hostmark_say::say;

use crate::clock::{Clock, CoreClock, Precision};
use crate::round_error::{Result, RoundError};
use crate::sampling::core_monitor::CoreMonitor;
use crate::sampling::counter_blocks::CounterBlocks;
use crate::sampling::sample::{Interference, MOST_SAMPLES, Samples};

/// A sample lasts so long, ns, whatever the budget, so that a quantile of samples means the same in every profile: exact, yet an
/// interruption spoils one sample and not the case.
const SAMPLE_NS: f64 = 400_000.0;
/// Samples of a round that are kept, about: a longer budget spreads them out, and does between them what it does in them.
const SAMPLES_A_ROUND: f64 = 320.0;
/// One operation or one look at a number of iterations lasts no longer than this, ns, if it can be helped.
const LONGEST_SAMPLE_NS: f64 = 5_000_000.0;
/// The long length is this many times the short one: the difference loses a fifteenth of the time, and gains little noise.
/// (At 1:2 the slope would be three times as wide as the plain quotient in the same time; docs/decisions/0001.)
const LENGTH_RATIO: u64 = 16;
/// A short length that took more than this part of the long one was disturbed: the difference would be over 2 % less than the operation takes.
const MOST_OF_LONG: f64 = 1.0 / LENGTH_RATIO as f64 + 0.02;
/// From this many iterations on a sample is the difference of two lengths; below, one operation is long enough by itself.
const SLOPE_FROM: u64 = 2 * LENGTH_RATIO;
/// Lengths are whole turns of the unrolled bodies from here on.
const TURN: u64 = 64;
/// Samples of a round at least, where one is not longer than the budget.
const LEAST_SAMPLES: usize = 3;
/// A round ends after this multiple of its budget, also without so many samples that are above zero.
const LONGEST_ROUND: f64 = 4.0;
/// Bodies timed at most while the number of iterations is sought: one whose time jumps with its length never fits.
const MOST_TURNS: usize = 64;
/// How short a sample may be as a share of the length that was sought: what was timed to find that length was else the cost of
/// a first time, as of pages that a child had still to be given, however long that lasts.
const FAR_TOO_SHORT: f64 = 0.25;
/// How often a length is sought anew: one whose time jumps never fits.
pub(crate) const MOST_SOUGHT: usize = 16;
/// An operation of which this many take no longer than a sample takes no time at all: no core is that fast.
pub(crate) const MOST_ITERATIONS: u64 = 1 << 40;

/// What does as many iterations as it is told.
pub type Body<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Takes a round's samples of a body that does as many iterations as it is told.
pub struct Sampler<'a> {
    /// The clock.
    pub clock: &'a Clock,
    /// Its precision.
    pub precision: Precision,
    /// The core's frequency beside the samples; none on a fake clock.
    pub core: Option<&'a mut CoreClock>,
    /// Sees what interferes with the thread.
    pub interference: &'a Interference,
    /// Time for samples, ns.
    pub budget_ns: f64,
    /// What an iteration has just taken that meets what samples meet, ns.
    pub pass_ns: Option<f64>,
}

impl Sampler<'_> {
    fn target_ns(&self) -> f64 {
        SAMPLE_NS.max(self.precision.shortest_sample_ns())
    }

    /// Takes samples until the budget is spent. `hint`: iterations that an earlier round found.
    pub fn take(&mut self, hint: Option<u64>, body: &mut Body<'_>) -> Result<Samples> {
        self.take_and(hint, body, &mut |_, _| Ok(()))
    }

    /// The same; after each sample `then` has its turn, with the body and the sample's number of iterations.
    pub fn take_and(
        &mut self,
        hint: Option<u64>,
        body: &mut Body<'_>,
        then: &mut dyn FnMut(&mut Body<'_>, u64) -> Result<()>,
    ) -> Result<Samples> {
        let (mut iterations, mut sample_ns) = self.find_iterations(hint, body)?;
        let mut samples = Samples::of_times(iterations);
        let (begin, mut sought) = (self.clock.start(), 1);
        let mut beside = CoreMonitor::begin(self.clock, self.core.take());
        let mut blocks = CounterBlocks::begin(self.clock, self.interference);
        while !self.is_enough(self.clock.ns(self.clock.start().since(begin)), sample_ns, &samples) {
            self.one(iterations, body, &mut samples)?;
            let last_ns = samples.spent_ns.last().copied().unwrap_or(0.0);
            if self.is_far_too_short(last_ns) && sought < MOST_SOUGHT {
                (iterations, sample_ns) = self.lengthened(2 * iterations, body)?;
                samples = Samples::of_times(iterations);
                blocks.begin_anew();
                sought += 1;
                continue;
            }
            beside.add(&mut samples);
            then(body, iterations)?;
            blocks.add(&mut samples);
            for _ in 0..self.passed_over(sample_ns) {
                body(iterations)?;
            }
        }
        beside.end(&mut samples);
        blocks.end(&mut samples);
        Ok(samples)
    }

    /// How often a sample's work is done between two samples without being one.
    fn passed_over(&self, sample_ns: f64) -> u64 {
        (self.budget_ns / SAMPLES_A_ROUND / sample_ns.max(SAMPLE_NS)) as u64
    }

    /// Whether a round of these `samples` of `sample_ns` each is over after `spent_ns`: those below zero do not count as taken.
    pub(crate) fn is_enough(&self, spent_ns: f64, sample_ns: f64, samples: &Samples) -> bool {
        let least = if sample_ns * LEAST_SAMPLES as f64 > 2.0 * self.budget_ns { 1 } else { LEAST_SAMPLES };
        let is_usable = || {
            let usable = samples.ns.iter().filter(|&&ns| ns >= 0.0).count();
            usable >= least || spent_ns >= LONGEST_ROUND * self.budget_ns && !samples.ns.is_empty()
        };
        samples.ns.len() >= MOST_SAMPLES || (spent_ns >= self.budget_ns && is_usable())
    }

    /// Whether a sample tells that its length was found by the cost of a first time. Those before it were of that cost too.
    pub(crate) fn is_far_too_short(&self, ns: f64) -> bool {
        ns < FAR_TOO_SHORT * self.target_ns()
    }

    /// One sample: the short length, then the long one, and the difference of the two. What disturbs the long one makes the sample longer, and
    /// is left to the estimate; what disturbs the short one would make it shorter than any core can be, so that is timed again.
    fn one(&self, iterations: u64, body: &mut dyn FnMut(u64) -> Result<()>, samples: &mut Samples) -> Result<()> {
        if iterations >= SLOPE_FROM {
            let short = short_length(iterations);
            let mut short_ns = self.timed(short, body)?;
            let long_ns = self.timed(iterations, body)?;
            if short_ns > MOST_OF_LONG * long_ns {
                let again_ns = self.timed(short, body)?;
                samples.whole.add(short, again_ns);
                short_ns = short_ns.min(again_ns);
            }
            samples.push(long_ns - short_ns, iterations - short, long_ns + short_ns);
            samples.whole.add(2 * short, 0.0);
        } else {
            let ns = self.timed(iterations, body)?;
            samples.push(ns, iterations, ns);
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn timed(&self, iterations: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<f64> {
        let mut result = Ok(());
        let ns = self.clock.time(|| result = body(iterations));
        result.map(|()| ns)
    }

    /// How many iterations make a sample of the target's length, and how long it is. Its last turn is the round's first
    /// sample, which is thrown away: it pays for cold caches and predictors.
    pub(crate) fn find_iterations(
        &self,
        hint: Option<u64>,
        body: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<(u64, f64)> {
        let target_ns = self.target_ns();
        if let Some(ns) = self.pass_ns.filter(|&ns| ns >= target_ns) {
            return Ok((1, ns));
        }
        if let Some(hint) = hint.filter(|&hint| hint > 0)
            && fits(hint, &mut |iterations| self.timed(iterations, body))?
        {
            let ns = self.timed(hint, body)?;
            if (hint == 1 && ns >= target_ns) || (0.5 * target_ns..2.0 * target_ns).contains(&ns) {
                return Ok((hint, ns));
            }
        }
        self.lengthened(1, body)
    }

    /// How many iterations make a sample, by two looks: the first may have met the cost of a first time.
    pub(crate) fn find_confirmed(&self, hint: Option<u64>, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
        let (mut iterations, _) = self.find_iterations(hint, body)?;
        for _ in 0..MOST_SOUGHT {
            let ns = self.timed(iterations, body)?;
            if !self.is_far_too_short(ns) {
                break;
            }
            (iterations, _) = self.lengthened(2 * iterations, body)?;
        }
        Ok(iterations)
    }

    /// How many iterations make a sample, and how long it is, with `least` iterations in the first turn.
    fn lengthened(&self, least: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<(u64, f64)> {
        let (target_ns, mut iterations) = (self.target_ns(), least);
        for _ in 0..MOST_TURNS {
            let ns = self.timed(iterations, body)?;
            if ns < 0.5 * target_ns {
                if iterations >= MOST_ITERATIONS {
                    return Err(RoundError::failed(
                        ReasonCode::CheckFailed,
                        say!("the operation takes no time, however often it is done"),
                    ));
                }
                // Never in one leap: a first short length is mostly start-up cost.
                let factor = (target_ns / ns.max(1.0)).clamp(2.0, 16.0);
                iterations = whole_turns((iterations as f64 * factor) as u64);
                continue;
            }
            let fitting = whole_turns(((iterations as f64 * target_ns / ns) as u64).max(1));
            if fitting >= iterations {
                return Ok((fitting, ns * fitting as f64 / iterations as f64));
            }
            // Longer than the target: perhaps an interruption; a second look decides.
            let again_ns = self.timed(fitting, body)?;
            if fitting == 1 || again_ns >= 0.5 * target_ns {
                return Ok((fitting, again_ns));
            }
            iterations = fitting;
        }
        Ok((iterations, self.timed(iterations, body)?))
    }
}

/// Whether so many iterations last no longer than a few samples. An earlier round found them, but of an order that does not
/// fit the case they may last for years: a small part of them tells, then one of 64 times as many.
pub(crate) fn fits(iterations: u64, timed: &mut dyn FnMut(u64) -> Result<f64>) -> Result<bool> {
    for shift in [36, 30, 24, 18, 12, 6] {
        let part = iterations >> shift;
        if part > 0 && timed(part)? > LONGEST_SAMPLE_NS {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is to be taken away from so many iterations: the short length, or nothing where one operation is long enough by itself.
pub(crate) fn short_of(iterations: u64) -> u64 {
    if iterations >= SLOPE_FROM { short_length(iterations) } else { 0 }
}

/// The short length for a long one.
fn short_length(iterations: u64) -> u64 {
    iterations / LENGTH_RATIO
}

/// Rounds up so that both lengths are whole turns of an unrolled body, where they are long enough.
fn whole_turns(iterations: u64) -> u64 {
    let turn = LENGTH_RATIO * TURN;
    if iterations < turn { iterations } else { iterations.next_multiple_of(turn) }
}

#[cfg(test)]
#[path = "sampler_tests.rs"]
mod tests;
