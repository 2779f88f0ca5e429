//! What earlier runs that are kept here say of a new one.

use hostmark_model::{Run, load_run};

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::support::{Home, ended, files};

/// A short run of this home, kept there.
fn run(home: &Home) -> Run {
    let (code, json, errors) = ended(&mut home.hostmark(&["run", "syscall.getpid", "clock.loop", "--format", "json"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    load_run(&json).unwrap()
}

/// How many runs tell where another run's values are expected.
fn runs_behind(run: &Run) -> Vec<u32> {
    let estimates = run.cases.iter().filter_map(|case| Some(&case.measured()?.estimate));
    estimates.filter_map(|estimate| Some(estimate.repetition?.runs)).collect()
}

#[test]
fn three_kept_runs_report_what_is_assumed_before_and_a_file_estimated_again_says_the_same() {
    let _alone = alone();
    let home = Home::new();
    let first = run(&home);
    assert!(
        !runs_behind(&first).is_empty() && runs_behind(&first).iter().all(|&runs| runs == 0),
        "{:?}",
        runs_behind(&first)
    );
    assert_eq!(first.trust.as_ref().map(|trust| trust.runs), Some(0));
    run(&home);
    // What lies there besides has no part in it.
    let kept = home.data.path().join("hostmark/runs");
    for (number, text) in ["{", "", "[]"].iter().enumerate() {
        std::fs::write(kept.join(format!("20260101T000000Z-{}-000{number}.json", first.host.hostname)), text).unwrap();
    }
    assert_eq!(files(&kept).len(), 5);
    let third = run(&home);
    assert!(runs_behind(&third).iter().all(|&runs| runs == 0), "{:?}", runs_behind(&third));
    let fourth = run(&home);
    assert!(runs_behind(&fourth).iter().all(|&runs| runs == 3), "{:?}", runs_behind(&fourth));
    assert_eq!(fourth.trust.as_ref().map(|trust| trust.runs), Some(3));
    for estimate in fourth.cases.iter().filter_map(|case| Some(&case.measured()?.estimate)) {
        let next = estimate.repetition.unwrap();
        assert!(next.low <= estimate.value() && estimate.value() <= next.high, "{next:?}");
    }
    let (code, again, _) = ended(&mut home.hostmark(&["report", "last", "--reestimate", "--format", "json"]));
    let again = load_run(&again).unwrap();
    assert_eq!((code, &again.cases, &again.trust), (0, &fourth.cases, &fourth.trust));
    // The head says what the grade stands on, and --verbose both intervals.
    let (_, text, _) = ended(&mut home.hostmark(&["report", "last", "--verbose"]));
    assert!(text.contains("TRUST ") && text.contains("by 3 earlier runs"), "{text}");
    assert!(text.contains("this run ") && text.contains("scatter of 3 runs"), "{text}");
}
