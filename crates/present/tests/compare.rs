//! Comparisons: verdicts that are true, reasons where there is none, what differs, and what people read.

mod gate;
pub mod pages;

use hostmark_analysis::compare::LOOKS;
use pages::{rounds, run};

use crate::prelude::*;
use crate::synthetic::{probe, with};

fn pool<'a>(name: &'a str, runs: &'a [Run]) -> Pool<'a> {
    Pool { name, runs }
}

pub fn compared(base: &[Run], new: &[Run]) -> Comparison {
    Comparison::of(pool("before", base), &[pool("after", new)], &History::default(), SAME)
}

fn one_case(base: CaseRecord, new: CaseRecord) -> hostmark_analysis::compare::CaseComparison {
    let comparison = compared(&[run("a", vec![base])], &[run("b", vec![new])]);
    comparison.new[0].cases[0].clone()
}

/// The case led by this quiet value.
fn led(case: CaseRecord, value: f64) -> CaseRecord {
    with(case, |measured| {
        let (low, high) = (Some(value * 0.9995), Some(value * 1.0005));
        measured.estimate.quiet = Some(Quiet { value, low, high, range: None, at_hz: Some(3e9) });
        measured.estimate.leading = Leading::Quiet;
    })
}

/// Three rounds about a value, 0.1 % apart.
fn about(id: &str, value: f64) -> CaseRecord {
    rounds(id, &[value * 0.999, value, value * 1.001])
}

#[test]
fn a_group_reports_what_its_cases_alone_do_not() {
    // Six probes of two cases each, all of them slower by 5 %.
    let side = |name: &str, factor: f64, odd: f64| {
        let case = |n: usize| {
            let by = if n == 11 { odd } else { 1.0 };
            let value = 100.0 * factor * by * (1.0 + 0.001 * n as f64);
            rounds(&format!("syscall.x{}@n={}", n / 2, n % 2), &[0.999, 1.0, 1.001, 1.0, 1.002].map(|one| one * value))
        };
        let mut run = run(name, (0..12).map(case).collect());
        run.probes = (0..6).map(|n| ProbeInfo { id: format!("syscall.x{n}"), ..run.probes[0].clone() }).collect();
        run
    };
    let comparison = |factor: f64, odd: f64| compared(&[side("a", 1.0, 1.0)], &[side("b", factor, odd)]);
    let of = |factor: f64, odd: f64| comparison(factor, odd).new.remove(0);
    let slower = of(1.05, 1.0);
    // It stops a build by itself, with all of its interval.
    assert!(comparison(1.05, 1.0).has_regression(0.01) && !comparison(1.05, 1.0).has_regression(0.05));
    assert!(!comparison(1.0, 1.0).has_regression(0.0) && !comparison(1.0 / 1.05, 1.0).has_regression(0.0));
    assert!(slower.cases.iter().all(|case| case.verdict == Verdict::Inconclusive), "{:?}", slower.counts);
    let [group] = &slower.groups[..] else { panic!("{:?}", slower.groups) };
    assert_eq!((group.verdict, group.cases, group.probes), (Verdict::Slower, 12, 6));
    assert!((group.ratio - 1.05).abs() < 0.001 && group.low > 1.01 && group.odd.is_empty());
    let same = of(1.0, 1.0);
    assert!((same.groups[0].ratio - 1.0).abs() < 1e-9 && same.groups[0].verdict == Verdict::Same, "{:?}", same.groups);
    // One that is not like the others is named.
    assert_eq!(of(1.05, 1.4).groups[0].odd, ["syscall.x5@n=1"]);
}

#[test]
fn a_table_that_people_know_has_a_verdict_of_its_own() {
    // Integer operations of 32 bits are slower by a fifth, those of 64 are as they were.
    let side = |name: &str, factor: f64| {
        let mut run = synthetic::plausible();
        (run.id, run.name) = (name.to_owned(), name.to_owned());
        for case in run.cases.iter_mut().filter(|case| case.id.starts_with("cpu.latency@type=i32")) {
            let value = case.measured().unwrap().estimate.typical * factor;
            *case = rounds(&case.id, &[0.999, 1.0, 1.001, 1.0, 1.002].map(|one| one * value));
        }
        run
    };
    let against = compared(&[side("a", 1.0)], &[side("b", 1.2)]).new.remove(0);
    let of = |title: &str| {
        let found = against.tables.iter().find(|table| table.title.en == title);
        found.unwrap_or_else(|| panic!("{title} is none of {:?}", against.tables))
    };
    let (slower, as_before) = (of("lmbench: Basic integer operations"), of("lmbench: Basic uint64 operations"));
    assert!(slower.name == "lmbench" && (slower.cases, slower.probes) == (4, 1) && slower.odd.is_empty(), "{slower:?}");
    assert!(slower.verdict == Verdict::Slower && (slower.ratio - 1.2).abs() < 0.001, "{slower:?}");
    assert!(as_before.verdict != Verdict::Slower && (as_before.ratio - 1.0).abs() < 1e-9, "{as_before:?}");
    // No unit stands behind a title: a change has none.
    assert!(of("lmbench: Local communication bandwidths").title.zh.ends_with("本机通信带宽"));
}

#[test]
fn a_quiet_value_that_stays_while_the_typical_one_moves_is_another_shape() {
    let case = |typical: f64, quiet: f64| {
        led(rounds("syscall.x@n=0", &[0.99, 1.0, 1.01, 1.0, 1.0].map(|one| one * typical)), quiet)
    };
    let of = |name: &str, typical: f64, quiet: f64| {
        let mut run = run(name, vec![case(typical, quiet)]);
        run.probes[0].id = "syscall.x".into();
        run
    };
    let judged =
        |typical: f64, quiet: f64| compared(&[of("a", 100.0, 99.0)], &[of("b", 100.0 * typical, 99.0 * quiet)]);
    let moved = judged(1.3, 1.0);
    assert_eq!(moved.new[0].cases[0].verdict, Verdict::ChangedShape);
    assert!((moved.new[0].cases[0].shown_change().unwrap() - 0.3).abs() < 1e-6);
    assert!(moved.has_regression(0.1) && !moved.has_regression(0.4));
    assert!(!judged(0.7, 1.0).has_regression(0.0));
    assert_eq!(judged(1.3, 1.3).new[0].cases[0].verdict, Verdict::Slower);
    assert_eq!(judged(1.001, 1.001).new[0].cases[0].verdict, Verdict::Same);
}

#[test]
fn several_runs_a_side_are_compared_by_run() {
    let side = |name: &str, values: [f64; 4]| -> Vec<Run> {
        let one = |(index, value): (usize, f64)| run(&format!("{name}{index}"), vec![about("ipc.x@n=0", value)]);
        values.into_iter().enumerate().map(one).collect()
    };
    let judged = |base: [f64; 4], new: [f64; 4]| {
        let comparison = compared(&side("a", base), &side("b", new));
        let case = comparison.new[0].cases[0].clone();
        let value = case.base.clone().unwrap();
        assert_eq!((value.runs, value.rounds), (4, 12));
        assert_eq!(case.effect.as_ref().unwrap().test.as_ref().unwrap().runs, 8);
        case
    };
    // Rounds a thousandth apart do not hide that runs differ by as much as the sides do.
    assert_eq!(judged([100.0, 108.0, 95.0, 103.0], [110.0, 101.0, 99.0, 112.0]).verdict, Verdict::Inconclusive);
    let case = judged([100.0, 101.0, 99.0, 100.0], [105.0, 106.0, 104.0, 105.0]);
    assert_eq!(case.verdict, Verdict::Slower);
    assert!((case.change().unwrap() - 0.05).abs() < 1e-3);
}

#[test]
fn earlier_runs_of_the_same_environment_report_how_much_runs_differ() {
    let of = |name: &str, value: f64| run(name, vec![about("ipc.x@n=0", value)]);
    let (base, new) = ([of("a", 100.0)], [of("b", 108.0)]);
    let judged = |history: &History| {
        let comparison = Comparison::of(pool("a", &base), &[pool("b", &new)], history, SAME);
        let case = comparison.new[0].cases[0].clone();
        (case.verdict, case.effect.unwrap().test.unwrap().runs)
    };
    let mut history = History::default();
    assert_eq!(judged(&history), (Verdict::Slower, 0));
    for (index, value) in [94.0, 105.0, 99.0, 103.0].into_iter().enumerate() {
        history.add(&of(&format!("h{index}"), value));
    }
    assert_eq!(judged(&history), (Verdict::Inconclusive, 4));

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
    assert_eq!(judged(&others), (Verdict::Slower, 0));
}

#[test]
fn what_cannot_be_compared_says_why() {
    let id = "ipc.x@n=0";
    let (good, kind) = (about(id, 100.0), |case: hostmark_analysis::compare::CaseComparison| {
        assert_eq!(case.verdict, Verdict::NotComparable);
        let reason = case.reason.unwrap();
        assert!(!reason.text.en.is_empty() && reason.text.zh != reason.text.en);
        (reason.kind, case.effect.map(|effect| effect.test.is_some()))
    });
    let reason = || ReasonCode::HugePages.because("the kernel gave no huge pages");
    let skipped = synthetic::case(id, Outcome::Skipped { reason: reason() });
    let failed = synthetic::case(id, Outcome::Failed { reason: reason() });
    let pages = |pages: &str| with(good.clone(), |measured| drop(measured.notes.insert("pages".into(), pages.into())));
    let flagged = |kind| with(good.clone(), |measured| measured.flags.push(Flag::new(kind, "too good")));
    let derived = with(good.clone(), |measured| measured.rounds.clear());
    // A short run's memory may lie in the last cache in part; beside another such one it is the same question.
    let small = flagged(FlagKind::SmallBuffer);
    for (base, new, expected) in [
        (good.clone(), skipped.clone(), (ReasonKind::Skipped, None)),
        (skipped.clone(), skipped, (ReasonKind::Skipped, None)),
        (failed, good.clone(), (ReasonKind::Failed, None)),
        (good.clone(), rounds(id, &[100.0]), (ReasonKind::TooFewRounds, Some(false))),
        (good.clone(), rounds(id, &[0.0, 101.0, 100.0]), (ReasonKind::NotPositive, Some(false))),
        (pages("pmd"), pages("base"), (ReasonKind::PageSize, Some(false))),
        (good.clone(), flagged(FlagKind::Implausible), (ReasonKind::Implausible, Some(false))),
        (good.clone(), small.clone(), (ReasonKind::CacheLevel, Some(false))),
        (derived.clone(), derived, (ReasonKind::Derived, Some(false))),
    ] {
        assert_eq!(kind(one_case(base, new)), expected);
    }
    assert_ne!(one_case(small.clone(), small).verdict, Verdict::NotComparable);

    let of_runs = |change: fn(&mut Run)| {
        let mut other = run("b", vec![good.clone()]);
        change(&mut other);
        kind(compared(&[run("a", vec![good.clone()])], &[other]).new[0].cases[0].clone())
    };
    assert_eq!(of_runs(|run| run.probes[0].revision = 2), (ReasonKind::Revision, None));
    assert_eq!(of_runs(|run| run.probes[0].unit = Unit::CoreCycles), (ReasonKind::Unit, None));
    assert_eq!(of_runs(|run| run.imported = Some(Imported::default())), (ReasonKind::OneValue, Some(false)));
    let none = compared(&[run("a", vec![good.clone()])], &[run("b", vec![about("ipc.x@n=1", 1.0)])]);
    let kinds: Vec<ReasonKind> = none.new[0].cases.iter().map(|case| case.reason.clone().unwrap().kind).collect();
    assert_eq!(kinds, [ReasonKind::OneSide; 2]);
    // Base pages of two sizes are not alike.
    let [base, mut new] = ["a", "b"].map(|name| run(name, vec![pages("base")]));
    new.host.memory.page_bytes = 65_536;
    let against = compared(&[base], &[new]).new.remove(0);
    let reason = against.cases[0].reason.clone().unwrap();
    assert_eq!(reason.text.en, "page size obtained differs: base (4 KiB), base (64 KiB)");
    assert_eq!(against.warnings.len(), 1);
}

#[test]
fn what_differs_is_named_and_the_rest_is_counted() {
    let of = |name: &str, change: fn(&mut Run)| {
        let mut run = run(name, vec![about("ipc.x@n=0", 100.0)]);
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
    let expected = "host.kernel.release host.kernel.command_line host.kernel.vulnerabilities.retbleed \
                    host.kernel.clock_source host.cpu.microcode host.cpu.smt_active host.cpu.governor \
                    host.memory.transparent_huge_pages host.virtualization.hypervisor host.virtualization.container \
                    host.limits.cpu_quota host.limits.seccomp tool.libc settings.profile";
    assert_eq!(keys.join(" "), expected);
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
    let base = run("a", vec![about("ipc.x@n=0", 100.0), about("net.x@n=0", 100.0)]);
    let worse = run("b", vec![about("ipc.x@n=0", 114.0), about("net.x@n=0", 120.0)]);
    let better = run("c", vec![about("ipc.x@n=0", 80.0), about("net.x@n=0", 120.0)]);
    let of = |new: Run| compared(std::slice::from_ref(&base), &[new]);
    assert!(of(worse.clone()).has_regression(0.0) && of(worse.clone()).has_regression(0.13));
    assert!(!of(worse.clone()).has_regression(0.15));
    assert!(!of(better.clone()).has_regression(0.0));
    // On any side.
    let both = Comparison::of(
        pool("a", std::slice::from_ref(&base)),
        &[pool("c", &[better]), pool("b", &[worse])],
        &History::default(),
        SAME,
    );
    assert_eq!(both.new.len(), 2);
    assert!(both.has_regression(0.0));
}

#[test]
fn disturbed_samples_and_other_inner_loops_are_reported() {
    let id = "ipc.x@n=0";
    let disturbed = with(about(id, 100.0), |measured| {
        measured.noise.disturbed = 60;
        measured.notes.extend([("kernel".into(), "avx512".into()), ("environment".into(), "CFLAGS=-O3".into())]);
    });
    let quiet = with(about(id, 100.0), |measured| {
        measured.notes.extend([("kernel".into(), "avx2".into()), ("environment".into(), "CFLAGS=-O2".into())]);
    });
    let case = one_case(quiet, disturbed);
    let remarks: Vec<&str> = case.remarks.iter().map(|remark| remark.en.as_str()).collect();
    assert_eq!(
        remarks,
        [
            "kernel differs: avx2 → avx512",
            "environment differs: CFLAGS=-O2 → CFLAGS=-O3",
            "disturbed samples: 0 % on the base, 50 % on the other side"
        ]
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
fn values_that_never_vary_are_held_to_what_is_assumed_too() {
    let of = |value: f64| run(&format!("{value}"), vec![rounds("ipc.x@n=0", &[value; 3])]);
    let verdict = |base: f64, new: f64| {
        let mut history = History::default();
        for index in 0..4 {
            history.add(&Run { id: format!("h{index}"), ..of(base) });
        }
        let comparison = Comparison::of(pool("a", &[of(base)]), &[pool("b", &[of(new)])], &history, SAME);
        comparison.new[0].cases[0].verdict
    };
    assert_eq!(verdict(0.8, 0.8 * 1.000_1), Verdict::Same);
    assert_eq!(verdict(0.8, 0.9), Verdict::Slower);
}

#[test]
fn runs_made_in_turn_are_compared_pair_by_pair() {
    // Both sides drift by a tenth from pair to pair, and the new one is slower by 4 %, give or take one.
    let side = |name: &str, factor: f64, pairs: usize| -> Vec<Run> {
        let value = |n: usize| {
            100.0 * factor * (1.0 + 0.1 * n as f64) * (1.0 + 0.01 * (n % 3) as f64 * (factor - 1.0).signum())
        };
        (0..pairs).map(|n| run(&format!("{name}{n}"), vec![about("ipc.x@n=0", value(n))])).collect()
    };
    let of = |factor: f64, pairs: usize, looks: &[usize]| {
        let (base, new) = (side("a", 1.0, pairs), side("b", factor, pairs));
        Comparison::in_turn(pool("a", &base), pool("b", &new), looks, 0.03)
    };
    let verdict = |comparison: &Comparison| comparison.new[0].cases[0].verdict;
    assert_eq!(verdict(&of(1.04, 5, &[5])), Verdict::Slower);
    assert_eq!(verdict(&of(1.0, 5, &[5])), Verdict::Same);
    // Apart, the drift hides it.
    assert_eq!(compared(&side("a", 1.0, 5), &side("b", 1.04, 5)).new[0].cases[0].verdict, Verdict::Inconclusive);
    // Before the first look there is no verdict, and the reason is told.
    let early = of(1.04, 4, &LOOKS);
    assert_eq!(early.new[0].cases[0].reason.as_ref().map(|reason| reason.kind), Some(ReasonKind::TooFewPairs));
    assert!(of(1.04, 10, &LOOKS).undecided().is_empty());
}

#[test]
fn the_change_is_that_of_the_two_values_that_are_shown() {
    // By its median run the new side is faster, by the mean of the pairs it is slower; quiet values lead on every second one.
    let (before, after) =
        ([148.0, 149.0, 147.0, 120.0, 150.0, 148.0, 60.0], [143.0, 142.0, 144.0, 190.0, 143.0, 190.0, 40.0]);
    let side = |name: &str, values: &[f64], is_quiet: bool| -> Vec<Run> {
        let case = |value: &f64| match is_quiet {
            false => about("syscall.x@n=0", *value),
            true => led(about("syscall.x@n=0", 2.0 * value), *value),
        };
        values.iter().enumerate().map(|(n, value)| run(&format!("{name}{n}"), vec![case(value)])).collect()
    };
    for is_quiet in [false, true] {
        for pairs in [1, 5, 7] {
            let (base, new) = (side("a", &before[..pairs], is_quiet), side("b", &after[..pairs], is_quiet));
            let in_turn = Comparison::in_turn(pool("a", &base), pool("b", &new), &LOOKS, 0.03);
            for comparison in [in_turn, compared(&base, &new)] {
                let case = &comparison.new[0].cases[0];
                let [old, new] = [&case.base, &case.new].map(|value| value.clone().unwrap());
                let change = case.change().unwrap();
                assert!((new.value / old.value - 1.0 - change).abs() < 1e-9, "{pairs} pairs: {old:?} {new:?} {change}");
                for side in [old, new] {
                    assert!(side.low.is_none_or(|low| low <= side.value), "{side:?}");
                    assert!(side.high.is_none_or(|high| high >= side.value), "{side:?}");
                }
            }
        }
    }
}

#[test]
fn what_an_import_does_not_carry_is_unknown() {
    let of = |name: &str, is_imported: bool| {
        let mut run = run(name, vec![about("ipc.x@n=0", 100.0)]);
        run.host.memory.swap_total_bytes = u64::from(!is_imported) << 30;
        run.imported = is_imported.then(|| Imported { format: "lmbench".into(), ..Imported::default() });
        run
    };
    let comparison = compared(&[of("a", false)], &[of("b", true)]);
    let of_key = |key: &str| comparison.new[0].differs.iter().find(|one| one.key == key).unwrap();
    for key in ["host.virtualization.hypervisor", "host.limits.cpu_quota", "host.memory.swap_total_bytes"] {
        assert!(of_key(key).base.is_some() && of_key(key).new.is_none(), "{:?}", of_key(key));
    }
}

#[test]
fn numbers_that_rounds_voted_on_are_the_same_or_another() {
    let line = |values: &[f64], value: f64| {
        with(rounds("memory.line@sharers=1", values), |measured| {
            measured.estimate.typical = value;
            (measured.estimate.ci_low, measured.estimate.ci_high) = (None, None);
            measured.estimate.agreement = Some(0.75);
        })
    };
    let [usual, split] = [[64.0; 4], [64.0, 64.0, 64.0, 512.0]];
    let same = one_case(line(&usual, 64.0), line(&split, 64.0));
    assert_eq!((same.verdict, same.reason), (Verdict::Same, None));
    let other = one_case(line(&split, 64.0), line(&[128.0; 2], 128.0));
    assert_eq!((other.verdict, other.reason), (Verdict::Changed, None));
    // Of several runs the value is one that a run has.
    let runs = |values: [f64; 4]| -> Vec<Run> {
        let made = values.into_iter().enumerate();
        made.map(|(index, value)| run(&format!("r{index}"), vec![line(&[value; 3], value)])).collect()
    };
    let pooled = compared(&runs([64.0, 64.0, 128.0, 128.0]), &runs([64.0; 4]));
    assert_eq!(pooled.new[0].cases[0].base.as_ref().map(|value| value.value), Some(64.0));
}

#[test]
fn a_key_figure_of_a_comparison_is_its_own_case_in_every_run() {
    // The largest buffer is the default.
    let of = |name: &str, largest: &str| {
        let cases =
            [(largest, 2e10), ("12288", 1e11)].map(|(size, rate)| about(&format!("memory.read@size={size}"), rate));
        let axes = &[("size", AxisKind::Size, "")];
        let probes = vec![probe("memory.read", ("Read", "读"), Unit::BytesPerSecond, ("Memory", "内存"), axes)];
        Run { probes, ..run(name, cases.into()) }
    };
    let figures = |largest: &str| {
        let cases = compared(&[of("a", "67108864")], &[of("b", largest)]).new.remove(0).cases;
        cases.into_iter().filter_map(|case| Some((case.params.0[0].1.clone(), case.figure?.en))).collect::<Vec<_>>()
    };
    assert_eq!(figures("67108864"), [("67108864".to_owned(), "read, 1 core")]);
    assert_eq!(figures("33554432"), []);
}
