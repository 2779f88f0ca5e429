//! What a probe's function is given: the point it stands at, and the verbs by which it is timed.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::str::FromStr;

use hostmark_model::{CaseId, Histogram, Order};

use crate::clock::{Clock, CoreClock, Precision, Ticks};
use crate::company::{self, Company};
use crate::parallel;
use crate::sample::{Sampler, Samples, Witness};
use crate::stop::{Checked, Result, Stop};
use crate::sys::affinity;
use crate::sys::memory::{Buffer, Node, Pages};
use crate::tails::TailSampler;

/// A logical CPU by the kernel's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cpu(pub usize);

/// Values counted in one round at most.
const MOST_COUNTED: usize = 200;
/// Below this share of huge pages a buffer did not get what it asked for.
const MOSTLY_HUGE: f64 = 0.9;

/// What a round has yielded so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Yield {
    pub samples: Option<Samples>,
    pub amount: u64,
    pub notes: Vec<(String, String)>,
    /// Further quantities by name, each with its values so far.
    pub also: BTreeMap<String, Vec<f64>>,
    pub histogram: Option<Histogram>,
}

/// One round of one case, as its probe sees it.
pub struct Case {
    id: CaseId,
    order: Order,
    clock: Clock,
    precision: Precision,
    core: Option<CoreClock>,
    witness: Witness,
    begun: Ticks,
    scratch: Option<PathBuf>,
    company: Company,
    pub(crate) yielded: Yield,
}

impl Case {
    /// The case of `order`, timed by `clock`.
    pub(crate) fn new(
        id: CaseId,
        order: Order,
        clock: Clock,
        precision: Precision,
        core: Option<CoreClock>,
        witness: Witness,
        company: Company,
    ) -> Case {
        let begun = clock.start();
        Case { id, order, clock, precision, core, witness, begun, scratch: None, company, yielded: Yield::default() }
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

    /// Times a short operation, under 100 ns: `body(n)` does it n times, unrolled; the value is the slope of two lengths.
    #[inline(always)]
    pub fn time_n(&mut self, mut body: impl FnMut(u64)) -> Result<()> {
        self.sample(0, &mut |iterations| {
            body(iterations);
            Ok(())
        })
    }

    /// Like [`Case::time_n`], as a rate: an iteration of `body` moves `amount` bytes or does `amount` operations.
    #[inline(always)]
    pub fn rate(&mut self, amount: u64, mut body: impl FnMut(u64)) -> Result<()> {
        self.sample(amount, &mut |iterations| {
            body(iterations);
            Ok(())
        })
    }

    fn sample(&mut self, amount: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        if self.meet()? {
            return company::for_ever(&self.clock, body);
        }
        let hint = self.order.iterations;
        let mut sampler = Sampler {
            clock: &self.clock,
            precision: self.precision,
            core: self.core.as_mut(),
            witness: &self.witness,
            budget_ns: self.order.budget_ns as f64,
        };
        let samples = sampler.take(hint, body)?;
        self.keep(samples, amount)
    }

    /// Called by every verb before it measures: whoever does the same at once meets here. Whether this one only keeps
    /// another company, and has to go on until it is killed.
    fn meet(&mut self) -> Result<bool> {
        self.company.meet()?;
        self.begun = self.clock.start();
        Ok(self.company.is_kept())
    }

    fn keep(&mut self, samples: Samples, amount: u64) -> Result<()> {
        if self.yielded.samples.is_some() {
            return Err(Stop::failed("the probe measured twice in one round"));
        }
        self.company.part()?;
        self.yielded.samples = Some(samples);
        self.yielded.amount = amount;
        Ok(())
    }

    /// Rates of one worker a CPU: `make` runs on each CPU's own thread and touches its memory there; all start at one
    /// barrier, and what is counted is what all did in the window they have in common.
    pub fn parallel<W: FnMut(u64)>(
        &mut self,
        cpus: &[Cpu],
        amount: u64,
        make: impl Fn(Cpu) -> Result<W> + Sync,
    ) -> Result<()> {
        if !matches!(self.company, Company::Alone) {
            return Err(Stop::skipped("copies of several threads are not measured"));
        }
        let clock = parallel::common_clock(&self.order.clock, &self.clock);
        let samples = parallel::measure(&clock, self.order.budget_ns as f64, cpus, amount, make)?;
        // The counts are already bytes or operations.
        self.keep(samples, 1)
    }

    /// Samples that the probe takes itself: `next` reads the clock as it must and returns the time of one operation.
    pub fn observe(&mut self, mut next: impl FnMut(&Clock) -> Result<Ticks>) -> Result<()> {
        if self.meet()? {
            return company::for_ever(&self.clock, &mut |_| next(&self.clock).map(drop));
        }
        let mut samples = Samples { learned: 1, is_time: true, ..Samples::default() };
        // The first is thrown away, as every round's first sample is.
        next(&self.clock)?;
        let begin = self.clock.start();
        loop {
            let before = self.witness.read();
            let ns = self.clock.ns(next(&self.clock)?);
            samples.push(ns, 1, ns, before, self.witness.read());
            let spent_ns = self.clock.ns(self.clock.start().since(begin));
            if spent_ns >= self.order.budget_ns as f64 || samples.ns.len() >= 100_000 {
                return self.keep(samples, 0);
            }
        }
    }

    /// Operations whose tails matter: `next` returns the time of one, as for [`Case::observe`]. Every operation goes into a
    /// histogram, from which the engine fills in the percentiles that the probe declares ([`Quantity::P99`]); a sample is
    /// the median of a batch of consecutive operations, and the thread's surroundings are read around batches alone.
    ///
    /// [`Quantity::P99`]: crate::probe::Quantity::P99
    pub fn tails(&mut self, mut next: impl FnMut(&Clock) -> Result<Ticks>) -> Result<()> {
        if self.meet()? {
            return company::for_ever(&self.clock, &mut |_| next(&self.clock).map(drop));
        }
        let sampler =
            TailSampler { clock: &self.clock, witness: &self.witness, budget_ns: self.order.budget_ns as f64 };
        let (samples, histogram) = sampler.take(self.order.iterations, &mut next)?;
        self.yielded.histogram = Some(histogram);
        self.keep(samples, 0)
    }

    /// Values that are no times, in the probe's unit: sizes, counts, the clock's own step.
    pub fn count(&mut self, mut next: impl FnMut() -> Result<f64>) -> Result<()> {
        if self.meet()? {
            return company::for_ever(&self.clock, &mut |_| next().map(drop));
        }
        let mut samples = Samples { learned: 1, is_time: false, ..Samples::default() };
        let begin = self.clock.start();
        loop {
            let before = self.witness.read();
            let start = self.clock.start();
            let value = next()?;
            let now = self.clock.start();
            samples.push(value, 1, self.clock.ns(now.since(start)), before, self.witness.read());
            if self.clock.ns(now.since(begin)) >= self.order.budget_ns as f64 || samples.ns.len() >= MOST_COUNTED {
                return self.keep(samples, 0);
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

    /// The value of an axis at this point.
    pub fn param<T: FromStr>(&self, axis: &str) -> Result<T> {
        let value = self.id.params.get(axis).ok_or_else(|| Stop::failed(format!("there is no axis '{axis}'")))?;
        value.parse().map_err(|_| Stop::failed(format!("'{value}' is no value of the axis '{axis}'")))
    }

    /// The CPUs of this case; the first is the one that the round already runs on.
    pub fn cpus<const N: usize>(&self) -> Result<[Cpu; N]> {
        let cpus: Vec<Cpu> = self.order.cpus.iter().take(N).map(|&id| Cpu(id)).collect();
        cpus.try_into().map_err(|_| Stop::skipped(format!("needs {N} CPUs")))
    }

    /// All CPUs of this case: as many as its threads.
    pub fn thread_cpus(&self) -> Vec<Cpu> {
        self.order.cpus.iter().map(|&id| Cpu(id)).collect()
    }

    /// Binds the calling thread to one CPU.
    pub fn pin(&mut self, cpu: Cpu) -> Result<()> {
        affinity::bind(&[cpu.0]).map_err(|error| Stop::skipped(format!("CPU {} cannot be had: {error}", cpu.0)))
    }

    /// Skipped where so much memory may not be filled.
    pub fn may_fill(&self, bytes: u64) -> Result<()> {
        let (asked, may) = (bytes >> 20, self.order.memory_bytes >> 20);
        match bytes > self.order.memory_bytes {
            true => Err(Stop::skipped(format!("needs {asked} MiB of memory, and may fill {may} MiB here"))),
            false => Ok(()),
        }
    }

    /// Memory, touched by this thread and filled with varying non-zero data. The pages really obtained are noted.
    pub fn buffer(&mut self, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Buffer> {
        self.may_fill(bytes)?;
        let bytes = usize::try_from(bytes).map_err(Stop::skipped)?;
        let buffer = Buffer::map(bytes, pages, node).map_err(|error| Stop::skipped(format!("no memory: {error}")))?;
        let obtained = match (pages, buffer.huge_fraction()) {
            (Pages::Base, _) => "base".to_owned(),
            (Pages::Pmd, Some(fraction)) if fraction >= MOSTLY_HUGE => "pmd".to_owned(),
            (Pages::Pmd, Some(fraction)) => format!("pmd {:.0} %, the rest base", fraction * 100.0),
            (Pages::Pmd, None) => "unknown".to_owned(),
        };
        self.note("pages", obtained);
        Ok(buffer)
    }

    /// A directory of this round's own; it is removed after the round, however that ends.
    pub fn scratch_dir(&mut self) -> Result<PathBuf> {
        if let Some(made) = &self.scratch {
            return Ok(made.clone());
        }
        let path = PathBuf::from(&self.order.scratch);
        fs::create_dir_all(&path)
            .map_err(|error| Stop::skipped(format!("no scratch directory {}: {error}", path.display())))?;
        self.scratch = Some(path.clone());
        Ok(path)
    }

    /// When the round's time for samples is over, for probes that observe.
    pub fn deadline(&self) -> Ticks {
        Ticks(self.begun.0 + self.clock.ticks(self.order.budget_ns as f64).0)
    }

    /// Size of the first-level data cache in bytes, 0 when the host does not tell.
    pub fn l1d_bytes(&self) -> u64 {
        self.order.l1d_bytes
    }

    /// Size of the last-level cache in bytes, 0 when the host does not tell.
    pub fn llc_bytes(&self) -> u64 {
        self.order.llc_bytes
    }

    /// A cache line in bytes, as the host tells it, else 64.
    pub fn line_bytes(&self) -> u64 {
        self.order.line_bytes
    }

    /// Nanoseconds a tick of the CPU's counter; Skipped where the run's clock is another one.
    pub fn counter_ns_per_tick(&self) -> Result<f64> {
        match self.clock {
            Clock::Counter { ns_per_tick } => Ok(ns_per_tick),
            _ => Err(Stop::skipped("the counter's rate is not known here, so that its ticks are no time")),
        }
    }

    /// Seed of everything random in this round.
    pub fn seed(&self) -> u64 {
        self.order.seed
    }

    /// Records how it was measured: what was obtained, which kernel was chosen.
    pub fn note(&mut self, key: &str, value: impl ToString) {
        self.yielded.notes.push((key.to_owned(), value.to_string()));
    }

    /// The core's frequency beside the samples, hertz.
    pub(crate) fn core_hz(&self) -> Option<f64> {
        self.core.as_ref().and_then(CoreClock::median_hz)
    }

    /// The clock's precision.
    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    /// Ends the company, and removes the scratch directory, when one was made by this worker or by one that kept it company.
    pub(crate) fn clean(&mut self) {
        let was_led = matches!(std::mem::replace(&mut self.company, Company::Alone), Company::Led(_));
        let path = self.scratch.take().or_else(|| was_led.then(|| PathBuf::from(&self.order.scratch)));
        if let Some(path) = path {
            // The janitor tries again when the run ends.
            let _ = fs::remove_dir_all(path);
        }
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
