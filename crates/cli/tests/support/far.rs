//! Far ends that a test starts in the place of a run, or of an agent on another machine: by the same door.

use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_engine::Wall;
use hostmark_engine::probe::find;
use hostmark_engine::worker::far::{FarEnds, FarRequest, Missing, Waiting, cpus_of};
use hostmark_launch::ServiceLink;
use hostmark_launch::local::{LocalService, Warden};
use hostmark_model::{CaseId, Job};
use hostmark_probes::CATALOGUE;

/// A service that says nothing for so long has hung.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who keeps no record: a test that is killed leaves nothing all the same, as its services die with it.
struct NoWarden;

impl Warden for NoWarden {
    fn takes(&self, _: u32) {}
    fn releases(&self, _: u32) {}
}

struct SinceStart(Instant);

impl Wall for SinceStart {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Starts the far ends of a job's case where they may listen at one of these addresses; none where it needs none. The command
/// ends with the program, and may lead into a network of its own.
pub fn far_ends(command: &[&str], job: &Job, at: &[IpAddr]) -> Result<Option<FarEnds>, Missing> {
    let (program, before) = command.split_first().expect("a program");
    let arguments = [before, &["service"]].concat();
    let id: CaseId = job.case().parse().unwrap();
    let Some(entry) = find(CATALOGUE, &id.probe) else { return Ok(None) };
    let Some(service) = entry.probe.service() else { return Ok(None) };
    let wanted = FarRequest {
        service: service.name,
        params: &id.params,
        cpus: cpus_of(&entry, &id, &job.cpus),
        at,
        memory_bytes: job.memory_bytes,
        setup_ns: 0,
        scratch: &job.environment.scratch,
        folder: &job.folder,
        nonces: &[],
    };
    let open = |job: &_| -> std::io::Result<Box<dyn ServiceLink>> {
        let line = serde_json::to_string(job)?;
        Ok(Box::new(LocalService::start(Path::new(program), &arguments, &line, None, Rc::new(NoWarden))?))
    };
    #[expect(clippy::disallowed_methods, reason = "bounds a wait")]
    let wall = SinceStart(Instant::now());
    FarEnds::start(&open, &wanted, Waiting { wall: &wall, patience: PATIENCE, limit: Duration::MAX }).map(Some)
}
