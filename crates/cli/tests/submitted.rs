//! A run that is shared and sent in as a reference: an honest one is taken, and each kind of forgery is refused in one sentence.

use std::fs;
use std::path::Path;

use hostmark_engine::mock;
use serde_json::{Value, json};

use crate::answers::{assert_refused, printed};
use crate::support::in_process::{healthy_worker, scripted};
use crate::support::{Home, in_process};

/// Where a run file has what was measured of its first case.
const MEASURED: &str = "/cases/0/outcome/measured";

/// A home with so many runs, and the last of them as it is shared.
fn shared(count: usize) -> (Home, Value) {
    let home = Home::new();
    for _ in 0..count {
        printed(&home, &["run", "syscall.null", "clock.read", "--format", "json"]);
    }
    let run = share(&home);
    (home, run)
}

/// The last run as it is shared, where a self-check has passed before it: of the test program there is no digest to keep one by.
fn share(home: &Home) -> Value {
    let file = home.scratch.path().join("shared.json");
    let (code, line, _) = in_process(&home.hostmark(&["report", "last", "--share", "--out", file.to_str().unwrap()]));
    assert!(code == 0 && line.lines().count() == 1 && line.contains("Made-up CPU"), "{code} {line}");
    let mut run: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    run["trust"]["self_check"] =
        json!({"started": "2026-01-01T00:00:00Z", "passed": 7, "failed": 0, "not_possible": 4});
    run
}

/// What is said of a run that is sent in, with the exit code.
fn checked(home: &Home, run: &Value) -> (i32, String) {
    let file = home.scratch.path().join("sent.json");
    fs::write(&file, run.to_string()).unwrap();
    let (code, out, errors) = in_process(&home.hostmark(&["reference", "check", file.to_str().unwrap()]));
    assert_eq!((errors.as_str(), out.lines().count()), ("", 1), "{out}");
    (code, out)
}

#[track_caller]
fn assert_not_taken(home: &Home, run: &Value, says: &str) {
    let (code, out) = checked(home, run);
    assert!(code == 1 && out.starts_with("refused: ") && out.contains(says), "{code} {out}");
    assert!(out.contains("; "), "no word on what to do: {out}");
}

/// The same run with something else in one place.
fn with(run: &Value, pointer: &str, value: Value) -> Value {
    let mut forged = run.clone();
    *forged.pointer_mut(pointer).unwrap_or_else(|| panic!("there is no {pointer}")) = value;
    forged
}

#[test]
fn an_honest_run_is_taken_and_forged_ones_are_refused() {
    let (home, run) = shared(5);
    let (code, out) = checked(&home, &run);
    assert!(
        code == 0 && out.starts_with("accepted: ") && out.contains("Made-up CPU") && out.contains("TRUST"),
        "{out}"
    );
    // A value, its interval, a sample and a round's median, each changed by hand.
    let half = |pointer: &str| with(&run, pointer, json!(run.pointer(pointer).unwrap().as_f64().unwrap() / 2.0));
    for name in ["typical", "mean", "stddev"] {
        assert_not_taken(&home, &half(&format!("{MEASURED}/estimate/{name}")), "it contradicts itself: ");
    }
    for part in ["/samples/0/0", "/samples/2/3", "/rounds/1/median"] {
        let changed = half(&format!("{MEASURED}{part}"));
        assert_not_taken(&home, &changed, "it contradicts itself: ");
    }
    // A grade that its values do not give, and runs that there were not.
    let grade = if run["trust"]["grade"] == "A" { "B" } else { "A" };
    assert_not_taken(&home, &with(&run, "/trust/grade", grade.into()), "and its values give ");
    assert_not_taken(&home, &with(&run, "/trust/runs", 40.into()), "by 40 earlier runs");
    assert_not_taken(&home, &with(&run, "/trust/within", json!(1e-6)), "and its values give ");
    // Names of somebody.
    let stored = printed(&home, &["report", "last", "--format", "json"]);
    let mut stored: Value = serde_json::from_str(&stored).unwrap();
    stored["trust"] = run["trust"].clone();
    assert_not_taken(&home, &stored, "it is not redacted (");
    assert_not_taken(&home, &with(&run, "/host/hostname", "db-17".into()), "host.hostname");
    assert_not_taken(&home, &with(&run, "/host/kernel/command_line", "root=UUID=1".into()), "host.kernel.command_line");
    // What did not check this host.
    assert_not_taken(&home, &with(&run, "/trust/self_check", Value::Null), "no self-check of this program has passed");
    let late = with(&run, "/trust/self_check/started", "2999-01-01T00:00:00Z".into());
    assert_not_taken(&home, &late, "its self-check is later than the run");
    let mut failed = with(&run, "/trust/self_check/failed", 1.into());
    failed["trust"]["grade"] = "D".into();
    assert_not_taken(&home, &failed, "its self-check failed");
    // Not all of a run, and not one of ours.
    assert_not_taken(&home, &with(&run, "/interrupted", "stopped by a signal".into()), "the run was cut short");
    let mut imported = run.clone();
    imported["imported"] = json!({"format": "lmbench", "file": "redacted", "date": null});
    imported["trust"] = Value::Null;
    assert_not_taken(&home, &imported, "another tool measured it (lmbench)");
}

#[test]
fn fewer_runs_and_scattered_ones_make_no_reference() {
    let (home, run) = shared(4);
    assert_not_taken(&home, &run, "it stands on 4 of 5 runs");
    // Every second run is half as fast again.
    let home = Home::new();
    for run in 0..5 {
        let value = if run % 2 == 0 { 100.0 } else { 150.0 };
        let command = home.hostmark(&["run", "syscall.null", "--format", "json"]);
        let (code, _, errors) = scripted(&command, move |job, _| {
            let mut script = healthy_worker(job);
            for at in (1..2 * job.cases.len()).step_by(2) {
                script[at].1 = mock::line(&mock::samples(&[value; 8])).1;
            }
            script
        });
        assert_eq!(code, 0, "{errors}");
    }
    assert_not_taken(&home, &share(&home), "and a reference needs B or better");
}

#[test]
fn sharing_writes_a_redacted_run_and_a_card_and_prints_a_line() {
    let (home, _) = shared(1);
    let at = |name: &str| home.scratch.path().join(name);
    let names = |path: &Path| fs::read_to_string(path).unwrap().contains(&hostmark_host::read_here().hostname);
    assert!(!names(&at("shared.svg")) && fs::read_to_string(at("shared.svg")).unwrap().starts_with("<svg"));
    let run: Value = serde_json::from_str(&fs::read_to_string(at("shared.json")).unwrap()).unwrap();
    assert!(run["host"]["hostname"] == "host-1" && run["host"]["boot_id"].is_null());
    let out = at("two.json").display().to_string();
    assert_refused(&home, &["report", "last,last", "--share", "--out", &out], "--share takes one run; give one");
    assert!(!at("two.json").exists());
    let svg = at("run.svg").display().to_string();
    let (code, _, errors) = in_process(&home.hostmark(&["report", "last", "--share", "--out", &svg]));
    assert!(code == 2 && errors.contains("end it in .json"), "{errors}");
}
