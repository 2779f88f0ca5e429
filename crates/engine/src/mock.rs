//! Workers that follow a script, on a wall that moves as the script says, for tests alone.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use hostmark_launch::{Received, WorkerLink};
use hostmark_model::{Environment, Event, HostFacts, Job, JsonLine, PROTOCOL, ReasonCode, RoundNoise};
use hostmark_say::say;

use crate::clock::Wall;
use crate::estimate::outcomes::{self, Outcomes};
use crate::plan::Plan;
use crate::record::contention::Meters;
use crate::record::journal::{Journal, PastRound, RoundSink};
use crate::run::{Observer, Results, RunContext, run};
use crate::sys::call::fault;

/// The case whose workers are short of a CPU.
pub const STARVED: &str = "net.tcp_connect";

/// Events of a link, each after a time.
pub type Script = Vec<(Duration, Received)>;

/// The time of a run that no clock knows.
#[derive(Clone, Default)]
pub struct MockWall(Rc<Cell<Duration>>);

impl MockWall {
    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.0.set(self.0.get() + by);
    }
}

impl Wall for MockWall {
    fn elapsed(&self) -> Duration {
        self.0.get()
    }
}

struct MockLink {
    wall: MockWall,
    script: VecDeque<(Duration, Received)>,
    ended: Rc<Cell<usize>>,
    /// True where it is short of a CPU all the time.
    is_starved: bool,
    /// Answers to further jobs, and the list of these; none where it takes no further.
    further: Option<Further>,
}

type Further = (fn(&Job) -> Script, Rc<RefCell<Vec<Job>>>);

impl WorkerLink for MockLink {
    fn receive(&mut self, at_most: Duration) -> Received {
        match self.script.front_mut() {
            None => Received::Ended("ended with status 0".into()),
            Some((after, _)) if *after > at_most => {
                *after -= at_most;
                self.wall.advance(at_most);
                Received::TimedOut
            }
            Some(_) => {
                let (after, received) = self.script.pop_front().unwrap();
                self.wall.advance(after);
                received
            }
        }
    }

    fn is_starved(&mut self, _: Duration) -> bool {
        self.is_starved
    }

    fn give(&mut self, line: &str) -> std::io::Result<()> {
        let (further, jobs) = self.further.as_ref().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let job = Job::from_line(line)?;
        self.script.extend(further(&job));
        jobs.borrow_mut().push(job);
        Ok(())
    }

    fn end(&mut self) {
        self.ended.set(self.ended.get() + 1);
    }
}

/// Opens links to workers that follow scripts.
pub struct Workers<S> {
    wall: MockWall,
    script: S,
    further: Option<FurtherScript>,
    /// Every job, warm-ups among them.
    pub jobs: Rc<RefCell<Vec<Job>>>,
    pub ended: Rc<Cell<usize>>,
}

impl<S: FnMut(&Job) -> Script> Workers<S> {
    /// Workers on this wall. An empty script is a worker that cannot be started.
    pub fn new(wall: &MockWall, script: S) -> Workers<S> {
        Workers { wall: wall.clone(), script, further: None, jobs: Rc::default(), ended: Rc::default() }
    }

    pub fn open(&mut self, job: &Job) -> std::io::Result<Box<dyn WorkerLink>> {
        if job.look_at_cache.is_some() {
            let script =
                [hello(), line(&Event::Skipped { reason: ReasonCode::NotApplicable.because("no cache") })].into();
            let (wall, ended) = (self.wall.clone(), Rc::default());
            return Ok(Box::new(MockLink { wall, script, ended, is_starved: false, further: None }));
        }
        self.jobs.borrow_mut().push(job.clone());
        let script: VecDeque<_> = (self.script)(job).into();
        if script.is_empty() {
            return Err(fault(ReasonCode::ResourceLimit, say!("no processes left")));
        }
        let is_starved = job.case() == STARVED;
        let (wall, ended) = (self.wall.clone(), self.ended.clone());
        let further = self.further.map(|further| (further, Rc::clone(&self.jobs)));
        Ok(Box::new(MockLink { wall, script, ended, is_starved, further }))
    }
}

/// A kernel that counts nothing.
pub struct Unmetered;

impl Meters for Unmetered {}

pub struct Seen {
    pub results: Results,
    pub outcomes: Outcomes,
    /// Every job, warm-ups among them.
    pub jobs: Vec<Job>,
    /// Progress as told: case, done, all, left.
    pub progress: Vec<(String, usize, usize, Duration)>,
    pub elapsed: Duration,
    pub ended: usize,
}

impl Seen {
    /// The jobs of rounds: (case, round).
    pub fn rounds(&self) -> Vec<(&str, u32)> {
        let rounds = self.jobs.iter().filter(|job| !job.cases.is_empty());
        rounds.map(|job| (job.case(), job.round)).collect()
    }

    pub fn outcome(&self, id: &str) -> &hostmark_model::Outcome {
        &self.outcomes.cases.iter().find(|case| case.id == id).unwrap().outcome
    }
}

impl Observer for Vec<(String, usize, usize, Duration)> {
    fn round(&mut self, case: &str, done: usize, all: usize, left: Duration) {
        self.push((case.into(), done, all, left));
    }
}

/// Runs a plan against scripted workers. An empty script is a worker that cannot be started.
pub fn perform(
    plan: &Plan,
    host: &HostFacts,
    journal: Option<&mut Journal>,
    script: impl FnMut(&Job) -> Script,
) -> Seen {
    go_on(plan, host, journal, Vec::new(), script)
}

/// The same where these meters tell what there is.
pub fn perform_on(meters: &dyn Meters, plan: &Plan, host: &HostFacts, script: impl FnMut(&Job) -> Script) -> Seen {
    metered(meters, plan, host, None, Vec::new(), (script, None))
}

/// Runs a plan against workers that take further jobs.
pub fn perform_kept(
    plan: &Plan,
    host: &HostFacts,
    script: impl FnMut(&Job) -> Script,
    further: fn(&Job) -> Script,
) -> Seen {
    metered(&Unmetered, plan, host, None, Vec::new(), (script, Some(further)))
}

/// Goes on with a run that has measured these rounds.
pub fn go_on(
    plan: &Plan,
    host: &HostFacts,
    journal: Option<&mut Journal>,
    past: Vec<PastRound>,
    script: impl FnMut(&Job) -> Script,
) -> Seen {
    metered(&Unmetered, plan, host, journal, past, (script, None))
}

/// Answers of a kept worker to a further job.
type FurtherScript = fn(&Job) -> Script;

fn metered(
    meters: &dyn Meters,
    plan: &Plan,
    host: &HostFacts,
    journal: Option<&mut Journal>,
    past: Vec<PastRound>,
    (script, further): (impl FnMut(&Job) -> Script, Option<FurtherScript>),
) -> Seen {
    let used = past.last().map_or(Duration::ZERO, |past| past.took.until);
    let wall = MockWall::default();
    wall.advance(used);
    let mut workers = Workers { further, ..Workers::new(&wall, script) };
    let (jobs, ended) = (Rc::clone(&workers.jobs), Rc::clone(&workers.ended));
    let mut open = |job: &Job| workers.open(job);
    let open_service = &|_: &_| Err(std::io::ErrorKind::Unsupported.into());
    let environment = Environment::bare();
    let setting =
        RunContext { plan, host, environment, past, open_service, peers: &crate::worker::far::NoPeers, meters };
    let mut progress = Vec::new();
    let journal = journal.map(|journal| journal as &mut dyn RoundSink);
    let results = run(&setting, &mut open, &wall, &mut progress, journal);
    let outcomes = outcomes::of(&results.record);
    Seen { results, outcomes, jobs: jobs.take(), progress, elapsed: wall.elapsed(), ended: ended.get() }
}

/// An event as a line, at once.
pub fn line(event: &Event) -> (Duration, Received) {
    (Duration::ZERO, Received::Line(serde_json::to_string(event).unwrap()))
}

pub fn hello() -> (Duration, Received) {
    line(&Event::Hello { protocol: PROTOCOL, pid: 1 })
}

/// The end of a round whose samples had so many iterations.
pub fn done(iterations: u64) -> Event {
    Event::Done { noise: RoundNoise { iterations, settled: true, resolution_ns: 1.0, ..RoundNoise::default() } }
}

/// Samples of a thousand iterations, `ns` an iteration.
pub fn samples(ns: &[f64]) -> Event {
    let count = ns.len();
    let ns = ns.iter().map(|ns| ns * 1000.0).collect();
    Event::Samples { ns, iterations: vec![1000; count], amount: 0, disturbance_flags: vec![0; count] }
}

/// A round that goes well: `ns` an iteration, in the time granted and `overhead` more. Warm-ups take 20 ms.
pub fn fine(job: &Job, ns: f64, overhead: Duration) -> Script {
    let granted = Duration::from_nanos(job.budget_ns);
    if job.cases.is_empty() {
        return vec![hello(), (Duration::from_millis(20), line(&done(0)).1)];
    }
    vec![hello(), (granted + overhead, line(&samples(&[ns, ns, ns])).1), line(&done(1000))]
}

/// Script like [`fine`], always 5 ns.
pub fn usual(job: &Job) -> Script {
    fine(job, 5.0, Duration::from_millis(8))
}
