//! References as a person meets them: a run held against one, a directory of one's own, files there that are none, and runs that are sent
//! in to become one.

use std::os::unix::fs::symlink;

use hostmark_engine::mock;
use hostmark_launch::Received;

use crate::commands::{assert_refused, printed};
use crate::prelude::*;
use crate::support::in_process::{healthy_worker, scripted};

/// What a command printed, with what it ended.
fn outcome(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    home.mocked(arguments)
}

/// A run of null calls and of reading the time, kept as last.
fn with_a_run() -> Home {
    let home = Home::new();
    with_code(0, outcome(&home, &["run", "syscall.null", "clock.read", "--format", "json"]));
    home
}

/// The directory of one's own references, made.
fn own(home: &Home) -> PathBuf {
    let at = home.data.path().join("hostmark/references");
    fs::create_dir_all(&at).unwrap();
    at
}

fn slim(value: f64) -> Value {
    let text = |text: &str| json!({"en": text, "zh": text});
    json!({
        "schema": "hostmark.reference/1", "machine": text("the old server"), "address": "https://example.org/old",
        "date": "2026-01-02", "method": text("by hand"),
        "values": [{"id": "syscall.null", "value": value, "interval": [value * 0.99, value * 1.01]}],
    })
}

#[test]
fn a_ratio_is_that_of_the_value_to_the_reference() {
    let home = with_a_run();
    let (_, out, _) = outcome(&home, &["compare", "last", "--against", "emerald-rapids-kvm", "--format", "json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    let null = document["rows"].as_array().unwrap().iter().find(|row| row["id"] == "syscall.null").unwrap();
    let ratio = null["value"].as_f64().unwrap() / null["reference"].as_f64().unwrap();
    assert_eq!(null["ratio"].as_f64(), Some(ratio));
    assert!(null["address"] == "docs/study" && null["date"] == "2026-11-24", "{null}");
}

#[test]
fn a_reference_stands_beside_a_run_of_which_a_case_failed() {
    let home = Home::new();
    let command = home.hostmark(&["run", "syscall.null", "syscall.stat", "--against", "x220"]);
    let (code, out, errors) = scripted(&command, |job, _| {
        let mut script = healthy_worker(job);
        if let Some(before) = job.cases.iter().position(|case| case.id.starts_with("syscall.stat")) {
            script.truncate(1 + 2 * before);
            script.push((Duration::ZERO, Received::Ended("was ended by signal 9".into())));
        }
        script
    });
    assert_eq!((code, errors.as_str()), (3, ""), "{out}");
    assert!(out.contains("ThinkPad X220") && out.contains("49.6 ns"), "{out}");
}

#[test]
fn ones_own_references_work_as_those_of_the_program_do() {
    let home = with_a_run();
    let at = own(&home);
    fs::write(at.join("old.json"), slim(1e-3).to_string()).unwrap();
    // Its value has an interval, and so there is a verdict.
    let out = succeeded(outcome(&home, &["compare", "--against", "old"]));
    assert!(out.contains("the old server") && out.contains("https://example.org/old"), "{out}");
    let (_, out, _) = outcome(&home, &["compare", "--against", "old", "--format", "json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert!(["worse", "no_interval"].contains(&document["rows"][0]["standing"].as_str().unwrap()), "{out}");
    // By its path it is the same; one of the program's name goes before the program's.
    let path = at.join("old.json").display().to_string();
    assert_eq!(outcome(&home, &["compare", "--against", &path, "--format", "json"]).1, out);
    fs::write(at.join("x220.json"), slim(50.0).to_string()).unwrap();
    assert!(outcome(&home, &["explain", "x220"]).1.contains("the old server"));
    // A run of one's own is one: it is compared as any two runs are.
    let runs = files(&home.data.path().join("hostmark/runs"));
    let run = runs.iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    fs::copy(run, at.join("before.json")).unwrap();
    with_code(0, outcome(&home, &["run", "syscall.null", "--format", "json"]));
    let (code, out, errors) = outcome(&home, &["compare", "--against", "before"]);
    assert!([0, 1].contains(&code) && out.contains("Null call"), "{code} {out} {errors}");
    assert!(outcome(&home, &["list", "--references"]).1.contains("before"));
}

#[test]
fn a_file_that_is_no_reference_gets_one_sentence_and_breaks_nothing_else() {
    let home = with_a_run();
    let at = own(&home);
    fs::write(at.join("good.json"), slim(50.0).to_string()).unwrap();
    let mut no_source = slim(50.0);
    no_source["address"] = "".into();
    let bad: [(&str, Vec<u8>); 7] = [
        ("cut", slim(50.0).to_string().into_bytes()[..80].to_vec()),
        ("empty", Vec::new()),
        ("bytes", vec![0xff, 0x00, 0x80]),
        ("other", br#"{"schema": "other"}"#.to_vec()),
        ("deep", vec![b'['; 100_000]),
        ("source", no_source.to_string().into_bytes()),
        ("run", br#"{"schema": "hostmark.run/1"}"#.to_vec()),
    ];
    for (name, bytes) in &bad {
        fs::write(at.join(format!("{name}.json")), bytes).unwrap();
    }
    symlink("/dev/zero", at.join("device.json")).unwrap();
    symlink(at.join("nowhere"), at.join("loose.json")).unwrap();
    fs::create_dir(at.join("folder.json")).unwrap();
    let (code, out, errors) = outcome(&home, &["list", "--references"]);
    assert!(code == 0 && out.contains("good") && out.contains("x220"), "{out}");
    assert_eq!(errors.lines().count(), bad.len(), "{errors}");
    assert!(bad.iter().all(|(name, _)| errors.contains(&format!("{name}.json"))), "{errors}");
    assert!(errors.lines().all(|line| line.starts_with("hostmark: ") && line.contains("; ")), "{errors}");
    let (code, out, _) = outcome(&home, &["report", "--format", "answer"]);
    assert!(code == 0 && out.contains("syscall.null"), "{out}");
    for (name, _) in &bad {
        let (code, out, errors) = outcome(&home, &["compare", "--against", name]);
        assert!(code == 2 && out.is_empty() && errors.lines().count() == 1, "{name}: {code} {out} {errors}");
    }
}

/// The run that is kept, as one of a server of this design whose memory alone was measured: in so many nanoseconds.
fn with_memory_of(home: &Home, design: Option<&str>, ns: f64, name: &str) -> String {
    let runs = files(&home.data.path().join("hostmark/runs"));
    let run = runs.iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let mut run: Value = serde_json::from_str(&fs::read_to_string(run).unwrap()).unwrap();
    (run["id"], run["host"]["hostname"]) = (name.into(), name.into());
    let cpu = &mut run["host"]["cpu"];
    (cpu["architecture"], cpu["vendor"], cpu["model"]) = ("x86_64".into(), "AuthenticAMD".into(), "AMD EPYC".into());
    (cpu["microarchitecture"], cpu["features"]) = (design.into(), Vec::<String>::new().into());
    let (probe, id) = ("memory.hierarchy", "memory.hierarchy@level=dram");
    for info in run["probes"].as_array_mut().unwrap().iter_mut().filter(|info| info["id"] == "syscall.null") {
        info["id"] = probe.into();
    }
    let cases = run["cases"].as_array_mut().unwrap();
    let case = cases.iter_mut().find(|case| case["probe"] == "syscall.null").unwrap();
    (case["id"], case["probe"], case["params"]) = (id.into(), probe.into(), serde_json::json!({ "level": "dram" }));
    let estimate = &mut case["outcome"]["measured"]["estimate"];
    // Rounds too few for an interval lie so far apart.
    (estimate["typical"], estimate["leading"]) = (ns.into(), "typical".into());
    (estimate["ci_low"], estimate["ci_high"], estimate["repetition"]) = (Value::Null, Value::Null, Value::Null);
    estimate["range"] = serde_json::json!([ns * 0.96, ns * 1.04]);
    let path = home.data.path().join(format!("{name}.json"));
    fs::write(&path, run.to_string()).unwrap();
    path.display().to_string()
}

#[test]
fn usual_is_what_servers_of_the_runs_design_deliver_and_decides() {
    let home = with_a_run();
    let milan = Some("Zen 3, Milan");
    // Nine of ten such servers take under 130 ns, whatever their size.
    let [fine, slow, unknown] = [(milan, 95.0, "fine"), (milan, 250.0, "slow"), (None, 250.0, "unknown")]
        .map(|(design, ns, name)| with_memory_of(&home, design, ns, name));
    let (out, _) = with_code(1, outcome(&home, &["compare", &slow, "--against", "usual"]));
    let lines = |name: &str| out.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(lines("DRAM ").ends_with(" % slower !") && lines("L3 ").ends_with("not measured"), "{out}");
    // What is not known is not as usual.
    let (code, out, errors) = outcome(&home, &["compare", &fine, "--against", "usual"]);
    assert!(
        code == 6 && out.contains("as usual") && errors.contains("not known to be as usual"),
        "{code} {out} {errors}"
    );
    let errors = refusal(outcome(&home, &["compare", &unknown, "--against", "usual"]));
    assert!(errors.contains("nothing is known of what is usual for AMD EPYC; "), "{errors}");
    // By the name of the base the same is said, and nothing decided.
    let (code, named, _) = outcome(&home, &["compare", &slow, "--against", "usual-zen-3-milan"]);
    assert_eq!((code, named), (0, outcome(&home, &["compare", &slow, "--against", "usual"]).1));
    let (_, json, _) = outcome(&home, &["compare", &slow, "--against", "usual", "--format", "json"]);
    let document: Value = serde_json::from_str(&json).unwrap();
    let row = |id: &str| document["rows"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone();
    assert_eq!(row("memory.hierarchy@level=dram")["standing"], "worse");
    let third = row("memory.hierarchy@level=l3");
    assert!(third["standing"] == "not_measured" && third["value"].is_null() && third["ratio"].is_null(), "{third}");
    // Before anything is measured here it is refused.
    let (code, out, errors) = outcome(&home, &["run", "clock.loop", "--against", "usual"]);
    assert!(
        code == 2 && out.is_empty() && errors.contains("nothing is known of what is usual"),
        "{code} {out} {errors}"
    );
}

#[test]
fn a_fleet_is_not_fine_where_it_is_slow_as_a_whole_or_nothing_was_judged() {
    let home = with_a_run();
    for (folder, design, ns, exit) in
        [("slow", Some("Zen 3, Milan"), 250.0, 1), ("fine", Some("Zen 3, Milan"), 95.0, 0), ("unknown", None, 250.0, 6)]
    {
        let at = home.data.path().join(folder);
        fs::create_dir(&at).unwrap();
        for host in ["one", "two"] {
            let file = with_memory_of(&home, design, ns, &format!("{folder}-{host}"));
            fs::rename(&file, at.join(format!("{host}.json"))).unwrap();
        }
        let at = at.display().to_string();
        let (out, errors) = with_code(exit, outcome(&home, &["fleet", "report", &at, "--check"]));
        let out = out.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert_eq!(out.contains("2 of 2 have slower DRAM than 9 of 10 such servers"), exit == 1, "{out}");
        assert_eq!(errors.contains("nothing could be judged"), exit == 6, "{errors}");
        assert_eq!(outcome(&home, &["fleet", "report", &at]).0, 0);
    }
}

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
    let (code, line, _) = home.mocked(&["report", "last", "--share", "--out", file.to_str().unwrap()]);
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
    let (code, out, errors) = home.mocked(&["reference", "check", file.to_str().unwrap()]);
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
    let (code, _, errors) = home.mocked(&["report", "last", "--share", "--out", &svg]);
    assert!(code == 2 && errors.contains("end it in .json"), "{errors}");
}
