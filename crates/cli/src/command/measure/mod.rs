//! Measures a run that is ready, on this machine, whoever asked for it.

pub mod disturbed;
pub mod empty;
pub mod host_report;
pub mod inputs;
pub mod machine;
pub mod own_run;
pub mod quiet;
pub mod ready;
pub mod resume;
mod tables;

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::findings;
use hostmark_engine::worker::far::{OpenService, Peers};
use hostmark_engine::{
    KernelMeters, Observer, PastRound, Record, RoundSink, RunContext, Wall, estimate::outcomes, missing_counters,
};
use hostmark_host::{NoiseSnapshot, Root};
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Environment, Job, Run};
use hostmark_say::say;

use self::disturbed::{cpus_of, disturbances, emulated, on_one_machine, taken_away};
use self::machine::{MeasuredMachine, own_program};
use self::ready::Ready;
use self::resume::GoesOn;
use super::lost;
use super::processes::Processes;
use super::processes::janitor::Janitor;
use crate::signals::StopRequest;
use crate::store;
use crate::world::MockMachine;

/// The tmpfs that every distribution mounts, and every user may write to.
pub const MEMORY_FILES: &str = "/dev/shm";

/// What a run is measured by.
pub struct Means<'a> {
    /// What is measured.
    pub machine: MeasuredMachine<'a>,
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
    let wall = GoesOn::after(&past, wall);
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
    let made = outcomes::of(&Record { peers: run.peers.clone(), ..results.record });
    (run.cases, run.lost_rounds) = (made.cases, made.lost_rounds);
    run.time = Some(results.time);
    run.neighbours = results.neighbours;
    run.hottest_celsius = results.hottest_celsius;
    run.findings = findings(&run);
    Ok(Measured { run, sink_lost: results.journal_lost })
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
