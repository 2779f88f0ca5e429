//! Measures a run that is ready, on this machine, whoever asked for it; a run without a value; whole runs that a command starts.

pub mod inputs;
pub mod ready;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::{findings, words};
use hostmark_engine::clock::Calibration;
use hostmark_engine::estimate::outcomes;
use hostmark_engine::plan::Plan;
use hostmark_engine::sys::clock::sleep;
use hostmark_engine::worker::far::{OpenService, Peers};
use hostmark_engine::{
    KernelMeters, Observer, Record, Resource, RoundSink, RunContext, Taken, Wall, clock, look_at_memory,
    missing_counters, plan,
};
use hostmark_host::{
    CpuTimes, EMULATED, NoiseSnapshot, Root, busiest_other, carrier_changes, note_busy, read_interfaces, single,
};
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{
    BusyTask, CaseId, Disturbed, Environment, Exit, HostFacts, HostReport, IN_SOFTWARE, Inputs, Job, MemoryLook,
    Message, NetworkInterface, Outcome, Peer, Run, Scratch, Text, load_run,
};
use hostmark_say::say;
use ready::{Ready, RunWall};
use rustix::fd::OwnedFd;

use super::processes::Processes;
use super::processes::janitor::Janitor;
use super::{EndsWith, lost, processes};
use crate::isolate::{Layer, Outside};
use crate::signals::StopRequest;
use crate::world::{MockMachine, SinceStart, context};
use crate::{isolate, store};

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
fn goes_on_at(started: &str, used: Duration) -> Timestamp {
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
    let to_come: Vec<CaseId> =
        plan.cases.iter().filter(|case| case.skip.is_none()).map(|case| case.id.clone()).collect();
    observer.begins(&run.probes, &to_come);
    let used = past.last().map_or(Duration::ZERO, |past| past.took.until);
    // The clock of the day may be set meanwhile: it says when this began, and the other how long it takes.
    let began = goes_on_at(&run.started, used);
    let wall = RunWall { wall, before: [Duration::ZERO; 2], used };
    let gone = wall.elapsed();
    let (clock, inputs) = (calibration.clock.clone(), plan.request.inputs.clone());
    let environment = Environment { clock, inputs, ..Environment::bare() };
    let sink = sink.map(|sink| sink as &mut dyn RoundSink);
    let carriers = if run.peers.is_empty() { BTreeMap::new() } else { carrier_changes() };
    let (results, disturbed, is_steal_broken) = match machine {
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
            let is_steal_broken = before.has_broken_steal(&after, &cpus);
            (results, disturbances(&before, &after, &cpus, run.others_share), is_steal_broken)
        }
        MeasuredMachine::Mock(MockMachine { open, meters, .. }) => {
            let open_service: &OpenService = &|_| Err(io::ErrorKind::Unsupported.into());
            let setting =
                RunContext { plan: &plan, host: &host, environment, past, open_service, peers, meters: &**meters };
            (hostmark_engine::run(&setting, &mut **open, &wall, observer, sink), Vec::new(), false)
        }
    };

    run.settings.clock = calibration.facts();
    run.disturbances.extend(on_one_machine(&run));
    run.disturbances.extend(emulated(run.host.virtualization.hypervisor.as_deref()));
    run.disturbances.extend(disturbed);
    run.interrupted = results.interrupted.then(|| say!("stopped by a signal").to_string());
    run.finished = Some(began.after(wall.elapsed().saturating_sub(gone)).to_string());
    run.disturbances.extend(results.taken.iter().map(taken_away));
    run.disturbances.extend(unlinked(&run, &carriers));
    if let Some((tracer, at)) = results.tracer {
        let seconds = at.as_secs();
        let began = say!("{tracer} began to trace this run after {seconds} s: rounds from then on hold its stops");
        run.disturbances.push(hostmark_analysis::words(began));
        run.host.process.traced = Some(true);
        run.host.process.attributes.insert("tracer".to_owned(), tracer);
    }
    let made = outcomes::of(&Record { peers: run.peers.clone(), ..results.record });
    (run.cases, run.lost_rounds) = (made.cases, made.lost_rounds);
    if findings::steal::forget_broken(&mut run.cases, is_steal_broken) {
        run.disturbances.push(words(say!(
            "the counter of stolen CPU time jumped or was missing at times: it is broken, and steal unknown"
        )));
    }
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

pub enum MeasuredMachine<'a> {
    Local {
        /// The file from which workers and the janitor are started, where it is not this process's own.
        program: Option<PathBuf>,
        /// Links to the outside of the run's layers.
        outside: Outside,
        look: CpuWatch,
    },
    Mock(&'a mut MockMachine),
}

impl MeasuredMachine<'_> {
    /// This machine, from inside these layers.
    pub fn local(program: Option<PathBuf>, layers: &[Layer]) -> Result<MeasuredMachine<'static>> {
        let outside = isolate::enter(layers)?;
        Ok(MeasuredMachine::Local { program, outside, look: CpuWatch::begin(&Root::here()) })
    }

    pub fn facts(&self, inputs: &Inputs) -> HostFacts {
        match self {
            MeasuredMachine::Local { outside, .. } => {
                let scratch = inputs::named_scratch(inputs);
                let mut host = hostmark_host::read_with_scratch(&Root::here(), scratch.as_deref());
                outside.correct(&mut host);
                host
            }
            MeasuredMachine::Mock(mock) => mock.host.clone(),
        }
    }

    /// Notes how busy each CPU is, where a run chooses among them.
    pub fn note_busy(&self, inputs: &Inputs, host: &mut HostFacts) {
        if let MeasuredMachine::Local { look, .. } = self
            && inputs.cpus.is_none()
        {
            look.end(&Root::here(), host);
        }
    }

    /// Looks at memory, by which sizes and time are planned.
    pub fn memory_look(&self, host: &HostFacts) -> Option<MemoryLook> {
        match self {
            MeasuredMachine::Local { program, .. } => {
                let program = program.clone().map_or_else(own_program, Ok).ok()?;
                look_at_memory(host, &mut |job| processes::alone(&program, job), &SinceStart::now())
            }
            MeasuredMachine::Mock(_) => None,
        }
    }

    pub fn clock(&self, host: &HostFacts) -> Calibration {
        match self {
            MeasuredMachine::Local { .. } => clock::choose(host),
            MeasuredMachine::Mock(mock) => mock.calibration.clone(),
        }
    }

    /// Catches a person's request to stop from now on.
    pub fn catch(&self) -> Result<StopRequest> {
        match self {
            MeasuredMachine::Local { outside, .. } => catch(outside),
            MeasuredMachine::Mock(mock) => Ok(StopRequest::mock(&mock.asked)?),
        }
    }
}

/// The file through which this program is started again.
pub fn own_program() -> Result<PathBuf> {
    (context().program)().map_err(|error| lost(not_found(&error)))
}

/// The name of the program's own file, for others than this process to start. An error is a sentence.
pub fn own_file() -> Result<PathBuf, Message> {
    std::env::current_exe().map_err(|error| not_found(&error))
}

fn not_found(error: &io::Error) -> Message {
    say!("the program's own file cannot be found ({error}); mount /proc")
}

/// Starts the janitor, which cleans up if this process is killed.
pub fn janitor() -> Result<Janitor> {
    Janitor::start(&own_program()?).map_err(lost)
}

/// The same, and where programs that are started here keep runs that nobody asked for: a directory that goes with it.
pub fn janitor_of_runs(program: &Path) -> Result<(Janitor, OsString)> {
    let mut janitor = Janitor::start(program).map_err(lost)?;
    match janitor.directory(&inputs::scratch(&Inputs::default())) {
        Scratch::Made { path, .. } => Ok((janitor, OsString::from_vec(path.0))),
        Scratch::Missing(reason) => Err(lost(reason)),
    }
}

/// Catches a person's request to stop from now on.
pub fn catch(outside: &Outside) -> Result<StopRequest> {
    StopRequest::catch(outside.signal_log()).map_err(|error| {
        lost(say!(
            "signals cannot be caught (pipe2, fcntl or sigaction: {error}); raise the limit of open files (ulimit -n)"
        ))
    })
}

/// Time for which the machine is watched: twenty ticks of the kernel's accounting, and still an answer at once.
const LOOK: Duration = Duration::from_millis(200);

/// Facts about this machine, and its use by others.
pub fn report_of_host() -> HostReport {
    let root = Root::here();
    let (before, times) = (NoiseSnapshot::read_with_processes(&root), CpuTimes::read(&root));
    sleep(LOOK);
    let after = NoiseSnapshot::read_with_processes(&root);
    let host = hostmark_host::read(&root);
    // Where nothing at all can be read, another finding says so.
    let stand = times.zip(CpuTimes::read(&root)).map(|(before, after)| before.stand_until(&after));
    let counters_stand = stand.unwrap_or(host.memory.total_bytes > 0);
    let disturbed = Disturbed { counters_stand, ..disturbed(&host, &before, &after) };
    findings::host::host_report(host, disturbed)
}

/// Load by others between two snapshots.
fn disturbed(host: &HostFacts, before: &NoiseSnapshot, after: &NoiseSnapshot) -> Disturbed {
    let busy = busiest_other(before, after);
    Disturbed {
        busy: busy.map(|busy| BusyTask { pid: busy.pid, name: busy.name, cpus: busy.cpus, last_cpu: busy.last_cpu }),
        steal_share: before.steal_share(after, &host.usable_cpus()),
        load: after.load,
        processes_unseen: !after.sees_others(),
        unseen_cpus: before.unseen_cpus(after),
        counters_stand: false,
    }
}

/// A look at the CPUs that goes on while the host is read.
pub struct CpuWatch(Option<CpuTimes>);

impl CpuWatch {
    pub fn begin(root: &Root) -> CpuWatch {
        CpuWatch(CpuTimes::read(root))
    }

    /// Ends it, and notes how busy each CPU was where there is a choice.
    pub fn end(&self, root: &Root, host: &mut HostFacts) {
        let Some(before) = self.0.as_ref().filter(|_| host.usable_cpus().len() > 1) else { return };
        let since = |now: &CpuTimes| Duration::from_nanos(before.elapsed_ns(now));
        let Some(now) = CpuTimes::read(root) else { return };
        sleep(LOOK.saturating_sub(since(&now)));
        if let Some(after) = CpuTimes::read(root) {
            note_busy(host, before, &after);
        }
    }
}

/// Remark that a run measures on another CPU than it would on an idle host.
pub fn chosen(host: &HostFacts, cpu: usize) -> Option<Text<String>> {
    let mut quiet = host.clone();
    quiet.cpus.iter_mut().for_each(|cpu| cpu.busy = None);
    let usual = single(&quiet).filter(|usual| *usual != cpu)?;
    let busy = |id: usize| host.cpus.iter().find(|cpu| cpu.id == id)?.busy.map(|share| (share * 100.0).round());
    let (theirs, ours) = (busy(usual)?, busy(cpu)?);
    Some(words(say!(
        "measured on CPU {cpu}, {ours:.0} % busy when the run began, because CPU {usual} was {theirs:.0} % busy; \
             --cpu {usual} measures there all the same"
    )))
}

/// A process that takes more of a CPU than this disturbs a run.
const BUSY_CPUS: f64 = 0.2;
/// Least share of the time of the run's CPUs by which others disturb it: ticks resolve a second's use to a few percent.
const OTHERS_SHARE: f64 = 0.05;

/// Remark that QEMU was measured, and no hardware.
pub fn emulated(hypervisor: Option<&str>) -> Option<Text<String>> {
    (hypervisor == Some(EMULATED)).then(|| IN_SOFTWARE.to_owned_text())
}

pub fn cpus_of(plan: &Plan) -> Vec<usize> {
    let measured = plan.cases.iter().filter(|case| case.skip.is_none());
    measured.flat_map(|case| case.cpus.iter().copied()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Disturbances of these CPUs during the run, of which others used this share.
pub fn disturbances(
    before: &NoiseSnapshot,
    after: &NoiseSnapshot,
    cpus: &[usize],
    others_share: Option<f64>,
) -> Vec<Text<String>> {
    let mut found = Vec::new();
    if let Some(emulator) = crate::world::name() {
        found
            .push(words(say!("{emulator} executed this program: what was measured is the emulator, not this machine")));
    }
    if let Some(busy) = busiest_other(before, after).filter(|busy| busy.cpus >= BUSY_CPUS) {
        let (pid, name, percent) = (busy.pid, &busy.name, busy.cpus * 100.0);
        found.push(words(say!("a busy process (pid {pid}, {name}, {percent:.0} % of a CPU) disturbed this run")));
    }
    if before.has_broken_use(after, cpus) {
        found.push(words(say!(
            "the counters of CPU time grew by more than there was: they are broken, and who else used the CPUs is unknown"
        )));
    }
    if before.has_standing_counters(after) {
        found.push(words(say!(
            "CPU time is not counted here (/proc/stat): who else used the CPUs, and steal, are unknown"
        )));
    }
    // Also those that came and went, of which no process is left to be named.
    if let Some(share) = others_share.filter(|share| *share >= OTHERS_SHARE) {
        let (percent, cpus) = (share * 100.0, plan::cpu_list(cpus));
        found.push(words(say!(
            "other programs or the kernel's own threads used {percent:.0} % of the time of CPU {cpus} during this run"
        )));
    }
    found
}

/// Remarks on peers on the machine that measures, as a namespace or a container of it: both ends share it.
pub fn on_one_machine(run: &Run) -> Vec<Text<String>> {
    let is_same = |peer: &&Peer| peer.host.boot_id.is_some() && peer.host.boot_id == run.host.boot_id;
    let text = |peer: &Peer| {
        words(say!(
            "{name} is this very machine: both ends share its CPUs, no wire lies between, and what its far ends use counts as other programs'",
            name = peer.name
        ))
    };
    run.peers.iter().filter(is_same).map(text).collect()
}

/// Remarks on interfaces that were up when a run between hosts began, and are not any more, or were without a link for a time.
/// `before`: the changes of their links until then.
pub fn unlinked(run: &Run, before: &BTreeMap<String, u32>) -> Vec<Text<String>> {
    let now = if run.peers.is_empty() { Vec::new() } else { read_interfaces(&Root::here()) };
    let is_up = |of: &&NetworkInterface| of.state.as_deref() == Some("up");
    let is_lost = |was: &&NetworkInterface| !now.is_empty() && !now.iter().any(|is| is.name == was.name && is_up(&is));
    let after = if now.is_empty() { BTreeMap::new() } else { carrier_changes() };
    let has_changed = |name: &str| before.get(name).zip(after.get(name)).is_some_and(|(before, after)| before != after);
    let text = |was: &NetworkInterface| {
        let name = &was.name;
        Some(words(match is_lost(&was) {
            true => {
                say!("{name} went down or lost its carrier during this run: cases over it have fewer rounds or none")
            }
            false if has_changed(name) => {
                say!(
                    "{name} was down or without carrier for a time during this run: cases over it waited, or have fewer rounds"
                )
            }
            false => return None,
        }))
    };
    run.host.network.iter().filter(is_up).filter_map(text).collect()
}

/// Remark on a resource that was lost during the run.
pub fn taken_away(taken: &Taken) -> Text<String> {
    let seconds = taken.at.as_secs();
    match taken.what {
        Resource::Cpu(cpu) => words(say!(
            "CPU {cpu} was taken from this run after {seconds} s (offline, or out of its cpuset): cases that need it have fewer \
                 rounds or none, cases of one CPU went on with another"
        )),
        Resource::Loopback => words(say!(
            "the loopback interface was found down after {seconds} s: cases that need it have fewer rounds or none"
        )),
    }
}

/// Remark on damaged lines of a run's journal.
pub fn damaged(lines: usize) -> Option<Text<String>> {
    (lines > 0).then(|| {
        words(say!(
            "left out {lines:damaged line} of the journal, as a kill or a loss of power leaves; every whole round was kept"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_ends_no_run_before_it_has_begun() {
        let now = store::now();
        assert!(goes_on_at("2026-01-01T00:00:00Z", Duration::ZERO) >= now);
        let goes_on = goes_on_at("2999-01-01T00:00:00Z", Duration::from_millis(90_500));
        assert_eq!(goes_on.after(Duration::from_millis(500)).to_string(), "2999-01-01T00:01:31Z");
    }

    #[test]
    fn a_machine_in_software_is_called_so_and_a_guest_of_hardware_is_not() {
        assert!(
            emulated(Some(EMULATED)).is_some_and(|text| text.en.contains("emulator") && text.zh.contains("模拟器"))
        );
        for other in [None, Some("kvm"), Some("qemu"), Some("xen")] {
            assert_eq!(emulated(other), None);
        }
    }
}
