//! Truth of comparisons: a delay that only this test has, measured by the real worker on the real clock, is found where
//! it is and nowhere else.

#[path = "../../../tests/support/skip.rs"]
mod skip;

use std::sync::atomic::{AtomicU64, Ordering};

use hostmark_engine::prelude::*;
use hostmark_engine::probe::{Catalogue, entries};
use hostmark_engine::{clock, estimate, worker};
use hostmark_model::{
    CalibratedClock, CaseId, CaseRecord, ClockFacts, Event, HostFacts, Job, Measured, Noise, Outcome, Profile,
    RoundRecord, Run, SCHEMA, Settings, Tool,
};
use hostmark_probes::workloads::clocks::Source;
use hostmark_report::compare::{Comparison, History, Pool, Verdict};
use skip::skipped;

/// Rounds of a case, as the standard profile has them.
const ROUNDS: u32 = 5;
/// Intervals wider than this to one side are not what is promised about.
const WIDEST: f64 = 0.02;
/// On a busy machine the interval of the delayed case may be too wide: how often it may be tried again.
const TRIES: u32 = 6;

/// What the delay adds to one operation, ns.
static DELAY_NS: AtomicU64 = AtomicU64::new(0);

const NO_TEXT: Text = Text { en: "known", zh: "已知" };

const fn waits(measure: fn(&mut Case) -> Result<()>) -> Probe {
    Probe {
        title: NO_TEXT,
        revision: 1,
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        also: &[],
        explain: Explain { what: NO_TEXT, why: NO_TEXT, reading: NO_TEXT, typical: NO_TEXT, causes: NO_TEXT },
        axes: &[],
        cross: &[],
        limit: Limit::None,
        blocking: false,
        needs: &[],
        related: &[],
        replaces: &[],
        differs: None,
        section: NO_TEXT,
        measure: Measure::Run(measure),
    }
}

fn wait(ns: u64) {
    let until = Source::MonotonicRaw.read() + ns;
    while Source::MonotonicRaw.read() < until {}
}

static SHORT: Probe = waits(|case| case.time(|| wait(10_000)));
static DELAYED: Probe = waits(|case| case.time(|| wait(20_000 + DELAY_NS.load(Ordering::Relaxed))));
static LONG: Probe = waits(|case| case.time(|| wait(40_000)));
static KNOWN: Group =
    Group { name: "known", shares_worker: false, probes: &[("short", &SHORT), ("delayed", &DELAYED), ("long", &LONG)] };
static CATALOGUE: Catalogue = &[&KNOWN];

/// Samples of one round, ns an operation.
fn round(host: &HostFacts, clock: &CalibratedClock, case: &str, round: u32) -> Vec<f64> {
    let job = Job::bare(case, vec![hostmark_host::single(host).expect("a CPU to run on")]).with(|job| {
        (job.round, job.cases[0].seed, job.memory_bytes) = (round, round.into(), 1 << 30);
        job.environment.clock = clock.clone();
    });
    let events = std::thread::spawn(move || worker::answer(CATALOGUE, job)).join().expect("a worker that ends");
    let samples = events.iter().find_map(|event| match event {
        Event::Samples { ns, iterations, .. } => {
            Some(ns.iter().zip(iterations).map(|(ns, &n)| ns / n as f64).collect())
        }
        _ => None,
    });
    samples.expect("samples")
}

fn measured(rounds: Vec<Vec<f64>>) -> Measured {
    let record = |(round, samples): (usize, &Vec<f64>)| RoundRecord {
        round: round as u32,
        median: estimate(std::slice::from_ref(samples), 0.0, Better::Lower).median,
        taints: vec![0; samples.len()],
        core_hz: None,
        cpus: vec![0],
        iterations: 1,
        settled: true,
        steal_ns: None,
        throttled: None,
        waited: None,
        others: None,
        shared: None,
        far: Vec::new(),
        raw: None,
    };
    Measured {
        estimate: estimate(&rounds, 0.0, Better::Lower),
        also: Default::default(),
        histogram: None,
        rounds: rounds.iter().enumerate().map(record).collect(),
        samples: rounds,
        noise: Noise::default(),
        notes: Default::default(),
        flags: Vec::new(),
        bounds: None,
    }
}

/// A run of the test's catalogue from the samples of its rounds, by case.
fn run(id: &str, host: &HostFacts, rounds: Vec<(String, Vec<Vec<f64>>)>) -> Run {
    let case = |(id, rounds): (String, Vec<Vec<f64>>)| {
        let parsed: CaseId = id.parse().unwrap();
        let outcome = Outcome::Measured(Box::new(measured(rounds)));
        CaseRecord { id, probe: parsed.probe, params: parsed.params, outcome }
    };
    Run {
        schema: SCHEMA.into(),
        id: id.into(),
        name: id.into(),
        started: "2026-11-21T06:15:00Z".into(),
        finished: None,
        interrupted: None,
        imported: None,
        tool: Tool { version: "0".into(), target: "test".into(), libc: "test".into(), is_static: false, digest: None },
        settings: Settings {
            profile: Profile::Standard,
            seed: 0,
            filters: Vec::new(),
            table: None,
            rounds: ROUNDS,
            limit_s: 300.0,
            clock: ClockFacts { source: "test".into(), hz: 1e9, reason: None, drift: None },
            cpu: 0,
            set: Default::default(),
            inputs: Default::default(),
        },
        host: host.clone(),
        disturbances: Vec::new(),
        neighbours: None,
        trust: None,
        probes: entries(CATALOGUE).map(|entry| entry.info()).collect(),
        cases: rounds.into_iter().map(case).collect(),
        lost_rounds: Vec::new(),
        time: None,
        findings: Vec::new(),
        guest: None,
        peers: Vec::new(),
        pairs: Vec::new(),
        again: None,
        place: None,
    }
}

/// Two runs whose rounds were measured in turn, the second with a delay of 5 % in one probe.
fn two_runs(host: &HostFacts) -> [Run; 2] {
    let clock = clock::choose(host).clock;
    let ids: Vec<String> = entries(CATALOGUE).map(|entry| entry.id()).collect();
    let mut sides = [0, 1].map(|_| ids.iter().map(|id| (id.clone(), Vec::new())).collect::<Vec<_>>());
    for number in 0..ROUNDS {
        for (side, delay_ns) in sides.iter_mut().zip([0, 1000]) {
            DELAY_NS.store(delay_ns, Ordering::Relaxed);
            for (id, rounds) in side.iter_mut() {
                rounds.push(round(host, &clock, id, number));
            }
        }
    }
    let [base, new] = sides;
    [run("base", host, base), run("new", host, new)]
}

#[test]
fn a_delay_of_five_percent_in_one_probe_is_found_there_alone() {
    let host = hostmark_host::read_here();
    for _ in 0..TRIES {
        let [base, new] = two_runs(&host);
        let is_narrow = |run: &Run| {
            let half = |case: &CaseRecord| case.measured().and_then(|values| values.estimate.relative_half_width());
            run.cases.iter().all(|case| half(case).is_some_and(|half| half < WIDEST))
        };
        if !is_narrow(&base) || !is_narrow(&new) {
            continue;
        }
        let pool = |name, run| Pool { name, runs: std::slice::from_ref(run) };
        let comparison = Comparison::of(pool("base", &base), &[pool("new", &new)], &History::default());
        for case in &comparison.new[0].cases {
            let change = case.change().unwrap();
            match case.probe.as_str() {
                "known.delayed" => {
                    assert_eq!(case.verdict, Verdict::Slower, "{case:?}");
                    assert!((0.03..0.07).contains(&change), "{change}");
                }
                _ => assert_eq!(case.verdict, Verdict::NoDifference, "{case:?}"),
            }
        }
        return;
    }
    // A machine this busy tells nothing, and a test that fails by it would tell as little.
    skipped("intervals that are never under ±2 %: the machine is too busy");
}
