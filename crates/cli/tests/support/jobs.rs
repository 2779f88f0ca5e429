//! The jobs that a quick run would give its workers, and where these may put files.

use hostmark_engine::mock::{MockWall, Workers};
use hostmark_engine::plan::{Request, plan};
use hostmark_engine::sys::scratch::Private;
use hostmark_engine::worker::far::NoPeers;
use hostmark_engine::{KernelMeters, RunContext, clock, mock};
use hostmark_host::Root;
use hostmark_launch::{Received, ServiceLink, WorkerLink};
use hostmark_model::{Environment, FarUsage, ServiceJob};

use crate::prelude::*;
use crate::under_way::names;

/// Time for samples, ns: enough for every probe to take some.
const BUDGET_NS: u64 = 500_000;
/// Memory that a case may fill here: what needs more says so, and does what smaller ones do.
const MEMORY_BYTES: u64 = 96 << 20;
/// Arrays small enough to be filled at once.
const SET: &str = "memory.stream:elements=65536";

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
    let (profile, set) = (Profile::Quick, vec![SET.into()]);
    let request = Request { filters: vec![], profile, seed: 1, set, inputs: Inputs::default() };
    let plan = plan(CATALOGUE, &host, request).unwrap();
    let [scratch, memory_scratch] = [&places.scratch, &places.memory].map(|place| place.run.entry().unwrap());
    let clock = clock::choose(&host).clock;
    let environment = Environment { clock, scratch, memory_scratch, ..Environment::bare() };
    // Far ends are started by whoever starts the workers.
    let wall = MockWall::default();
    let open_service = &|_: &ServiceJob| Ok(serving(&wall, Duration::ZERO));
    let (plan, past, peers) = (&plan, Vec::new(), &NoPeers);
    let setting = RunContext { plan, host: &host, environment, past, open_service, peers, meters: &KernelMeters };
    let mut jobs = Vec::new();
    let skipped = || Event::Skipped { reason: ReasonCode::NotApplicable.because("recorded") };
    let mut recorded = Workers::new(&wall, |_| vec![mock::hello(), mock::line(&skipped())]);
    let mut open = |job: &Job| -> std::io::Result<Box<dyn WorkerLink>> {
        if !job.cases.is_empty() {
            jobs.push(job.clone());
        }
        recorded.open(job)
    };
    hostmark_engine::run(&setting, &mut open, &wall, &mut Vec::new(), None);
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

/// A far end of a mock, which says after this time that it listens, and in the end that it has served.
pub fn serving(wall: &MockWall, started: Duration) -> Box<dyn ServiceLink> {
    let script = |_: &Job| {
        let listening = mock::line(&Event::Listening { address: ([127, 0, 0, 1], 1).into() }).1;
        vec![(started, listening), mock::line(&Event::Served(FarUsage::default()))]
    };
    Box::new(Serving(Workers::new(wall, script).open(&Job::bare("", Vec::new())).unwrap()))
}

struct Serving(Box<dyn WorkerLink>);

impl WorkerLink for Serving {
    fn receive(&mut self, at_most: Duration) -> Received {
        self.0.receive(at_most)
    }

    fn is_starved(&mut self, at_most: Duration) -> bool {
        self.0.is_starved(at_most)
    }

    fn end(&mut self) {}
}

impl ServiceLink for Serving {
    fn close_stdin(&mut self) {}
}

fn shortened(job: Job) -> Job {
    let memory_bytes = job.memory_bytes.min(MEMORY_BYTES);
    Job { budget_ns: BUDGET_NS, memory_bytes, ..job }
}
