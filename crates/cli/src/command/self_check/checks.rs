//! Known things that are put in, and the checks that they come back: delays, sleeps and chains of multiplications for the clock and
//! the sampler, chains of loads around the first cache, a busy process for contention, two copies for comparisons, a slow host for
//! fleets.

use std::any::Any;
use std::ops::RangeInclusive;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hostmark_analysis::compare::{CaseComparison, Comparison, Pool, Verdict};
use hostmark_analysis::fleet::planted::MadeUp;
use hostmark_analysis::fleet::{Fleet, Gathering};
use hostmark_engine::estimate::outcomes;
use hostmark_engine::plan::{Plan, PlannedCase, Request, plan};
use hostmark_engine::{CaseRounds, Record, Round, RoundResult, is_contended};
use hostmark_model::{Message, Others, Profile, Run, Text, size_text};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use super::bench::{
    Bench, BenchRound, CHANGE_NS, COPIES, KNOWN, SHORTEST_SLEEP_NS, SLEEP_NS, SLEPT_NS, STRETCH, UNCHANGED_NS, least,
    median,
};
use super::{Attempt, Check, Known, Line, Unseen, bench};
use crate::command::measure::{emulated, ready};
use crate::world;

const DURATION_ROUNDS: u32 = 8;
/// A sleep takes long: fewer rounds do.
const SLEEP_ROUNDS: u32 = 3;
/// The bound of the delay and the multiplications.
const WITHIN: f64 = 0.01;
/// Largest relative difference of two clocks over the same time: the kernel slews one of them by a quarter of this at most, and a CPU that
/// wakes needs some microseconds from one reading to the other.
const CLOCKS_AGREE: f64 = 0.002;

fn within_a_hundredth(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < WITHIN
}

fn one_percent() -> Message {
    Text { en: "±1 %", zh: "±1%" }.into()
}

/// A sleep is so many times the usual one at most: it has to be sampled within a round.
const MOST_SLEEPS: u64 = 10;

/// A delay, ns.
pub const PUT_DELAY_NS: u64 = 20_000;

pub fn delay(bench: &mut Bench, delay_ns: &Known<u64>) -> Line {
    bench::DELAY_NS.store(delay_ns.put, Ordering::Relaxed);
    let expected = delay_ns.expected as f64;
    let put_in = say!("a delay of {expected:.2} µs by CLOCK_MONOTONIC_RAW", expected = expected / 1e3);
    let check =
        Check { id: "delay", put_in, bound: one_percent(), limit: Duration::from_secs(6), puts_others_in: false };
    check.judge(bench, |bench| {
        let ns = least(&bench.rounds(KNOWN, "known.delay", DURATION_ROUNDS)?, BenchRound::median);
        Ok(Attempt {
            back: Message::plain(format!("{:.2} µs", ns / 1e3)),
            is_within: Ok(within_a_hundredth(ns, expected)),
        })
    })
}

/// The rate of the clock that checks: 1.0 as it is.
pub fn sleep(bench: &mut Bench, rate: f64) -> Line {
    // Where a clock takes long, a CPU that wakes takes long to read two.
    let asked_ns = SHORTEST_SLEEP_NS * bench.stretch.min(MOST_SLEEPS);
    SLEEP_NS.store(asked_ns, Ordering::Relaxed);
    let asked_ms = asked_ns as f64 / 1e6;
    let put_in = say!("sleeps of {asked_ms} ms or more");
    let check = Check {
        id: "sleep",
        put_in,
        bound: Text { en: "±0.2 %", zh: "±0.2%" }.into(),
        limit: Duration::from_secs(3),
        puts_others_in: false,
    };
    check.judge(bench, |bench| {
        let (mut values, mut ratios) = (Vec::new(), Vec::new());
        let slept = || std::mem::take(&mut *SLEPT_NS.lock().unwrap_or_else(PoisonError::into_inner));
        for number in 0..SLEEP_ROUNDS {
            slept();
            let round = bench.round(KNOWN, "known.sleep", number)?;
            let slept = slept();
            // Those before the samples found out how long they take.
            let count = round.iterations.iter().sum::<u64>() as usize;
            let mut slept = slept.iter().skip(slept.len().saturating_sub(count));
            ratios.extend(round.values.iter().zip(&round.iterations).map(|(value, &n)| {
                let other: u64 = slept.by_ref().take(n as usize).sum();
                value * n as f64 / (rate * other as f64)
            }));
            values.extend(round.values);
        }
        // A sample begins before the sleep's clock is read and ends after that: whatever comes between only adds to the sample.
        let (measured, ratio) = (median(values), ratios.into_iter().fold(f64::INFINITY, f64::min));
        let shown = |ns: f64| format!("{:.4} ms", ns / 1e6);
        let back =
            say!("{measured}, by CLOCK_MONOTONIC {ratio}", measured = shown(measured), ratio = shown(measured / ratio));
        let is_long_enough = measured > asked_ns as f64 * (1.0 - CLOCKS_AGREE);
        Ok(Attempt { back, is_within: Ok((ratio - 1.0).abs() < CLOCKS_AGREE && is_long_enough) })
    })
}

/// Cycles of a dependent 64-bit multiplication on this architecture: 3 on most x86 cores, up to 5 on small ones.
pub const CYCLES: RangeInclusive<u32> = if cfg!(target_arch = "x86_64") { 3..=5 } else { 2..=5 };

/// The chain is measured in nanoseconds, and the core's frequency beside it.
pub fn multiply(bench: &mut Bench, cycles: RangeInclusive<u32>) -> Line {
    let (first, last) = (cycles.start(), cycles.end());
    let put_in = say!("dependent multiplications of {first} to {last} whole cycles");
    let check =
        Check { id: "multiply", put_in, bound: one_percent(), limit: Duration::from_secs(8), puts_others_in: false };
    if let Some(reason) = without_cycles(bench) {
        return check.impossible(reason);
    }
    check.judge(bench, |bench| {
        // The samples and the frequency beside them are disturbed each on its own, so the quotient errs to both sides.
        let found =
            median(bench.rounds(KNOWN, "known.multiply", DURATION_ROUNDS)?.iter().map(BenchRound::cycles).collect());
        if found.is_nan() {
            return Err(no_frequency().into());
        }
        let back = say!("{found:.3} cycles");
        let is_within = cycles.clone().any(|whole| within_a_hundredth(found, whole.into()));
        Ok(Attempt { back, is_within: Ok(is_within) })
    })
}

/// Reason why a core's cycles mean nothing on this machine, if they do not.
fn without_cycles(bench: &Bench) -> Option<Message> {
    let of_processor = emulated(bench.host.virtualization.hypervisor.as_deref()).map(Message::from);
    let of_program = |name: String| say!("{name} executes this program in software");
    of_processor.or_else(|| world::name().map(of_program))
}

/// Reason why a value has no cycles.
fn no_frequency() -> Message {
    term!("the core's frequency is unknown here").into()
}

/// Rounds of a look, below and above.
const CACHE_ROUNDS: (u32, u32) = (8, 3);
/// A load that hits the first-level cache takes a whole number of cycles, 3 to 6 on the cores of today; how far off it may be.
const HIT: (f64, f64, f64) = (3.0, 6.0, 0.03);
/// A load that misses it takes so many times longer, at least: the nearest second level takes over twice as long.
const MISS: f64 = 1.5;

/// Tells whether a load of so many cycles is a hit.
fn is_hit(cycles: f64) -> bool {
    let whole = cycles.round();
    (HIT.0..=HIT.1).contains(&whole) && (cycles / whole - 1.0).abs() < HIT.2
}

/// `size` is what the machine says of the cache, bytes.
pub fn l1_cache(bench: &mut Bench, size: Option<u64>) -> Line {
    let size_bytes = size.unwrap_or(0);
    let [below, above] = [size_bytes / 2, size_bytes * 4].map(|bytes| bytes.max(64));
    let [cache, small, large] = [size_bytes, below, above].map(size_text);
    let put_in = say!("dependent loads in {small} and {large}, with an L1 of {cache}");
    let bound = say!("{first} to {last} whole cycles, and {MISS}x that or more", first = HIT.0, last = HIT.1);
    let check = Check { id: "l1_cache", put_in, bound, limit: Duration::from_secs(8), puts_others_in: false };
    let no_size = || term!("the size of the cache is unknown here").into();
    if let Some(reason) = size.is_none().then(no_size).or_else(|| without_cycles(bench)) {
        return check.impossible(reason);
    }
    // Who shares the core evicts lines and delays loads, and may stay for long; a frequency that reads too low takes away:
    // a twentieth of all rounds gives the latency, once it is among them.
    let mut hits = Vec::new();
    check.judge(bench, |bench| {
        let case = |bytes: u64| format!("memory.latency@size={bytes},pattern=random,page=pmd,copies=1");
        hits.extend(bench.rounds(CATALOGUE, &case(below), CACHE_ROUNDS.0)?.iter().map(BenchRound::cycles));
        hits.sort_by(f64::total_cmp);
        let hit = hits[hits.len() / 20];
        let miss = least(&bench.rounds(CATALOGUE, &case(above), CACHE_ROUNDS.1)?, BenchRound::cycles);
        if !(hit + miss).is_finite() {
            return Err(no_frequency().into());
        }
        let back = say!("{hit:.2} and {miss:.1} cycles");
        Ok(Attempt { back, is_within: Ok(is_hit(hit) && miss >= MISS * hit) })
    })
}

/// Rounds before it, with it and after it: a second each, in which the kernel's counters tell enough.
const CONTENTION_ROUNDS: u32 = 16;
/// Largest error of the share.
const CONTENTION_OFF: f64 = 0.1;
/// Largest share of others without it; with more the attempt is useless.
const QUIET: f64 = 0.05;

/// Starts a process that uses this percentage of a CPU until what is returned is dropped.
pub type Start<'a> = dyn FnMut(usize, u8) -> Result<Box<dyn Any>, String> + 'a;

/// The percentage of a CPU that the process is asked for.
pub const PERCENT: u8 = 30;

pub fn competitor(bench: &mut Bench, percent: &Known<u8>, start: &mut Start) -> Line {
    let (cpu, expected) = (bench.cpu, percent.expected);
    let put_in = say!("a competitor that uses {expected} % of CPU {cpu}");
    let bound = say!("±{points:.0} points, and samples are marked as disturbed", points = CONTENTION_OFF * 100.0);
    let check = Check { id: "competitor", put_in, bound, limit: Duration::from_secs(10), puts_others_in: true };
    check.judge(bench, |bench| {
        let rounds =
            |bench: &mut Bench| bench.others_during(|bench| bench.rounds(KNOWN, "known.delay", CONTENTION_ROUNDS));
        let (without, before) = rounds(bench);
        let competes = start(cpu, percent.put)?;
        let (with, during) = rounds(bench);
        drop(competes);
        let (_, after) = rounds(bench);
        let (Some(before), Some(during), Some(after)) = (before, during, after) else {
            return Err(Message::from(term!("the kernel does not count who uses its CPUs")).into());
        };
        let (without, with) = (least(&without?, BenchRound::disturbed), with?);
        let waited = with.iter().filter_map(|round| round.noise.waited).reduce(f64::min);
        let marked = [without, least(&with, BenchRound::disturbed)];
        let beside = if after.share > before.share { after } else { before };
        let mut attempt = judged_contention([beside, during], marked, waited, f64::from(expected) / 100.0);
        // An emulator whose own host is busy loses ticks of the timer, by which its kernel counts who uses a CPU.
        if let (Ok(false), Some(emulated)) = (&attempt.is_within, without_cycles(bench)) {
            attempt.is_within = Err(emulated);
        }
        Ok(attempt)
    })
}

/// Judges the shares of others beside the competitor's time and in it, the share of marked samples, and the share of the time for which the
/// measuring thread waited for its CPU.
pub fn judged_contention(
    [beside, during]: [Others; 2],
    marked: [f64; 2],
    waited: Option<f64>,
    expected: f64,
) -> Attempt {
    let [share, percent] = [during.share, marked[1]].map(|share| share * 100.0);
    let back = say!("{share:.0} %, {percent:.0} % of the samples marked");
    let is_found = (during.share - expected).abs() <= CONTENTION_OFF
        && marked[1] > marked[0]
        && is_contended(&[0], Some(during), waited);
    let used = beside.share * 100.0;
    let is_busy = || say!("other programs used {used:.0} % of it as well; rerun later");
    Attempt { back, is_within: (beside.share - beside.error < QUIET).then_some(is_found).ok_or_else(is_busy) }
}

/// Rounds of a case in a run.
const COPY_ROUNDS: u32 = 2;
const PAIRS: u32 = 5;
/// Widest change that would not have been seen, from which on an attempt tells nothing.
const WIDEST: f64 = 0.04;
/// Largest error of the change that is found.
const CHANGE_OFF: f64 = 0.02;
/// One case in twenty without a change may have a verdict, and has drifted by a fraction of a per cent then.
const DRIFT: f64 = 0.01;

/// Slowdown of the second copy.
pub const SLOWER: f64 = 0.05;

pub fn copies(bench: &mut Bench, slower: &Known<f64>) -> Line {
    let percent = slower.expected * 100.0;
    let put_in = say!("a copy whose second of three operations is {percent:.0} % slower");
    let bound = say!("±{points:.0} points, no change elsewhere", points = CHANGE_OFF * 100.0);
    let check = Check { id: "compare", put_in, bound, limit: Duration::from_secs(10), puts_others_in: false };
    check.judge(bench, |bench| {
        let [base, new] = measure(bench, slower.put)?;
        let [base, new] = [("base", &base), ("new", &new)].map(|(name, runs)| Pool { name, runs });
        let comparison = Comparison::in_turn(base, new, &[PAIRS as usize], 0.03);
        Ok(judged_copies(&comparison.new[0].cases, slower.expected))
    })
}

/// Judges the comparison of the three operations.
fn judged_copies(cases: &[CaseComparison], expected: f64) -> Attempt {
    let is_changed = |case: &&CaseComparison| case.probe == "known.changed";
    let change = |case: &CaseComparison| case.change().unwrap_or(f64::NAN);
    let is_seen = |case: &CaseComparison| case.decisive_test().is_some_and(|test| test.visible < WIDEST);
    let is_same = |case: &CaseComparison| {
        !matches!(case.verdict, Verdict::Slower | Verdict::Faster) || change(case).abs() < DRIFT
    };
    let found = cases.iter().find(is_changed);
    let is_found =
        found.is_some_and(|case| case.verdict == Verdict::Slower && (change(case) - expected).abs() <= CHANGE_OFF);
    let found = found.map_or(f64::NAN, change);
    let others = cases.iter().filter(|case| !is_changed(case));
    let drift = others.clone().map(|case| change(case).abs()).fold(0.0, f64::max);
    let [found, drift] = [found, drift].map(|change| 100.0 * change);
    let back = say!("{found:+.1} % there, up to {drift:.1} % elsewhere");
    let unseen = || say!("only changes over {percent:.0} % show here; rerun later", percent = WIDEST * 100.0);
    let is_within = cases.iter().all(is_seen).then(|| is_found && others.clone().all(is_same)).ok_or_else(unseen);
    Attempt { back, is_within }
}

/// Runs of both copies, measured in turn.
fn measure(bench: &mut Bench, change: f64) -> Result<[Vec<Run>; 2], Unseen> {
    let (filters, set, inputs) = (Vec::new(), Vec::new(), Default::default());
    let request = Request { filters, profile: Profile::Quick, seed: 1, set, inputs };
    let plan = plan(COPIES, &bench.host, request).map_err(Message::from)?;
    let change_ns = (UNCHANGED_NS as f64 * change).round() as u64;
    STRETCH.store(bench.stretch, Ordering::Relaxed);
    let mut copies: [Vec<Run>; 2] = Default::default();
    for pair in 0..PAIRS {
        for copy in if pair.is_multiple_of(2) { [0, 1] } else { [1, 0] } {
            CHANGE_NS.store([0, change_ns][copy], Ordering::Relaxed);
            copies[copy].push(run(bench, &plan, pair * COPY_ROUNDS)?);
        }
    }
    Ok(copies)
}

/// A run of all three operations, whose rounds have numbers from `first` on.
fn run(bench: &mut Bench, plan: &Plan, first: u32) -> Result<Run, Unseen> {
    let mut case = |case: &PlannedCase| {
        let id = case.id.to_string();
        let mut round = |number: u32| {
            let events = bench.events(COPIES, &id, first + number)?;
            Ok(Round::of(RoundResult { round: number, cpus: vec![bench.cpu], events, others: None }))
        };
        let rounds = (0..COPY_ROUNDS).map(&mut round).collect::<Result<Vec<Round>, Unseen>>()?;
        Ok(CaseRounds { entry: case.entry, id: case.id.clone(), rounds, skip: None })
    };
    let cases = plan.cases.iter().map(&mut case).collect::<Result<Vec<CaseRounds>, Unseen>>()?;
    let (host, selected) = (bench.host.clone(), plan.selected.clone());
    let record = Record { seed: 1, planned: COPY_ROUNDS, host: host.clone(), peers: Vec::new(), selected, cases };
    let mut run = ready::begin(plan, host, &bench.calibration, uuid::Uuid::now_v7());
    run.cases = outcomes::of(&record).cases;
    Ok(run)
}

/// Eight hosts of one kind, the first of which takes twice as long.
pub fn planted() -> MadeUp {
    MadeUp { odd: 1, shift: 0.5, ..MadeUp::usual(8, 3) }
}

/// The names of the odd hosts, in order.
pub fn odd(made_up: &MadeUp) -> Vec<String> {
    let mut gathering = Gathering::new(&[]);
    for host in 0..made_up.hosts {
        gathering.read(&format!("{host}.json"), made_up.run(host, 0).as_bytes());
    }
    let mut names: Vec<String> = Fleet::of(&gathering).odd().map(|(_, host)| host.name.clone()).collect();
    names.sort_unstable();
    names
}

/// The first host of a made-up fleet must be the only odd one.
pub fn fleet(bench: &mut Bench, made_up: &MadeUp) -> Line {
    let put_in = say!("{hosts} made-up hosts, one at half speed", hosts = made_up.hosts);
    let bound = say!("{name} alone", name = MadeUp::name(0));
    let check = Check { id: "fleet", put_in, bound, limit: Duration::ZERO, puts_others_in: false };
    check.judge(bench, |_| {
        let names = odd(made_up);
        let back = match names.is_empty() {
            true => term!("no outlier").into(),
            false => Message::plain(names.join(" ")),
        };
        Ok(Attempt { back, is_within: Ok(names == [MadeUp::name(0)]) })
    })
}
