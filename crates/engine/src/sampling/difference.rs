//! Samples of what is left of an operation when a known part of it is taken away, both timed in turn.

use hostmark_stats::descriptive::median;

use crate::round_error::Result;
use crate::sampling::core_monitor::CoreMonitor;
use crate::sampling::counter_blocks::CounterBlocks;
use crate::sampling::sample::Samples;
use crate::sampling::sampler::{MOST_SOUGHT, Sampler};

/// How often the part of a whole that goes on is timed, before it and after it.
const PARTS: usize = 8;

/// Samples of a difference, and both sides of each, ns an iteration.
pub(crate) struct Differences {
    pub samples: Samples,
    pub whole_ns: Vec<f64>,
    pub part_ns: Vec<f64>,
}

impl Differences {
    fn none(learned: u64) -> Differences {
        Differences { samples: Samples::of_times(learned), whole_ns: Vec::new(), part_ns: Vec::new() }
    }
}

impl Sampler<'_> {
    /// Takes samples until the budget is spent: in each both bodies are timed, one after the other, for as long each, so that
    /// what changes with time changes both. Nothing is clamped: a part that took longer than the whole is a time below zero, and is marked
    /// as such ([`Samples::mark_below_zero`]).
    pub(crate) fn take_difference(
        &mut self,
        hint: Option<u64>,
        whole: &mut dyn FnMut(u64) -> Result<()>,
        part: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Differences> {
        let mut of_whole = self.find_confirmed(hint, whole)?;
        let mut of_part = self.find_confirmed(None, part)?;
        let mut taken = Differences::none(of_whole);
        let (begin, mut sought) = (self.clock.start(), 1);
        let mut beside = CoreMonitor::begin(self.clock, self.core.take());
        let mut blocks = CounterBlocks::begin(self.clock, self.interference);
        loop {
            let whole_ns = self.timed(of_whole, whole)?;
            let part_ns = self.timed(of_part, part)?;
            if (self.is_far_too_short(whole_ns) || self.is_far_too_short(part_ns)) && sought < MOST_SOUGHT {
                of_whole = self.find_confirmed(Some(of_whole), whole)?;
                of_part = self.find_confirmed(Some(of_part), part)?;
                taken = Differences::none(of_whole);
                blocks.begin_anew();
                sought += 1;
                continue;
            }
            let (whole_each_ns, part_each_ns) = (whole_ns / of_whole as f64, part_ns / of_part as f64);
            let left_ns = (whole_each_ns - part_each_ns) * of_whole as f64;
            taken.samples.push(left_ns, of_whole, whole_ns + part_ns);
            taken.whole_ns.push(whole_each_ns);
            taken.part_ns.push(part_each_ns);
            beside.add(&mut taken.samples);
            blocks.add(&mut taken.samples);
            let spent_ns = self.clock.ns(self.clock.start().since(begin));
            if self.is_enough(spent_ns, whole_ns + part_ns, &taken.samples) {
                beside.end(&mut taken.samples);
                blocks.end(&mut taken.samples);
                return Ok(taken);
            }
        }
    }

    /// The same of a whole that goes on: it does not stand still for the part, which is timed before it and after it.
    pub(crate) fn take_steady_difference(
        &mut self,
        hint: Option<u64>,
        whole: &mut dyn FnMut(u64) -> Result<()>,
        part: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Differences> {
        let of_part = self.find_confirmed(None, part)?;
        let mut part_ns = Vec::new();
        let mut time_part = |sampler: &Self| -> Result<()> {
            (0..PARTS).try_for_each(|_| {
                part_ns.push(sampler.timed(of_part, part)? / of_part as f64);
                Ok(())
            })
        };
        time_part(self)?;
        let mut samples = self.take(hint, whole)?;
        time_part(self)?;
        let part_each_ns = median(&part_ns).unwrap_or_default();
        let mut whole_ns = Vec::new();
        for (ns, &iterations) in samples.ns.iter_mut().zip(&samples.iterations) {
            whole_ns.push(*ns / iterations as f64);
            *ns -= part_each_ns * iterations as f64;
        }
        Ok(Differences { samples, whole_ns, part_ns })
    }
}
