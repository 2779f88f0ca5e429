//! What a person manages runs by: what is set, planned, gone on with, listed.

use std::path::PathBuf;
use std::time::Duration;

use hostmark_engine::plan::keep_to_cpus;
use hostmark_engine::probe::entries;
use hostmark_model::load_run;
use hostmark_probes::CATALOGUE;
use serde_json::Value;

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::answers::{assert_refused, printed};
use crate::support::{Home, ended, files, in_process};

/// The last CPU that a process may use here.
fn last_cpu() -> usize {
    let host = hostmark_host::read_here();
    *host.usable_cpus().last().unwrap()
}

#[test]
fn what_is_set_is_measured_and_recorded() {
    let home = Home::new();
    let cpu = last_cpu().to_string();
    let set = ["--set", "source=monotonic", "--cpu", &cpu];
    let json = printed(&home, &[&["run", "clock.read", "--format", "json"][..], &set].concat());
    let run = load_run(&json).unwrap();
    let ids: Vec<&str> = run.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, ["clock.read@source=monotonic"]);
    assert_eq!(run.settings.set["source"], "monotonic");
    assert_eq!(run.settings.set["cpu"], cpu);
    assert_eq!(run.host.usable_cpus(), [last_cpu()]);
    assert_eq!(run.probes[0].axes[0].default, "monotonic");
    assert!(run.cases[0].measured().unwrap().rounds.iter().all(|round| round.cpus == [last_cpu()]));
}

#[test]
fn no_axis_is_called_as_the_setting_of_cpus_is() {
    assert!(entries(CATALOGUE).all(|entry| entry.probe.axes.iter().all(|axis| axis.name != "cpu")));
}

#[test]
fn what_cannot_be_set_is_refused() {
    let home = Home::new();
    let refused = |rest: &[&str], sentence: &str| assert_refused(&home, &[&["run"][..], rest].concat(), sentence);
    refused(&["--cpu", "x"], "'x' is no list of CPUs; write one as 0-3,8");
    let mut host = hostmark_host::read_here();
    refused(&["--cpu", "4095"], &keep_to_cpus(&mut host, "4095").unwrap_err().to_string());
    refused(
        &["clock.loop", "--set", "colour=1"],
        "--set colour=1 is for no selected probe; select one that has this axis, or leave it out",
    );
    refused(
        &["memory.read", "--set", "size=abc"],
        "'abc' is no value of memory.read's axis size; use bytes, as 4096, 32K, 64M or 1G",
    );
    refused(
        &["memory.read", "--set", "memory.read:colour=1"],
        "memory.read has no axis 'colour'; use size, kernel, page, threads",
    );
    assert!(files(home.data.path()).is_empty());
}

#[test]
fn a_seed_that_is_shown_can_be_given_again() {
    let home = Home::new();
    let dry =
        |seed: &str, format: &str| printed(&home, &["run", "clock", "--dry-run", "--seed", seed, "--format", format]);
    for seed in ["32570", "0x7f3a", "0x7F3A"] {
        assert_eq!(serde_json::from_str::<Value>(&dry(seed, "json")).unwrap()["seed"], 0x7f3a, "{seed}");
        assert!(dry(seed, "table").contains("   seed 0x7f3a\n"), "{seed}");
    }
    let largest = dry("0xffffffffffffffff", "json");
    assert_eq!(serde_json::from_str::<Value>(&largest).unwrap()["seed"], u64::MAX);
    for seed in ["7f3a", "0x", "1.5", "0x10000000000000000", ""] {
        let (code, out, errors) = ended(&mut home.hostmark(&["run", "clock", "--dry-run", "--seed", seed]));
        assert_eq!((code, out.as_str()), (2, ""), "{seed}");
        assert!(errors.contains("hexadecimal as 0x7f3a"), "{seed}: {errors}");
    }
}

#[test]
fn a_dry_run_shows_the_plan_and_touches_nothing() {
    let home = Home::new();
    let arguments = ["run", "clock", "ipc", "--set", "source=monotonic", "--dry-run", "--seed", "5"];
    let table = printed(&home, &arguments);
    for part in ["Nothing is measured", "clock.loop", "clock.read@source=monotonic", "ipc"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let json = printed(&home, &[&arguments[..], &["--format", "json"]].concat());
    let plan: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&plan["seed"], &plan["rounds"], &plan["set"]["source"]), (&5.into(), &5.into(), &"monotonic".into()));
    let cases = plan["cases"].as_array().unwrap();
    let has_outcome =
        |case: &Value| case["skipped"]["reason"].is_string() || case["expected_s"].as_f64().is_some_and(|s| s > 0.0);
    assert!(cases.len() > 3 && cases.iter().all(has_outcome), "{json}");
    let of = |list: &str, key: &str| -> u64 {
        plan[list].as_array().unwrap().iter().map(|one| one[key].as_u64().unwrap()).sum()
    };
    assert_eq!(of("groups", "cases") + of("groups", "skipped"), cases.len() as u64);
    assert_eq!(of("groups", "cases"), of("probes", "cases"));
    printed(&home, &[&arguments[..], &["--name", "later"]].concat());
    // Nor is a directory made for the runs.
    let is_empty = |folder: &tempfile::TempDir| std::fs::read_dir(folder.path()).unwrap().next().is_none();
    assert!(is_empty(&home.data) && is_empty(&home.scratch));
    let (code, _, errors) = ended(&mut home.hostmark(&["run", "--dry-run", "--set", "qq"]));
    assert_eq!(code, 2, "{errors}");
}

/// What cannot run, and why it is refused before its first measurement.
const CANNOT: &[(&[&str], i32, &str)] = &[
    (&["disk", "--scratch", "/proc"], 2, "nothing can be made in --scratch /proc"),
    (&["clock.loop", "--scratch", "/no/such"], 2, "--scratch /no/such"),
    (&["clock.loop", "--out", "/proc/x.json"], 2, "journal /proc/x.partial.jsonl cannot be written"),
    (&["clock.loop", "--out", "/no/such/x.json"], 2, "there is no directory /no/such"),
    (&["clock.loop", "--expect", "nosuch"], 2, "there is no run 'nosuch'"),
    (&["clock.loop", "--expect", "./r4.json"], 2, "there is no file ./r4.json"),
    (&["--command", "/no/such"], 2, "--command /no/such cannot be started"),
    (&["clock.loop", "--cpu", "4095"], 2, "cannot bind to CPU 4095"),
    (&["nosuch"], 4, "no probe is called 'nosuch'"),
];

#[test]
fn a_dry_run_refuses_what_the_run_refuses_in_the_same_words() {
    let home = Home::new();
    let said = |words: &[&str], more: &[&str]| in_process(&home.hostmark(&[&["run"], words, more].concat()));
    for (words, code, sentence) in CANNOT {
        let refused = said(words, &[]);
        assert!(refused.0 == *code && refused.2.contains(sentence), "{words:?}: {refused:?}");
        assert_eq!(said(words, &["--dry-run"]), refused, "{words:?}");
    }
    let mut named = home.hostmark(&["run", "clock.loop", "--name", "x"]);
    let refused = in_process(named.env("XDG_DATA_HOME", "/proc"));
    assert!(refused.0 == 2 && refused.2.contains("cannot be kept as x"), "{refused:?}");
    assert_eq!(in_process(named.arg("--dry-run")), refused);
    assert!(files(home.data.path()).is_empty());
}

#[test]
fn a_run_that_can_measure_nothing_is_no_success_and_is_kept_only_where_a_file_is_named() {
    let (home, cpu) = (Home::new(), last_cpu().to_string());
    // Two CPUs are needed.
    let words = ["run", "cpu.core_to_core", "--cpu", &cpu];
    let said = |more: &[&str]| in_process(&home.hostmark(&[&words[..], more].concat()));
    let (code, shown, errors) = said(&[]);
    assert!(
        code == 4 && errors.contains("nothing can be measured: needs 2 CPUs") && errors.lines().count() == 1,
        "{errors}"
    );
    assert!(
        shown.contains("FINDINGS   not looked for: nothing was measured") && !shown.contains("saved as"),
        "{shown}"
    );
    let (code, _, dry) = said(&["--dry-run"]);
    assert_eq!((code, dry), (4, errors));
    let (code, _, errors) = said(&["--name", "x", "--lang", "zh"]);
    assert!(code == 4 && errors.contains("没有可测得的用例："), "{errors}");
    assert!(files(home.data.path()).is_empty());
    let out = home.scratch.path().join("run.json").display().to_string();
    assert_eq!(said(&["--out", &out]).0, 4);
    let run = load_run(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert!(!run.cases.is_empty());
    // What else there is to measure makes it a run.
    let (code, shown, errors) = said(&["clock.loop"]);
    assert!(code == 0 && errors.is_empty() && shown.contains("saved as"), "{errors}");
}

/// A run that is killed when its journal has some rounds; its journal.
fn cut_short(home: &Home, arguments: &[&str]) -> PathBuf {
    let mut command = home.hostmark(arguments);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let journal = loop {
        let left = files(home.data.path());
        let journal = left.into_iter().find(|path| path.display().to_string().ends_with(".partial.jsonl"));
        if let Some(path) = journal
            && std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() > 4)
        {
            break path;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    // The workers and the janitor go at once, and take their directories with them.
    std::thread::sleep(Duration::from_millis(300));
    journal
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_journal_decides_on_no_command_and_on_no_file_that_is_replaced() {
    let _alone = alone();
    let home = Home::new();
    let lines = home.scratch.path().join("lines");
    let command = format!("sh -c 'echo >> {}; sleep 0.2'", lines.display());
    let file = home.data.path().join("mine.json");
    let journal = cut_short(&home, &["run", "--command", &command, "--out", file.to_str().unwrap()]);
    let executed = || std::fs::read_to_string(&lines).unwrap();
    let before = executed();
    let resume = ["run", "--resume", journal.to_str().unwrap()];
    for typed in [&[][..], &["--command", "true"], &["--command", &command, "--on", "env"]] {
        let (code, _, errors) = ended(&mut home.hostmark(&[&resume[..], typed].concat()));
        assert!(code == 2 && errors.contains("alone decides on no command") && errors.contains("echo >>"), "{errors}");
    }
    let with_command = [&resume[..], &["--command", &command]].concat();
    std::fs::write(&file, "precious").unwrap();
    let sentence =
        format!("{} is there already and is no part of this run; name it by --out to replace it", file.display());
    assert_refused(&home, &with_command, &sentence);
    assert_eq!((executed(), std::fs::read_to_string(&file).unwrap().as_str()), (before.clone(), "precious"));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(ended(&mut home.hostmark(&with_command)).0, 0);
    assert!(executed().len() > before.len() && file.exists() && !journal.exists());
}

#[test]
fn the_kept_runs_are_listed_newest_last_and_what_is_unreadable_is_named() {
    let home = Home::new();
    let none = "hostmark: no run is kept on this machine; hostmark run makes one\n".to_owned();
    assert_eq!(ended(&mut home.hostmark(&["runs"])), (2, String::new(), none.clone()));
    assert_eq!(ended(&mut home.hostmark(&["runs", "--format", "json"])), (2, "[]\n".to_owned(), none));
    printed(&home, &["run", "clock.loop", "syscall.byte@call=read"]);
    printed(&home, &["run", "clock.loop"]);
    std::fs::write(home.data.path().join("hostmark/runs/00-bad.json"), "{}").unwrap();
    let json: Value = serde_json::from_str(&printed(&home, &["runs", "--format", "json"])).unwrap();
    let list = json.as_array().unwrap();
    assert_eq!(list.len(), 3);
    assert_eq!(list[0]["name"], "00-bad");
    assert!(list[0]["unreadable"].as_str().unwrap().starts_with("is not a hostmark run ("));
    let measured: Vec<&Value> = list[1..].iter().map(|run| &run["measured"]).collect();
    assert_eq!(measured, [2, 1]);
    assert!(list[1..].iter().all(|run| run["state"] == "finished" && run["profile"] == "quick"));
    let csv = printed(&home, &["report", "last", "--format", "csv"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert!(
        rows[0].starts_with("run,host,case,probe,") && rows[1].contains("clock.loop") && rows[1].contains(",measured,")
    );
    let table = printed(&home, &["runs"]);
    // What goes on in another line is further in.
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert!(rows[3].starts_with(list[2]["name"].as_str().unwrap()), "{table}");
}
