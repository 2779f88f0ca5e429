//! The checks on made-up values: what is right passes, and each bound that is broken on purpose fails.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hostmark_analysis::fleet::planted::MadeUp;
use hostmark_engine::clock::Calibration;
use hostmark_engine::mock::{MockWall, Unmetered};
use hostmark_engine::{Meters, Wall};
use hostmark_host::CpuTimes;
use hostmark_model::{
    Also, CacheFact, CacheKind, CaseRecord, CpuFact, DisturbanceFlags, Estimate, Event, Flag, FlagKind, HostFacts, Job,
    Others, ReasonCode, RoundNoise, RoundRecord, Run, Throttling, load_run,
};

use super::bench::{Bench, CHANGE_NS, DELAY_NS, SLEPT_NS};
use super::checks::{CYCLES, PERCENT, SLOWER, copies, delay, fleet, l1_cache, multiply, planted, sleep};
use super::limits::Surroundings;
use super::{checks, *};

/// The core's frequency on the made-up machine, and its first-level cache.
const HZ: f64 = 3e9;
const L1_BYTES: u64 = 48 << 10;

/// Serializes the tests, as the probes' inputs are the process'.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cost of a case on it, ns.
fn cost_ns(case: &str, round: u32) -> f64 {
    // Rounds differ by a thousandth.
    let scatter = 1.0 + 0.001 * f64::from(round * 7 % 5);
    scatter
        * match case {
            "known.delay" => DELAY_NS.load(Ordering::Relaxed) as f64,
            "known.sleep" => 5_060_000.0,
            "known.multiply" => 3e9 / HZ,
            "known.short" => 10_000.0,
            "known.changed" => 20_000.0 + CHANGE_NS.load(Ordering::Relaxed) as f64,
            "known.long" => 40_000.0,
            other => {
                let size = other.strip_prefix("memory.latency@size=").unwrap().split(',').next().unwrap();
                let cycles = if size.parse::<u64>().unwrap() <= L1_BYTES { 5e9 } else { 15e9 };
                cycles / HZ
            }
        }
}

fn samples(ns: f64, noise: RoundNoise) -> Vec<Event> {
    let (count, flags) = (9, DisturbanceFlags::default().0);
    let samples = Event::Samples {
        ns: vec![ns * 10.0; count],
        iterations: vec![10; count],
        amount: 0,
        disturbance_flags: vec![flags; count],
    };
    vec![samples, Event::Done { noise: RoundNoise { core_hz: Some(HZ), ..noise } }]
}

/// Records the sleep of a job by its clock.
fn sleep_is_over(job: &Job, ns: f64) {
    if job.case() == "known.sleep" {
        SLEPT_NS.lock().unwrap().extend([ns as u64; 90]);
    }
}

/// The made-up machine, whose rounds `answer` changes.
fn bench(mut answer: impl FnMut(&Job, Vec<Event>) -> Vec<Event> + 'static) -> Bench {
    let cpu = CpuFact { id: 0, online: true, allowed: true, siblings: vec![0], ..CpuFact::default() };
    let cache = CacheFact {
        level: 1,
        kind: CacheKind::Data,
        size_bytes: L1_BYTES,
        shared_cpus: vec![0],
        ..CacheFact::default()
    };
    let host = HostFacts { cpus: vec![cpu], caches: vec![cache], ..HostFacts::default() };
    let wall = MockWall::default();
    let lasts = wall.clone();
    let measure = move |_, job: Job, _| {
        lasts.advance(Duration::from_millis(60));
        let ns = cost_ns(job.case(), job.round);
        sleep_is_over(&job, ns);
        Ok(answer(&job, samples(ns, RoundNoise::default())))
    };
    Bench::of(host, 0, Calibration::NONE, Box::new(measure), Rc::new(Unmetered), Rc::new(wall))
}

fn right() -> Bench {
    bench(|_, events| events)
}

/// Counters of a CPU that is busy all the time, and the share of it that others use.
#[derive(Clone, Default)]
struct Counters {
    wall: MockWall,
    own_ns: Rc<Cell<f64>>,
    others: Rc<Cell<f64>>,
}

impl Meters for Counters {
    fn cpus(&self) -> Option<CpuTimes> {
        let at = self.wall.elapsed();
        CpuTimes::of(&format!("cpu0 {} 0 0 0 0 0 0 0 0 0\n", at.as_millis() / 10), at.as_nanos() as u64)
    }

    fn own_ns(&self) -> Option<u64> {
        Some(self.own_ns.get() as u64)
    }
}

/// The machine with such counters, whose samples are marked while others use the CPU.
fn counted(counters: &Counters) -> Bench {
    let Counters { wall, own_ns, others } = counters.clone();
    let measure = move |_, job: Job, _| {
        let lasts = Duration::from_millis(60);
        wall.advance(lasts);
        own_ns.set(own_ns.get() + lasts.as_nanos() as f64 * (1.0 - others.get()));
        let ns = cost_ns(job.case(), job.round) * (1.0 + others.get());
        sleep_is_over(&job, ns);
        let mut events = samples(ns, RoundNoise { waited: Some(others.get()), ..RoundNoise::default() });
        if let (Event::Samples { disturbance_flags, .. }, true) = (&mut events[0], others.get() > 0.0) {
            disturbance_flags.fill(DisturbanceFlags::DELAYED);
        }
        Ok(events)
    };
    let wall = Rc::new(counters.wall.clone());
    Bench::of(right().host, 0, Calibration::NONE, Box::new(measure), Rc::new(counters.clone()), wall)
}

/// Sets the share back when it is dropped.
struct Competes(Rc<Cell<f64>>, f64);

impl Drop for Competes {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// No surroundings can be had.
fn nowhere(_: Surroundings, _: &[&str]) -> Result<Run, String> {
    Err("there is no tc".into())
}

fn nobody(_: usize, _: u8) -> Result<Box<dyn Any>, String> {
    Ok(Box::new(()))
}

/// All checks on a right machine, of which a competitor takes its share and which is what is put around it.
fn all_checks(break_one: impl FnOnce(&mut PutIn)) -> Vec<Line> {
    let counters = Counters::default();
    let others = Rc::clone(&counters.others);
    let mut start = |_, percent: u8| -> Result<Box<dyn Any>, String> {
        Ok(Box::new(Competes(Rc::clone(&others), others.replace(f64::from(percent) / 100.0))))
    };
    let mut around = |surroundings, _: &[&str]| Ok(as_put_in(surroundings));
    let mut bench = counted(&counters);
    let mut put = PutIn::of(&bench);
    break_one(&mut put);
    run(&mut bench, &put, &mut start, &mut around, |_| {})
}

/// A check, and how a bound of it is broken on purpose.
type Break = (&'static str, fn(&mut PutIn));

const BROKEN: [Break; 11] = [
    ("delay", |put| put.delay_ns.expected = 20_500),
    ("sleep", |put| put.clock_rate = 1.005),
    ("multiply", |put| put.cycles = 4..=5),
    ("l1_cache", |put| put.l1_bytes = Some(4 * L1_BYTES)),
    ("compare", |put| put.slower.put = 0.0),
    ("competitor", |put| put.competitor.put = 0),
    ("fleet", |put| put.fleet.shift = 0.0),
    ("quota", |put| put.quota.put = 50),
    ("disk", |put| put.reads.put = 900),
    ("link", |put| put.mbit.put = 80),
    ("relay", |put| put.relay.put.1 = 300),
];

/// Over so many runs the broken checks are spread, so that those next to each other are not broken together.
const RUNS: usize = 3;

#[test]
fn each_check_that_is_broken_on_purpose_is_found_and_no_other_and_the_exit_code_is_1() {
    let _one = one_at_a_time();
    let right = all_checks(|_| {});
    assert!(right.iter().all(|line| line.outcome == Outcome::Passed), "{right:#?}");
    assert_eq!(exit_of(&right).code(), 0);
    assert!(right.iter().map(|line| line.id.as_str()).eq(BROKEN.map(|(id, _)| id)), "each check has its break");
    for first in 0..RUNS {
        let broken = || BROKEN.iter().skip(first).step_by(RUNS);
        let lines = all_checks(|put| broken().for_each(|(_, break_it)| break_it(put)));
        let found: Vec<&Line> = lines.iter().filter(|line| line.outcome != Outcome::Passed).collect();
        assert!(found.iter().map(|line| line.id.as_str()).eq(broken().map(|(id, _)| *id)), "{found:#?}");
        for line in found {
            fails(line);
            assert_eq!(exit_of(std::slice::from_ref(line)).code(), 1, "{}", line.id);
        }
        assert_eq!(exit_of(&lines).code(), 1);
    }
}

#[test]
fn a_check_that_goes_wrong_is_no_wrong_value_and_the_exit_code_is_3() {
    let _one = one_at_a_time();
    let mut bench = bench(|job, events| match job.case() {
        "known.multiply" => vec![Event::Failed { reason: ReasonCode::CheckFailed.because("the worker lost its way") }],
        "known.delay" => samples(30_000.0, RoundNoise::default()),
        _ => events,
    });
    let line = multiply(&mut bench, CYCLES);
    assert_eq!((line.outcome, line.looks, line.came_back.is_none()), (Outcome::Error, 0, true), "{line:?}");
    assert!(line.text(Lang::En).starts_with("ERROR         dependent mult"), "{}", line.text(Lang::En));
    assert!(line.text(Lang::En).contains(": the worker lost its way (bound"), "{}", line.text(Lang::En));
    assert_eq!(exit_of(std::slice::from_ref(&line)).code(), 3);
    // It is 3 beside a wrong value too; a check that is not possible fails nothing.
    let wrong = delay(&mut bench, &Known::of(checks::PUT_DELAY_NS));
    let lines = [wrong, line, l1_cache(&mut right(), None)];
    assert_eq!((exit_of(&lines).code(), exit_of(&lines[..1]).code(), exit_of(&lines[2..]).code()), (3, 1, 0));
}

#[test]
fn what_is_right_passes_and_what_nobody_can_report_does_not() {
    let _one = one_at_a_time();
    let mut reported = Vec::new();
    let mut around = |surroundings, _: &[&str]| Ok(as_put_in(surroundings));
    let put = PutIn::of(&right());
    let lines = run(&mut right(), &put, &mut nobody, &mut around, |line| reported.push(line.id.clone()));
    let all =
        ["delay", "sleep", "multiply", "l1_cache", "compare", "competitor", "fleet", "quota", "disk", "link", "relay"];
    assert_eq!(reported, all);
    for line in &lines {
        let is_untold = line.id == "competitor";
        let expected = if is_untold { Outcome::NotPossible } else { Outcome::Passed };
        assert_eq!((line.outcome, line.reason.is_some()), (expected, is_untold), "{line:?}");
    }
    assert_eq!(outcome_of(&lines), Outcome::NotPossible);
    assert_eq!(outcome_of(&lines[..5]), Outcome::Passed);
}

#[track_caller]
fn fails(line: &Line) {
    assert_eq!((line.outcome, &line.reason), (Outcome::Failed, &None), "{line:?}");
    assert!(line.came_back.is_some() && line.looks > 0, "{line:?}");
    assert_eq!(outcome_of(std::slice::from_ref(line)), Outcome::Failed);
}

#[test]
fn delays_are_no_longer_than_a_clock_needs_and_a_clock_that_takes_long_has_long_ones() {
    let _one = one_at_a_time();
    assert!((1..=100).contains(&super::bench::stretch()));
    let stretched = Rc::new(Cell::new(0));
    let seen = Rc::clone(&stretched);
    let mut slow = bench(move |_, events| {
        seen.set(super::bench::STRETCH.load(Ordering::Relaxed));
        events
    });
    slow.stretch = 50;
    assert_eq!(PutIn::of(&slow).delay_ns.put, 1_000_000);
    copies(&mut slow, &Known::of(SLOWER));
    assert_eq!(stretched.get(), 50);
}

#[test]
fn bounds_that_are_broken_the_other_way_fail_too() {
    let _one = one_at_a_time();
    fails(&sleep(&mut right(), 0.995));
    // An eighth of what it is: the large chain hits.
    fails(&l1_cache(&mut right(), Some(L1_BYTES / 8)));
    for (put, expected) in [(0.05, 0.0), (0.05, 0.1)] {
        fails(&copies(&mut right(), &Known { put, expected }));
    }
    fails(&fleet(&mut right(), &MadeUp { odd: 0, ..planted() }));
}

#[test]
fn where_all_is_wrong_every_check_has_the_time_to_fail() {
    let _one = one_at_a_time();
    let mut wrong = bench(|job, _| {
        samples(1.5 * cost_ns(job.case(), job.round) + CHANGE_NS.load(Ordering::Relaxed) as f64, RoundNoise::default())
    });
    let put = PutIn::of(&wrong);
    let lines = run(&mut wrong, &put, &mut nobody, &mut nowhere, |_| {});
    for line in lines.iter().take(5) {
        fails(line);
    }
    assert!(wrong.elapsed() < Duration::from_secs(54), "{:?}", wrong.elapsed());
}

#[test]
fn on_a_busy_machine_every_surroundings_has_a_look_before_the_time_is_over() {
    let _one = one_at_a_time();
    let counters = Counters::default();
    counters.others.set(0.5);
    let (wall, mut tried) = (counters.wall.clone(), Vec::new());
    let mut around = |surroundings, _: &[&str]| {
        tried.push(surroundings);
        wall.advance(Duration::from_millis(4500));
        Ok(as_put_in(surroundings))
    };
    let mut bench = counted(&counters);
    let put = PutIn::of(&bench);
    let lines = run(&mut bench, &put, &mut nobody, &mut around, |_| {});
    // What is disturbed takes its whole share of the time; two clocks that agree on a sleep are not.
    for line in lines[..4].iter().filter(|line| line.id != "sleep") {
        assert_eq!(line.outcome, Outcome::NotPossible, "{line:#?}");
    }
    assert!(lines[7..].iter().all(|line| line.outcome == Outcome::Passed), "{lines:#?}");
    assert!(tried.len() == 4 && bench.elapsed() < Duration::from_secs(54), "{tried:?} {:?}", bench.elapsed());
}

#[test]
fn a_sleep_that_ends_early_fails_though_both_clocks_agree() {
    let _one = one_at_a_time();
    let mut bench = bench(|_, _| {
        SLEPT_NS.lock().unwrap().extend([1_000_000; 90]);
        samples(1_000_000.0, RoundNoise::default())
    });
    fails(&sleep(&mut bench, 1.0));
}

#[test]
fn a_change_where_none_was_put_in_fails() {
    let _one = one_at_a_time();
    let mut bench = bench(|job, events| match job.case() {
        // The machine is slower whenever the copy is.
        "known.long" => {
            samples(40_000.0 * (1.0 + CHANGE_NS.load(Ordering::Relaxed) as f64 / 20_000.0), RoundNoise::default())
        }
        _ => events,
    });
    fails(&copies(&mut bench, &Known::of(SLOWER)));
}

#[test]
fn a_competitor_passes_only_with_its_share_on_samples_that_are_marked() {
    let others = |share: f64| Others { share, error: 0.01 };
    let found = |during: f64, marked: f64, waited: f64| {
        checks::judged_contention([others(0.0), others(during)], [0.0, marked], Some(waited), 0.3).is_within.ok()
    };
    assert_eq!(found(0.28, 0.5, 0.2), Some(true));
    for (during, marked, waited) in [(0.15, 0.5, 0.2), (0.45, 0.5, 0.2), (0.28, 0.0, 0.2), (0.28, 0.5, 0.0)] {
        assert_eq!(found(during, marked, waited), Some(false), "{during} {marked} {waited}");
    }
    // Where others were there before, nothing is told.
    let untold =
        checks::judged_contention([others(0.2), others(0.3)], [0.0, 0.5], Some(0.2), 0.3).is_within.unwrap_err();
    assert_eq!(untold.to_string(), "other programs used 20 % of it as well; rerun later");
    let put = checks::competitor(&mut right(), &Known::of(PERCENT), &mut |_, _| Err("none may be started".into()));
    assert_eq!((put.outcome, put.reason.unwrap().en.as_str()), (Outcome::NotPossible, "none may be started"));
}

#[test]
fn a_competitor_is_put_in_and_its_share_comes_back_or_fails() {
    let _one = one_at_a_time();
    let checked = |already: f64, put_percent: u8, expected_percent: u8| {
        let counters = Counters::default();
        counters.others.set(already);
        let others = Rc::clone(&counters.others);
        let mut start = |_, percent: u8| -> Result<Box<dyn Any>, String> {
            let before = others.replace(already + f64::from(percent) / 100.0);
            Ok(Box::new(Competes(Rc::clone(&others), before)))
        };
        checks::competitor(&mut counted(&counters), &Known { put: put_percent, expected: expected_percent }, &mut start)
    };
    assert_eq!(checked(0.0, 30, 30).outcome, Outcome::Passed);
    for (put, expected) in [(30, 50), (30, 10), (0, 30)] {
        fails(&checked(0.0, put, expected));
    }
    // In an emulated machine that loses ticks nothing is told.
    let mut in_software = counted(&Counters::default());
    in_software.host.virtualization.hypervisor = Some(hostmark_host::EMULATED.into());
    let line = checks::competitor(&mut in_software, &Known::of(PERCENT), &mut nobody);
    assert_eq!(line.outcome, Outcome::NotPossible, "{line:?}");
    assert!(line.reason.unwrap().en.contains("in software"));
    let line = checked(0.2, 30, 50);
    assert_eq!(line.outcome, Outcome::NotPossible, "{line:?}");
    assert_eq!(line.reason.unwrap().en, "other programs used 20 % of it as well; rerun later");
}

#[test]
fn other_programs_make_a_check_impossible_and_no_failure() {
    let _one = one_at_a_time();
    let counters = Counters::default();
    counters.others.set(0.4);
    let line = delay(&mut counted(&counters), &Known::of(checks::PUT_DELAY_NS));
    assert_eq!(line.outcome, Outcome::NotPossible, "{line:?}");
    assert!(line.reason.unwrap().en.ends_with(" % of CPU 0 went to other programs"));
}

#[test]
fn a_check_that_stays_disturbed_is_not_possible() {
    let _one = one_at_a_time();
    let mut disturbed = bench(|job, _| {
        samples(2.0 * cost_ns(job.case(), job.round), RoundNoise { shared: Some(0.3), ..RoundNoise::default() })
    });
    for line in [delay(&mut disturbed, &Known::of(checks::PUT_DELAY_NS)), multiply(&mut disturbed, CYCLES)] {
        let why = line.reason.as_ref().unwrap();
        assert_eq!(line.outcome, Outcome::NotPossible, "{line:?}");
        assert_eq!(why.en, "30 % of the time another thread used this core");
        assert!(line.looks > 3 && line.text(Lang::Zh).contains("30% 的时间有其他线程共用此核心"), "{line:?}");
    }
}

#[test]
fn a_check_that_was_disturbed_for_a_while_passes_after_it() {
    let _one = one_at_a_time();
    let rounds = Cell::new(0);
    let mut bench = bench(move |_, events| {
        rounds.set(rounds.get() + 1);
        if rounds.get() <= 16 { samples(25_000.0, RoundNoise::default()) } else { events }
    });
    let line = delay(&mut bench, &Known::of(checks::PUT_DELAY_NS));
    assert_eq!((line.outcome, line.looks, line.reason), (Outcome::Passed, 3, None));
    assert_eq!(line.came_back.unwrap().en, "20.00 µs");
}

#[test]
fn what_this_machine_lacks_is_named_in_both_languages() {
    let _one = one_at_a_time();
    let mut failing = bench(|_, _| vec![Event::Skipped { reason: ReasonCode::TooFewCpus.because("it needs 2 CPUs") }]);
    let line = delay(&mut failing, &Known::of(checks::PUT_DELAY_NS));
    assert_eq!((line.outcome, line.reason.as_ref().unwrap().en.as_str()), (Outcome::NotPossible, "it needs 2 CPUs"));
    let mut without_frequency = bench(|job, _| {
        let mut events = samples(cost_ns(job.case(), job.round), RoundNoise::default());
        events[1] = Event::Done { noise: RoundNoise::default() };
        events
    });
    let line = multiply(&mut without_frequency, CYCLES);
    assert!(line.text(Lang::En).starts_with("not possible  dependent mult"), "{}", line.text(Lang::En));
    assert!(line.text(Lang::Zh).contains("：此处无法得知核心频率（界限：±1%）\n"), "{}", line.text(Lang::Zh));
    let line = l1_cache(&mut right(), None);
    assert_eq!((line.outcome, line.looks, line.came_back), (Outcome::NotPossible, 0, None));
    let mut in_software = right();
    in_software.host.virtualization.hypervisor = Some(hostmark_host::EMULATED.into());
    assert_eq!(multiply(&mut in_software, CYCLES).outcome, Outcome::NotPossible);
}

/// A probe with its value and further quantities.
type MadeUpCase<'a> = (&'a str, f64, &'a [(&'a str, f64)]);

/// A run of the probes that the checks in surroundings look at.
fn run_of(values: &[MadeUpCase]) -> Run {
    static PLAIN: LazyLock<Run> = LazyLock::new(|| {
        let mut run = load_run(&MadeUp::usual(1, 1).run(0, 0)).unwrap();
        run.cases.retain(|case| case.measured().is_some());
        run.cases.truncate(1);
        run
    });
    let mut run = PLAIN.clone();
    let plain = PLAIN.cases[0].clone();
    let case = |&(probe, value, also): &MadeUpCase| {
        let mut case = CaseRecord { probe: probe.into(), ..plain.clone() };
        let hostmark_model::Outcome::Measured(measured) = &mut case.outcome else { unreachable!() };
        let of = |value: f64| Estimate { typical: value, min: value, ..measured.estimate.clone() };
        measured.also = also.iter().map(|&(name, value)| (name.to_owned(), Also { estimate: of(value) })).collect();
        measured.estimate = of(value);
        case
    };
    run.cases = values.iter().map(case).collect();
    run
}

/// A round that a quota stopped in so many periods.
fn stopped(periods: u64) -> RoundRecord {
    RoundRecord {
        round: 0,
        median: 1.0,
        cpus: vec![0],
        iterations: 1,
        settled: true,
        throttled: Some(Throttling { periods, ns: 0.0 }),
        ..RoundRecord::default()
    }
}

/// Run in surroundings that match them.
fn as_put_in(surroundings: Surroundings) -> Run {
    match surroundings {
        Surroundings::Link { mbit } => {
            run_of(&[("net.tcp_bandwidth", f64::from(mbit) * 1e6 / 8.0 * 1448.0 / 1514.0, &[])])
        }
        Surroundings::Relayed { delay, loses } => {
            let trip = 2.0 * delay.as_nanos() as f64 + 150_000.0;
            let resent = [("retransmits_per_gb", 1e9 / 1448.0 / f64::from(loses.max(1)))];
            run_of(&[("net.round_trip", trip, &[]), ("net.tcp_bandwidth", 1e6, &resent)])
        }
        Surroundings::Quota { percent } => {
            let mut run = run_of(&[("clock.loop", 1.0, &[])]);
            run.host.limits.cpu_quota = Some(f64::from(percent) / 100.0);
            let hostmark_model::Outcome::Measured(measured) = &mut run.cases[0].outcome else { unreachable!() };
            measured.rounds = vec![stopped(1), stopped(2), stopped(0)];
            run
        }
        Surroundings::Disk { reads_a_second } => {
            run_of(&[("disk.direct_io", 4096.0 * 1e3, &[("sustained", f64::from(reads_a_second))])])
        }
    }
}

#[test]
fn bounds_of_surroundings_that_are_broken_the_other_way_fail_too() {
    let _one = one_at_a_time();
    let mut around = |surroundings, _: &[&str]| Ok(as_put_in(surroundings));
    let relayed = |delay_ms: u64, loses: u32| (Duration::from_millis(delay_ms), loses);
    for put in [relayed(3, 100), relayed(1, 100), relayed(2, 30)] {
        fails(&limits::relayed(&mut right(), &Known { put, expected: relayed(2, 100) }, &mut around));
    }
    // A quota that stopped a few rounds.
    let mut idle = |_, _: &[&str]| {
        let mut run = as_put_in(Surroundings::Quota { percent: 30 });
        let hostmark_model::Outcome::Measured(measured) = &mut run.cases[0].outcome else { unreachable!() };
        measured.rounds = vec![stopped(0), stopped(1), stopped(0)];
        Ok(run)
    };
    fails(&limits::quota(&mut right(), &Known::of(30), &mut idle));
}

#[test]
fn surroundings_that_cannot_be_had_or_that_others_disturb_make_a_check_impossible() {
    let _one = one_at_a_time();
    let line = limits::disk(&mut right(), &Known::of(1000), &mut nowhere);
    assert_eq!((line.outcome, line.reason.unwrap().en.as_str()), (Outcome::NotPossible, "there is no tc"));
    let mut contended = |_, _: &[&str]| {
        let mut run = as_put_in(Surroundings::Link { mbit: 60 });
        let hostmark_model::Outcome::Measured(measured) = &mut run.cases[0].outcome else { unreachable!() };
        measured.flags.push(Flag::new(FlagKind::Contended, ""));
        Ok(run)
    };
    let line = limits::link(&mut right(), &Known::of(83), &mut contended);
    assert_eq!(line.outcome, Outcome::NotPossible, "{line:?}");
    // Rounds that were slowed down beside others that were not.
    assert!(limits::is_within(930.0, Some((750.0, 1003.0)), 1000.0, 0.05).is_err());
    assert_eq!(limits::is_within(930.0, Some((920.0, 940.0)), 1000.0, 0.05), Ok(false));
    let mut empty = |_, _: &[&str]| Ok(run_of(&[]));
    let line = limits::link(&mut right(), &Known::of(83), &mut empty);
    assert_eq!(line.reason.unwrap().en, "the run has no value");
}
