//! Truth: what the engine says of things whose cost is known. Run one at a time, and judged by the least disturbed of some
//! rounds, since a shared machine only adds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hostmark_engine::clock;
use hostmark_engine::prelude::*;
use hostmark_engine::probe::Catalogue;
use hostmark_engine::worker;
use hostmark_model::{Choice, Event, Job, Taint};
use hostmark_probes::CATALOGUE;
use hostmark_probes::kernels::arith;
use hostmark_probes::workloads::machine::clocks::ClockSource;

use crate::alone::alone;
use crate::quiet::Quiet;

/// Rounds of which the least disturbed counts.
const ROUNDS: u32 = 8;
/// Looks at what a neighbour of the core may hide for a while.
const LOOKS: usize = 30;

const NO_TEXT: Text = Text { en: "known", zh: "已知" };

/// A probe that says nothing of itself.
pub const fn known(measure: fn(&mut Case) -> Result<()>) -> Probe {
    Probe {
        title: NO_TEXT,
        explain: Explain { what: NO_TEXT, why: NO_TEXT, reading: NO_TEXT, typical: NO_TEXT, causes: NO_TEXT },
        section: NO_TEXT,
        measure: Measure::Run(measure),
        ..Probe::PLAIN
    }
}

static MULTIPLY: Probe = known(|case| {
    case.loops(|n| {
        std::hint::black_box(arith::multiply_chain(n, 3, std::hint::black_box(5)));
    })
    .time()
});
static WAIT: Probe = known(|case| case.calls(wait).time());
static KNOWN: Group =
    Group { name: "known", shares_worker: false, probes: &[("multiply", &MULTIPLY), ("wait", &WAIT)] };
static KNOWN_CATALOGUE: Catalogue = &[&KNOWN];

/// A known delay: the kernel's clock moves by it before this returns, and by one reading's cost at most more.
const WAIT_NS: u64 = 20_000;

fn wait() {
    let until = ClockSource::MonotonicRaw.read() + WAIT_NS;
    while ClockSource::MonotonicRaw.read() < until {}
}

/// One round's samples in ns an iteration, their marks, and the core's frequency beside them.
struct Round {
    values: Vec<f64>,
    taints: Vec<u8>,
    core_hz: f64,
}

impl Round {
    fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    fn cycles(&self) -> f64 {
        self.median() * self.core_hz / 1e9
    }

    fn disturbed(&self) -> f64 {
        let tainted = self.taints.iter().filter(|&&taint| Taint(taint).is_tainted()).count();
        tainted as f64 / self.taints.len() as f64
    }
}

/// Measures each round on a thread of its own, which is bound to a CPU, as a worker is.
fn rounds(catalogue: Catalogue, case: &str, count: u32) -> Vec<Round> {
    let job = job_of(case);
    let round = |round: u32| {
        let job = job.clone().with(|job| (job.round, job.cases[0].seed) = (round, round.into()));
        let events = std::thread::spawn(move || worker::answer(catalogue, job)).join().expect("a worker that ends");
        parse(&events)
    };
    (0..count).map(round).collect()
}

/// The job of a case's first round on this host.
fn job_of(case: &str) -> Job {
    let host = hostmark_host::read_here();
    let calibration = clock::choose(&host);
    let cpu = hostmark_host::single(&host).expect("a CPU to run on");
    Job {
        budget_ns: 60_000_000,
        l1d_bytes: host.cache(cpu, 1).map_or(32 << 10, |cache| cache.size_bytes),
        llc_bytes: host.last_level_cache(cpu).map_or(32 << 20, |cache| cache.size_bytes),
        llc_sum_bytes: host.last_level_cache(cpu).map_or(32 << 20, |cache| cache.size_bytes),
        memory_bytes: 1 << 30,
        ..Job::bare(case, vec![cpu])
    }
    .with(|job| job.environment.clock = calibration.clock)
}

#[test]
fn the_first_round_of_a_bandwidth_chooses_a_kernel_and_later_ones_take_it() {
    let _alone = alone();
    let of_probes = hostmark_probes::CATALOGUE;
    let note = |events: &[Event], key: &str| {
        events.iter().find_map(|event| match event {
            Event::Note { key: found, value } if found == key => Some(value.clone()),
            _ => None,
        })
    };
    let way = |events: &[Event]| {
        events.iter().find_map(|event| match event {
            Event::Chosen { scope, way, trials_ns } => Some((scope.clone(), way.clone(), *trials_ns)),
            _ => None,
        })
    };
    for case in [
        "memory.read@size=16384,kernel=best,page=base,threads=1",
        "memory.copy@size=16777216,kernel=best,page=base,threads=1",
        "memory.write@size=1048576,kernel=best,page=base,threads=2",
        "memory.stream2@kernel=copy,size=65536,page=base",
        "memory.stream@kernel=copy,store=best,threads=2,page=base,elements=1000000",
    ] {
        let go = |chosen: Option<Choice>| {
            let job = job_of(case);
            let threads = if case.contains("threads=2") { 2 } else { 1 };
            let job = job.with(|job| {
                job.cpus = vec![job.cpus[0]; threads];
                job.cases[0].choices.extend(chosen);
            });
            std::thread::spawn(move || worker::answer(of_probes, job)).join().expect("a worker that ends")
        };
        let first = go(None);
        let (scope, chosen, trials_ns) = way(&first).unwrap_or_else(|| panic!("{case}: {:?}", first.last()));
        assert_eq!(note(&first, "kernel").as_ref(), Some(&chosen), "{case}");
        assert!(trials_ns > 0.0 && matches!(first.last(), Some(Event::Done { .. })), "{case}: {:?}", first.last());
        // Any that the CPU has, also one that no trial would choose.
        let other = if case.starts_with("memory.stream") { "libc" } else { "scalar" };
        for told in [chosen.as_str(), other] {
            let later = go(Some(Choice { scope: scope.clone(), way: told.into() }));
            assert_eq!((note(&later, "kernel").as_deref(), way(&later)), (Some(told), None), "{case}");
        }
        assert!(matches!(go(Some(Choice { scope, way: "none".into() })).last(), Some(Event::Failed { .. })), "{case}");
    }
}

fn parse(events: &[Event]) -> Round {
    let mut round = Round { values: Vec::new(), taints: Vec::new(), core_hz: 0.0 };
    for event in events {
        match event {
            Event::Samples { ns, iterations, taints: marks, .. } => {
                round.values = ns.iter().zip(iterations).map(|(ns, &n)| ns / n as f64).collect();
                round.taints.clone_from(marks);
            }
            Event::Done { noise } => round.core_hz = noise.core_hz.expect("a core clock"),
            Event::Failed { reason } | Event::Skipped { reason } => panic!("{reason}"),
            _ => {}
        }
    }
    assert!(!round.values.is_empty());
    round
}

fn least(rounds: &[Round], of: impl Fn(&Round) -> f64) -> f64 {
    rounds.iter().map(of).fold(f64::INFINITY, f64::min)
}

/// The median cycles of an iteration in each look, until one is within a hundredth of `right`. The chain that tells the core's
/// frequency and the samples beside it are disturbed each by itself, so that their quotient errs to both sides, and by the
/// same for seconds while a neighbour works on the core's other thread; a method that is wrong is so in every look.
fn looks_until(right: f64, catalogue: Catalogue, case: &str) -> std::result::Result<f64, Vec<f64>> {
    let mut looks = Vec::new();
    for _ in 0..LOOKS {
        let mut cycles: Vec<f64> = rounds(catalogue, case, ROUNDS).iter().map(Round::cycles).collect();
        cycles.sort_by(f64::total_cmp);
        let median = cycles[cycles.len() / 2];
        if (median / right - 1.0).abs() < 0.01 {
            return Ok(median);
        }
        looks.push(median);
    }
    Err(looks)
}

#[test]
fn an_empty_unrolled_body_takes_under_a_fifth_of_a_cycle() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let cycles = least(&rounds(CATALOGUE, "clock.loop", ROUNDS), Round::cycles);
    quiet.holds((0.0..0.2).contains(&cycles), || format!("{cycles}"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_chain_of_dependent_multiplies_takes_three_cycles_each() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let found = looks_until(3.0, KNOWN_CATALOGUE, "known.multiply");
    quiet.holds(found.is_ok(), || format!("{found:?}"));
}

#[test]
fn a_known_delay_is_returned_within_a_hundredth() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let ns = least(&rounds(KNOWN_CATALOGUE, "known.wait", ROUNDS), Round::median);
    quiet.holds((ns / WAIT_NS as f64 - 1.0).abs() < 0.01, || format!("{ns}"));
}

#[test]
fn a_competing_process_on_the_measured_cpu_marks_the_samples() {
    let (_alone, machine) = (alone(), Quiet::begin());
    let cpu = hostmark_host::single(&hostmark_host::read_here()).expect("a CPU to run on");
    let quiet = least(&rounds(KNOWN_CATALOGUE, "known.wait", ROUNDS), Round::disturbed);
    let stop = AtomicBool::new(false);
    let disturbed = std::thread::scope(|scope| {
        scope.spawn(|| {
            sys::affinity::bind(&[cpu]).expect("a CPU that may be used");
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        std::thread::sleep(Duration::from_millis(20));
        let rounds = rounds(KNOWN_CATALOGUE, "known.wait", 3);
        stop.store(true, Ordering::Relaxed);
        least(&rounds, Round::disturbed)
    });
    let is_told = disturbed > 0.02 && disturbed > quiet;
    machine.holds(is_told, || format!("{quiet} without, {disturbed} with a competitor"));
}

#[test]
fn l1_latency_is_a_whole_number_of_cycles() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    // What shares the core evicts lines and holds up loads, and may stay for long; a frequency that was told too low takes
    // away: the twentieth part of all rounds tells the latency, once it is among them.
    let mut cycles = Vec::new();
    let is_whole = |cycles: f64| (cycles / cycles.round() - 1.0).abs() < 0.03 && cycles.round() >= 2.0;
    let found = (0..LOOKS).any(|_| {
        let rounds = rounds(CATALOGUE, "memory.latency@size=4096,pattern=random,page=pmd,copies=1", ROUNDS);
        cycles.extend(rounds.iter().map(Round::cycles));
        cycles.sort_by(f64::total_cmp);
        is_whole(cycles[cycles.len() / 20])
    });
    quiet.holds(found, || format!("{cycles:?}"));
}

#[test]
fn each_level_is_slower_than_the_one_above() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let host = hostmark_host::read_here();
    let cpu = hostmark_host::single(&host).expect("a CPU to run on");
    let Some(l2) = host.cache(cpu, 2).map(|cache| cache.size_bytes) else { return };
    let latency = |bytes: u64| {
        let case = format!("memory.latency@size={bytes},pattern=random,page=pmd,copies=1");
        least(&rounds(CATALOGUE, &case, 3), Round::median)
    };
    let (in_l1, in_l2, in_dram) = (latency(8 << 10), latency(l2 / 2), latency(256 << 20));
    quiet.holds(in_l1 * 1.5 < in_l2 && in_l2 * 3.0 < in_dram, || format!("{in_l1} {in_l2} {in_dram}"));
}
