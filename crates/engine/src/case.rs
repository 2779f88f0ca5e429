//! Interface that a probe's function receives: the point to measure, and a builder that says what is measured, and how.
//!
//! A measurement reads as a sentence: what is done (`calls`, `loops`, `timed`, `timed_batches`, `once`, `values`, `search`, `workers`,
//! `lockstep`), what is particular about it (`each`, `singly`, `in_batches`, `beyond`, `with_counter`), and what is wanted of it (`time`,
//! `rate`, `value`). What makes no sense together does not compile:
//!
//! ```compile_fail
//! # use hostmark_engine::prelude::*;
//! // A rate of what was timed one by one would be a rate with the clock in it.
//! fn measure(case: &mut Case) -> Result<()> {
//!     case.timed(|clock| Ok(clock.ticks(1.0))).singly().rate(64)
//! }
//! ```
//!
//! ```compile_fail
//! # use hostmark_engine::prelude::*;
//! // Nothing is taken away from an operation that the engine calls one by one: its loop would be taken for a part of it.
//! fn measure(case: &mut Case) -> Result<()> {
//!     case.calls(|| 1u64).beyond(|_| 0u64).time()
//! }
//! ```
//!
//! ```compile_fail
//! # use hostmark_engine::prelude::*;
//! // A histogram of calls is none of what each of them does several times.
//! fn measure(case: &mut Case) -> Result<()> {
//!     case.calls(|| 1u64).each(8).singly().time()
//! }
//! ```
//!
//! ```
//! # use hostmark_engine::prelude::*;
//! fn measure(case: &mut Case) -> Result<()> {
//!     case.loops(|n| (0..n).sum::<u64>()).beyond(|n| n).each(4).time()
//! }
//! ```

pub(crate) mod allotment;
pub(crate) mod copies;

mod calls;
pub(crate) mod surroundings;
mod timed;

use std::collections::BTreeMap;

use hostmark_host::{CorePmu, EnergyMeter, Root};
use hostmark_model::{CaseId, Choice, Histogram, Job, JobCase, ReasonCode};
use hostmark_say::say;

use crate::case::allotment::MemoryBudget;
use crate::case::copies::Copies;
use crate::clock::{Clock, CoreClock, Precision, Ticks, monotonic_ns};
use crate::round_error::{Result, RoundError};
use crate::sampling::counted::{self, Counted, HARDWARE_GROUPS, Wanted};
use crate::sampling::latencies;
use crate::sampling::sample::{Interference, Samples};
use crate::sampling::sampler::{self, Deadline, Sampler};
use crate::sampling::threads::Cpu;
use crate::sys::exit_message;
use crate::sys::scratch::Folder;
use surroundings::DirectoryKind;

/// Results of a round so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Yield {
    pub samples: Option<Samples>,
    pub amount: u64,
    pub notes: Vec<(String, String)>,
    /// Further quantities by name, each with its values so far.
    pub also: BTreeMap<String, Vec<f64>>,
    /// Values of the performance counters per iteration.
    pub counted: Counted,
    pub histogram: Option<Histogram>,
    /// The mean of the operations that were timed one by one, ns.
    pub mean_ns: Option<f64>,
    /// The way that this round's trials chose, and how long they took, ns.
    pub chosen: Option<(Choice, f64)>,
    /// Time when its samples were complete, by the monotonic clock, ns.
    pub complete_ns: u64,
}

/// One worker's part of a case's round.
#[derive(Debug)]
pub(crate) struct WorkersPart {
    /// The job, as it is for this worker.
    pub job: Job,
    /// The case's own part of it.
    pub own: JobCase,
    /// Id shared by all cases of its probe that differ from it in sizes alone.
    pub alike: String,
    /// The other workers of the round.
    pub copies: Copies,
}

/// Round of a case, as its probe sees it.
pub struct Case {
    id: CaseId,
    job: Job,
    own: JobCase,
    /// Id shared by all cases of its probe that differ from it in sizes alone.
    alike: String,
    clock: Clock,
    precision: Precision,
    core: Option<CoreClock>,
    interference: Interference,
    begun: Ticks,
    /// Looks at the core before the first sample and after the last; none where they would tell nothing of it.
    pub(crate) looks_around: Option<Vec<[u64; 2]>>,
    folder: Option<(DirectoryKind, Folder)>,
    copies: Copies,
    pub(crate) memory: MemoryBudget,
    /// Time of an iteration, where the measured code went over memory, ns.
    pass_ns: Option<f64>,
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
            looks_around: None,
            folder: None,
            copies,
            memory,
            pass_ns: None,
            yielded: Yield::default(),
        }
    }

    /// Sets how many workers fill memory for this case at the same time.
    pub(crate) fn share_memory(&mut self, copies: u64) {
        let deadline = Deadline::from_now(self.job.setup_ns);
        self.memory = MemoryBudget::new(Root::here(), self.job.memory_bytes, copies, deadline);
    }

    /// An iteration of what was sampled did the thing measured so many times.
    fn share(&mut self, times: u64) {
        counted::share(&mut self.yielded.counted, times);
        let Some(samples) = &mut self.yielded.samples else { return };
        samples.iterations.iter_mut().for_each(|iterations| *iterations *= times);
        samples.whole.operations *= times;
    }

    fn sampler(&mut self) -> Sampler<'_> {
        Sampler {
            clock: &self.clock,
            precision: self.precision,
            core: self.core.as_mut(),
            interference: &self.interference,
            budget_ns: self.job.budget_ns as f64,
            pass_ns: self.pass_ns,
        }
    }

    fn sample(&mut self, amount: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        self.sample_alone(amount, body)?;
        self.count(body)
    }

    /// The same without counters.
    fn sample_alone(&mut self, amount: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        if self.start_barrier()? {
            return copies::for_ever(&self.clock, body);
        }
        let hint = self.own.iterations;
        let samples = self.sampler().take(hint, body)?;
        self.keep(samples, amount)
    }

    /// Counts the events of a body whose samples are taken, where the run wants counters.
    fn count(&mut self, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let is_wanted = self.job.environment.inputs.counters && matches!(self.copies, Copies::Alone);
        let Some(samples) = self.yielded.samples.as_ref().filter(|_| is_wanted) else { return Ok(()) };
        let (iterations, budget_ns) = (samples.learned, self.job.budget_ns as f64);
        let (root, cpu, group) = (Root::here(), self.interference.cpu(), self.id.probe.split('.').next());
        let in_kernel = !group.is_some_and(|group| HARDWARE_GROUPS.contains(&group));
        let wanted = Wanted { root: &root, pmu: CorePmu::of_cpu(&root, cpu), in_kernel };
        let begin = self.clock.start();
        let has_time = |times: f64| self.clock.ns(self.clock.start().since(begin)) < times * budget_ns;
        let mut counted = counted::count(&wanted, iterations, body, &mut counted::by_kernel, &|| has_time(1.0))?;
        if let Ok(meter) = EnergyMeter::of_cpu(&root, cpu) {
            counted.extend(counted::energy(&meter, iterations, body, &|| has_time(2.0))?);
        }
        self.yielded.counted = counted;
        counted::share(&mut self.yielded.counted, self.yielded.amount.max(1));
        Ok(())
    }

    /// Waits for the other workers before measuring. Tells whether this is a replica, which goes on until it is killed.
    fn start_barrier(&mut self) -> Result<bool> {
        self.copies.start_barrier()?;
        self.look_before();
        sampler::end();
        self.begun = self.clock.start();
        Ok(matches!(self.copies, Copies::Replica))
    }

    /// Refuses copies for the verbs that have several threads.
    fn be_alone(&mut self) -> Result<()> {
        self.look_before();
        match self.copies {
            Copies::Alone => Ok(()),
            _ => Err(RoundError::not_applicable(say!("copies of several threads are not measured"))),
        }
    }

    fn look_before(&mut self) {
        self.looks_around.iter_mut().for_each(Vec::clear);
        self.look_around();
    }

    /// A look at the core that is beside no sample: 16 µs tell whether another thread is on it.
    fn look_around(&mut self) {
        let look = self.core.as_ref().filter(|_| self.looks_around.is_some()).map(|core| core.read(&self.clock));
        self.looks_around.iter_mut().for_each(|looks| looks.extend(look.map(|look| look.after(0))));
    }

    fn keep(&mut self, samples: Samples, amount: u64) -> Result<()> {
        if self.yielded.samples.is_some() {
            return Err(RoundError::internal(say!("the probe measured twice in one round")));
        }
        self.look_around();
        self.copies.end_barrier()?;
        // What is measured without a party that has failed is something else, however well it went on.
        if let Some(words) = exit_message::received() {
            return Err(RoundError::failed(ReasonCode::ProcessDied, exit_message::as_reason(words)));
        }
        self.yielded.complete_ns = monotonic_ns();
        self.yielded.samples = Some(samples);
        self.yielded.amount = amount;
        Ok(())
    }

    /// Times of single operations, ns, beside samples that are of something else, as of a rate: a histogram, from which the
    /// engine fills in the percentiles that the probe declares, as of [`Case::timed`] singly.
    pub fn times(&mut self, ns: impl IntoIterator<Item = f64>) -> Result<()> {
        let ns: Vec<f64> = ns.into_iter().collect();
        self.yielded.mean_ns = hostmark_stats::descriptive::mean(&ns);
        self.yielded.histogram = Some(latencies::histogram(ns)?);
        Ok(())
    }

    /// Values of a further quantity that the probe measured itself, in the quantity's unit: any number in a round, of one
    /// or of several calls. `name` is that of a quantity in the probe's `also` which the engine does not fill in. Every
    /// value counts, also one that was taken beside a disturbed sample; a round without any has no part in the estimate.
    pub fn also(&mut self, name: &str, values: impl IntoIterator<Item = f64>) -> Result<()> {
        let of_name = self.yielded.also.entry(name.to_owned()).or_default();
        for value in values {
            if !value.is_finite() {
                return Err(RoundError::failed(
                    ReasonCode::NoValue,
                    say!("the quantity '{name}' came to {value}, which is no finite number"),
                ));
            }
            of_name.push(value);
        }
        Ok(())
    }

    pub(crate) fn core(&self) -> Option<&CoreClock> {
        self.core.as_ref()
    }

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
