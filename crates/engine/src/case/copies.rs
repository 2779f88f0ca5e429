//! Work of several at once: threads of this worker, and copies, further workers that measure on CPUs of their own.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hostmark_launch::program::{OWN, command};
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_model::{Event, Job, JsonLine, Message, ReasonCode};
use hostmark_say::say;

use super::Case;
use crate::clock::Clock;
use crate::round_error::{Checked, Result, RoundError};
use crate::sampling::lockstep::{self, ThreadWork};
use crate::sampling::sample::Interference;
use crate::sampling::sampler::{MOST_ITERATIONS, Sampler};
use crate::sampling::threads::Cpu;
use crate::sampling::{sampler, threads};
use crate::sys::call::{Call, spawned};
use crate::sys::usage::ThreadCounters;

/// A replica's body is repeated until it lasts so long, ns, so that what lies between two does not count.
const LONG_ENOUGH_NS: f64 = 200_000.0;
/// Longest wait for a replica to end after its output has ended.
const GRACE: Duration = Duration::from_millis(500);

/// Role of a worker among the copies of its case.
#[derive(Debug)]
pub(crate) enum Copies {
    Alone,
    /// Measures while the others do the same.
    Leader(Vec<Replica>),
    /// Does the same as another that measures, until it is killed.
    Replica,
}

/// Another worker of the same case.
#[derive(Debug)]
pub(crate) struct Replica {
    cpu: usize,
    process: Supervised,
}

/// The jobs of `copies` workers that do the same at once, each on one CPU, the measuring one's first. They share the memory
/// that may be filled; the replicas' files lie in the directory that is removed after the round.
pub(crate) fn jobs(job: &Job, copies: usize, parties: usize) -> Result<Vec<Job>> {
    if job.cpus.len() < copies {
        return Err(RoundError::internal(say!("the job has {copies} copies for {cpus} CPUs", cpus = job.cpus.len())));
    }
    let share = |(index, &cpu): (usize, &usize)| {
        let memory_bytes = job.memory_bytes / copies as u64;
        let mut own = Job { cpus: vec![cpu; parties], memory_bytes, ..job.clone() };
        // Each has a far end of its own, where it needs one.
        own.cases.iter_mut().for_each(|case| case.far = case.far.get(index).cloned().into_iter().collect());
        if index > 0 {
            own.replica = true;
            own.environment.parent = std::process::id();
            own.folder = copy_folder(&job.folder, index);
            // Not the same chain, nor the same sequence of anything, as its neighbours.
            own.cases.iter_mut().for_each(|case| case.seed ^= (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        own
    };
    Ok(job.cpus.iter().take(copies).enumerate().map(share).collect())
}

/// The directory of a copy's own beside the round's.
fn copy_folder(folder: &str, index: usize) -> String {
    format!("{folder}-copy-{index}")
}

/// Returns the command that starts this program as this process was started: `hostmark worker`.
pub(crate) fn this_program() -> Command {
    let mut command = command(Path::new(OWN));
    command.args(std::env::args_os().skip(1));
    command
}

impl Copies {
    /// Starts a replica for each job. They are of this process' group and ask to die with it.
    pub(crate) fn start(jobs: &[Job], program: impl Fn() -> Command) -> Result<Copies> {
        let start = |job: &Job| -> std::io::Result<Replica> {
            // Nobody listens while it is measured: who complains meanwhile must not stand still.
            let (errors, ending) = (Errors::CapturedAtLeisure, Ending::Killed);
            let terms = Terms { group: Membership::Ours, has_input: true, errors, ending, stop: None };
            let mut process = Supervised::start(program(), terms).map_err(spawned)?;
            process.send_last(&job.to_line()?)?;
            Ok(Replica { cpu: job.cpus.first().copied().unwrap_or_default(), process })
        };
        let mut replicas = Vec::new();
        for job in jobs {
            match start(job) {
                Ok(replica) => replicas.push(replica),
                Err(error) => return Err(RoundError::from(error).within(say!("a further copy could not be started"))),
            }
        }
        Ok(Copies::Leader(replicas))
    }

    /// Names of the directories that its copies may have made: they are killed and cannot remove them.
    pub(crate) fn folders(&self, folder: &str) -> Vec<String> {
        match self {
            Copies::Leader(replicas) => (1..=replicas.len()).map(|index| copy_folder(folder, index)).collect(),
            _ => Vec::new(),
        }
    }

    /// Waits when the measured operation is set up: the leader for all others, which report in [`for_ever`].
    pub(crate) fn start_barrier(&mut self) -> Result<()> {
        match self {
            Copies::Leader(replicas) => replicas.iter_mut().try_for_each(Replica::start_barrier),
            Copies::Alone | Copies::Replica => Ok(()),
        }
    }

    /// Checks, when the measuring is over, that no replica has ended before.
    pub(crate) fn end_barrier(&mut self) -> Result<()> {
        match self {
            Copies::Leader(replicas) => replicas.iter_mut().try_for_each(Replica::end_barrier),
            _ => Ok(()),
        }
    }
}

impl Replica {
    fn start_barrier(&mut self) -> Result<()> {
        match self.next()? {
            Some(Event::Measuring) => Ok(()),
            other => Err(self.wrong(other)),
        }
    }

    fn end_barrier(&mut self) -> Result<()> {
        match self.process.has_ended() {
            Ok(false) => Ok(()),
            Ok(true) => {
                let last = self.next()?;
                Err(self.wrong(last))
            }
            // It may go on for ever, so that what it says is not waited for.
            Err(error) => Err(self.lost(error)),
        }
    }

    /// Returns the next event, its greeting and the progress of its set-up apart. The parent of this worker sets the time limit.
    fn next(&mut self) -> Result<Option<Event>> {
        loop {
            let outcome = self.process.read_line_within(Duration::MAX).map_err(|error| self.lost(error))?;
            let ReadOutcome::Line(line) = outcome else { return Ok(None) };
            match Event::from_line(&line).ok() {
                Some(Event::Hello { .. }) => {}
                // Whoever waits for this worker learns that the copy is on its way.
                Some(Event::Filled { bytes, of_bytes }) => sampler::report_progress(bytes, of_bytes),
                said => return Ok(said),
            }
        }
    }

    fn lost(&self, error: std::io::Error) -> RoundError {
        RoundError::failed(ReasonCode::ProcessDied, say!("a copy on CPU {cpu} was lost: {error}", cpu = self.cpu))
    }

    fn wrong(&mut self, said: Option<Event>) -> RoundError {
        let cpu = self.cpu;
        match said {
            Some(Event::Skipped { reason }) => {
                let text = say!("a copy on CPU {cpu} was skipped: {reason}");
                RoundError::Skipped(reason.with_text(text))
            }
            Some(Event::Failed { reason }) => {
                let text = say!("a copy on CPU {cpu} failed: {reason}");
                RoundError::Failed(reason.with_text(text))
            }
            _ => RoundError::failed(
                ReasonCode::ProcessDied,
                say!("a copy on CPU {cpu} ended while others measured: {how}", how = self.how()),
            ),
        }
    }

    /// Describes the end of a replica that said nothing: its status, and the last line that the loader or Rust's runtime wrote.
    fn how(&mut self) -> Message {
        // One that is about to end keeps its own status.
        self.process.ends_within(GRACE);
        let status = self.process.end().map_or_else(Message::from, Message::from);
        status.with_last_word(self.process.last_word())
    }
}

/// Does `body` until the process is killed, or an error ends it.
pub(crate) fn for_ever(clock: &Clock, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
    let announce = || -> Result<()> {
        let line = Event::Measuring.to_line().map_err(|error| RoundError::internal(Message::plain(error)))?;
        let mut output = std::io::stdout().lock();
        output.write_all(line.as_bytes()).call("write")?;
        Ok(output.flush().call("write")?)
    };
    go_on(clock, body, announce)
}

/// The same; `announce` is called when the body was done once: what it sets up the first time is not what is measured.
fn go_on(clock: &Clock, body: &mut dyn FnMut(u64) -> Result<()>, announce: impl FnOnce() -> Result<()>) -> Result<()> {
    body(1)?;
    announce()?;
    let mut iterations = 1;
    loop {
        let mut result = Ok(());
        let ns = clock.time(|| result = body(iterations));
        result?;
        // A body that takes no time whatever it is asked for is found by who measures it.
        if ns < LONG_ENOUGH_NS && iterations < MOST_ITERATIONS {
            iterations *= 2;
        }
    }
}

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
    /// Measures with one worker a CPU: `make` runs on its thread and touches its memory; the count is what all did in the common window.
    pub fn workers<'case, R: Checked, W: FnMut(u64) -> R, M: Fn(Cpu) -> Result<W> + Sync>(
        &'case mut self,
        cpus: &'case [Cpu],
        make: M,
    ) -> Workers<'case, M> {
        Workers { case: self, cpus, are_long: false, make }
    }

    /// Measures work that one thread a CPU shares: `make` gets the thread's number, on that thread, and touches its memory there. A sample
    /// is a pass of all between barriers. Of several ways all passes take the one of [`Case::choose_in_lockstep`].
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
    /// Declares iterations of `make` to be so long (where `are_long`) that the clock may be read after each.
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
        let clock = threads::common_clock(&case.job.environment.clock, &case.clock);
        let samples = threads::measure(&clock, case.job.budget_ns as f64, cpus, amount, are_long, make)?;
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
        let clock = threads::common_clock(&case.job.environment.clock, &case.clock);
        let mut samples = threads::measure(&clock, case.job.budget_ns as f64, cpus, 1, are_long, make)?;
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
        sampler::end();
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

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
