//! Measures a run that is ready, on this machine, whoever asked for it; a run without a value; whole runs that a command starts.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::findings;
use hostmark_engine::estimate::outcomes;
use hostmark_engine::plan::Plan;
use hostmark_engine::worker::far::{OpenService, Peers};
use hostmark_engine::{KernelMeters, Observer, PastRound, Record, RoundSink, RunContext, Wall, missing_counters};
use hostmark_host::{NoiseSnapshot, Root};
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Environment, Exit, Job, Message, Outcome, Run, load_run};
use hostmark_say::say;
use rustix::fd::OwnedFd;

use self::machine::{MeasuredMachine, own_program};
use self::ready::Ready;
use super::lost;
use super::processes::Processes;
use super::processes::janitor::Janitor;
use crate::command::EndsWith;
use crate::signals::StopRequest;
use crate::store;
use crate::world::MockMachine;
use machine::{cpus_of, disturbances, emulated, janitor_of_runs, on_one_machine, taken_away, unlinked};

pub mod inputs;
pub mod machine;
pub mod ready;
mod tables;

/// The tmpfs that every distribution mounts, and every user may write to.
pub const MEMORY_FILES: &str = "/dev/shm";

pub struct Means<'a> {
    pub machine: MeasuredMachine<'a>,
    pub stop: &'a StopRequest,
    pub wall: &'a dyn Wall,
    /// The other machines that take part.
    pub peers: &'a dyn Peers,
}

pub struct Measured {
    pub run: Run,
    /// Reason why its rounds could not be kept as they ended, where that was so.
    pub sink_lost: Option<io::Error>,
}

/// Now, and not before what was measured had ended: the clock of the day may have been set back.
fn goes_on_at(started: &str, past: &[PastRound]) -> Timestamp {
    let used = past.last().map_or(Duration::ZERO, |past| past.took.until);
    store::now().max(Timestamp::parse(started).unwrap_or_default().after(used))
}

/// Measures; on an error nothing was measured.
pub fn measure(
    ready: Ready,
    means: Means,
    observer: &mut dyn Observer,
    sink: Option<&mut dyn RoundSink>,
) -> Result<Measured> {
    let Ready { plan, mut run, host, calibration, past, scratch } = ready;
    let Means { machine, stop, wall, peers } = means;
    observer.begins(&run.probes);
    // The clock of the day may be set meanwhile: it says when this began, and the other how long it takes.
    let began = goes_on_at(&run.started, &past);
    let wall = ready::GoesOn::after(&past, wall);
    let gone = wall.elapsed();
    let (clock, inputs) = (calibration.clock.clone(), plan.request.inputs.clone());
    let environment = Environment { clock, inputs, ..Environment::bare() };
    let sink = sink.map(|sink| sink as &mut dyn RoundSink);
    let (results, disturbed) = match machine {
        MeasuredMachine::Local { program, mut outside, .. } => {
            let program = program.map_or_else(own_program, Ok)?;
            let before = NoiseSnapshot::read_with_processes(&Root::here());
            let mut janitor = Janitor::start(&program).map_err(lost)?;
            outside.cleanup_log().into_iter().for_each(|log| janitor.copy_records_to(log));
            let scratch = janitor.directory(&scratch);
            let memory_scratch = janitor.directory(Path::new(MEMORY_FILES));
            let environment = Environment { scratch, memory_scratch, ..environment };
            if environment.inputs.counters {
                run.disturbances.extend(missing_counters(&Root::here(), plan.cpu));
            }
            let results = {
                let processes = Processes::of(&program, janitor, Some(stop.readable()));
                let open_service: &OpenService = &|job| processes.service(job);
                let setting = RunContext {
                    plan: &plan,
                    host: &host,
                    environment,
                    past,
                    open_service,
                    peers,
                    meters: &KernelMeters,
                };
                let mut open = |job: &Job| processes.worker(job);
                hostmark_engine::run(&setting, &mut open, &wall, observer, sink)
            };
            let after = NoiseSnapshot::read_with_processes(&Root::here());
            let cpus = cpus_of(&plan);
            run.others_share = before.others_share(&after, &cpus);
            (results, disturbances(&before, &after, &cpus, run.others_share))
        }
        MeasuredMachine::Mock(MockMachine { open, meters, .. }) => {
            let open_service: &OpenService = &|_| Err(io::ErrorKind::Unsupported.into());
            let setting =
                RunContext { plan: &plan, host: &host, environment, past, open_service, peers, meters: &**meters };
            (hostmark_engine::run(&setting, &mut **open, &wall, observer, sink), Vec::new())
        }
    };

    run.settings.clock = calibration.facts();
    run.disturbances.extend(on_one_machine(&run));
    run.disturbances.extend(emulated(run.host.virtualization.hypervisor.as_deref()));
    run.disturbances.extend(disturbed);
    run.interrupted = results.interrupted.then(|| say!("stopped by a signal").to_string());
    run.finished = Some(began.after(wall.elapsed().saturating_sub(gone)).to_string());
    run.disturbances.extend(results.taken.iter().map(taken_away));
    run.disturbances.extend(unlinked(&run));
    if let Some((tracer, at)) = results.tracer {
        let seconds = at.as_secs();
        let began = say!("{tracer} began to trace this run after {seconds} s: rounds from then on hold its stops");
        run.disturbances.push(hostmark_analysis::words(began));
        run.host.process.traced = Some(true);
        run.host.process.attributes.insert("tracer".to_owned(), tracer);
    }
    let made = outcomes::of(&Record { peers: run.peers.clone(), ..results.record });
    (run.cases, run.lost_rounds) = (made.cases, made.lost_rounds);
    run.time = Some(results.time);
    run.neighbours = results.neighbours;
    run.hottest_celsius = results.hottest_celsius;
    run.findings = findings(&run);
    Ok(Measured { run, sink_lost: results.journal_lost })
}

/// The error of a run that came to its end and has skipped cases alone; none of any other.
pub fn error(run: &Run) -> Option<anyhow::Error> {
    let is_skipped = |outcome: &Outcome| matches!(outcome, Outcome::Skipped { .. });
    if run.interrupted.is_some() || !run.pairs.is_empty() || !run.cases.iter().all(|case| is_skipped(&case.outcome)) {
        return None;
    }
    let reason = |outcome: &Outcome| match outcome {
        Outcome::Skipped { reason } => Some(Message::from(reason)),
        _ => None,
    };
    Some(because(run.cases.iter().filter_map(|case| reason(&case.outcome))))
}

pub fn of_all<'a>(runs: impl Iterator<Item = &'a Run>) -> Option<anyhow::Error> {
    runs.map(error).collect::<Option<Vec<_>>>()?.into_iter().next()
}

pub fn of_plan(plan: &Plan) -> Option<anyhow::Error> {
    let skips: Option<Vec<Message>> = plan.cases.iter().map(|case| Some(case.skip.as_ref()?.into())).collect();
    skips.map(|skips| because(skips.into_iter()))
}

/// Each reason ends with what to do; the first stands for all.
fn because(reasons: impl Iterator<Item = Message>) -> anyhow::Error {
    let mut distinct: Vec<Message> = Vec::new();
    for reason in reasons {
        if !distinct.contains(&reason) {
            distinct.push(reason);
        }
    }
    let sentence = match distinct.as_slice() {
        [] => say!("there is no case to measure; choose others, as hostmark list shows them"),
        [only] => say!("nothing can be measured: {only}"),
        [first, rest @ ..] => {
            let count = rest.len();
            say!("nothing can be measured: {first} (and {count:other reason}, beside the cases)")
        }
    };
    EndsWith(Exit::NothingSelected, sentence).into()
}

const MOST_BYTES: usize = 64 << 20;
/// Characters of a reason at most.
const LONGEST_REASON: usize = 500;

pub struct OwnRuns {
    program: PathBuf,
    data: OsString,
    pub janitor: Janitor,
}

impl OwnRuns {
    pub fn of(program: &Path) -> Result<OwnRuns> {
        let (janitor, data) = janitor_of_runs(program)?;
        Ok(OwnRuns { program: program.to_owned(), data, janitor })
    }

    /// Starts one behind these words, as those of a control group; a person's request to stop is heard where there is `stop`.
    pub fn begin(
        &mut self,
        before: &[OsString],
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        stop: Option<Rc<OwnedFd>>,
    ) -> Result<Supervised, String> {
        let own = self.program.clone().into_os_string();
        let mut words = before.iter().cloned().chain([own]);
        let mut command = command(Path::new(&words.next().unwrap_or_default()));
        command.args(words).arg("run").args(arguments.into_iter().map(Into::into)).args(["--format", "json"]);
        command.env("XDG_DATA_HOME", &self.data);
        let (errors, ending) = (Errors::Captured, Ending::Asked(timing().end));
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
        self.janitor.begin(command, terms).map_err(|error| error.to_string())
    }

    /// The run that one prints within a time, or why there is none.
    pub fn printed(&mut self, mut process: Supervised, limit: Duration) -> Result<Run, String> {
        let outcome = process.drain(limit, MOST_BYTES);
        let text = process.take_buffered();
        process.ends_within(timing().end);
        let _ = self.janitor.end(&mut process);
        match outcome {
            Ok(ReadOutcome::Closed) => {}
            Ok(_) => return Err(say!("it did not end in time").to_string()),
            Err(error) => return Err(error.to_string()),
        }
        match load_run(&String::from_utf8_lossy(&text)) {
            Ok(run) if run.interrupted.is_none() => Ok(run),
            _ => {
                let why = process.last_word().unwrap_or_else(|| say!("it printed no run").to_string());
                Err(why.chars().filter(|character| !character.is_control()).take(LONGEST_REASON).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hostmark_model::RoundLine;

    use super::*;

    #[test]
    fn a_clock_that_is_set_back_ends_no_run_before_it_has_begun() {
        let now = store::now();
        assert!(goes_on_at("2026-01-01T00:00:00Z", &[]) >= now);
        let mut past: Vec<PastRound> = Vec::new();
        assert_eq!(goes_on_at("2999-01-01T00:00:00Z", &past).to_string(), "2999-01-01T00:00:00Z");
        let (case, cpus, events) = (String::new(), Vec::new(), Vec::new());
        let (round, until_ns, spent_ns, granted_ns) = (0, 90_500_000_000, 0, 0);
        past.push(PastRound::of(RoundLine { case, round, cpus, until_ns, spent_ns, granted_ns, events }));
        let goes_on = goes_on_at("2999-01-01T00:00:00Z", &past);
        assert_eq!(goes_on.after(Duration::from_millis(500)).to_string(), "2999-01-01T00:01:31Z");
    }
}
