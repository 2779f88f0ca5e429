//! Rounds of one case on one CPU: measured by the worker's code, each in a fresh thread, and what disturbed them.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use hostmark_engine::clock::Calibration;
use hostmark_engine::estimate::core_width::CoreWidths;
use hostmark_engine::prelude::{Case, Group, Probe, Text};
use hostmark_engine::probe::Catalogue;
use hostmark_engine::{KernelMeters, Meters, Wall, clock, others_during, prelude, worker};
use hostmark_host::Root;
use hostmark_model::{DisturbanceFlags, Event, HostFacts, Job, Message, Others, RoundNoise};
use hostmark_probes::kernels::arith;
use hostmark_probes::workloads::machine::timer::ClockSource;
use hostmark_say::say;

use super::Unseen;
use crate::command::measure::CpuWatch;
use crate::world::SinceStart;

/// Time for the samples of a round, ns.
const BUDGET_NS: u64 = 60_000_000;
/// A round that takes longer is given up.
const LONGEST_ROUND: Duration = Duration::from_secs(5);
/// All rounds of a bench end within this time, so that the command ends within its 60 s.
const ALL: Duration = Duration::from_secs(54);
/// Least share of the CPU that others must take to disturb.
const DISTURBS: f64 = 0.05;

/// Measures one job within a time, or says why it cannot.
pub type Measure = dyn FnMut(Catalogue, Job, Duration) -> Result<Vec<Event>, Unseen>;

/// One round: samples in ns per iteration, their marks, and what it saw of its surroundings.
pub struct BenchRound {
    pub values: Vec<f64>,
    pub iterations: Vec<u64>,
    pub disturbance_flags: Vec<u8>,
    pub noise: RoundNoise,
}

impl BenchRound {
    pub fn median(&self) -> f64 {
        median(self.values.clone())
    }

    /// Core cycles per iteration; not a number where the core's frequency is unknown.
    pub fn cycles(&self) -> f64 {
        self.median() * self.noise.core_hz.unwrap_or(f64::NAN) / 1e9
    }

    /// The share of samples that are marked as disturbed.
    pub fn disturbed(&self) -> f64 {
        let disturbed = self.disturbance_flags.iter().filter(|&&flags| DisturbanceFlags(flags).is_disturbed()).count();
        disturbed as f64 / self.disturbance_flags.len() as f64
    }
}

/// The smallest value of some rounds.
pub fn least(rounds: &[BenchRound], of: impl Fn(&BenchRound) -> f64) -> f64 {
    rounds.iter().map(of).fold(f64::INFINITY, f64::min)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Bench on which rounds are measured.
pub struct Bench {
    pub host: HostFacts,
    pub cpu: usize,
    pub calibration: Calibration,
    /// Factor of known delays, where the clock takes long to read.
    pub stretch: u64,
    /// End of the current check's share of the time: it begins no further attempt.
    pub until: Duration,
    measure: Box<Measure>,
    meters: Rc<dyn Meters>,
    wall: Rc<dyn Wall>,
    /// Disturbances of the rounds since the last attempt began: stolen time, time stopped by quotas, and the largest share in which another
    /// thread ran on the core.
    stolen_ns: f64,
    stopped_ns: f64,
    shared: f64,
    /// Results of the probes of the core so far.
    widths: CoreWidths,
}

impl Bench {
    /// The quietest CPU of this machine; none where none may be used.
    pub fn here() -> Option<Bench> {
        let watch = CpuWatch::begin(&Root::here());
        let mut host = hostmark_host::read_here();
        let calibration = clock::choose(&host);
        watch.end(&Root::here(), &mut host);
        let cpu = hostmark_host::single(&host)?;
        let wall = Rc::new(SinceStart::now());
        let bench = Bench::of(host, cpu, calibration, Box::new(in_thread), Rc::new(KernelMeters), wall);
        Some(Bench { stretch: stretch(), ..bench })
    }

    pub fn of(
        host: HostFacts,
        cpu: usize,
        calibration: Calibration,
        measure: Box<Measure>,
        meters: Rc<dyn Meters>,
        wall: Rc<dyn Wall>,
    ) -> Bench {
        let (stretch, until, widths) = (1, ALL, CoreWidths::default());
        let (stolen_ns, stopped_ns, shared) = (0.0, 0.0, 0.0);
        Bench { host, cpu, calibration, stretch, until, measure, meters, wall, stolen_ns, stopped_ns, shared, widths }
    }

    pub fn elapsed(&self) -> Duration {
        self.wall.elapsed()
    }

    pub fn job(&self, case: &str) -> Job {
        let (host, cpu) = (&self.host, self.cpu);
        let last_level = host.last_level_cache(cpu).map_or(32 << 20, |cache| cache.size_bytes);
        Job::bare(case, vec![cpu]).with(|job| {
            job.environment.clock = self.calibration.clock.clone();
            job.budget_ns = BUDGET_NS;
            job.l1d_bytes = host.cache(cpu, 1).map_or(32 << 10, |cache| cache.size_bytes);
            (job.llc_bytes, job.llc_sum_bytes, job.memory_bytes) = (last_level, last_level, 1 << 30);
        })
    }

    pub fn rounds(&mut self, catalogue: Catalogue, case: &str, count: u32) -> Result<Vec<BenchRound>, Unseen> {
        (0..count).map(|number| self.round(catalogue, case, number)).collect()
    }

    pub fn round(&mut self, catalogue: Catalogue, case: &str, number: u32) -> Result<BenchRound, Unseen> {
        parse(self.events(catalogue, case, number)?)
    }

    /// Events that the worker reports of a round.
    pub fn events(&mut self, catalogue: Catalogue, case: &str, number: u32) -> Result<Vec<Event>, Unseen> {
        let job = self.job(case).with(|job| (job.round, job.cases[0].seed) = (number, number.into()));
        let left = ALL.saturating_sub(self.elapsed());
        if left.is_zero() {
            return Err(Message::from(term!("no time is left")).into());
        }
        let events = (self.measure)(catalogue, job, left.min(LONGEST_ROUND))?;
        if let Some(Event::Done { noise }) = events.last() {
            self.stolen_ns += noise.steal_ns.unwrap_or(0.0);
            self.stopped_ns += noise.throttled.map_or(0.0, |throttled| throttled.ns);
            let looked = self.widths.look(&self.host, self.cpu, noise);
            self.shared = self.shared.max(noise.shared.or(looked).unwrap_or(0.0));
        }
        Ok(events)
    }

    /// Result of `work`, and the share of the CPU that other programs used meanwhile; none where the kernel does not tell.
    pub fn others_during<T>(&mut self, work: impl FnOnce(&mut Bench) -> T) -> (T, Option<Others>) {
        let (meters, wall, cpu) = (Rc::clone(&self.meters), Rc::clone(&self.wall), self.cpu);
        others_during(&*meters, &*wall, cpu, || work(self))
    }

    /// Result of `work`, and its disturbance.
    pub fn watched<T>(&mut self, work: impl FnOnce(&mut Bench) -> T) -> (T, Option<Message>) {
        let begun = self.elapsed();
        (self.stolen_ns, self.stopped_ns, self.shared) = (0.0, 0.0, 0.0);
        let (given, others) = self.others_during(work);
        let elapsed_ns = (self.elapsed() - begun).as_nanos().max(1) as f64;
        let [stolen, stopped] = [self.stolen_ns, self.stopped_ns].map(|ns| ns / elapsed_ns);
        let cpu = self.cpu;
        let others = others.map_or(0.0, |others| others.share - others.error);
        let said = [
            (others, say!("of CPU {cpu} went to other programs")),
            (stolen, say!("of CPU {cpu} went to other guests")),
            (stopped, say!("of the time a CPU quota stopped hostmark")),
            (self.shared, say!("of the time another thread used this core")),
        ];
        let most = said.into_iter().max_by(|one, other| one.0.total_cmp(&other.0)).filter(|most| most.0 >= DISTURBS);
        (given, most.map(|(share, what)| say!("{percent:.0} % {what}", percent = share * 100.0)))
    }
}

/// Runs a job on a thread of its own, which the worker's code binds to the job's CPU.
fn in_thread(catalogue: Catalogue, job: Job, limit: Duration) -> Result<Vec<Event>, Unseen> {
    let (done, answered) = mpsc::channel();
    let started = std::thread::Builder::new().spawn(move || {
        let _ = done.send(worker::answer(catalogue, job));
    });
    started.map_err(|error| Message::plain(error.to_string()))?;
    answered.recv_timeout(limit).map_err(|error| match error {
        RecvTimeoutError::Timeout => {
            let seconds = limit.as_secs_f64();
            say!("a round took over {seconds:.1} s").into()
        }
        RecvTimeoutError::Disconnected => Unseen::Error(term!("a round panicked").into()),
    })
}

fn parse(events: Vec<Event>) -> Result<BenchRound, Unseen> {
    let mut round = BenchRound {
        values: Vec::new(),
        iterations: Vec::new(),
        disturbance_flags: Vec::new(),
        noise: RoundNoise::default(),
    };
    for event in events {
        match event {
            Event::Samples { ns, iterations, disturbance_flags, .. } => {
                round.values = ns.iter().zip(&iterations).map(|(ns, &n)| ns / n as f64).collect();
                round.iterations = iterations;
                round.disturbance_flags = disturbance_flags;
            }
            Event::Done { noise } => round.noise = noise,
            Event::Failed { reason } | Event::Skipped { reason } => {
                return Err((&reason).into());
            }
            _ => {}
        }
    }
    match round.values.is_empty() {
        true => Err(Unseen::Error(term!("a round had no samples").into())),
        false => Ok(round),
    }
}

/// The delay of `known.delay`, ns.
pub static DELAY_NS: AtomicU64 = AtomicU64::new(20_000);
/// Addition of `known.changed` to its delay, ns.
pub static CHANGE_NS: AtomicU64 = AtomicU64::new(0);
/// Factor of all its other delays.
pub static STRETCH: AtomicU64 = AtomicU64::new(1);
/// The duration of each sleep of `known.sleep` by `CLOCK_MONOTONIC`, ns.
pub static SLEPT_NS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// A sleep of `known.sleep`, ns.
pub static SLEEP_NS: AtomicU64 = AtomicU64::new(SHORTEST_SLEEP_NS);
pub const SHORTEST_SLEEP_NS: u64 = 5_000_000;
/// The delay of `known.changed` without a change, ns, and of the one that is never changed and shorter.
pub const UNCHANGED_NS: u64 = 20_000;
const SHORT_NS: u64 = 10_000;
/// Readings of a clock that are timed at once, and how often.
const READINGS: u32 = 20;
/// A clock that takes longer than 10 µs has fewer samples in a round than tell anything.
const MOST_STRETCH: u64 = 100;

const TITLE: Text = term!("known");

pub const fn known(measure: fn(&mut Case) -> prelude::Result<()>) -> Probe {
    Probe { title: TITLE, section: TITLE, measure: prelude::Measure::Run(measure), ..Probe::PLAIN }
}

/// Spins until the kernel's clock has advanced by `ns`; returns at most the cost of one reading later.
fn delay(ns: u64) {
    let until = ClockSource::MonotonicRaw.read() + ns;
    while ClockSource::MonotonicRaw.read() < until {}
}

fn sleep() {
    let begun = ClockSource::Monotonic.read();
    hostmark_engine::sys::clock::sleep(std::time::Duration::from_nanos(SLEEP_NS.load(Ordering::Relaxed)));
    let slept = ClockSource::Monotonic.read() - begun;
    SLEPT_NS.lock().unwrap_or_else(PoisonError::into_inner).push(slept);
}

/// Factor of delays, so that one reading is a hundredth of the shortest at most: some clocks take microseconds.
pub fn stretch() -> u64 {
    let reading_ns = || {
        let before = ClockSource::MonotonicRaw.read();
        (0..READINGS).for_each(|_| _ = std::hint::black_box(ClockSource::MonotonicRaw.read()));
        (ClockSource::MonotonicRaw.read() - before) / u64::from(READINGS)
    };
    let least_ns = (0..READINGS).map(|_| reading_ns()).min().unwrap_or(0);
    (100 * least_ns).div_ceil(SHORT_NS).clamp(1, MOST_STRETCH)
}

static DELAY: Probe = known(|case| case.calls(|| delay(DELAY_NS.load(Ordering::Relaxed))).time());
static SLEEP: Probe = known(|case| case.calls(sleep).time());
static MULTIPLY: Probe = known(|case| {
    case.loops(|n| {
        std::hint::black_box(arith::multiply_chain(n, 3, std::hint::black_box(5)));
    })
    .time()
});
static GROUP: Group = Group {
    name: "known",
    shares_worker: false,
    probes: &[("delay", &DELAY), ("sleep", &SLEEP), ("multiply", &MULTIPLY)],
};

/// Probes whose values are known.
pub static KNOWN: Catalogue = &[&GROUP];

fn stretched(ns: u64) {
    delay(STRETCH.load(Ordering::Relaxed) * ns);
}

static SHORT: Probe = known(|case| case.calls(|| stretched(SHORT_NS)).time());
static CHANGED: Probe = known(|case| case.calls(|| stretched(UNCHANGED_NS + CHANGE_NS.load(Ordering::Relaxed))).time());
static LONG: Probe = known(|case| case.calls(|| stretched(2 * UNCHANGED_NS)).time());
static COPY: Group =
    Group { name: "known", shares_worker: false, probes: &[("short", &SHORT), ("changed", &CHANGED), ("long", &LONG)] };

/// Probes of which [`CHANGE_NS`] makes one slower.
pub static COPIES: Catalogue = &[&COPY];
