//! Measures a run that is ready, on this machine, whoever asked for it.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_engine::far::{OpenService, Peers};
use hostmark_engine::{KernelMeters, Observer, RoundSink, Setting, Wall, outcomes};
use hostmark_host::{NoiseSnapshot, Root};
use hostmark_model::{Environment, Job, PROTOCOL, Run};
use hostmark_report::findings;

use super::disturbed::{disturbances, emulated, on_one_machine};
use super::janitor::Janitor;
use super::lost;
use super::processes::Processes;
use super::ready::Ready;
use super::resume::GoesOn;
use crate::language::both;
use crate::signals::StopRequest;
use crate::store;
use crate::within::Outside;

/// The tmpfs that every distribution mounts, and every user may write to.
pub const MEMORY_FILES: &str = "/dev/shm";

/// What a run is measured by.
pub struct Means<'a> {
    /// This program's file, which workers and the janitor are started from.
    pub program: PathBuf,
    /// Asks it to end.
    pub stop: &'a StopRequest,
    /// What is outside of its layers.
    pub outside: Outside,
    /// Its time.
    pub wall: &'a dyn Wall,
    /// How disturbed the machine was before.
    pub before: NoiseSnapshot,
    /// The other machines that take part.
    pub peers: &'a dyn Peers,
}

/// What a run came to.
pub struct Measured {
    /// The whole run.
    pub run: Run,
    /// Why its rounds could not be kept as they ended, where that was so.
    pub sink_lost: Option<io::Error>,
}

/// This program's file.
pub fn own_program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| {
        lost(both!(
            "the program's own file cannot be found ({error}); mount /proc",
            "找不到程序自身的文件（{error}）；请挂载 /proc"
        ))
    })
}

/// From now on a person's request to stop is heard.
pub fn catch(outside: &Outside) -> Result<StopRequest> {
    StopRequest::catch(outside.heard()).map_err(|error| {
        lost(both!(
            "signals cannot be caught (pipe2, fcntl or sigaction: {error}); raise the limit of open files (ulimit -n)",
            "无法捕获信号（pipe2、fcntl 或 sigaction：{error}）；请提高打开文件数上限（ulimit -n）"
        ))
    })
}

/// Measures; on an error nothing was measured.
pub fn measure(
    ready: Ready,
    means: Means,
    observer: &mut dyn Observer,
    sink: Option<&mut dyn RoundSink>,
) -> Result<Measured> {
    let Ready { plan, mut run, host, calibration, past, scratch } = ready;
    let Means { program, stop, mut outside, wall, before, peers } = means;
    let wall = GoesOn::after(&past, wall);
    let mut janitor = Janitor::start(&program).map_err(lost)?;
    outside.told().into_iter().for_each(|told| janitor.tells(told));
    let environment = Environment {
        protocol: PROTOCOL,
        parent: std::process::id(),
        clock: calibration.clock.clone(),
        scratch: janitor.directory(&scratch),
        memory_scratch: janitor.directory(Path::new(MEMORY_FILES)),
        inputs: plan.request.inputs.clone(),
    };
    let results = {
        let processes = Processes::of(&program, janitor, Some(stop.readable()));
        let open_service: &OpenService = &|job| processes.service(job);
        let setting =
            Setting { plan: &plan, host: &host, environment, past, open_service, peers, meters: &KernelMeters };
        let mut open = |job: &Job| processes.worker(job);
        let sink = sink.map(|sink| sink as &mut dyn RoundSink);
        hostmark_engine::run(&setting, &mut open, &wall, observer, sink)
    };
    let after = NoiseSnapshot::read_with_processes(&Root::here());

    run.settings.clock = calibration.facts();
    run.disturbances.extend(on_one_machine(&run));
    run.disturbances.extend(emulated(run.host.virtualization.hypervisor.as_deref()));
    run.disturbances.extend(disturbances(&before, &after, &plan));
    run.interrupted = results.interrupted.then(|| "stopped by a signal".into());
    run.finished = Some(store::now().to_string());
    let made = outcomes::of(&results.record);
    (run.cases, run.lost_rounds) = (made.cases, made.lost_rounds);
    run.time = Some(results.time);
    run.neighbours = results.neighbours;
    run.findings = findings(&run);
    Ok(Measured { run, sink_lost: results.journal_lost })
}
