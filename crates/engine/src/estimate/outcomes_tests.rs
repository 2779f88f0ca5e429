//! Outcomes made again are those that were made first, by the rules of today, as far as the record carries them.

use hostmark_model::{
    ClockFacts, DisturbanceFlags, Estimate, Event, FlagKind, Histogram, Job, Others, Profile, RoundNoise, SCHEMA,
    Settings, Throttling, Unit,
};

use super::*;
use crate::fixture::{PLAIN, host, request, resumed};
use crate::mock::{Script, Seen, done, hello, line, perform, samples};
use crate::plan::{Plan, plan};
use crate::probe::{Axis, Group, Limit, Points, Probe, Quantity, Source, ValueSource};
use crate::record::journal::{Journal, Origin, PlanLine};

const LOSS: Quantity = Quantity { name: "loss", unit: Unit::Ratio, source: ValueSource::Probe, ..Quantity::MEAN };
const SIZE: &[Axis] = &[Axis::size("size", "4096", Points::quick(&["4096", "8192"]))];

static TIME: Probe = Probe { also: &[Quantity::CORE_CYCLES], axes: SIZE, limit: Limit::Rising("size"), ..PLAIN };
static RATE: Probe = Probe { unit: Unit::BytesPerSecond, also: &[Quantity::BYTES_PER_CYCLE, LOSS], ..PLAIN };
static TAILS: Probe = Probe { also: &[Quantity::P50, Quantity::P90, Quantity::MEAN], ..PLAIN };
static VOTE: Probe = Probe { unit: Unit::Bytes, limit: Limit::PowerOfTwo, ..PLAIN };
static CRASH: Probe = Probe { ..PLAIN };
static ABSENT: Probe = Probe { ..PLAIN };
static ABOVE: Probe =
    Probe { measure: Measure::Derive { from: &[Source::whole("memory.time")], derive: half }, ..PLAIN };

/// Half of what was measured: as derived probes do, with the rounds of their source.
fn half(records: &[CaseRecord], _: &hostmark_model::HostFacts) -> Vec<CaseRecord> {
    let mut records = records.to_vec();
    for record in &mut records {
        record.id = record.id.replace("memory.time", "memory.above");
        record.probe = "memory.above".into();
        if let Outcome::Measured(measured) = &mut record.outcome {
            measured.estimate.typical /= 2.0;
        }
    }
    records
}

static KINDS: Catalogue = &[&Group {
    name: "memory",
    shares_worker: false,
    probes: &[
        ("above", &ABOVE),
        ("time", &TIME),
        ("rate", &RATE),
        ("tails", &TAILS),
        ("vote", &VOTE),
        ("tie", &VOTE),
        ("crash", &CRASH),
        ("absent", &ABSENT),
    ],
}];

fn planned() -> Plan {
    plan(KINDS, &host(), request(&[], Profile::Quick)).unwrap()
}

/// Returns the answers of a worker of each kind; no two rounds are alike, and hardly a number is round.
fn script(job: &Job) -> Script {
    if job.cases.is_empty() {
        return vec![hello(), line(&done(0))];
    }
    let turn = f64::from(job.round) + 1.0;
    let noise = RoundNoise {
        core_hz: Some(2.1e9 + turn),
        core_khz: vec![[3, 2_100_000], [1, 0]],
        looks: vec![[0, 3000], [1, 3100], [2, 3050], [1, 2900]],
        shared: Some(0.25),
        resolution_ns: 17.3,
        clock_cost_ns: 9.1,
        settled: job.round != 1,
        iterations: 7,
        run_delay_ns: 0.1 * turn,
        waited: Some(0.01),
        steal_ns: Some(1e7),
        throttled: Some(Throttling { periods: 1, ns: 0.3 * turn }),
        involuntary_switches: 3,
        faults: job.round.into(),
        time: None,
    };
    let note = |value: &str| Event::Note { key: "way".into(), value: value.into() };
    let also = |name: &str, values: &[f64]| Event::Also { name: name.into(), values: values.to_vec() };
    let ns = vec![100.0 / 3.0 * turn, 70.1, 90.7 + turn, 1000.0 / 7.0];
    let disturbance_flags = vec![0, DisturbanceFlags::DELAYED, 0, DisturbanceFlags::SWITCHED];
    let timed = |iterations: &[u64], amount| Event::Samples {
        ns: ns.clone(),
        iterations: iterations.to_vec(),
        amount,
        disturbance_flags: disturbance_flags.clone(),
    };
    let is_second = job.round == 1;
    let mut events = match job.case().split('@').next().unwrap() {
        "memory.time" => vec![note("one"), note(if is_second { "two" } else { "one" }), timed(&[3; 4], 0)],
        "memory.rate" => {
            vec![timed(&[3, 7, 3, 3], 64), also("loss", if is_second { &[] } else { &[0.1, 0.7] })]
        }
        "memory.tails" => {
            let values = vec![10, 20 + u64::from(job.round), 90];
            let histogram = Event::Histogram(Histogram { values, counts: vec![50, 60, 30] });
            vec![timed(&[1; 4], 0), histogram, also("mean", &[turn / 3.0])]
        }
        "memory.vote" if job.round == 2 => {
            return vec![hello(), line(&Event::Skipped { reason: ReasonCode::NotApplicable.because("no step") })];
        }
        vote @ ("memory.vote" | "memory.tie") => {
            let bytes = if vote == "memory.tie" { 32.0 * turn } else { 64.0 };
            vec![Event::Samples {
                ns: vec![bytes, bytes, 1.0],
                iterations: vec![1; 3],
                amount: 0,
                disturbance_flags: vec![0; 3],
            }]
        }
        "memory.crash" if is_second => {
            return vec![hello(), line(&Event::Failed { reason: ReasonCode::CheckFailed.because("broken") })];
        }
        "memory.crash" => vec![samples(&[5.0])],
        _ => return vec![hello(), line(&Event::Skipped { reason: ReasonCode::MissingFile.because("no device") })],
    };
    events.push(Event::Done { noise });
    std::iter::once(hello()).chain(events.iter().map(line)).collect()
}

/// The run before its first round.
fn begun(plan: &Plan) -> Run {
    Run {
        schema: SCHEMA.into(),
        settings: Settings {
            profile: plan.request.profile,
            seed: plan.request.seed,
            rounds: plan.profile_limits().rounds,
            limit_s: 60.0,
            clock: ClockFacts { hz: 1e9, ..ClockFacts::default() },
            cpu: plan.cpu,
            ..Settings::default()
        },
        host: host(),
        probes: plan.probes(),
        ..Run::default()
    }
}

fn filed(outcomes: Outcomes) -> Run {
    let run = Run { cases: outcomes.cases, lost_rounds: outcomes.lost_rounds, ..begun(&planned()) };
    hostmark_model::load_run(&serde_json::to_string_pretty(&run).unwrap()).unwrap()
}

fn measured() -> Seen {
    perform(&planned(), &host(), None, script)
}

/// The file of a run whose rounds were disturbed by others as well.
fn run() -> Run {
    let mut record = measured().results.record;
    let rounds = record.cases.iter_mut().flat_map(|case| &mut case.rounds);
    rounds.for_each(|round| round.others = Some(Others { share: 0.3, error: 0.01 }));
    filed(super::of(&record))
}

fn of<'a>(run: &'a mut Run, id: &str) -> &'a mut CaseRecord {
    run.cases.iter_mut().find(|case| case.id == id).unwrap()
}

fn measured_of<'a>(run: &'a mut Run, id: &str) -> &'a mut Measured {
    match &mut of(run, id).outcome {
        Outcome::Measured(measured) => measured,
        other => panic!("{id}: {other:?}"),
    }
}

fn json(cases: &[CaseRecord]) -> String {
    serde_json::to_string_pretty(cases).unwrap()
}

const TIMED: &str = "memory.time@size=4096";

#[test]
fn of_a_whole_file_every_case_comes_out_as_it_is_to_the_last_digit() {
    let mut run = run();
    let (made, gaps) = of_run(KINDS, &run);
    assert_eq!(gaps, []);
    assert_eq!(json(&made.cases), json(&run.cases));
    assert_eq!(made.lost_rounds, run.lost_rounds);
    // What is compared has a value of each kind, and all that may go wrong.
    let kinds: Vec<FlagKind> = measured_of(&mut run, TIMED).flags.iter().map(|flag| flag.kind).collect();
    assert!(kinds.contains(&FlagKind::Contended) && kinds.contains(&FlagKind::Unsettled), "{kinds:?}");
    assert_eq!(measured_of(&mut run, TIMED).notes["way"], "one; two");
    assert!(measured_of(&mut run, "memory.above@size=4096").rounds.iter().all(|round| round.raw.is_none()));
    let agreement = measured_of(&mut run, "memory.vote").estimate.agreement.unwrap();
    assert!(agreement > 0.5 && agreement < 1.0);
    for (id, also) in [("memory.rate", "loss"), ("memory.tails", "p50"), ("memory.tails", "mean"), (TIMED, "cycles")] {
        assert!(measured_of(&mut run, id).also.contains_key(also), "{id} {also}");
    }
    assert_eq!(
        of(&mut run, "memory.crash").outcome,
        Outcome::Failed { reason: ReasonCode::CheckFailed.because("broken") }
    );
    let lost = |case: &str| run.lost_rounds.iter().filter(|round| round.case == case).count();
    assert_eq!((lost("memory.vote"), lost("memory.crash"), lost("memory.absent"), lost(TIMED)), (1, 2, 1, 0));
    assert!(lost("memory.tie") >= 3, "rounds that came to no majority are there for another rule");
}

#[test]
fn a_run_that_never_had_its_core_alone_says_so_and_so_does_its_file_again() {
    let mut host = host();
    (host.cpu.vendor, host.cpu.model) = (Some("GenuineIntel".into()), Some("Intel Xeon Processor".into()));
    host.cpu.microarchitecture = Some("Emerald Rapids".into());
    let plan = plan(KINDS, &host, request(&[], Profile::Quick)).unwrap();
    let seen = perform(&plan, &host, None, script);
    assert_eq!(seen.results.neighbours.unwrap().core_shared, Some(1.0));
    let mut run = Run { host, ..filed(seen.outcomes) };
    for round in &measured_of(&mut run, TIMED).rounds {
        assert!(round.disturbance_flags.iter().all(|flags| flags & DisturbanceFlags::SHARED != 0), "{round:?}");
        assert_eq!((round.shared, round.raw.as_ref().unwrap().looks.len()), (Some(1.0), 4));
    }
    // Neither a mark nor a share is believed that its looks do not bear out.
    for round in &mut measured_of(&mut run, TIMED).rounds {
        (round.shared, round.disturbance_flags) = (Some(0.0), vec![0, DisturbanceFlags::DELAYED, 0, 0]);
    }
    let (made, _) = of_run(KINDS, &run);
    let again = made.cases.iter().find(|case| case.id == TIMED).unwrap().measured().unwrap();
    assert_eq!((made.core_shared, again.noise.shared), (Some(1.0), Some(1.0)));
    assert!(
        again
            .rounds
            .iter()
            .flat_map(|round| &round.disturbance_flags)
            .all(|flags| flags & DisturbanceFlags::SHARED != 0)
    );
}

#[test]
fn a_vote_that_found_no_time_lacks_nothing() {
    let mut run = run();
    of(&mut run, "memory.tie").outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    run.lost_rounds.retain(|round| round.case != "memory.tie");
    let (made, gaps) = of_run(KINDS, &run);
    assert_eq!((json(&made.cases), gaps), (json(&run.cases), Vec::new()));
}

#[test]
fn nothing_of_a_whole_file_is_taken_from_its_estimates() {
    let run = run();
    let mut spoilt = run.clone();
    for case in &mut spoilt.cases {
        if let Outcome::Measured(measured) = &mut case.outcome {
            measured.estimate = crate::estimate::estimate(&[vec![7.0]], 0.0, hostmark_model::Better::Lower);
            measured.also.clear();
            measured.flags.clear();
            measured.noise = Default::default();
            measured.rounds.iter_mut().for_each(|round| round.median = 0.0);
        }
    }
    assert_eq!(json(&of_run(KINDS, &spoilt).0.cases), json(&run.cases));
}

#[test]
fn a_newer_rule_shows_in_what_was_recorded_before_it() {
    static BOUND: Probe = Probe { limit: Limit::KernelEntry, also: &[Quantity::P50, Quantity::CORE_CYCLES], ..TAILS };
    static LEAVES_OUT: Catalogue =
        &[&Group { name: "memory", shares_worker: false, probes: &[("tails", &BOUND), ("crash", &CRASH)] }];
    let run = run();
    let (made, _) = of_run(LEAVES_OUT, &run);
    let case = made.cases.iter().find(|case| case.id == "memory.tails").unwrap().measured().unwrap();
    assert_eq!(case.also.keys().collect::<Vec<_>>(), ["cycles", "p50"]);
    assert!(case.also["cycles"].estimate.ci_low.is_some());
    // 90 ns are 190 cycles, and enough; a tenth of that is not.
    let mut fast = run.clone();
    let tails = measured_of(&mut fast, "memory.tails");
    tails.samples.iter_mut().flatten().for_each(|value| *value /= 20.0);
    let is_flagged = |run: &Run| {
        let (made, _) = of_run(LEAVES_OUT, run);
        let case = made.cases.iter().find(|case| case.id == "memory.tails").unwrap().measured().unwrap();
        case.flags.iter().any(|flag| flag.kind == FlagKind::Implausible)
    };
    assert_eq!((is_flagged(&run), is_flagged(&fast)), (false, true));
}

#[test]
fn the_interval_is_floored_by_the_recorded_resolution() {
    let mut coarse = run();
    let before = measured_of(&mut coarse, TIMED).estimate.clone();
    let rounds = &mut measured_of(&mut coarse, TIMED).rounds;
    rounds.iter_mut().for_each(|round| round.raw.as_mut().unwrap().resolution_ns = 80.0);
    let (made, _) = of_run(KINDS, &coarse);
    let after = &made.cases.iter().find(|case| case.id == TIMED).unwrap().measured().unwrap().estimate;
    assert_eq!(after.typical, before.typical);
    let width = |estimate: &Estimate| estimate.ci_high.unwrap() - estimate.ci_low.unwrap();
    assert!(width(after) > 1.2 * width(&before), "{after:?} {before:?}");
}

fn by_lack(gaps: &[Gap]) -> Vec<(&str, Vec<&str>)> {
    assert!(gaps.iter().all(|gap| !gap.cases.is_empty() && !gap.what.zh.is_empty()));
    gaps.iter().map(|gap| (gap.what.en.as_str(), gap.cases.iter().map(String::as_str).collect())).collect()
}

#[test]
fn what_is_another_probe_by_now_stands_as_it_was_and_so_does_what_is_computed_from_it() {
    static NEW_TIME: Probe = Probe { revision: 2, ..TIME };
    static LATER: Catalogue = &[&Group {
        name: "memory",
        shares_worker: false,
        probes: &[("above", &ABOVE), ("time", &NEW_TIME), ("rate", &RATE)],
    }];
    let run = run();
    let (made, gaps) = of_run(LATER, &run);
    assert_eq!(json(&made.cases), json(&run.cases));
    assert_eq!(made.lost_rounds.len(), run.lost_rounds.len());
    let [(text, cases)] = &by_lack(&gaps)[..] else { panic!("{gaps:?}") };
    assert_eq!(*text, Lack::Probe.text().en);
    assert!(cases.contains(&TIMED) && cases.contains(&"memory.above@size=4096") && !cases.contains(&"memory.rate"));
    let imported = Run { imported: Some(Default::default()), ..run.clone() };
    let (made, gaps) = of_run(KINDS, &imported);
    assert_eq!(json(&made.cases), json(&run.cases));
    let by_lack = by_lack(&gaps);
    assert_eq!((by_lack.len(), by_lack[0].0, by_lack[0].1.len()), (1, &*Lack::Imported.text().en, run.cases.len()));
}

#[test]
fn a_file_that_contradicts_itself_is_no_panic_and_stands_as_it_was() {
    let whole = run();
    let spoil: [fn(&mut Measured); 6] = [
        |it| it.samples.truncate(1),
        |it| it.samples[0].clear(),
        |it| it.rounds[0].disturbance_flags.push(0),
        |it| it.rounds[1].raw = None,
        |it| (it.samples, it.rounds) = (Vec::new(), Vec::new()),
        |it| it.rounds.truncate(1),
    ];
    for spoil in spoil {
        let mut run = whole.clone();
        spoil(measured_of(&mut run, "memory.tails"));
        let (made, gaps) = of_run(KINDS, &run);
        assert_eq!(json(&made.cases), json(&run.cases));
        assert_eq!(by_lack(&gaps), [(Lack::Fit.text().en.as_str(), vec!["memory.tails"])]);
    }
    // Counts that are of other values: there are no percentiles.
    let mut run = whole.clone();
    measured_of(&mut run, "memory.tails").histogram.as_mut().unwrap().values.push(1 << 60);
    let (made, _) = of_run(KINDS, &run);
    let tails = made.cases.iter().find(|case| case.id == "memory.tails").unwrap().measured().unwrap();
    assert!(!tails.also.contains_key("p50") && tails.also.contains_key("mean"));
    // Rounds of cases that are not there, and a failure without one.
    let mut run = whole.clone();
    run.lost_rounds
        .iter_mut()
        .filter(|round| round.case == "memory.crash")
        .for_each(|round| round.case = "no.case".into());
    let (made, gaps) = of_run(KINDS, &run);
    assert_eq!(json(&made.cases), json(&run.cases));
    assert_eq!((by_lack(&gaps)[0].1.clone(), made.lost_rounds.len()), (vec!["memory.crash"], run.lost_rounds.len()));
}

#[test]
fn of_a_journal_come_the_outcomes_of_its_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.partial.jsonl");
    let plan = planned();
    let mut journal = Journal::create(&path, &begun(&plan), &PlanLine::of(&plan), &Origin::default()).unwrap();
    let seen = perform(&plan, &host(), Some(&mut journal), script);
    drop(journal);
    let (_, header, past) = resumed::<Run>(&path).unwrap();
    let (made, gaps) = of_journal(KINDS, &header.run, &header.cases, past.clone(), |_| None);
    assert_eq!(made, seen.outcomes);
    assert_eq!(by_lack(&gaps).len(), 1);
    // Cut short after its first rounds, and read by a hostmark that lacks a probe.
    static LESS: Catalogue =
        &[&Group { name: "memory", shares_worker: false, probes: &[("time", &TIME), ("absent", &ABSENT)] }];
    let skip = |id: &str| (id == "memory.absent").then(|| ReasonCode::Permission.because("needs root"));
    let (made, gaps) = of_journal(LESS, &header.run, &header.cases, Vec::new(), skip);
    assert_eq!(made.cases.len(), header.cases.len());
    let reason = |id: &str| match &made.cases.iter().find(|case| case.id == id).unwrap().outcome {
        Outcome::Skipped { reason } => reason.clone(),
        other => panic!("{other:?}"),
    };
    let wanted = [ReasonCode::Interrupted.because("interrupted"), ReasonCode::Permission.because("needs root")];
    assert_eq!([reason(TIMED), reason("memory.absent")], wanted);
    assert!(reason("memory.rate").starts_with("this hostmark has no probe"));
    assert_eq!(by_lack(&gaps)[0].1, ["memory.rate", "memory.tails", "memory.vote", "memory.tie", "memory.crash"]);
}
