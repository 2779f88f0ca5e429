//! What a gate lets pass: every case that a side names is the same or faster, or there is a reason that is told.

use hostmark_analysis::compare::{Evidence, LOOKS, On};
use hostmark_present::export::comparison::{FORMATS, format_named};

use super::{about, compared, pool, with};
use crate::compare::pages::{Random, rounds, run, tailed};
use crate::prelude::*;

const ID: &str = "ipc.x@n=0";

fn failed() -> CaseRecord {
    synthetic::case(ID, Outcome::Failed { reason: ReasonCode::CheckFailed.because("it broke") })
}

fn skipped(reason: &str) -> CaseRecord {
    synthetic::case(ID, Outcome::Skipped { reason: ReasonCode::NotApplicable.because(reason) })
}

/// A case that is the same on both sides, and what each side has beside it.
fn beside(base: Option<CaseRecord>, new: Option<CaseRecord>) -> Comparison {
    let side = |name: &str, other: Option<CaseRecord>| {
        let mut run = run(name, other.into_iter().collect());
        run.cases.push(rounds("ipc.x@n=1", &[100.0; 5]));
        run
    };
    let known: Vec<Run> = (0..4).map(|index| side(&format!("h{index}"), None)).collect();
    let mut history = History::default();
    known.iter().for_each(|run| history.add(run));
    let (base, new) = ([side("a", base)], [side("b", new)]);
    Comparison::of(pool("before", &base), &[pool("after", &new)], &history, SAME)
}

#[test]
fn what_a_side_lacks_is_an_open_question_and_is_counted_and_named() {
    let good = || Some(about(ID, 100.0));
    let imported = |value: f64| Some(rounds(ID, &[value]));
    for (base, new, kind, on, expected) in [
        (good(), Some(failed()), ReasonKind::Failed, On::New, "1 failed on the new side"),
        (Some(failed()), good(), ReasonKind::Failed, On::Base, "1 failed on the base"),
        (Some(failed()), Some(failed()), ReasonKind::Failed, On::Both, "1 failed on both sides"),
        (good(), Some(skipped("no time left")), ReasonKind::Skipped, On::New, "1 skipped on the new side"),
        (Some(skipped("no time left")), good(), ReasonKind::Skipped, On::Base, "1 skipped on the base"),
        (good(), None, ReasonKind::OneSide, On::New, "1 missing on the new side"),
        (None, good(), ReasonKind::OneSide, On::Base, "1 missing on the base"),
        (imported(100.0), imported(150.0), ReasonKind::TooFewRounds, On::Both, "1 too few rounds on both sides"),
    ] {
        let comparison = beside(base, new);
        assert!(!comparison.has_regression(0.0) && !comparison.has_no_verdict(), "{expected}");
        let open = comparison.open(0.0);
        let [one] = &open[..] else { panic!("{expected}: {open:?}") };
        assert_eq!((one.case.id.as_str(), one.side), (ID, "after"));
        assert_eq!(one.why(Lang::En), one.case.reason.as_ref().unwrap().text.en);
        let without = comparison.new[0].without.clone();
        assert_eq!(without.iter().map(|one| (one.kind, one.on, one.cases)).collect::<Vec<_>>(), [(kind, on, 1)]);
        for format in ["table", "markdown", "html"] {
            let options = RenderOptions { width: 200, ..RenderOptions::default() };
            let text = (format_named(format).unwrap().render)(&comparison, &options);
            assert!(text.contains(&format!("1 not comparable ({expected})")), "{format}: {text}");
        }
    }
}

#[test]
fn what_both_sides_lack_for_one_reason_is_reported_and_is_no_question() {
    let reason = |free: u32| Some(skipped(&format!("it takes 512 MiB, and {free} MiB are free")));
    for (base, new) in [(skipped("root"), skipped("root")), (reason(100).unwrap(), reason(93).unwrap())] {
        let comparison = beside(Some(base), Some(new));
        assert!(comparison.open(0.0).is_empty());
        assert_eq!(comparison.new[0].without.len(), 1);
    }
    assert_eq!(beside(Some(skipped("no time left")), Some(skipped("root"))).open(0.0).len(), 1);
    // Where nothing else is there it is no answer either.
    let nothing = compared(&[run("a", vec![skipped("root")])], &[run("b", vec![skipped("root")])]);
    assert!(nothing.open(0.0).is_empty() && nothing.has_no_verdict());
    // What is computed from other cases is told by them, where it is so on both sides.
    let derived = || Some(with(about(ID, 100.0), |measured| measured.rounds.clear()));
    assert!(beside(derived(), derived()).open(0.0).is_empty());
    assert_eq!(beside(derived(), Some(about(ID, 100.0))).open(0.0).len(), 1);
}

#[test]
fn a_case_that_failed_in_some_runs_is_no_case_that_is_the_same() {
    let side = |name: &str, broken: Option<usize>| -> Vec<Run> {
        let case = |index| if broken == Some(index) { failed() } else { rounds(ID, &[100.0; 5]) };
        (0..5).map(|index| run(&format!("{name}{index}"), vec![case(index)])).collect()
    };
    let of = |base, new| compared(&side("a", base), &side("b", new));
    assert!(of(None, None).open(0.0).is_empty());
    for comparison in [of(None, Some(2)), of(Some(2), None)] {
        assert_eq!(comparison.new[0].counts.same, 1);
        assert_eq!(comparison.open(0.0)[0].why(Lang::En), "failed in 1 of its runs");
        assert_eq!(comparison.new[0].counts.partly_failed, 1);
    }
}

#[test]
fn what_changed_by_less_than_the_threshold_must_be_shown_to() {
    let side = |name: &str, factor: f64, apart: f64| -> Vec<Run> {
        let value = |n: usize| 100.0 * factor * (1.0 + apart * (n % 3) as f64);
        (0..8).map(|n| run(&format!("{name}{n}"), vec![about(ID, value(n))])).collect()
    };
    let of = |factor: f64, apart: f64| {
        let (base, new) = (side("a", 1.0, apart), side("b", factor, apart));
        Comparison::of(pool("a", &base), &[pool("b", &new)], &History::default(), 0.05)
    };
    let within = of(1.02, 0.002);
    assert_eq!(within.new[0].cases[0].verdict, Verdict::Slower);
    assert!(within.has_regression(0.0) && !within.has_regression(0.05) && within.open(0.05).is_empty());
    let near = of(1.045, 0.01);
    assert_eq!(near.new[0].cases[0].verdict, Verdict::Slower);
    assert!(!near.has_regression(0.05) && near.open(0.05).len() == 1);
    // Another number of what has no good direction is neither the same nor faster.
    let other = compared(&[run("a", vec![about("fact.x@n=0", 100.0)])], &[run("b", vec![about("fact.x@n=0", 200.0)])]);
    assert_eq!((other.new[0].counts.changed, other.open(0.0).len()), (1, 1));
}

/// A case with a tail, whose rounds have these p99, ns.
fn tail(p99: &[f64]) -> CaseRecord {
    with(rounds(ID, &[99.0, 100.0, 101.0, 100.0, 100.0]), |measured| {
        let estimate = |values: &[f64]| rounds(ID, values).measured().unwrap().estimate.clone();
        let of_all = estimate(p99);
        let tail = of_all.typical as u64;
        measured.histogram = Some(Histogram { values: vec![90, 100, tail], counts: vec![500, 4400, 100] });
        measured.also.insert("p99".into(), Also { estimate: of_all });
        measured.also.insert("p50".into(), Also { estimate: estimate(&[100.0; 5]) });
    })
}

#[test]
fn a_tail_that_grew_on_a_disturbed_side_or_once_is_a_remark() {
    let judged = |base: CaseRecord, new: CaseRecord| {
        let comparison = compared(&[run("a", vec![base])], &[run("b", vec![new])]);
        let case = comparison.new[0].cases[0].clone();
        let evidence = case.effect.as_ref().unwrap().others.iter().find(|one| one.name == "p99").unwrap().evidence;
        (evidence, comparison)
    };
    let (short, long) = ([298.0, 300.0, 300.0, 301.0, 302.0], [880.0, 900.0, 900.0, 910.0, 920.0]);
    let (evidence, comparison) = judged(tail(&short), tail(&long));
    assert_eq!(evidence, Evidence::Repeats);
    assert!(comparison.has_regression(0.0) && comparison.new[0].counts.changed_shape == 1);
    assert_eq!(comparison.new[0].cases[0].moved().unwrap().name, "p99");
    assert!(!judged(tail(&short), tail(&[308.0, 310.0, 310.0, 311.0, 312.0])).1.has_regression(0.0));
    // Two rounds of five had it, and the median of the others is far off all the same.
    let disturb = |what: fn(&mut Measured)| judged(tail(&short), with(tail(&long), what));
    let flagged = |measured: &mut Measured| {
        measured.flags.push(Flag::new(FlagKind::Contended, "in 2 of 5 rounds others used 45 %"));
    };
    let disturbances: [fn(&mut Measured); 5] = [
        flagged,
        |measured| measured.noise.others_share = Some(0.45),
        |measured| measured.noise.disturbed = measured.taken() / 10,
        |measured| measured.noise.steal_ns = Some(2e7),
        |measured| measured.noise.shared = Some(0.4),
    ];
    for what in disturbances {
        let (evidence, comparison) = disturb(what);
        assert_eq!((evidence, comparison.has_regression(0.0)), (Evidence::Disturbed, false));
        let case = &comparison.new[0].cases[0];
        assert!(matches!(case.verdict, Verdict::Same | Verdict::Inconclusive), "{case:?}");
        assert!(case.remarks.iter().any(|one| one.en == "p99 +200 %, and a side was disturbed: no verdict on it"));
        assert!(judged(with(tail(&short), what), tail(&long)).0 == Evidence::Disturbed, "the base as well");
    }
    let (evidence, comparison) = judged(tail(&short), tail(&[300.0, 301.0, 900.0, 910.0, 920.0]));
    assert_eq!((evidence, comparison.has_regression(0.0)), (Evidence::Once, false));
    assert!(comparison.new[0].cases[0].remarks.iter().any(|one| one.en.contains("not each time")));
}

/// A case of the core as one run has it: so many cycles at a clock of so many GHz, beside a neighbour in a share of the looks.
fn of_core(id: &str, cycles: f64, ghz: f64, shared: f64) -> CaseRecord {
    let ns = cycles / ghz;
    with(rounds(id, &[1.0, 1.001, 0.999, 1.002, 1.0].map(|one| one * ns)), |measured| {
        let ends = [ns * 0.99, ns * 0.995];
        let [low, high] = ends.map(Some);
        let quiet = Quiet { value: ns * 0.99, low, high, range: Some(ends), at_hz: Some(ghz * 1e9) };
        measured.estimate.quiet = Some(quiet);
        measured.estimate.leading = Leading::Quiet;
        measured.noise.shared = Some(shared);
        measured.rounds.iter_mut().zip([0.97, 1.0, 1.03, 0.98, 1.02]).for_each(|(round, by)| {
            round.core_hz = Some(ghz * 1e9 * by);
        });
    })
}

fn cores(name: &str, cycles: f64, ghz: f64, shared: f64) -> Run {
    run(name, (0..20).map(|n| of_core(&format!("ipc.x@n={n}"), cycles + n as f64, ghz, shared)).collect())
}

#[test]
fn beside_a_neighbour_a_change_must_exceed_what_that_costs() {
    let judged = |base: f64, new: f64, cycles: f64| {
        let [base, new] = [("a", 400.0, base), ("b", cycles, new)]
            .map(|(name, cycles, shared)| run(name, vec![of_core(ID, cycles, 2.5, shared)]));
        let comparison = compared(&[base], &[new]);
        (comparison.new[0].cases[0].verdict, comparison)
    };
    assert_eq!(judged(0.0, 0.1, 460.0).0, Verdict::Slower);
    // Who is better had less of the core, and not more.
    assert_eq!(judged(0.6, 0.0, 460.0).0, Verdict::Slower);
    assert_eq!(judged(0.0, 0.6, 350.0).0, Verdict::Faster);
    for (base, new, cycles) in [(0.0, 0.6, 460.0), (0.6, 0.6, 460.0), (0.6, 0.0, 350.0)] {
        let (verdict, comparison) = judged(base, new, cycles);
        assert_eq!((verdict, comparison.has_regression(0.0)), (Verdict::Inconclusive, false), "{base} {new} {cycles}");
        let case = &comparison.new[0].cases[0];
        assert!(case.remarks.iter().any(|one| one.en.starts_with("another thread ran on its core")));
        // No change is inside, and what would have been seen is more than a neighbour costs.
        let test = case.effect.as_ref().unwrap().test.clone().unwrap();
        assert!(test.low < 1.0 && test.high > 1.0 && test.visible > 0.22 && test.visible < 0.5, "{test:?}");
    }
    // Beside a side that tells, one that does not may have had a neighbour too. Where none tells, nothing is known of any.
    let untold = |mut run: Run| {
        run.cases.iter_mut().for_each(|case| case.measured_mut().unwrap().noise.shared = None);
        run
    };
    let [base, new] = [("a", 400.0), ("b", 460.0)].map(|(name, cycles)| run(name, vec![of_core(ID, cycles, 2.5, 0.0)]));
    let verdict = |base: Run, new: Run| compared(&[base], &[new]).new[0].cases[0].verdict;
    assert_ne!(verdict(base.clone(), untold(new.clone())), Verdict::Slower);
    assert_eq!(verdict(untold(base), untold(new)), Verdict::Slower);
    // Undisturbed values are of the rounds that were alone, where one was.
    let once_alone = |rounds: [f64; 5]| {
        let run = |name: &str, cycles: f64| {
            run(
                name,
                vec![with(of_core(ID, cycles, 2.5, 0.6), |measured| {
                    measured.rounds.iter_mut().zip(rounds).for_each(|(round, shared)| round.shared = Some(shared));
                })],
            )
        };
        verdict(run("a", 400.0), run("b", 460.0))
    };
    assert_eq!(once_alone([1.0, 0.0, 1.0, 1.0, 0.0]), Verdict::Slower);
    assert_ne!(once_alone([0.6; 5]), Verdict::Slower);
    // Whatever a neighbour costs, it is not twice as much.
    assert_eq!(judged(0.0, 0.6, 800.0).0, Verdict::Slower);
    let all = compared(&[cores("a", 400.0, 2.5, 0.6)], &[cores("b", 800.0, 2.5, 0.9)]);
    assert!(all.new[0].cases.iter().all(|case| case.verdict == Verdict::Slower) && all.has_regression(0.5));
    // That all of them are is no sign that errors are too small, however differently well each is known.
    let unlike = |name: &str, times: f64| {
        let mut all = cores(name, 400.0 * times, 2.5, 0.6);
        for (n, case) in all.cases.iter_mut().enumerate() {
            let Some(measured) = case.measured_mut() else { continue };
            let quiet = measured.estimate.quiet.as_mut().unwrap();
            let high = quiet.value * (1.0 + 0.01 * (n + 1) as f64);
            (quiet.high, quiet.range) = (Some(high), Some([quiet.value, high]));
        }
        all
    };
    let all = compared(&[unlike("a", 1.0)], &[unlike("b", 2.0)]);
    assert_eq!(all.new[0].counts.slower, 20);
    // Of a group as of a case.
    let group = |cycles: f64| {
        compared(&[cores("a", 400.0, 2.5, 0.0)], &[cores("b", cycles, 2.5, 0.9)]).new[0].groups[0].clone()
    };
    assert!(group(800.0).verdict == Verdict::Slower && group(440.0).verdict == Verdict::Inconclusive);
}

#[test]
fn a_clock_that_wanders_makes_no_case_slower() {
    let at = |name: &str, cycles: f64, ghz: f64| cores(name, cycles, ghz, 0.0);
    let wandered = compared(&[at("a", 400.0, 2.6)], &[at("b", 400.0, 2.5)]);
    assert!(!wandered.has_regression(0.0));
    let against = &wandered.new[0];
    let case = &against.cases[0];
    assert_eq!((case.unit, case.verdict), (Some(Unit::CoreCycles), Verdict::Same));
    assert!(
        (case.base.as_ref().unwrap().value - 396.0).abs() < 1e-6
            && (case.effect.as_ref().unwrap().ratio - 1.0).abs() < 1e-9
    );
    let clock = against.clock.as_ref().unwrap();
    assert_eq!((clock.unit, clock.verdict), (Some(Unit::Hertz), Verdict::Inconclusive));
    assert!((clock.effect.as_ref().unwrap().ratio - 2.5 / 2.6).abs() < 1e-9 && against.cases.len() == 20);
    let text =
        (format_named("table").unwrap().render)(&wandered, &RenderOptions { width: 100, ..RenderOptions::default() });
    let row = text.lines().find(|line| line.contains("Clock of core-bound cases")).unwrap();
    assert!(row.contains("2.60 GHz") && row.contains("2.50 GHz"), "{text}");
    // A clock that is halved is one, and the cases are what they were; more cycles at the same clock are slower.
    let halved = compared(&[at("a", 400.0, 2.6)], &[at("b", 400.0, 1.3)]);
    assert!(halved.new[0].clock.as_ref().unwrap().verdict == Verdict::Slower && halved.has_regression(0.2));
    assert_eq!(halved.new[0].counts.slower, 0);
    assert_eq!(compared(&[at("a", 400.0, 2.6)], &[at("b", 440.0, 2.6)]).new[0].counts.slower, 20);
    // Of another kind of processor a cycle is not the same thing: times are compared, as far as clocks let them.
    let mut other = at("b", 400.0, 1.3);
    other.host.cpu.model = Some("another".into());
    let apart = compared(&[at("a", 400.0, 2.6)], &[other]);
    assert!(apart.new[0].clock.is_none() && apart.new[0].counts.slower == 20);
}

#[test]
fn five_rounds_a_side_tell_no_tail_and_no_more_than_their_mean() {
    let case = |n: usize, value: f64, apart: f64| {
        let medians = [-1.0, 0.0, 1.0, -0.5, 0.5].map(|one| value * (1.0 + apart * one));
        rounds(&format!("ipc.x@n={n}"), &medians)
    };
    let of = |cases: usize, apart: f64, by: f64| {
        let side = |name: &str, first: f64| {
            run(name, (0..cases).map(|n| case(n, if n == 0 { first } else { 100.0 }, apart)).collect())
        };
        compared(&[side("a", 100.0)], &[side("b", 100.0 * by)]).new[0].cases[0].verdict
    };
    // 4.5 errors of what is assumed are no proof among two hundred cases, by the t law of ten rounds; 10 are.
    assert_eq!((of(200, 0.001, 1.1), of(200, 0.001, 1.25)), (Verdict::Inconclusive, Verdict::Slower));
    assert_eq!(of(1, 0.001, 1.1), Verdict::Slower);
    // Rounds that scatter by 8 % know their median to 4 %.
    assert_eq!((of(1, 0.1, 1.1), of(1, 0.1, 1.25)), (Verdict::Inconclusive, Verdict::Slower));
}

#[test]
fn a_tail_that_grew_in_four_of_five_pairs_is_another_shape() {
    let side = |name: &str, p99: [f64; 5], contended: usize| -> Vec<Run> {
        let case = |(n, p99): (usize, f64)| {
            let case = with(tail(&[p99; 5]), |measured| {
                measured.noise.others_share = (n < contended).then_some(0.45);
            });
            run(&format!("{name}{n}"), vec![case])
        };
        p99.into_iter().enumerate().map(case).collect()
    };
    let of = |new: [f64; 5], contended: usize| {
        let (base, new) = (side("a", [300.0, 310.0, 290.0, 305.0, 300.0], 0), side("b", new, contended));
        Comparison::in_turn(pool("a", &base), pool("b", &new), &LOOKS[..1], SAME)
    };
    let grown = [880.0, 900.0, 930.0, 905.0, 890.0];
    assert!(of(grown, 0).has_regression(0.0) && of(grown, 1).has_regression(0.0));
    assert!(!of(grown, 2).has_regression(0.0) && !of([300.0, 308.0, 291.0, 306.0, 900.0], 0).has_regression(0.0));
}

/// Of two hundred changes that change nothing, how many the recipes of docs/continuous-integration.md end with 1, and with 6 for
/// another reason than that more runs are needed. Runs differ, tails are long, and others disturb one case in ten.
#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn of_two_hundred_harmless_changes_few_are_red() {
    const TRIALS: u64 = 200;
    let (mut stored, mut in_turn, mut trapped) = (0, 0, 0);
    for trial in 0..TRIALS {
        let mut random = Random(trial * 104_729 + 11);
        let mut side = |name: &str, runs: usize| -> Vec<Run> {
            (0..runs).map(|index| tailed(&format!("{name}{index}"), &mut random, 12)).collect()
        };
        let (base, new, other) = (side("a", 5), side("b", 1), side("c", 5));
        let apart = Comparison::of(pool("a", &base), &[pool("b", &new)], &History::default(), 0.05);
        let turns = Comparison::in_turn(Pool { name: "a", runs: &base }, pool("c", &other), &LOOKS, 0.03);
        stored += u64::from(apart.has_regression(0.05));
        in_turn += u64::from(turns.has_regression(0.0));
        let aspects =
            apart.new[0].cases.iter().filter_map(|case| case.effect.as_ref()).flat_map(|effect| &effect.others);
        let mut moved = aspects.filter(|one| one.test.adjusted_p_value <= 0.05 && one.test.ratio > 1.05);
        trapped += u64::from(moved.any(|one| one.evidence != Evidence::Repeats));
        for open in apart.open(0.05).iter().chain(&turns.open(0.0)) {
            assert!(open.is_undecided() || open.case.verdict != Verdict::NotComparable, "{open:?}");
        }
    }
    assert!(stored * 20 <= TRIALS, "against a stored baseline: {stored} of {TRIALS}");
    assert!(in_turn * 20 <= TRIALS, "in turn: {in_turn} of {TRIALS}");
    // By their tests alone so many more would be.
    assert!(trapped * 4 >= TRIALS, "{trapped} of {TRIALS}");
}

#[test]
fn a_size_is_compared_where_it_lies_in_the_same_cache_on_both_sides() {
    let of = |name: &str, last_mib: u64, size: u64| {
        let mut run = run(name, vec![about(&format!("memory.latency@size={size}"), 100.0)]);
        run.host.virtualization.hypervisor = None;
        for (level, bytes) in [(1, 32 << 10), (2, 1 << 20), (3, last_mib << 20)] {
            let cache = CacheFact { level, size_bytes: bytes, shared_cpus: vec![0], ..CacheFact::default() };
            run.host.caches.push(cache);
        }
        run
    };
    let case = |size: u64| compared(&[of("a", 260, size)], &[of("b", 32, size)]).new[0].cases[0].clone();
    let reason = case(64 << 20).reason.unwrap();
    assert_eq!(reason.text.en, "64M lies in L3 on the base, and in DRAM on the other side");
    assert!(reason.kind == ReasonKind::CacheLevel && !reason.is_open);
    assert!(case(1 << 30).reason.is_none() && case(16 << 10).reason.is_none());
}

/// Three imported runs with this engine, where one is told.
fn of_engine(engine: Option<&str>) -> [Run; 3] {
    let case = with(about("ipc.x@n=0", 100.0), |measured| {
        measured.notes.extend(engine.map(|engine| ("asked.engine".to_owned(), engine.to_owned())));
    });
    ["1", "2", "3"].map(|name| {
        let imported = Some(Imported { format: "fio".into(), ..Imported::default() });
        Run { imported, ..run(&format!("{name}{engine:?}"), vec![case.clone()]) }
    })
}

#[test]
fn what_was_asked_differently_has_no_verdict_and_is_named() {
    let judged = |base, new| compared(&of_engine(base), &of_engine(new)).new.remove(0);
    let against = judged(Some("sync"), Some("libaio"));
    let reason = against.cases[0].reason.as_ref().unwrap();
    assert_eq!((reason.kind, reason.text.en.as_str()), (ReasonKind::Asked, "engine differs: sync, libaio"));
    assert!(against.differs.iter().any(|one| one.label.en == "engine" && one.new.as_deref() == Some("libaio")));
    // What one of them does not tell may have been anything.
    assert_eq!(
        judged(None, Some("libaio")).cases[0].reason.as_ref().unwrap().text.en,
        "engine differs: unknown, libaio"
    );
    let kind =
        |against: &hostmark_analysis::compare::Against| against.cases[0].reason.as_ref().map(|reason| reason.kind);
    assert_ne!(kind(&judged(Some("sync"), Some("sync"))), Some(ReasonKind::Asked));
    assert_ne!(kind(&judged(None, None)), Some(ReasonKind::Asked));
}

#[test]
fn what_its_own_tool_doubts_has_no_verdict_and_is_shown_in_every_format() {
    let (mut doubted, detail) = (of_engine(None), "stress-ng says that its metrics are untrustworthy");
    let flag = Flag::new(FlagKind::Unconfirmed, detail.to_owned());
    doubted[1].cases[0] = with(doubted[1].cases[0].clone(), |measured| measured.flags.push(flag));
    let comparison = compared(&of_engine(None), &doubted);
    assert_eq!(comparison.new[0].cases[0].reason.as_ref().unwrap().kind, ReasonKind::Unconfirmed);
    for format in FORMATS {
        let text = (format.render)(&comparison, &RenderOptions { verbose: true, ..RenderOptions::default() });
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(detail) && words.contains("unconfirmed"), "{}: {text}", format.name);
    }
}

#[test]
fn where_trials_on_one_machine_chose_another_kernel_there_is_no_verdict() {
    let of = |kernel: &str, hostname: &str, axis: &str| {
        let case = with(about(&format!("memory.write@kernel={axis}"), 100.0), |measured| {
            measured.notes.insert("kernel".to_owned(), kernel.to_owned());
        });
        ["1", "2", "3"].map(|name| {
            let mut run = run(&format!("{name}{kernel}"), vec![case.clone()]);
            run.host.hostname = hostname.to_owned();
            run
        })
    };
    let judged = |base, new: (&str, &str), axis| {
        let against = compared(&of(base, "here", axis), &of(new.0, new.1, axis)).new.remove(0);
        against.cases[0].reason.clone().map(|reason| (reason.kind, reason.text.en))
    };
    let other = "trials chose another kernel: avx2, nt".to_owned();
    assert_eq!(judged("avx2", ("nt", "here"), "best"), Some((ReasonKind::OtherKernel, other)));
    // On another machine the best may be another one, and one that was named is.
    for (new, axis) in [(("nt", "there"), "best"), (("avx2", "here"), "best"), (("nt", "here"), "scalar")] {
        assert!(judged("avx2", new, axis).is_none_or(|(kind, _)| kind != ReasonKind::OtherKernel), "{new:?} {axis}");
    }
}

#[test]
fn main_memory_that_was_taken_at_another_size_is_said_to_be() {
    let at = |level: &str, size: &str| {
        let case = about(&format!("memory.hierarchy@level={level}"), 100.0);
        run(size, vec![with(case, |measured| drop(measured.notes.insert("at".into(), size.into())))])
    };
    let remarks = |level| compared(&[at(level, "256M")], &[at(level, "960M")]).new.remove(0).cases.remove(0).remarks;
    assert!(remarks("dram").iter().any(|remark| remark.en == "at differs: 256M → 960M"));
    // Within a cache any size that it holds is as good.
    assert!(remarks("l2").iter().all(|remark| !remark.en.contains("at differs")));
}
