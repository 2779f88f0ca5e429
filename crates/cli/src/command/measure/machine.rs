//! The machine that a run measures: this one, inside the layers of `--isolate`, or a mock; what it is, which of its CPUs are quiet,
//! and what took its time while a run went on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::{findings, words};
use hostmark_engine::clock::{self, Calibration};
use hostmark_engine::plan::{self, Plan};
use hostmark_engine::{Resource, Taken, look_at_memory};
use hostmark_host::{CpuTimes, EMULATED, NoiseSnapshot, Root, busiest_other, note_busy, read_interfaces, single};
use hostmark_model::{
    BusyTask, Disturbed, HostFacts, HostReport, IN_SOFTWARE, Inputs, MemoryLook, Message, NetworkInterface, Peer, Run,
    Scratch, Text,
};
use hostmark_say::say;

use super::inputs;
use crate::command::processes::janitor::Janitor;
use crate::command::{lost, processes};
use crate::isolate::{self, Layer, Outside};
use crate::signals::StopRequest;
use crate::world::{MockMachine, SinceStart, context};

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
    std::thread::sleep(LOOK);
    let after = NoiseSnapshot::read_with_processes(&root);
    let counters_stand = times.zip(CpuTimes::read(&root)).is_some_and(|(before, after)| before.stand_until(&after));
    let host = hostmark_host::read(&root);
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
        std::thread::sleep(LOOK.saturating_sub(since(&now)));
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
    if before.has_broken_steal(after, cpus) {
        found.push(words(say!(
            "the counter of stolen CPU time grew by more than there was: it is broken, and steal unknown"
        )));
    }
    if before.has_standing_counters(after) {
        found.push(words(say!("the counters of CPU time stand still: who else used the CPUs is unknown")));
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

/// Remarks on interfaces that were up when a run between hosts began, and are not any more.
pub fn unlinked(run: &Run) -> Vec<Text<String>> {
    let now = if run.peers.is_empty() { Vec::new() } else { read_interfaces(&Root::here()) };
    let is_up = |of: &&NetworkInterface| of.state.as_deref() == Some("up");
    let is_lost = |was: &&NetworkInterface| !now.is_empty() && !now.iter().any(|is| is.name == was.name && is_up(&is));
    let lost = run.host.network.iter().filter(is_up).filter(is_lost);
    lost.map(|NetworkInterface { name, .. }| {
        words(say!("{name} went down or lost its carrier during this run: cases over it have fewer rounds or none"))
    })
    .collect()
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
            "the loopback interface was set down after {seconds} s: cases that need it have fewer rounds or none"
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
    fn a_machine_in_software_is_called_so_and_a_guest_of_hardware_is_not() {
        assert!(
            emulated(Some(EMULATED)).is_some_and(|text| text.en.contains("emulator") && text.zh.contains("模拟器"))
        );
        for other in [None, Some("kvm"), Some("qemu"), Some("xen")] {
            assert_eq!(emulated(other), None);
        }
    }
}
