//! Work of several threads at once.

use super::Case;
use crate::round_error::{Checked, Result};
use crate::sampling::cpu::Cpu;
use crate::sampling::lockstep::{self, ThreadWork};
use crate::sampling::sample::Interference;
use crate::sampling::sampler::Sampler;
use crate::sampling::{free_running, setup, threads};
use crate::sys::usage::ThreadCounters;

/// Workers that run freely, one a CPU.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Workers<'case, M> {
    case: &'case mut Case,
    cpus: &'case [Cpu],
    are_long: bool,
    make: M,
}

/// Threads that make their passes together, one a CPU.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Lockstep<'case, M> {
    case: &'case mut Case,
    cpus: &'case [Cpu],
    ways: &'case [&'case str],
    make: M,
    half: Option<&'case str>,
}

impl Case {
    /// One worker a CPU: `make` runs on each CPU's own thread and touches its memory there; all start at one barrier, and what
    /// is counted is what all did in the window they have in common.
    pub fn workers<'case, R: Checked, W: FnMut(u64) -> R, M: Fn(Cpu) -> Result<W> + Sync>(
        &'case mut self,
        cpus: &'case [Cpu],
        make: M,
    ) -> Workers<'case, M> {
        Workers { case: self, cpus, are_long: false, make }
    }

    /// Work that one thread a CPU shares: `make` gets the number of the thread, on that thread, and touches its part's memory
    /// there. A sample is one pass of all, from barrier to barrier. Of several ways, all passes go the one that is chosen as by
    /// [`Case::choose_in_lockstep`].
    pub fn lockstep<'case, P: ThreadWork, M: Fn(usize) -> Result<P> + Sync>(
        &'case mut self,
        cpus: &'case [Cpu],
        ways: &'case [&'case str],
        make: M,
    ) -> Lockstep<'case, M> {
        Lockstep { case: self, cpus, ways, make, half: None }
    }
}

impl<R: Checked, W: FnMut(u64) -> R, M: Fn(Cpu) -> Result<W> + Sync> Workers<'_, M> {
    /// Where `are_long`, `make` has done an iteration, and none is so short that the clock has to be read less often than after each.
    pub fn of_long_iterations(self, are_long: bool) -> Self {
        Workers { are_long, ..self }
    }

    /// The rate of all together: an iteration of one moves `amount` bytes or does `amount` operations.
    pub fn rate(self, amount: u64) -> Result<()> {
        let Workers { case, cpus, are_long, make } = self;
        case.be_alone()?;
        if let [cpu] = cpus {
            return one(case, *cpu, amount, make);
        }
        let clock = free_running::common_clock(&case.job.environment.clock, &case.clock);
        let samples = free_running::measure(&clock, case.job.budget_ns as f64, cpus, amount, are_long, make)?;
        // The counts are already bytes or operations.
        case.keep(samples, 1)
    }

    /// The time that an operation takes each of them: all workers' time over all their operations.
    pub fn time(self) -> Result<()> {
        let Workers { case, cpus, are_long, make } = self;
        case.be_alone()?;
        if let [cpu] = cpus {
            return one(case, *cpu, 0, make);
        }
        let clock = free_running::common_clock(&case.job.environment.clock, &case.clock);
        let mut samples = free_running::measure(&clock, case.job.budget_ns as f64, cpus, 1, are_long, make)?;
        samples.ns.iter_mut().for_each(|ns| *ns *= cpus.len() as f64);
        case.keep(samples, 0)
    }
}

/// A worker that is the only one: its thread takes the samples as that of the case does elsewhere, and is watched as that is.
fn one<R: Checked, W: FnMut(u64) -> R>(
    case: &mut Case,
    cpu: Cpu,
    amount: u64,
    make: impl Fn(Cpu) -> Result<W> + Sync,
) -> Result<()> {
    let hint = case.own.iterations;
    let Sampler { clock, precision, core, budget_ns, .. } = case.sampler();
    let work = || {
        threads::bind(cpu)?;
        let mut body = make(cpu)?;
        let interference = &Interference::Thread(ThreadCounters::open());
        setup::end();
        Sampler { clock, precision, core, interference, budget_ns, pass_ns: None }.take(hint, &mut |n| body(n).check())
    };
    let samples = std::thread::scope(|scope| threads::join(threads::start(scope, [work])?))?;
    samples.into_iter().try_for_each(|samples| case.keep(samples, amount))
}

impl<'case, P: ThreadWork, M: Fn(usize) -> Result<P> + Sync> Lockstep<'case, M> {
    /// The same, and of half of the work the rate: values of the further quantity `name`.
    pub fn with_half(self, name: &'case str) -> Self {
        Lockstep { half: Some(name), ..self }
    }

    /// The rate of all together, which do `amount` in a pass; and which way they went.
    pub fn rate(self, amount: u64) -> Result<usize> {
        let Lockstep { case, cpus, ways, make, half } = self;
        case.be_alone()?;
        let known = case.chosen_before(u64::MAX, ways)?;
        let budget_ns = case.job.budget_ns as f64;
        let trials = lockstep::Trials { ways: ways.len(), seed: case.own.seed, known, halves: half.is_some() };
        let measured = lockstep::measure(&case.clock, &case.interference, budget_ns, cpus, trials, make)?;
        if known.is_none() {
            case.keep_choice(u64::MAX, ways[measured.way], measured.trials_ns);
        }
        case.keep(measured.samples, amount)?;
        if let Some(name) = half {
            case.also(name, measured.half_ns.map(|ns| amount as f64 / 2.0 * 1e9 / ns))?;
        }
        Ok(measured.way)
    }
}
