//! Measures a run that is ready, on this machine, whoever asked for it.

use std::io;
use std::path::Path;

use anyhow::Result;
use hostmark_engine::far::{OpenService, Peers};
use hostmark_engine::{KernelMeters, Observer, RoundSink, Setting, Wall, outcomes};
use hostmark_host::{NoiseSnapshot, Root};
use hostmark_model::{Environment, Job, Run};
use hostmark_report::findings;

use super::disturbed::{disturbances, emulated, on_one_machine};
use super::janitor::Janitor;
use super::lost;
use super::machine::{Machine, own_program};
use super::processes::Processes;
use super::ready::Ready;
use super::resume::GoesOn;
use crate::signals::StopRequest;
use crate::store;
use crate::world::MockMachine;

/// The tmpfs that every distribution mounts, and every user may write to.
pub const MEMORY_FILES: &str = "/dev/shm";

/// What a run is measured by.
pub struct Means<'a> {
    /// What is measured.
    pub machine: Machine<'a>,
    /// Asks it to end.
    pub stop: &'a StopRequest,
    /// Its time.
    pub wall: &'a dyn Wall,
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

/// Measures; on an error nothing was measured.
pub fn measure(
    ready: Ready,
    means: Means,
    observer: &mut dyn Observer,
    sink: Option<&mut dyn RoundSink>,
) -> Result<Measured> {
    let Ready { plan, mut run, host, calibration, past, scratch } = ready;
    let Means { machine, stop, wall, peers } = means;
    let wall = GoesOn::after(&past, wall);
    let (clock, inputs) = (calibration.clock.clone(), plan.request.inputs.clone());
    let environment = Environment { clock, inputs, ..Environment::bare() };
    let sink = sink.map(|sink| sink as &mut dyn RoundSink);
    let (results, disturbed) = match machine {
        Machine::Local { program, mut outside, .. } => {
            let program = program.map_or_else(own_program, Ok)?;
            let before = NoiseSnapshot::read_with_processes(&Root::here());
            let mut janitor = Janitor::start(&program).map_err(lost)?;
            outside.told().into_iter().for_each(|told| janitor.tells(told));
            let scratch = janitor.directory(&scratch);
            let memory_scratch = janitor.directory(Path::new(MEMORY_FILES));
            let environment = Environment { scratch, memory_scratch, ..environment };
            let results = {
                let processes = Processes::of(&program, janitor, Some(stop.readable()));
                let open_service: &OpenService = &|job| processes.service(job);
                let setting =
                    Setting { plan: &plan, host: &host, environment, past, open_service, peers, meters: &KernelMeters };
                let mut open = |job: &Job| processes.worker(job);
                hostmark_engine::run(&setting, &mut open, &wall, observer, sink)
            };
            let after = NoiseSnapshot::read_with_processes(&Root::here());
            (results, disturbances(&before, &after, &plan))
        }
        Machine::Mock(MockMachine { open, meters, .. }) => {
            let open_service: &OpenService = &|_| Err(io::ErrorKind::Unsupported.into());
            let setting =
                Setting { plan: &plan, host: &host, environment, past, open_service, peers, meters: &**meters };
            (hostmark_engine::run(&setting, &mut **open, &wall, observer, sink), Vec::new())
        }
    };

    run.settings.clock = calibration.facts();
    run.disturbances.extend(on_one_machine(&run));
    run.disturbances.extend(emulated(run.host.virtualization.hypervisor.as_deref()));
    run.disturbances.extend(disturbed);
    run.interrupted = results.interrupted.then(|| "stopped by a signal".into());
    run.finished = Some(store::now().to_string());
    let made = outcomes::of(&results.record);
    (run.cases, run.lost_rounds) = (made.cases, made.lost_rounds);
    run.time = Some(results.time);
    run.neighbours = results.neighbours;
    run.findings = findings(&run);
    Ok(Measured { run, sink_lost: results.journal_lost })
}
