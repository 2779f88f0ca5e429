//! Truth of comparisons: a delay that only this test has, measured by the real worker on the real clock, is found where
//! it is and nowhere else.

use std::sync::atomic::{AtomicU64, Ordering};

use hostmark_analysis::compare::{CaseComparison, Comparison, Pool, Verdict};
use hostmark_engine::prelude::*;
use hostmark_engine::probe::{Catalogue, entries};
use hostmark_engine::{clock, estimate, worker};
use hostmark_model::{
    CalibratedClock, CaseId, CaseRecord, ClockFacts, Event, HostFacts, Job, Measured, Noise, Outcome, Profile,
    RoundRecord, Run, SCHEMA, Settings, Tool,
};
use hostmark_probes::workloads::machine::clocks::ClockSource;

use crate::alone::alone;
use crate::skip::skipped;
use crate::truth::known;

/// Rounds of a case in a run.
const ROUNDS: u32 = 2;
/// Runs of a side.
const PAIRS: u32 = 5;
/// Where a change of so much would not have been seen, nothing is promised.
const WIDEST: f64 = 0.04;
/// What a case without a delay may have drifted by.
const FRACTION: f64 = 0.01;
/// On a busy machine none of less may be: how often it may be tried again.
const TRIES: u32 = 6;

/// What the delay adds to one operation, ns.
static DELAY_NS: AtomicU64 = AtomicU64::new(0);

fn wait(ns: u64) {
    let until = ClockSource::MonotonicRaw.read() + ns;
    while ClockSource::MonotonicRaw.read() < until {}
}

static SHORT: Probe = known(|case| case.calls(|| wait(10_000)).time());
static DELAYED: Probe = known(|case| case.calls(|| wait(20_000 + DELAY_NS.load(Ordering::Relaxed))).time());
static LONG: Probe = known(|case| case.calls(|| wait(40_000)).time());
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
        median: estimate(std::slice::from_ref(samples), 0.0, Better::Lower).typical,
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
        note: None,
        place: None,
    }
}

/// Runs of two sides that were measured in turn, the second with a delay of 5 % in one probe.
fn two_sides(host: &HostFacts) -> [Vec<Run>; 2] {
    let clock = clock::choose(host).clock;
    let mut sides: [Vec<Run>; 2] = Default::default();
    for pair in 0..PAIRS {
        for side in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
            DELAY_NS.store([0, 1000][side], Ordering::Relaxed);
            let rounds = entries(CATALOGUE).map(|entry| {
                let id = entry.id();
                let rounds = (0..ROUNDS).map(|number| round(host, &clock, &id, pair * ROUNDS + number)).collect();
                (id, rounds)
            });
            let run = run(&format!("{side}-{pair}"), host, rounds.collect());
            sides[side].push(run);
        }
    }
    sides
}

#[test]
fn a_delay_of_five_percent_in_one_probe_is_found_there_alone() {
    let _alone = alone();
    let host = hostmark_host::read_here();
    for _ in 0..TRIES {
        let [base, new] = two_sides(&host);
        let [base, new] = [("base", &base), ("new", &new)].map(|(name, runs)| Pool { name, runs });
        let comparison = Comparison::in_turn(base, new, &[PAIRS as usize], 0.03);
        let cases = &comparison.new[0].cases;
        let is_seen = |case: &CaseComparison| case.told_by().is_some_and(|test| test.visible < WIDEST);
        if !cases.iter().all(is_seen) {
            continue;
        }
        for case in cases {
            let change = case.change().unwrap();
            match case.probe.as_str() {
                "known.delayed" => {
                    assert_eq!(case.verdict, Verdict::Slower, "{case:?}");
                    assert!((0.03..0.07).contains(&change), "{change}");
                }
                // One case in twenty without a delay may have a verdict, and drifts by a fraction of a per cent then.
                _ => assert!(
                    !matches!(case.verdict, Verdict::Slower | Verdict::Faster) || change.abs() < FRACTION,
                    "{case:?}"
                ),
            }
        }
        return;
    }
    // A machine this busy tells nothing, and a test that fails by it would tell as little.
    skipped("pairs that never lie within 4 %: the machine is too busy");
}
