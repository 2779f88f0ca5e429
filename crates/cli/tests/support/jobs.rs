//! The jobs that a quick run would give its workers, and where these may put files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use hostmark_engine::plan::{Request, plan};
use hostmark_engine::sys::scratch::Private;
use hostmark_engine::{KernelMeters, Observer, RunContext, Wall, clock};
use hostmark_host::Root;
use hostmark_launch::{Received, ServiceLink, WorkerLink};
use hostmark_model::{Environment, Event, FarUsage, Job, PROTOCOL, Profile, ReasonCode, ServiceJob};
use hostmark_probes::CATALOGUE;

use crate::under_way::names;

/// Time for samples, ns: enough for every probe to take some.
const BUDGET_NS: u64 = 500_000;
/// Memory that a case may fill here: what needs more says so, and does what smaller ones do.
const MEMORY_BYTES: u64 = 96 << 20;
/// Arrays small enough to be filled at once.
const SET: &str = "memory.stream:elements=65536";

/// Passes over what is planned, and keeps the jobs.
struct Recorded {
    lines: Vec<Event>,
}

impl WorkerLink for Recorded {
    fn receive(&mut self, _: Duration) -> Received {
        match self.lines.pop() {
            Some(event) => Received::Line(serde_json::to_string(&event).unwrap()),
            None => Received::Ended("has said all".into()),
        }
    }

    fn is_starved(&mut self, _: Duration) -> bool {
        false
    }

    fn end(&mut self) {}
}

impl ServiceLink for Recorded {
    fn close_stdin(&mut self) {}
}

struct NoTime;

impl Wall for NoTime {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

struct Nobody;

impl Observer for Nobody {
    fn round(&mut self, _: &str, _: usize, _: usize, _: Duration) {}
}

/// Where workers put their files.
pub struct Places {
    scratch: Place,
    memory: Place,
}

/// A directory, and in it one that a run's janitor would make and, in the end, remove.
struct Place {
    base: tempfile::TempDir,
    run: Private,
}

impl Place {
    fn new(base: tempfile::TempDir) -> Place {
        let run = Private::make(base.path()).unwrap();
        Place { base, run }
    }
}

/// The name of something of others that lies where scratch directories do.
const OF_OTHERS: &str = "hostmark-of-others";

impl Places {
    /// Two directories of their own, with something of others in each.
    pub fn new() -> Places {
        let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let places = Places { scratch: Place::new(tempfile::tempdir().unwrap()), memory: Place::new(memory) };
        for place in places.all() {
            fs::create_dir(place.join(OF_OTHERS)).unwrap();
            fs::write(place.join(OF_OTHERS).join("file"), "theirs").unwrap();
        }
        places
    }

    /// Both: on a disk, where temporary files lie on one, and in memory.
    pub fn all(&self) -> [&Path; 2] {
        [self.scratch.base.path(), self.memory.base.path()]
    }

    /// What is there now and should not be, and what is no longer there; it is removed.
    pub fn left(&self) -> Vec<String> {
        let mut found = Vec::new();
        for place in self.all() {
            let theirs = place.join(OF_OTHERS).join("file");
            if !fs::read(&theirs).is_ok_and(|text| text == b"theirs") {
                found.push(format!("{} was touched", theirs.display()));
            }
            let (mut own, others): (Vec<_>, Vec<_>) = names(place)
                .into_iter()
                .filter(|name| name != OF_OTHERS)
                .partition(|name| is_private(&place.join(name)));
            if own.len() != 1 || !others.is_empty() {
                found.push(format!("beside the run's directory: {own:?} {others:?}"));
            }
            // What a worker could not remove the janitor removes.
            own.truncate(1);
            for name in own
                .iter()
                .flat_map(|own| names(&place.join(own)).into_iter().map(move |name| Path::new(own).join(name)))
            {
                let _ = fs::remove_dir_all(place.join(name));
            }
        }
        found
    }
}

fn is_private(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o777 == 0o700)
}

/// The jobs that a quick run gives for the first round of its cases, of the smallest of each probe that has a size.
pub fn jobs(places: &Places) -> Vec<Job> {
    let host = hostmark_host::read(&Root::here());
    let request = Request {
        filters: vec![],
        profile: Profile::Quick,
        seed: 1,
        set: vec![SET.into()],
        inputs: Default::default(),
    };
    let plan = plan(CATALOGUE, &host, request).unwrap();
    let [scratch, memory_scratch] = [&places.scratch, &places.memory].map(|place| place.run.entry().unwrap());
    let clock = clock::choose(&host).clock;
    let environment = Environment { clock, scratch, memory_scratch, ..Environment::bare() };
    // Far ends are started by whoever starts the workers.
    let open_service = &|_: &ServiceJob| -> std::io::Result<Box<dyn ServiceLink>> {
        let address = ([127, 0, 0, 1], 1).into();
        Ok(Box::new(Recorded { lines: vec![Event::Served(FarUsage::default()), Event::Listening { address }] }))
    };
    let (plan, meters) = (&plan, &KernelMeters);
    let setting = RunContext {
        plan,
        host: &host,
        environment,
        past: vec![],
        open_service,
        peers: &hostmark_engine::worker::far::NoPeers,
        meters,
    };
    let mut jobs = Vec::new();
    let mut open = |job: &Job| -> std::io::Result<Box<dyn WorkerLink>> {
        if !job.cases.is_empty() {
            jobs.push(job.clone());
        }
        let greeting = Event::Hello { protocol: PROTOCOL, pid: 1 };
        Ok(Box::new(Recorded {
            lines: vec![Event::Skipped { reason: ReasonCode::NotApplicable.because("recorded") }, greeting],
        }))
    };
    hostmark_engine::run(&setting, &mut open, &NoTime, &mut Nobody, None);
    let planned = |job: &Job| plan.cases.iter().position(|case| case.id.to_string() == job.case());
    jobs.sort_by_key(|job| planned(job));
    let size = |job: &Job| -> Option<(String, u64)> {
        let (probe, axes) = job.case().split_once("@size=")?;
        let size = axes.split(',').next()?.parse().ok()?;
        Some((probe.to_owned(), size))
    };
    let smallest = |job: &Job| {
        let own = size(job);
        own.is_none_or(|(probe, own)| {
            let others = jobs.iter().filter_map(size).filter(|(other, _)| *other == probe);
            others.map(|(_, other)| other).min() == Some(own)
        })
    };
    jobs.iter().filter(|job| smallest(job)).cloned().map(shortened).collect()
}

fn shortened(job: Job) -> Job {
    let memory_bytes = job.memory_bytes.min(MEMORY_BYTES);
    Job { budget_ns: BUDGET_NS, memory_bytes, ..job }
}
