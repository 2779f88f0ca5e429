//! Short operations, which do themselves over and over.

use super::Case;
use crate::case::copies;
use crate::quantity::Quantity;
use crate::round_error::{Checked, Result};

/// A body that does its operation so many times as it is told.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Loops<'case, F> {
    case: &'case mut Case,
    body: F,
}

/// The same, less what another body takes.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct LoopsBeyond<'case, F, G> {
    case: &'case mut Case,
    whole: F,
    overhead: G,
    each: u64,
    is_steady: bool,
}

/// The same, and how fast a counter of others grew meanwhile.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct LoopsWithCounter<'case, F, C> {
    case: &'case mut Case,
    body: F,
    name: &'case str,
    counter: C,
}

impl Case {
    /// A short operation, under 100 ns: `body(n)` does it n times, unrolled; the value is the slope of two lengths. As with
    /// all that is measured, an error that the body returns ends the round: one that it kept to itself would be measured.
    #[inline(always)]
    pub fn loops<R: Checked, F: FnMut(u64) -> R>(&mut self, body: F) -> Loops<'_, F> {
        Loops { case: self, body }
    }
}

impl<'case, R: Checked, F: FnMut(u64) -> R> Loops<'case, F> {
    /// What is left without `overhead(n)`: both do their thing n times, and are timed in turn, in every sample. Both sides are
    /// given as the further quantities [`Quantity::WHOLE`] and [`Quantity::OVERHEAD`]; nothing is clamped.
    pub fn beyond<S: Checked, G: FnMut(u64) -> S>(self, overhead: G) -> LoopsBeyond<'case, F, G> {
        LoopsBeyond { case: self.case, whole: self.body, overhead, each: 1, is_steady: false }
    }

    /// CoreMonitor each sample, how fast `counter` grew meanwhile, a second: values of the further quantity `name`.
    pub fn with_counter<C: Fn() -> u64>(self, name: &'case str, counter: C) -> LoopsWithCounter<'case, F, C> {
        LoopsWithCounter { case: self.case, body: self.body, name, counter }
    }

    /// The time of one operation.
    #[inline(always)]
    pub fn time(self) -> Result<()> {
        let mut body = self.body;
        self.case.sample(0, &mut |iterations| body(iterations).check())
    }

    /// A rate: an iteration moves `amount` bytes or does `amount` operations.
    #[inline(always)]
    pub fn rate(self, amount: u64) -> Result<()> {
        let mut body = self.body;
        self.case.sample(amount, &mut |iterations| body(iterations).check())
    }
}

impl<R: Checked, F: FnMut(u64) -> R, S: Checked, G: FnMut(u64) -> S> LoopsBeyond<'_, F, G> {
    /// An iteration does the thing measured so many times; the value is that of one.
    pub fn each(self, times: u64) -> Self {
        LoopsBeyond { each: times, ..self }
    }

    /// What is measured goes on without standing still for the overhead, which is timed before it and after it.
    pub fn steady(self) -> Self {
        LoopsBeyond { is_steady: true, ..self }
    }

    /// The time of one operation.
    pub fn time(self) -> Result<()> {
        let LoopsBeyond { case, mut whole, mut overhead, each, is_steady } = self;
        let whole = &mut |iterations| whole(iterations).check();
        let overhead = &mut |iterations| overhead(iterations).check();
        if case.start_barrier()? {
            return copies::for_ever(&case.clock, whole);
        }
        let hint = case.own.iterations;
        let taken = match is_steady {
            true => case.sampler().take_steady_difference(hint, whole, overhead)?,
            false => case.sampler().take_difference(hint, whole, overhead)?,
        };
        case.also(Quantity::WHOLE.name, taken.whole_ns.iter().map(|ns| ns / each as f64))?;
        case.also(Quantity::OVERHEAD.name, taken.part_ns.iter().map(|ns| ns / each as f64))?;
        case.keep(taken.samples, 0)?;
        case.share(each);
        Ok(())
    }
}

impl<R: Checked, F: FnMut(u64) -> R, C: Fn() -> u64> LoopsWithCounter<'_, F, C> {
    /// The time of one operation.
    pub fn time(self) -> Result<()> {
        let LoopsWithCounter { case, mut body, name, counter } = self;
        let clock = case.clock.clone();
        let mut rates: Vec<(u64, f64)> = Vec::new();
        case.sample_alone(0, &mut |iterations| {
            let (start, before) = (clock.start(), counter());
            let done = body(iterations);
            let grown = counter().saturating_sub(before) as f64;
            let ns = clock.ns(clock.end().since(start));
            rates.push((iterations, grown * 1e9 / ns.max(1.0)));
            done.check()
        })?;
        // The long lengths alone: in the short ones, and while the length is sought, the counter's steps are too coarse.
        let longest = rates.iter().map(|&(iterations, _)| iterations).max();
        case.also(name, rates.into_iter().filter(|rate| Some(rate.0) == longest).map(|rate| rate.1))
    }
}
