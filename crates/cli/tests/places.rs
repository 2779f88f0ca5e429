//! `--on`: what is measured where a command leads is a run as any other, kept here, and says where that was.

use hostmark_launch::program::digest_of;

use crate::prelude::*;
use crate::under_way::{UnderWay, measured, one_cpu};

// Runs are timed: one at a time.

/// The place of these tests: a command that leads here, by its own process, pipe and copy of the program.
const ENV: &str = "env 'A B=c d'";
/// A run of some tens of seconds when nobody stops it.
const LONG: &[&str] = &["memory.read", "clock", "syscall"];

/// The one to measure on: which one is chosen otherwise depends on who is busy meanwhile.
fn a_cpu() -> String {
    one_cpu().unwrap_or_default().to_string()
}

fn case_ids(run: &Run) -> Vec<&str> {
    run.cases.iter().map(|case| case.id.as_str()).collect()
}

#[test]
fn a_run_at_a_place_is_kept_here_and_says_where_it_was_measured() {
    let _alone = alone();
    let home = Home::new();
    let run = measured(&mut home.hostmark(&["run", "--on", ENV, "clock.loop"]));
    assert_eq!(run.place.as_deref(), Some(ENV), "as it was typed, quotes and all");
    assert_eq!(run.tool.digest, Some(digest_of(PROGRAM.as_ref()).unwrap()));
    assert!(run.cases.iter().all(|case| case.measured().is_some()));
    let kept = files(home.data.path());
    let [file] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(load_run(&fs::read_to_string(file).unwrap()).unwrap(), run);
    assert_eq!(file.file_stem().unwrap().to_str(), Some(run.name.as_str()));
    assert!(files(home.scratch.path()).is_empty(), "something was left where it was measured");
    for (format, lang, says) in [
        ("table", "en", "measured at 'env 'A B=c d''"),
        ("table", "zh", "测量位置：'env 'A B=c d''"),
        ("markdown", "en", "measured at 'env 'A B=c d''"),
        ("html", "en", "measured at"),
        ("html", "zh", "测量位置"),
    ] {
        let (_, out, _) = home.says(&["report", "--format", format, "--lang", lang]);
        assert!(out.contains(says), "{format} {lang}");
    }
}

#[test]
fn a_place_measures_the_same_cases_as_often_and_in_the_same_order() {
    let _alone = alone();
    let home = Home::new();
    let cpu = a_cpu();
    let arguments = ["clock", "syscall.null", "--seed", "0x7f3a", "--cpu", cpu.as_str()];
    let here = measured(&mut home.hostmark(&[&["run", "--on", "here"], &arguments[..]].concat()));
    let there = measured(&mut home.hostmark(&[&["run", "--on", ENV], &arguments[..]].concat()));
    assert_eq!((&here.tool.digest, &here.place), (&there.tool.digest, &None));
    assert_eq!(case_ids(&here), case_ids(&there));
    let planned = |run: &Run| (run.settings.seed, run.settings.rounds, run.settings.limit_s, run.settings.cpu);
    assert_eq!(planned(&here), planned(&there));
    assert_eq!(here.probes, there.probes);
    for (one, other) in here.cases.iter().zip(&there.cases) {
        let rounds = |case: &hostmark_model::CaseRecord| case.measured().map(|measured| measured.rounds.len() >= 5);
        assert_eq!(rounds(one), rounds(other), "{}", one.id);
    }
    // A journal is in the order of time.
    let order = |place: &[&str]| {
        let mut run = UnderWay::start(&[&["run"], place, LONG, &["--seed", "7", "--cpu", cpu.as_str()]].concat());
        let text = run.journal();
        run.child.kill().unwrap();
        run.child.wait().unwrap();
        run.left(SOON);
        let lines = text.lines().skip(1).take(3).map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| (line["case"].to_string(), line["round"].to_string())).collect::<Vec<_>>()
    };
    assert_eq!(order(&[]), order(&["--on", ENV]));
}

#[test]
fn a_plan_and_facts_are_those_of_the_place() {
    let _alone = alone();
    let (home, cpu) = (Home::new(), a_cpu());
    let plan = |on: &[&str]| {
        let case = ["run", "--dry-run", "--format", "json", "--seed", "7", "--cpu", cpu.as_str(), "clock", "syscall"];
        let arguments = [&case[..], on].concat();
        let out = succeeded(home.says(&arguments));
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let (here, there) = (plan(&[]), plan(&["--on", ENV]));
    assert_eq!(here["cases"], there["cases"]);
    assert!(here["cases"].as_array().is_some_and(|cases| !cases.is_empty()));
    let host = |on: &[&str]| {
        let out = succeeded(home.says(&[&["host", "--format", "json"], on].concat()));
        let facts: Value = serde_json::from_str(&out).unwrap();
        ["hostname", "kernel", "cpus", "boot_id"].map(|fact| facts["host"][fact].clone())
    };
    assert_eq!(host(&[]), host(&["--on", ENV]));
    let (_, table, _) = home.says(&["host", "--on", ENV]);
    assert!(table.lines().count() > 5, "{table}");
    assert!(files(home.data.path()).is_empty(), "nothing was measured");
}

#[test]
fn runs_that_are_kept_at_a_place_are_shown_here() {
    let _alone = alone();
    let (here, there) = (Home::new(), Home::new());
    let run = measured(&mut there.hostmark(&["run", "clock.loop"]));
    let place = format!("env 'XDG_DATA_HOME={}'", there.data.path().display());
    for name in ["last", &run.name] {
        let shown = measured(&mut here.hostmark(&["report", name, "--on", &place]));
        assert_eq!(shown, run);
    }
    let errors = refusal(here.says(&["report", "nothing", "--on", &place]));
    let sentence = "there is no run 'nothing'; give a file, a run's name, or last";
    assert_eq!(errors, format!("hostmark: '{place}': {sentence}\n"));
    let (code, _, errors) = here.says(&["report", "--on", ENV]);
    assert_eq!((code, errors.lines().count()), (2, 1), "none is kept there yet: {errors}");
    assert!(files(here.data.path()).is_empty());
}

#[test]
fn what_a_run_is_given_is_given_to_the_place() {
    let _alone = alone();
    let home = Home::new();
    let at = tempfile::tempdir().unwrap();
    let out = at.path().join("far.json").display().to_string();
    let text = succeeded(home.says(&["run", "--on", ENV, "clock.loop", "--out", &out]));
    assert!(text.contains(&format!("saved as {out}")), "{text}");
    assert_eq!(load_run(&fs::read_to_string(&out).unwrap()).unwrap().name, "far");
    assert!(files(home.data.path()).is_empty());

    let cpu = measured(&mut home.hostmark(&["run", "--on", ENV, "clock.loop", "--cpu", "0"]));
    assert_eq!((cpu.settings.cpu, cpu.settings.set.get("cpu").map(String::as_str)), (0, Some("0")));
    let command = measured(&mut home.hostmark(&["run", "--on", ENV, "--command", "true"]));
    assert!(command.cases.iter().any(|case| case.probe.starts_with("external") && case.measured().is_some()));
    let set = measured(&mut home.hostmark(&["run", "--on", ENV, "memory.latency", "--set", "size=4K"]));
    assert!(case_ids(&set).iter().all(|id| id.contains("size=4096")), "{:?}", case_ids(&set));
    let (table, _) = with_code(0, home.says(&["run", "--on", ENV, "--table", "stream"]));
    assert!(table.contains("Triad") || table.contains("triad"), "{table}");
}

#[test]
fn a_scratch_directory_is_looked_for_at_the_place_alone() {
    let _alone = alone();
    let home = Home::new();
    let at = tempfile::tempdir().unwrap();
    let there = at.path().join("there");
    // What is mounted and made in another mount namespace is only there.
    let (root, scratch) = (at.path().display().to_string(), there.display().to_string());
    let script = format!("mount -t tmpfs none {root} && mkdir {scratch} && exec \"$@\"");
    let can = Command::new("unshare").args(["-m", "sh", "-c", &script, "x", "true"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        return skipped("no mount namespace can be made");
    }
    let place = format!("unshare -m sh -c '{script}' x");
    let probe = "file.create_delete@op=create";
    let run = measured(&mut home.hostmark(&["run", "--on", &place, probe, "--scratch", &scratch]));
    assert!(run.cases.iter().any(|case| case.measured().is_some()), "{:?}", run.cases);
    assert!(run.host.storage.directories.iter().any(|directory| directory.filesystem.as_deref() == Some("tmpfs")));
    assert!(!there.exists());
    let (code, _, errors) = home.says(&["run", "--on", ENV, probe, "--scratch", &scratch]);
    assert_eq!((code, errors.lines().count()), (2, 1), "{errors}");
    assert!(errors.starts_with(&format!("hostmark: '{ENV}': ")) && errors.contains(&scratch), "{errors}");
}

#[test]
fn a_place_may_be_measured_within_namespaces() {
    let _alone = alone();
    let home = Home::new();
    let (code, _, errors) = home.says(&["run", "clock.loop", "--isolate", "namespaces"]);
    if code != 0 {
        return skipped(&format!("no namespaces can be entered ({})", errors.trim()));
    }
    let run = measured(&mut home.hostmark(&["run", "--on", ENV, "clock.loop", "--isolate", "namespaces"]));
    assert_eq!(run.settings.inputs.isolate, ["namespaces"]);
    assert!(run.cases.iter().all(|case| case.measured().is_some()));
}

#[test]
fn what_is_usual_for_an_unknown_processor_there_is_refused_before_anything_is_measured() {
    let _alone = alone();
    let home = Home::new();
    let asked = ["run", "clock.loop", "--expect", "usual"];
    if hostmark_analysis::references::usual(&hostmark_host::read_here()).is_some() {
        return skipped("what is usual for this processor is known");
    }
    for more in [&[][..], &["--dry-run"]] {
        let errors = refusal(home.says(&[&asked[..], &["--on", ENV], more].concat()));
        assert!(errors.contains("nothing is known of what is usual for "), "{errors}");
    }
    assert_eq!(files(home.data.path()), Vec::<PathBuf>::new());
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let _alone = alone();
    let home = Home::new();
    let line = format!("{PROGRAM} run --on env clock.loop clock.read >/dev/null");
    let Ok(output) = home.start("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output() else {
        return skipped("there is no script (bsdutils)");
    };
    let (drawn, _) = with_code(0, said(&output));
    assert!(drawn.contains("clock.read") && drawn.contains("s left"), "{drawn:?}");
}

/// A far run of which only the journal is left, as its parent was killed.
fn killed(arguments: &[&str]) -> (UnderWay, PathBuf) {
    let mut run = UnderWay::start(arguments);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    run.left(SOON);
    run.assert_only_the_journal_is_left();
    let left = files(run.home.data.path());
    let [journal] = left.as_slice() else { panic!("{left:?}") };
    let journal = journal.clone();
    (run, journal)
}

#[test]
fn a_journal_decides_on_nothing_that_is_executed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let place = format!("sh -c 'touch {}; exec \"$@\"' sh", mark.display());
    let (run, journal) = killed(&["run", "--on", &place, "clock", "syscall.null"]);
    fs::remove_file(&mark).unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    let mut line = String::new();
    for on in [&[][..], &["--on", ENV], &["--on", "'"], &["--command", "true"]] {
        let (code, out, errors) = run.home.says(&[&["run", "--resume"], on].concat());
        assert_eq!((code, out.as_str(), errors.lines().count()), (2, "", 1), "{on:?} {errors}");
        assert!(errors.contains(&format!("touch {};", mark.display())), "{errors}");
        line = errors.trim_end().split_once("type: hostmark ").unwrap().1.to_owned();
        assert!(!mark.exists() && fs::read_to_string(&journal).unwrap() == text, "{on:?}");
    }
    // The line that it shows goes on.
    let script = format!("{PROGRAM} {line} --format json");
    let json = succeeded(ended(run.home.start("sh").args(["-c", &script])));
    assert!(mark.exists() && load_run(&json).unwrap().interrupted.is_none());
    run.left(SOON);
}

#[test]
fn another_build_does_not_go_on_with_a_far_run() {
    let _alone = alone();
    let (run, journal) = killed(&["run", "--on", ENV, "clock", "syscall.null"]);
    let text = fs::read_to_string(&journal).unwrap();
    let digest = digest_of(PROGRAM.as_ref()).unwrap();
    let forged = text.replace(&digest, &"0".repeat(digest.len()));
    assert_ne!(text, forged);
    fs::write(&journal, &forged).unwrap();
    let (code, out, errors) = run.home.says(&["run", "--resume", "--on", ENV]);
    assert_eq!((code, out.as_str(), errors.lines().count()), (2, "", 1), "{errors}");
    assert!(errors.contains("begun by another build of hostmark"), "{errors}");
    assert_eq!(fs::read_to_string(&journal).unwrap(), forged, "the journal is as it was");
    // With its own program it goes on.
    fs::write(&journal, &text).unwrap();
    assert!(measured(&mut run.home.hostmark(&["run", "--resume", "--on", ENV])).interrupted.is_none());
    run.left(SOON);
}
