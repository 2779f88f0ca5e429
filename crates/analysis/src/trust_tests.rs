//! The grade of a run and its reasons.

use super::*;
use crate::made_up;
use hostmark_model::{LastCache, Leading, Neighbours, Outcome, Quiet};

/// A run of so many values, of which each differs from another run's by this deviation.
fn run(deviations: &[f64], runs: u32) -> Run {
    let case = |(number, _): (usize, &f64)| made_up::case(&format!("ipc.pipe@n={number}"), 100.0, 0.001);
    let mut run = made_up::run("", deviations.iter().enumerate().map(case).collect());
    for (index, &deviation) in deviations.iter().enumerate() {
        let [low, high] = [-2.77, 2.77].map(|by: f64| 100.0 * (by * deviation).exp());
        let estimate = &mut estimate(&mut run, index).estimate;
        estimate.range = Some([99.9, 100.1]);
        estimate.repetition = Some(Repetition { low, high, deviation, runs });
    }
    run
}

fn grade(run: &Run) -> Grade {
    trust(run).unwrap().grade
}

fn estimate(run: &mut Run, index: usize) -> &mut hostmark_model::Measured {
    match &mut run.cases[index].outcome {
        Outcome::Measured(measured) => measured,
        _ => unreachable!(),
    }
}

/// Makes a value one of the core.
fn core_bound(run: &mut Run, index: usize) {
    let estimate = &mut estimate(run, index).estimate;
    let value = estimate.typical;
    estimate.quiet = Some(Quiet { value, low: Some(value), high: Some(value), range: None, at_hz: None });
    estimate.leading = Leading::Quiet;
}

#[test]
fn the_grade_follows_from_how_far_another_runs_values_lie() {
    // 1.645 × √2 deviations hold nine of ten.
    assert_eq!(grade(&run(&[0.01; 20], 5)), Grade::A);
    assert_eq!(grade(&run(&[0.04; 20], 5)), Grade::B);
    assert_eq!(grade(&run(&[0.10; 20], 5)), Grade::C);
    assert_eq!(grade(&run(&[0.25; 20], 5)), Grade::D);
    assert_eq!(grade(&run(&[0.50; 20], 5)), Grade::F);
    let far = &lines(&trust(&run(&[0.25; 20], 5)).unwrap())[0];
    assert!(far.en.contains("  large differences only: figures repeat"), "{far:?}");
    assert!(far.zh.contains("只看大的差别："), "{far:?}");
    let near = trust(&run(&[0.01; 20], 5)).unwrap();
    assert!((near.within.unwrap() - 0.0235).abs() < 0.002 && near.runs == 5 && near.doubts.is_empty(), "{near:?}");
    // What may be off by any factor has no number.
    let off = |deviation: f64| lines(&trust(&run(&[deviation; 20], 5)).unwrap())[0].clone();
    assert!(off(0.25).en.contains("figures repeat within 79 %"), "{:?}", off(0.25));
    let mut parts = run(&[3.0; 20], 5);
    (0..10).for_each(|index| core_bound(&mut parts, index));
    let parts = lines(&trust(&parts).unwrap())[0].clone();
    let says = "core figures repeat not within a factor of 2 (F), the rest not within a factor of 2 (F)";
    assert!(
        parts.en.contains(says) && parts.zh.contains("核心类数值相差可能超过一倍（F），其余的可能超过一倍（F）"),
        "{parts:?}"
    );
    for far in [off(0.5), off(3.0)] {
        assert!(
            far.en.contains("repeat not within a factor of 2") && far.zh.contains("数值相差可能超过一倍"),
            "{far:?}"
        );
    }
    // One of ten may be anywhere.
    let mixed: Vec<f64> = (0..40).map(|number| if number % 20 == 0 { 0.9 } else { 0.005 }).collect();
    assert_eq!(grade(&run(&mixed, 5)), Grade::A);
}

#[test]
fn a_disturbed_run_is_no_a_and_says_what_disturbed_it_in_both_languages() {
    let quiet = || run(&[0.01; 20], 5);
    let assert_doubt = |run: &Run, word: &str| {
        let trust = trust(run).unwrap();
        assert_eq!(trust.grade, Grade::B, "{word}");
        let [doubt] = &trust.doubts[..] else { panic!("{word}: {:?}", trust.doubts) };
        assert!(doubt.text.en.contains(word) && !doubt.text.zh.is_empty(), "{doubt:?}");
        assert!(!doubt.cure.en.is_empty() && !doubt.cure.zh.is_empty(), "{doubt:?}");
    };
    let mut shared = quiet();
    shared.neighbours = Some(Neighbours { core_shared: Some(0.31), last_cache: None });
    assert_doubt(&shared, "another VM or thread used this core 31 %");
    let mut unknown = quiet();
    unknown.host.virtualization.hypervisor = Some("kvm".into());
    assert_eq!(grade(&unknown), Grade::A, "no value is the core's");
    (0..2).for_each(|index| core_bound(&mut unknown, index));
    assert_doubt(&unknown, "it could not be told whether another VM or thread used this core");
    shared.host.process.traced = Some(true);
    let traced = trust(&shared).unwrap();
    assert_eq!((traced.grade, &*traced.doubts[0].text.en, traced.doubts.len()), (Grade::D, "traced by a tracer", 1));
    let mut cache = quiet();
    let looks_ns = vec![30.0, 31.0, 60.0];
    cache.neighbours = Some(Neighbours { core_shared: Some(0.04), last_cache: Some(LastCache { bytes: 1, looks_ns }) });
    assert_doubt(&cache, "2.0x slower");
    let mut stopped = quiet();
    stopped.interrupted = Some("stopped by a signal".into());
    assert_doubt(&stopped, "stopped before its end");
    for (kind, word) in [
        (FlagKind::Contended, "other processes used"),
        (FlagKind::Throttled, "a CPU quota stopped"),
        (FlagKind::Unsettled, "did not settle"),
    ] {
        let mut flagged = quiet();
        let flag = hostmark_model::Flag::new(kind, "");
        (0..2).for_each(|index| estimate(&mut flagged, index).flags.push(flag.clone()));
        assert_doubt(&flagged, word);
    }
    let mut unsteady = quiet();
    for index in 0..2 {
        let estimate = &mut estimate(&mut unsteady, index).estimate;
        (estimate.ci_low, estimate.ci_high, estimate.range) = (Some(60.0), Some(140.0), Some([60.0, 140.0]));
    }
    assert_doubt(&unsteady, "disagree by over 25 %");
    let mut few = quiet();
    for index in 0..2 {
        let estimate = &mut estimate(&mut few, index).estimate;
        (estimate.ci_low, estimate.ci_high, estimate.rounds) = (None, None, 3);
    }
    assert_doubt(&few, "values have fewer than five rounds");
    (0..2).for_each(|index| estimate(&mut few, index).estimate.rounds = 5);
    assert_doubt(&few, "undisturbed samples in fewer than five rounds");
}

#[test]
fn steady_competition_lowers_the_grade_though_no_value_scatters() {
    let beside = |share: f64| {
        let mut run = run(&[0.01; 20], 5);
        for index in 0..20 {
            let round = serde_json::json!({
                "round": 0, "median": 100.0, "taints": [], "core_hz": null, "cpus": [0], "iterations": 1, "settled": true,
                "steal_ns": null, "throttled": null, "waited": 0.0, "others": { "share": share, "error": 0.02 }
            });
            estimate(&mut run, index).rounds = vec![serde_json::from_value(round).unwrap()];
        }
        run
    };
    assert_eq!(grade(&beside(0.03)), Grade::A);
    assert_eq!(grade(&beside(0.10)), Grade::B);
    assert_eq!(grade(&beside(0.25)), Grade::C);
    assert_eq!(grade(&beside(0.40)), Grade::D);
    assert_eq!(grade(&beside(0.75)), Grade::F);
    // It repeats well, which is no promise: the least of grades does not stand beside one.
    let least = promise(&trust(&beside(0.75)).unwrap());
    let begins = "do not use: other tasks or a quota took the CPUs; repeats within";
    assert!(least.en.starts_with(begins), "{least:?}");
    assert!(!least.en.contains("figures repeat") && least.zh.starts_with("请勿使用：CPU 被其他任务"), "{least:?}");
    let doubts = trust(&beside(0.75)).unwrap().doubts;
    assert!(doubts[0].text.en.contains("used 73 % of the CPUs' time"), "{doubts:?}");
}

#[test]
fn what_a_reader_can_end_stands_before_what_others_do_however_much_that_weighs() {
    let mut all = run(&[0.01; 20], 5);
    let looks_ns = vec![30.0, 31.0, 300.0];
    all.neighbours = Some(Neighbours { core_shared: None, last_cache: Some(LastCache { bytes: 1, looks_ns }) });
    for index in 0..5 {
        let measured = estimate(&mut all, index);
        (measured.estimate.ci_low, measured.estimate.ci_high) = (Some(60.0), Some(140.0));
        measured.estimate.range = Some([60.0, 140.0]);
    }
    let flag = hostmark_model::Flag::new(FlagKind::Contended, "");
    (0..2).for_each(|index| estimate(&mut all, index).flags.push(flag.clone()));
    let trust = trust(&all).unwrap();
    let words = ["other processes used", "L3 up to 10.0x slower", "disagree by over 25 %"];
    assert_eq!(trust.doubts.len(), words.len(), "{:?}", trust.doubts);
    for (doubt, word) in trust.doubts.iter().zip(words) {
        assert!(doubt.text.en.contains(word), "{word}: {:?}", trust.doubts);
    }
    let [one, all] = [1, 3].map(|count| why(&trust, count).unwrap().to_string());
    assert!(one.ends_with("; 2 more: --full") && !all.contains("--full"), "{one} {all}");
}

#[test]
fn what_says_nothing_of_other_runs_has_the_least_grade_and_what_has_no_value_none() {
    let mut old = run(&[0.01; 3], 5);
    (0..3).for_each(|index| estimate(&mut old, index).estimate.repetition = None);
    // As a run beside six busy loops, which has one round of each case: it is the least of grades, and not none.
    let least = trust(&old).unwrap();
    assert_eq!((least.grade, least.within), (Grade::F, None));
    assert!(line(&least).en.starts_with("TRUST F   do not use: too few rounds"), "{:?}", line(&least));
    assert_eq!(trust(&run(&[], 5)), None);
    let mut imported = run(&[0.01; 3], 5);
    imported.imported = Some(hostmark_model::Imported::default());
    assert_eq!(trust(&imported), None);
}

#[test]
fn a_self_check_that_passed_is_named_and_one_that_failed_is_the_first_doubt() {
    let checked = |passed: u32, failed: u32| {
        let found = SelfChecked { started: "2026-11-26T10:00:00Z".into(), passed, failed, not_possible: 2 };
        with_self_check(trust(&run(&[0.01; 20], 5)).unwrap(), Some(found))
    };
    let passed = checked(9, 0);
    assert!(promise(&passed).en.ends_with("; self-check passed on this host, 2026-11-26"), "{}", promise(&passed).en);
    assert!(promise(&passed).zh.contains("；本机自检于 2026-11-26 通过"), "{}", promise(&passed).zh);
    // Where nothing could be looked at, nothing has passed.
    assert!(!promise(&checked(0, 0)).en.contains("self-check"));
    let failed = checked(8, 1);
    assert_eq!((failed.grade, passed.grade), (Grade::D, trust(&run(&[0.01; 20], 5)).unwrap().grade));
    assert_eq!(failed.doubts[0].text.en, "hostmark self-check found 1 known value wrong on this host, 2026-11-26");
    assert!(!promise(&failed).en.contains("passed"));
}
