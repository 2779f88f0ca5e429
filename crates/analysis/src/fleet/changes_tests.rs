//! Changes of made-up histories.

use serde_json::{Value, json};

use super::*;
use crate::made_up;

/// The run of a day: two cases of 100 ns and 5 µs with a little noise, times a factor, on a kernel.
fn run(day: usize, factor: f64, kernel: &str) -> Value {
    let noise = |salt: usize| 1.0 + 0.02 * (((day * 7919 + salt * 104_729) % 101) as f64 / 101.0 - 0.5);
    let probe = |id: &str| {
        json!({ "id": id, "title": { "en": id, "zh": id }, "section": { "en": "s", "zh": "s" }, "unit": "nanoseconds",
                "better": "lower", "axes": [], "revision": 1 })
    };
    let cases = [("syscall.null", 100.0 * factor * noise(1)), ("ipc.pipe", 5000.0 * noise(2))];
    let mut run = made_up::run(&format!("id-{day}"), cases.map(|(id, value)| made_up::case(id, value, 0.01)).into());
    (run.host.hostname, run.host.kernel.release) = ("db-17".into(), kernel.into());
    let mut run = json!(run);
    (run["name"], run["started"]) = (format!("run-{day}").into(), format!("2026-01-{:02}T00:00:00Z", day + 1).into());
    (run["finished"], run["settings"]["seed"]) = (format!("2026-01-{:02}T00:01:00Z", day + 1).into(), day.into());
    run["probes"] = json!([probe("syscall.null"), probe("ipc.pipe")]);
    run
}

fn gathered(runs: impl Iterator<Item = Value>) -> Gathering {
    let mut gathering = Gathering::new(&[]);
    for (number, run) in runs.enumerate() {
        gathering.read(&format!("{number:02}.json"), run.to_string().as_bytes());
    }
    assert!(gathering.unread.is_empty(), "{:?}", gathering.unread);
    gathering
}

#[test]
fn a_step_has_its_run_its_size_and_what_else_changed_then() {
    let kernel = |day: usize| if day < 12 { "6.1.0" } else { "6.18.0" };
    let factor = |day: usize| if day < 12 { 1.0 } else { 1.3 };
    // In whatever order the files are read.
    let gathering = gathered((0..24).rev().map(|day| run(day, factor(day), kernel(day))));
    let [change] = &changes(&gathering)[..] else { panic!("{:?}", changes(&gathering)) };
    assert_eq!((change.host.as_str(), change.started.as_str()), ("db-17", "2026-01-13T00:00:00Z"));
    let [case] = &change.cases[..] else { panic!("{change:?}") };
    assert_eq!((case.case.as_str(), case.runs, case.is_worse()), ("syscall.null", [12, 12], true));
    assert!((case.ratio - 1.3).abs() < 0.02 && case.interval[0] < 1.3 && case.interval[1] > 1.3, "{case:?}");
    assert!((case.before - 100.0).abs() < 2.0 && (case.since - 130.0).abs() < 3.0 && case.p <= 0.05, "{case:?}");
    let fact = change.facts.iter().find(|fact| fact.from == "6.1.0").expect("the kernel");
    assert_eq!((fact.label.en.as_str(), fact.to.as_str()), ("kernel release", "6.18.0"));
}

#[test]
fn where_nothing_steps_and_of_few_runs_nothing_is_reported() {
    assert_eq!(changes(&gathered((0..24).map(|day| run(day, 1.0, "6.1.0")))), []);
    assert_eq!(changes(&gathered((0..5).map(|day| run(day, if day < 3 { 1.0 } else { 2.0 }, "6.1.0")))), []);
    assert_eq!(changes(&Gathering::new(&[])), []);
    // Another kernel that changes no value is no change of the host's values.
    let kernel = |day: usize| if day < 12 { "6.1.0" } else { "6.18.0" };
    assert_eq!(changes(&gathered((0..24).map(|day| run(day, 1.0, kernel(day))))), []);
}
