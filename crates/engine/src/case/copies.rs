//! Copies: further workers that do what this one measures, each on a CPU of its own, until the measuring is over.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hostmark_launch::program::{OWN, command};
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_model::{Event, Job, JsonLine, Message, ReasonCode};
use hostmark_say::say;

use crate::clock::Clock;
use crate::round_error::{Result, RoundError};
use crate::sampling::sampler::MOST_ITERATIONS;
use crate::sampling::setup;
use crate::sys::call::{Call, spawned};

/// A replica's body is repeated until it lasts so long, ns, so that what lies between two does not count.
const LONG_ENOUGH_NS: f64 = 200_000.0;
/// How long one whose output has ended may take to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// What a worker is to others of its case.
#[derive(Debug)]
pub(crate) enum Copies {
    /// The only one.
    Alone,
    /// It measures, and the others do the same meanwhile.
    Leader(Vec<Replica>),
    /// It does the same as another that measures, until it is killed.
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
        return Err(RoundError::failed(
            ReasonCode::Internal,
            say!("the job has {copies} copies for {cpus} CPUs", cpus = job.cpus.len()),
        ));
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

/// This program as this process was started: `hostmark worker`.
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

    /// Whether it only does what another measures.
    pub(crate) fn is_replica(&self) -> bool {
        matches!(self, Copies::Replica)
    }

    /// Names of the directories that its copies may have made: they are killed and cannot remove them.
    pub(crate) fn folders(&self, folder: &str) -> Vec<String> {
        match self {
            Copies::Leader(replicas) => (1..=replicas.len()).map(|index| copy_folder(folder, index)).collect(),
            _ => Vec::new(),
        }
    }

    /// Called when what is to be measured is set up. Who measures waits until all others measure as well; these tell in
    /// [`for_ever`].
    pub(crate) fn start_barrier(&mut self) -> Result<()> {
        match self {
            Copies::Leader(replicas) => replicas.iter_mut().try_for_each(Replica::start_barrier),
            Copies::Alone | Copies::Replica => Ok(()),
        }
    }

    /// Called when the measuring is over: whoever ended before has not been there all the time.
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

    /// The next that it says, its greeting and how far its set-up is apart. Who waits for this worker sets the time.
    fn next(&mut self) -> Result<Option<Event>> {
        loop {
            let outcome = self.process.read_line_within(Duration::MAX).map_err(|error| self.lost(error))?;
            let ReadOutcome::Line(line) = outcome else { return Ok(None) };
            match Event::from_line(&line).ok() {
                Some(Event::Hello { .. }) => {}
                // Whoever waits for this worker learns that the copy is on its way.
                Some(Event::Filled { bytes, of_bytes }) => setup::report_progress(bytes, of_bytes),
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

    /// How one ended that has said nothing: its status, and the last line of what the loader or the language's start wrote.
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
        let line = Event::Measuring
            .to_line()
            .map_err(|error| RoundError::failed(ReasonCode::Internal, Message::plain(error)))?;
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

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
