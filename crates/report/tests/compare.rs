//! Comparisons: verdicts that are true, reasons where there is none, what differs, and what people read.

#[path = "../../../tests/support/golden.rs"]
mod golden;
#[path = "compare/made.rs"]
mod made;
#[path = "compare/pages.rs"]
mod pages;
#[expect(dead_code, reason = "its plausible run is for other tests")]
mod synthetic;

use hostmark_model::*;
use hostmark_report::compare::{Comparison, FloorSource, History, Level, Pool, ReasonKind, Verdict};
use made::{Random, Scatter, rounds, run, scattered};

fn pool<'a>(name: &'a str, runs: &'a [Run]) -> Pool<'a> {
    Pool { name, runs }
}

fn compared(base: &[Run], new: &[Run]) -> Comparison {
    Comparison::of(pool("before", base), &[pool("after", new)], &History::default())
}

fn one_case(base: CaseRecord, new: CaseRecord) -> hostmark_report::compare::CaseComparison {
    let comparison = compared(&[run("a", vec![base])], &[run("b", vec![new])]);
    comparison.new[0].cases[0].clone()
}

/// Three rounds about a value, 0.1 % apart.
fn about(id: &str, value: f64) -> CaseRecord {
    rounds(id, &[value * 0.999, value, value * 1.001])
}

fn with(mut record: CaseRecord, change: impl FnOnce(&mut Measured)) -> CaseRecord {
    if let Outcome::Measured(measured) = &mut record.outcome {
        change(measured);
    }
    record
}

/// The share of cases that are called different, over pairs of runs without a difference.
fn called_different(scatter: Scatter, pairs: u64, history: usize) -> f64 {
    let (mut called, mut all) = (0, 0);
    for pair in 0..pairs {
        let mut random = Random(pair * 1000 + 17);
        let mut made = |id: &str| scattered(id, &mut random, 200, scatter, 0);
        let (base, new) = (made("a"), made("b"));
        let mut known = History::default();
        (0..history).for_each(|index| known.add(&made(&format!("h{index}"))));
        let comparison = Comparison::of(pool("a", &[base]), &[pool("b", &[new])], &known);
        let counts = comparison.new[0].counts;
        assert_eq!(counts.not_comparable, 0);
        called += counts.slower + counts.faster;
        all += comparison.new[0].cases.len();
    }
    called as f64 / all as f64
}

#[test]
fn of_runs_without_a_difference_few_cases_are_called_different() {
    for rounds in [3, 5, 10] {
        for skewed in [false, true] {
            // Runs that differ nearly as much as rounds do: the rounds tell enough.
            let share = called_different(Scatter { rounds, round: 0.01, run: 0.008, skewed }, PAIRS, 0);
            assert!(share <= 0.05, "{rounds} rounds, skewed {skewed}: {share}");
            // Runs that differ ten times as much as rounds: only earlier runs can tell.
            let apart = Scatter { rounds, round: 0.003, run: 0.03, skewed };
            let (told, untold) = (called_different(apart, PAIRS, 4), called_different(apart, 3, 0));
            assert!(told <= 0.06, "{rounds} rounds, skewed {skewed}, by history: {told}");
            assert!(untold > 2.0 * told, "{rounds} rounds, skewed {skewed}: {untold} without, {told} with history");
        }
    }
}

/// The figures of docs/measuring.md: whoever changes the verdict changes them too.
#[test]
fn without_history_runs_that_scatter_as_rounds_do_are_called_different_too_often() {
    for (rounds, as_rounds, half_more) in [(3, 0.002, 0.032), (5, 0.062, 0.173), (10, 0.062, 0.187)] {
        for (factor, told) in [(1.0, as_rounds), (1.5, half_more)] {
            let scatter = Scatter { rounds, round: 0.01, run: 0.01 * factor, skewed: false };
            let share = called_different(scatter, 40, 0);
            assert!((share - told).abs() < 0.005, "{rounds} rounds, {factor}: {share}");
            // Four earlier runs are enough.
            let with_history = called_different(scatter, PAIRS, 4);
            assert!(with_history < 0.05, "{rounds} rounds, {factor}, by history: {with_history}");
        }
    }
}

/// Pairs of runs of which the shares are taken.
const PAIRS: u64 = 10;

/// The share that is found of the slowed cases whose intervals are narrower than ±2 %, and the share of those left as
/// they were that are called different.
fn found(scatter: Scatter, cases: usize, slowed: usize, history: usize) -> (f64, f64) {
    let (mut found, mut narrow, mut wrong, mut rest) = (0, 0, 0, 0);
    for pair in 0..PAIRS {
        let mut random = Random(pair * 7919 + 5);
        let base = scattered("a", &mut random, cases, scatter, 0);
        let new = scattered("b", &mut random, cases, scatter, slowed);
        let mut known = History::default();
        for index in 0..history {
            known.add(&scattered(&format!("h{index}"), &mut random, cases, scatter, 0));
        }
        let standard = |mut run: Run| {
            run.settings.profile = Profile::Standard;
            run
        };
        let comparison =
            Comparison::of(pool("a", &[standard(base.clone())]), &[pool("b", &[standard(new.clone())])], &known);
        for (index, case) in comparison.new[0].cases.iter().enumerate() {
            let is_narrow = [&base, &new].iter().all(|run| {
                let measured = run.cases[index].measured().unwrap();
                measured.estimate.relative_half_width().unwrap() < 0.02
            });
            match (index < slowed, is_narrow) {
                (true, true) => {
                    narrow += 1;
                    found += usize::from(case.verdict == Verdict::Slower);
                }
                (true, false) => {}
                (false, _) => {
                    rest += 1;
                    wrong += usize::from(case.verdict != Verdict::NoDifference);
                }
            }
        }
    }
    assert!(narrow > 40, "{narrow}");
    (found as f64 / narrow as f64, wrong as f64 / rest as f64)
}

#[test]
fn five_percent_are_found_at_standard_where_the_spread_is_under_two() {
    for (deviation, least) in [(0.002, 0.99), (0.005, 0.99), (0.01, 0.8)] {
        let scatter = Scatter { rounds: 5, round: deviation, run: 0.0, skewed: false };
        for history in [0, 4] {
            let (found, wrong) = found(scatter, 300, 6, history);
            // The interval of five rounds that scatter by 1 % is ±1.2 % wide.
            assert!(found >= least, "{deviation}, {history} earlier runs: {found}");
            assert!(wrong <= 0.01, "{deviation}, {history} earlier runs: {wrong}");
        }
    }
}

#[test]
fn a_real_ratio_stands_in_its_interval() {
    let case = one_case(rounds("time.x@n=0", &[99.0, 100.0, 101.0]), rounds("time.x@n=0", &[109.0, 110.0, 111.0]));
    let (effect, test) = (case.effect.clone().unwrap(), case.effect.unwrap().test.unwrap());
    assert!((effect.ratio - 1.1).abs() < 1e-3 && test.low < 1.1 && 1.1 < test.high);
    assert_eq!((test.level, test.floor.source), (Level::Round, FloorSource::Rounds));
    assert_eq!(case.verdict, Verdict::Slower);
}

#[test]
fn the_direction_follows_the_probe() {
    for (id, verdict) in
        [("time.x@n=0", Verdict::Slower), ("rate.x@n=0", Verdict::Faster), ("fact.x@n=0", Verdict::Changed)]
    {
        assert_eq!(one_case(about(id, 100.0), about(id, 120.0)).verdict, verdict);
    }
}

#[test]
fn many_cases_make_a_single_find_harder() {
    let id = |n: usize| format!("time.x@n={n}");
    let scattered = [98.6, 100.0, 101.4];
    let side = |name: &str, factor: f64, others: usize| {
        let first = rounds(&id(0), &scattered.map(|value| value * factor));
        let rest = (1..=others).map(|n| rounds(&id(n), &scattered));
        run(name, std::iter::once(first).chain(rest).collect())
    };
    let verdict =
        |others: usize| compared(&[side("a", 1.08, others)], &[side("b", 1.0, others)]).new[0].cases[0].verdict;
    assert_eq!(verdict(0), Verdict::Faster);
    assert_eq!(verdict(200), Verdict::NoDifference);
}

#[test]
fn several_runs_a_side_are_compared_by_run() {
    let side = |name: &str, values: [f64; 4]| -> Vec<Run> {
        let one = |(index, value): (usize, f64)| run(&format!("{name}{index}"), vec![about("time.x@n=0", value)]);
        values.into_iter().enumerate().map(one).collect()
    };
    let judged = |base: [f64; 4], new: [f64; 4]| {
        let comparison = compared(&side("a", base), &side("b", new));
        let case = comparison.new[0].cases[0].clone();
        let value = case.base.clone().unwrap();
        assert_eq!((value.runs, value.rounds), (4, 12));
        assert_eq!(case.effect.as_ref().unwrap().test.as_ref().unwrap().level, Level::Run);
        case
    };
    // Rounds a thousandth apart do not hide that runs differ by as much as the sides do.
    assert_eq!(judged([100.0, 108.0, 95.0, 103.0], [110.0, 101.0, 99.0, 112.0]).verdict, Verdict::NoDifference);
    let case = judged([100.0, 101.0, 99.0, 100.0], [105.0, 106.0, 104.0, 105.0]);
    assert_eq!(case.verdict, Verdict::Slower);
    assert!((case.change().unwrap() - 0.05).abs() < 1e-3);
}

#[test]
fn earlier_runs_of_the_same_environment_tell_how_much_runs_differ() {
    let of = |name: &str, value: f64| run(name, vec![about("time.x@n=0", value)]);
    let (base, new) = ([of("a", 100.0)], [of("b", 106.0)]);
    let judged = |history: &History| {
        let comparison = Comparison::of(pool("a", &base), &[pool("b", &new)], history);
        let case = comparison.new[0].cases[0].clone();
        let floor = case.effect.unwrap().test.unwrap().floor;
        (case.verdict, floor.source, floor.runs)
    };
    let mut history = History::default();
    assert_eq!(judged(&history), (Verdict::Slower, FloorSource::Rounds, None));
    for (index, value) in [94.0, 105.0, 99.0, 103.0].into_iter().enumerate() {
        history.add(&of(&format!("h{index}"), value));
    }
    assert_eq!(judged(&history), (Verdict::NoDifference, FloorSource::History, Some(4)));

    // Neither the compared runs themselves, nor other kernels, revisions or tools, nor a run twice.
    let mut others = History::default();
    others.add(&base[0]);
    others.add(&new[0]);
    (0..3).for_each(|_| others.add(&of("h0", 94.0)));
    for index in 1..4 {
        let mut kernel = of(&format!("k{index}"), 90.0 + f64::from(index));
        kernel.host.kernel.release = "6.18.2".into();
        others.add(&kernel);
        let mut revision = of(&format!("r{index}"), 90.0 + f64::from(index));
        revision.probes.iter_mut().for_each(|probe| probe.revision = 2);
        others.add(&revision);
    }
    assert_eq!(judged(&others), (Verdict::Slower, FloorSource::Rounds, None));
}

#[test]
fn what_cannot_be_compared_says_why() {
    let id = "time.x@n=0";
    let (good, kind) = (about(id, 100.0), |case: hostmark_report::compare::CaseComparison| {
        assert_eq!(case.verdict, Verdict::NotComparable);
        let reason = case.reason.unwrap();
        assert!(!reason.text.en.is_empty() && reason.text.zh != reason.text.en);
        (reason.kind, case.effect.map(|effect| effect.test.is_some()))
    });
    let skipped = synthetic::case(id, Outcome::Skipped { reason: "no huge pages".into() });
    let failed = synthetic::case(id, Outcome::Failed { reason: "it broke".into() });
    assert_eq!(kind(one_case(good.clone(), skipped.clone())), (ReasonKind::Skipped, None));
    assert_eq!(kind(one_case(skipped.clone(), skipped)), (ReasonKind::Skipped, None));
    assert_eq!(kind(one_case(failed, good.clone())), (ReasonKind::Failed, None));
    assert_eq!(kind(one_case(good.clone(), rounds(id, &[100.0, 101.0]))), (ReasonKind::TooFewRounds, Some(false)));
    assert_eq!(kind(one_case(good.clone(), rounds(id, &[0.0, 101.0, 100.0]))), (ReasonKind::NotPositive, Some(false)));
    let pages = |pages: &str| with(good.clone(), |measured| drop(measured.notes.insert("pages".into(), pages.into())));
    assert_eq!(kind(one_case(pages("pmd"), pages("base"))), (ReasonKind::PageSize, Some(false)));
    let implausible = with(good.clone(), |measured| {
        measured.flags.push(Flag { kind: FlagKind::Implausible, detail: "too good".into() });
    });
    assert_eq!(kind(one_case(good.clone(), implausible)), (ReasonKind::Implausible, Some(false)));
    let derived = with(good.clone(), |measured| measured.rounds.clear());
    assert_eq!(kind(one_case(derived.clone(), derived)), (ReasonKind::Derived, Some(false)));

    let base = [run("a", vec![good.clone()])];
    let mut other = run("b", vec![good.clone()]);
    other.probes[0].revision = 2;
    assert_eq!(kind(compared(&base, &[other]).new[0].cases[0].clone()), (ReasonKind::Revision, None));
    let mut other = run("b", vec![good.clone()]);
    other.probes[0].unit = Unit::CoreCycles;
    assert_eq!(kind(compared(&base, &[other]).new[0].cases[0].clone()), (ReasonKind::Unit, None));
    let mut other = run("b", vec![good.clone()]);
    other.imported = Some(Imported { format: "lmbench".into(), ..Imported::default() });
    assert_eq!(kind(compared(&base, &[other]).new[0].cases[0].clone()), (ReasonKind::OneValue, Some(false)));
    let none = compared(&base, &[run("b", vec![about("time.x@n=1", 1.0)])]);
    let kinds: Vec<ReasonKind> = none.new[0].cases.iter().map(|case| case.reason.clone().unwrap().kind).collect();
    assert_eq!(kinds, [ReasonKind::OneSide; 2]);
}

#[test]
fn base_pages_of_two_sizes_are_not_alike() {
    let of = |name: &str, page_bytes: u64| {
        let case =
            with(about("time.x@n=0", 100.0), |measured| drop(measured.notes.insert("pages".into(), "base".into())));
        let mut run = run(name, vec![case]);
        run.host.memory.page_bytes = page_bytes;
        run
    };
    let comparison = compared(&[of("a", 4096)], &[of("b", 65_536)]);
    let reason = comparison.new[0].cases[0].reason.clone().unwrap();
    assert_eq!(reason.text.en, "page size obtained differs: base (4 KiB), base (64 KiB)");
    assert_eq!(comparison.new[0].warnings.len(), 1);
}

#[test]
fn what_differs_is_named_and_the_rest_is_counted() {
    let of = |name: &str, change: fn(&mut Run)| {
        let mut run = run(name, vec![about("time.x@n=0", 100.0)]);
        run.host.kernel.command_line = Some("ro quiet mitigations=auto".into());
        run.host.kernel.vulnerabilities.insert("retbleed".into(), "Mitigation: untrained return thunk".into());
        change(&mut run);
        run
    };
    let base = [of("a", |_| {})];
    let same = compared(&base, &[of("b", |run| run.started = "2026-11-22T00:00:00Z".into())]);
    assert!(same.new[0].differs.is_empty() && same.new[0].warnings.is_empty(), "{:?}", same.new[0].differs);
    let other = of("b", |run| {
        run.host.kernel.release = "6.18.4".into();
        run.host.kernel.command_line = Some("ro quiet mitigations=off".into());
        run.host.kernel.vulnerabilities.insert("retbleed".into(), "Mitigation: IBPB".into());
        run.host.memory.transparent_huge_pages = Some("never".into());
        run.host.cpu.governor = Some("powersave".into());
        run.host.cpu.smt_active = Some(true);
        run.host.kernel.clock_source = Some("hpet".into());
        run.host.virtualization.hypervisor = Some("kvm".into());
        run.host.virtualization.container = Some("docker".into());
        run.host.limits.seccomp = Some("filter".into());
        run.host.limits.cpu_quota = Some(1.5);
        run.host.cpu.microcode = Some("0x5003605".into());
        run.tool.libc = "musl".into();
        run.settings.profile = Profile::Thorough;
    });
    let comparison = compared(&base, &[other]);
    let differs = &comparison.new[0].differs;
    let keys: Vec<&str> = differs.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "host.kernel.release",
            "host.kernel.command_line",
            "host.kernel.vulnerabilities.retbleed",
            "host.kernel.clock_source",
            "host.cpu.microcode",
            "host.cpu.smt_active",
            "host.cpu.governor",
            "host.memory.transparent_huge_pages",
            "host.virtualization.hypervisor",
            "host.virtualization.container",
            "host.limits.cpu_quota",
            "host.limits.seccomp",
            "tool.libc",
            "settings.profile",
        ]
    );
    assert_eq!(
        (differs[1].base.as_deref(), differs[1].new.as_deref()),
        (Some("mitigations=auto"), Some("mitigations=off"))
    );
    assert_eq!((differs[4].base.as_deref(), differs[4].new.as_deref()), (None, Some("0x5003605")));
    // A fact that one side lacks was none of those that are the same.
    let only_new = differs.iter().filter(|one| one.base.is_none()).count();
    assert_eq!(comparison.new[0].same + differs.len() - only_new, same.new[0].same);
    assert_eq!(comparison.new[0].warnings.len(), 2, "{:?}", comparison.new[0].warnings);
}

#[test]
fn a_regression_is_one_beyond_the_threshold() {
    let base = run("a", vec![about("time.x@n=0", 100.0), about("rate.x@n=0", 100.0)]);
    let worse = run("b", vec![about("time.x@n=0", 104.0), about("rate.x@n=0", 110.0)]);
    let better = run("c", vec![about("time.x@n=0", 90.0), about("rate.x@n=0", 110.0)]);
    let of = |new: Run| compared(std::slice::from_ref(&base), &[new]);
    assert!(of(worse.clone()).has_regression(0.0) && of(worse.clone()).has_regression(0.03));
    assert!(!of(worse.clone()).has_regression(0.05));
    assert!(!of(better.clone()).has_regression(0.0));
    // On any side.
    let both = Comparison::of(
        pool("a", std::slice::from_ref(&base)),
        &[pool("c", &[better]), pool("b", &[worse])],
        &History::default(),
    );
    assert_eq!(both.new.len(), 2);
    assert!(both.has_regression(0.0));
}

#[test]
fn disturbed_samples_and_other_inner_loops_are_told() {
    let id = "time.x@n=0";
    let disturbed = with(about(id, 100.0), |measured| {
        measured.noise.tainted = 60;
        measured.notes.insert("kernel".into(), "avx512".into());
    });
    let quiet = with(about(id, 100.0), |measured| drop(measured.notes.insert("kernel".into(), "avx2".into())));
    let case = one_case(quiet, disturbed);
    let remarks: Vec<&str> = case.remarks.iter().map(|remark| remark.en.as_str()).collect();
    assert_eq!(
        remarks,
        ["kernel differs: avx2 → avx512", "disturbed samples: 0 % on the base, 50 % on the other side"]
    );
    let contended = with(about(id, 100.0), |measured| measured.noise.others_share = Some(0.46));
    let case = one_case(about(id, 100.0), contended);
    let remarks: Vec<&str> = case.remarks.iter().map(|remark| remark.en.as_str()).collect();
    assert_eq!(remarks, ["other programs used 0 % of its CPU on the base, 46 % on the other side"]);
    let mut busy = run("b", vec![about(id, 100.0)]);
    busy.disturbances.push(Text { en: "a busy process (pid 7)".into(), zh: "繁忙的进程（pid 7）".into() });
    let comparison = compared(&[run("a", vec![about(id, 100.0)])], &[busy.clone(), busy]);
    assert_eq!(comparison.new[0].side.disturbances.len(), 1);
}

#[test]
fn values_that_never_vary_differ_by_more_than_the_clocks_calibration() {
    let of = |value: f64| run(&format!("{value}"), vec![rounds("time.x@n=0", &[value; 3])]);
    let verdict = |base: f64, new: f64| {
        let mut history = History::default();
        for index in 0..4 {
            history.add(&Run { id: format!("h{index}"), ..of(base) });
        }
        let comparison = Comparison::of(pool("a", &[of(base)]), &[pool("b", &[of(new)])], &history);
        comparison.new[0].cases[0].verdict
    };
    assert_eq!(verdict(0.8, 0.8 * 1.000_1), Verdict::NoDifference);
    assert_eq!(verdict(0.8, 0.81), Verdict::Slower);
}

#[test]
fn numbers_that_rounds_voted_on_are_the_same_or_another() {
    let line = |values: &[f64], value: f64| {
        with(rounds("memory.line@sharers=1", values), |measured| {
            measured.estimate.median = value;
            (measured.estimate.ci_low, measured.estimate.ci_high) = (None, None);
            measured.estimate.agreement = Some(0.75);
        })
    };
    let [usual, split] = [[64.0; 4], [64.0, 64.0, 64.0, 512.0]];
    let same = one_case(line(&usual, 64.0), line(&split, 64.0));
    assert_eq!((same.verdict, same.reason), (Verdict::NoDifference, None));
    let other = one_case(line(&split, 64.0), line(&[128.0; 2], 128.0));
    assert_eq!((other.verdict, other.reason), (Verdict::Changed, None));
    // Of several runs the value is one that a run has.
    let runs = |values: [f64; 4]| -> Vec<Run> {
        let made = values.into_iter().enumerate();
        made.map(|(index, value)| run(&format!("r{index}"), vec![line(&[value; 3], value)])).collect()
    };
    let pooled = compared(&runs([64.0, 64.0, 128.0, 128.0]), &runs([64.0; 4]));
    assert_eq!(pooled.new[0].cases[0].base.as_ref().map(|value| value.median), Some(64.0));
}
