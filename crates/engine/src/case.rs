//! What a probe's function is given: the point it stands at, and the verbs by which it is timed.

mod batches;
mod choice;
mod directories;
mod once;
mod surroundings;

use std::collections::BTreeMap;
use std::hint::black_box;

use hostmark_host::Root;
use hostmark_model::{CaseId, Choice, Histogram, Job, JobCase};

use crate::allotment::MemoryBudget;
use crate::clock::{Clock, CoreClock, Precision, Ticks, monotonic_ns};
use crate::copies::{self, Copies};
use crate::counter_blocks::CounterBlocks;
use crate::cpu::Cpu;
use crate::free_running;
use crate::latencies::{self, LatencySampler};
use crate::quantity::Quantity;
use crate::sample::{Interference, Samples};
use crate::sampler::Sampler;
use crate::setup::{self, Deadline};
use crate::stop::{Checked, Result, Stop};
use crate::sys::last_words;
use crate::sys::scratch::Folder;
use directories::Kind;

/// Values counted in one round at most.
const MOST_COUNTED: usize = 200;
/// A search without any result ends after this multiple of its time, and not before so many ns: a busy machine gives a
/// thread a turn every some tens of milliseconds.
const MOST_SEARCHED: f64 = 4.0;
const LEAST_SEARCHED_NS: f64 = 250e6;

/// What a round has yielded so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Yield {
    pub samples: Option<Samples>,
    pub amount: u64,
    pub notes: Vec<(String, String)>,
    /// Further quantities by name, each with its values so far.
    pub also: BTreeMap<String, Vec<f64>>,
    pub histogram: Option<Histogram>,
    /// The mean of the operations that were timed one by one, ns.
    pub mean_ns: Option<f64>,
    /// The way that this round's trials chose, and how long they took, ns.
    pub chosen: Option<(Choice, f64)>,
    /// When its samples were complete, by the monotonic clock, ns.
    pub complete_ns: u64,
}

/// What one worker has of a case's round.
#[derive(Debug)]
pub(crate) struct WorkersPart {
    /// The job, as it is for this worker.
    pub job: Job,
    /// The case's own part of it.
    pub own: JobCase,
    /// What it has in common with the cases of its probe that differ from it in sizes alone.
    pub alike: String,
    /// The other workers of the round.
    pub copies: Copies,
}

/// One round of one case, as its probe sees it.
pub struct Case {
    id: CaseId,
    job: Job,
    /// Its own part of the job.
    own: JobCase,
    /// What it has in common with the cases of its probe that differ from it in sizes alone.
    alike: String,
    clock: Clock,
    precision: Precision,
    core: Option<CoreClock>,
    interference: Interference,
    begun: Ticks,
    folder: Option<(Kind, Folder)>,
    copies: Copies,
    memory: MemoryBudget,
    pub(crate) yielded: Yield,
}

impl Case {
    /// The case that a worker has a part in, timed by `clock`.
    pub(crate) fn new(
        id: CaseId,
        part: WorkersPart,
        clock: Clock,
        precision: Precision,
        core: Option<CoreClock>,
        interference: Interference,
    ) -> Case {
        let WorkersPart { job, own, alike, copies } = part;
        let begun = clock.start();
        let memory = MemoryBudget::new(Root::here(), job.memory_bytes, 1, Deadline::from_now(job.setup_ns));
        Case {
            id,
            job,
            own,
            alike,
            clock,
            precision,
            core,
            interference,
            begun,
            folder: None,
            copies,
            memory,
            yielded: Yield::default(),
        }
    }

    /// So many workers fill memory for this case at the same time.
    pub(crate) fn share_memory(&mut self, copies: u64) {
        let deadline = Deadline::from_now(self.job.setup_ns);
        self.memory = MemoryBudget::new(Root::here(), self.job.memory_bytes, copies, deadline);
    }

    /// Times an operation of 100 ns or more; what it returns is kept from the optimiser, and an error ends the round.
    #[inline(always)]
    pub fn time<R: Checked>(&mut self, mut op: impl FnMut() -> R) -> Result<()> {
        self.sample(0, &mut |iterations| {
            for _ in 0..iterations {
                black_box(op()).check()?;
            }
            Ok(())
        })
    }

    /// Times a short operation, under 100 ns: `body(n)` does it n times, unrolled; the value is the slope of two lengths. As
    /// with every verb, an error that the body returns ends the round: one that it kept to itself would be measured.
    #[inline(always)]
    pub fn time_n<R: Checked>(&mut self, mut body: impl FnMut(u64) -> R) -> Result<()> {
        self.sample(0, &mut |iterations| body(iterations).check())
    }

    /// Like [`Case::time_n`], as a rate: an iteration of `body` moves `amount` bytes or does `amount` operations.
    #[inline(always)]
    pub fn rate<R: Checked>(&mut self, amount: u64, mut body: impl FnMut(u64) -> R) -> Result<()> {
        self.sample(amount, &mut |iterations| body(iterations).check())
    }

    /// Like [`Case::time`], of an operation whose tails matter as well. After each sample as many operations again are timed
    /// one by one, and go into a histogram from which the engine fills in the percentiles that the probe declares. No clock
    /// is read inside the samples, so that the value is that of [`Case::time`].
    pub fn time_with_percentiles<R: Checked>(&mut self, mut op: impl FnMut() -> R) -> Result<()> {
        let body = &mut |iterations| {
            for _ in 0..iterations {
                black_box(op()).check()?;
            }
            Ok(())
        };
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, body);
        }
        let (hint, clock) = (self.own.iterations, self.clock.clone());
        let mut recorder = latencies::recorder()?;
        let samples = self.sampler().take_and(hint, body, &mut |body, iterations| {
            latencies::count_singles(&mut recorder, &clock, iterations, body)
        })?;
        self.yielded.histogram = Some(latencies::counted(&recorder));
        self.keep(samples, 0)
    }

    /// Like [`Case::time`], of an operation that does the thing measured `times` over; the value is the time of one.
    #[inline(always)]
    pub fn time_each<R: Checked>(&mut self, times: u64, op: impl FnMut() -> R) -> Result<()> {
        self.time(op)?;
        self.share(times);
        Ok(())
    }

    /// What is left of `whole(n)` without `overhead(n)`: both do their thing n times, and are timed in turn, in every sample.
    /// Each iteration does the thing measured `times` over. Both sides are given as the further quantities
    /// [`Quantity::WHOLE`] and [`Quantity::OVERHEAD`]; nothing is clamped.
    ///
    /// [`Quantity::WHOLE`]: crate::quantity::Quantity::WHOLE
    /// [`Quantity::OVERHEAD`]: crate::quantity::Quantity::OVERHEAD
    pub fn time_beyond(
        &mut self,
        times: u64,
        mut overhead: impl FnMut(u64) -> Result<()>,
        mut whole: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, &mut whole);
        }
        let hint = self.own.iterations;
        let taken = self.sampler().take_difference(hint, &mut whole, &mut overhead)?;
        self.also(Quantity::WHOLE.name, taken.whole_ns.iter().map(|ns| ns / times as f64))?;
        self.also(Quantity::OVERHEAD.name, taken.part_ns.iter().map(|ns| ns / times as f64))?;
        self.keep(taken.samples, 0)?;
        self.share(times);
        Ok(())
    }

    /// An iteration of what was sampled did the thing measured so many times.
    fn share(&mut self, times: u64) {
        let Some(samples) = &mut self.yielded.samples else { return };
        samples.iterations.iter_mut().for_each(|iterations| *iterations *= times);
        samples.whole.operations *= times;
    }

    fn sampler(&mut self) -> Sampler<'_> {
        let whole_width = self.whole_width();
        Sampler {
            clock: &self.clock,
            precision: self.precision,
            core: self.core.as_mut(),
            interference: &self.interference,
            whole_width,
            budget_ns: self.job.budget_ns as f64,
        }
    }

    fn sample(&mut self, amount: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, body);
        }
        let hint = self.own.iterations;
        let samples = self.sampler().take(hint, body)?;
        self.keep(samples, amount)
    }

    /// Called by every verb before it measures: whoever does the same at once meets here. Whether this one is only a
    /// replica, and has to go on until it is killed.
    fn start_barrier(&mut self) -> Result<bool> {
        self.copies.start_barrier()?;
        setup::end();
        self.begun = self.clock.start();
        Ok(self.copies.is_replica())
    }

    /// Called by the verbs that have several threads.
    fn be_alone(&self) -> Result<()> {
        match self.copies {
            Copies::Alone => Ok(()),
            _ => Err(Stop::skipped("copies of several threads are not measured")),
        }
    }

    fn keep(&mut self, samples: Samples, amount: u64) -> Result<()> {
        if self.yielded.samples.is_some() {
            return Err(Stop::failed("the probe measured twice in one round"));
        }
        self.copies.end_barrier()?;
        // What is measured without a party that has failed is something else, however well it went on.
        if let Some(words) = last_words::heard() {
            return Err(Stop::failed(last_words::told(&words)));
        }
        self.yielded.complete_ns = monotonic_ns();
        self.yielded.samples = Some(samples);
        self.yielded.amount = amount;
        Ok(())
    }

    /// Rates of one worker a CPU: `make` runs on each CPU's own thread and touches its memory there; all start at one
    /// barrier, and what is counted is what all did in the window they have in common.
    pub fn free_running<R: Checked, W: FnMut(u64) -> R>(
        &mut self,
        cpus: &[Cpu],
        amount: u64,
        make: impl Fn(Cpu) -> Result<W> + Sync,
    ) -> Result<()> {
        self.be_alone()?;
        let clock = free_running::common_clock(&self.job.environment.clock, &self.clock);
        let samples = free_running::measure(&clock, self.job.budget_ns as f64, cpus, amount, make)?;
        // The counts are already bytes or operations.
        self.keep(samples, 1)
    }

    /// The time that an operation takes each of several workers that do it at once, from the same window as
    /// [`Case::free_running`]: all workers' time over all their operations.
    pub fn free_running_time<R: Checked, W: FnMut(u64) -> R>(
        &mut self,
        cpus: &[Cpu],
        make: impl Fn(Cpu) -> Result<W> + Sync,
    ) -> Result<()> {
        self.be_alone()?;
        let clock = free_running::common_clock(&self.job.environment.clock, &self.clock);
        let mut samples = free_running::measure(&clock, self.job.budget_ns as f64, cpus, 1, make)?;
        samples.ns.iter_mut().for_each(|ns| *ns *= cpus.len() as f64);
        self.keep(samples, 0)
    }

    /// Like [`Case::time_n`], and beside each sample how fast `counter` grew meanwhile, a second: values of the further
    /// quantity `name`.
    pub fn time_n_beside(&mut self, name: &str, counter: impl Fn() -> u64, mut body: impl FnMut(u64)) -> Result<()> {
        let clock = self.clock.clone();
        let mut rates: Vec<(u64, f64)> = Vec::new();
        self.sample(0, &mut |iterations| {
            let (start, before) = (clock.start(), counter());
            body(iterations);
            let grown = counter().saturating_sub(before) as f64;
            let ns = clock.ns(clock.end().since(start));
            rates.push((iterations, grown * 1e9 / ns.max(1.0)));
            Ok(())
        })?;
        // The long lengths alone: in the short ones, and while the length is sought, the counter's steps are too coarse.
        let longest = rates.iter().map(|&(iterations, _)| iterations).max();
        self.also(name, rates.into_iter().filter(|rate| Some(rate.0) == longest).map(|rate| rate.1))
    }

    /// Samples that the probe takes itself: `next` reads the clock as it must and returns the time of one operation.
    pub fn observe(&mut self, next: impl FnMut(&Clock) -> Result<Ticks>) -> Result<()> {
        self.observe_rate(0, next)
    }

    /// Like [`Case::observe`], as a rate: `amount` is done in the time that `next` returns.
    pub fn observe_rate(&mut self, amount: u64, mut next: impl FnMut(&Clock) -> Result<Ticks>) -> Result<()> {
        self.observe_many(amount, |clock| Ok((next(clock)?, 1)))
    }

    /// Like [`Case::observe`], or like [`Case::observe_rate`] where `amount` is not 0: `next` returns the time of several
    /// operations, and how many.
    pub fn observe_many(&mut self, amount: u64, mut next: impl FnMut(&Clock) -> Result<(Ticks, u64)>) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, &mut |_| next(&self.clock).map(drop));
        }
        let mut samples = Samples::of_times(1);
        // The first is thrown away, as every round's first sample is.
        next(&self.clock)?;
        let begin = self.clock.start();
        let mut blocks = CounterBlocks::begin(&self.clock, &self.interference);
        loop {
            let (ticks, operations) = next(&self.clock)?;
            let ns = self.clock.ns(ticks);
            samples.push(ns, operations, ns);
            blocks.add(&mut samples);
            let spent_ns = self.clock.ns(self.clock.start().since(begin));
            if spent_ns >= self.job.budget_ns as f64 || samples.ns.len() >= 100_000 {
                blocks.end(&mut samples);
                return self.keep(samples, amount);
            }
        }
    }

    /// Operations whose tails matter: `next` returns the time of one, as for [`Case::observe`]. Every operation goes into a
    /// histogram, from which the engine fills in the percentiles that the probe declares ([`Quantity::P99`]); a sample is
    /// the median of a batch of consecutive operations, and the thread's surroundings are read around batches alone.
    ///
    /// [`Quantity::P99`]: crate::quantity::Quantity::P99
    pub fn latencies(&mut self, mut next: impl FnMut(&Clock) -> Result<Ticks>) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, &mut |_| next(&self.clock).map(drop));
        }
        let sampler = LatencySampler {
            clock: &self.clock,
            interference: &self.interference,
            budget_ns: self.job.budget_ns as f64,
        };
        let taken = sampler.take(self.own.iterations, &mut next)?;
        self.yielded.histogram = Some(taken.histogram);
        self.yielded.mean_ns = Some(taken.mean_ns);
        self.keep(taken.samples, 0)
    }

    /// Times of single operations, ns, beside samples that are of something else, as of a rate: a histogram, from which the
    /// engine fills in the percentiles that the probe declares, as for [`Case::latencies`].
    pub fn times(&mut self, ns: impl IntoIterator<Item = f64>) -> Result<()> {
        let ns: Vec<f64> = ns.into_iter().collect();
        self.yielded.mean_ns = hostmark_stats::descriptive::mean(&ns);
        self.yielded.histogram = Some(latencies::histogram(ns)?);
        Ok(())
    }

    /// Values that are no times, in the probe's unit: sizes, counts, the clock's own step.
    pub fn count(&mut self, mut next: impl FnMut() -> Result<f64>) -> Result<()> {
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
        let mut blocks = CounterBlocks::begin(&self.clock, &self.interference);
        loop {
            let start = self.clock.start();
            let value = next(&self.clock)?;
            let now = self.clock.start();
            let (spent_ns, budget_ns) = (self.clock.ns(now.since(begin)), self.job.budget_ns as f64);
            if let Some(value) = value {
                samples.push(value, 1, self.clock.ns(now.since(start)));
                blocks.add(&mut samples);
            }
            let is_over = spent_ns >= budget_ns || samples.ns.len() >= MOST_COUNTED;
            if is_over && !samples.ns.is_empty() {
                blocks.end(&mut samples);
                return self.keep(samples, 0);
            }
            if spent_ns >= (MOST_SEARCHED * budget_ns).max(LEAST_SEARCHED_NS) {
                return Err(Stop::skipped("the times of this round show no step"));
            }
        }
    }

    /// Values of a further quantity that the probe measured itself, in the quantity's unit: any number in a round, of one
    /// or of several calls. `name` is that of a quantity in the probe's `also` which the engine does not fill in. Every
    /// value counts, also one that was taken beside a disturbed sample; a round without any has no part in the estimate.
    pub fn also(&mut self, name: &str, values: impl IntoIterator<Item = f64>) -> Result<()> {
        let of_name = self.yielded.also.entry(name.to_owned()).or_default();
        for value in values {
            if !value.is_finite() {
                return Err(Stop::failed(format!("the quantity '{name}' came to {value}, which is no finite number")));
            }
            of_name.push(value);
        }
        Ok(())
    }

    /// What was seen of the core beside the samples.
    pub(crate) fn core(&self) -> Option<&CoreClock> {
        self.core.as_ref()
    }

    /// Adds a cycle of the core when no other thread runs on it; none where that is not known, or where another thread of the
    /// case itself may.
    pub(crate) fn whole_width(&self) -> Option<f64> {
        let is_alone = matches!(self.copies, Copies::Alone) && self.job.cpus.len() == 1;
        self.job.core_width.filter(|_| is_alone)
    }

    /// The clock's precision.
    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    /// Ends the replicas, and removes the directories that this worker or one of them made.
    pub(crate) fn clean(&mut self) {
        let copies = std::mem::replace(&mut self.copies, Copies::Alone);
        let folders = copies.folders(&self.job.folder);
        drop(copies);
        self.folder = None;
        self.remove_folders(&folders);
    }
}

impl Drop for Case {
    /// A probe that panicked leaves nothing behind either.
    fn drop(&mut self) {
        self.clean();
    }
}

#[cfg(test)]
#[path = "case_tests.rs"]
mod tests;
