//! Whole runs, with plan, passes, journal, stop and resume, on a mock of the machine, whose clock its workers advance.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use hostmark_analysis::constants::LINES;
use hostmark_engine::mock::Script;
use hostmark_launch::Received;

use crate::commands::{assert_refused, printed};
use crate::prelude::*;
use crate::support::in_process::{healthy_worker, scripted};

#[test]
fn explain_knows_every_name_that_the_first_screen_prints() {
    let home = Home::new();
    for name in LINES.iter().flat_map(|line| line.constants).flat_map(|constant| [constant.row.en, constant.row.zh]) {
        let out = printed(&home, &["explain", name]);
        assert!(out.contains("What is executed"), "{name}: {out}");
    }
}

/// The kept run, when nothing else is kept but a journal.
fn only_run(home: &Home) -> Run {
    let mut kept = files(home.data.path());
    kept.retain(|path| !is_journal(path));
    let [file] = &kept[..] else { panic!("{kept:?}") };
    load_run(&fs::read_to_string(file).unwrap()).unwrap()
}

fn is_journal(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".partial.jsonl")
}

fn journal(home: &Home) -> PathBuf {
    files(home.data.path()).into_iter().find(|path| is_journal(path)).unwrap()
}

/// Whether a job is one of a round, and no warm-up.
fn is_of_round(job: &Job) -> bool {
    !job.cases.is_empty()
}

/// A run that a person stops when its `nth` worker has measured half of its cases.
pub fn stopped(home: &Home, arguments: &[&str], nth: usize) -> (i32, String, String) {
    let mut workers = 0;
    scripted(&home.hostmark(arguments), move |job, asked| {
        workers += usize::from(is_of_round(job));
        let mut script = healthy_worker(job);
        if workers >= nth {
            asked.store(2, Ordering::Relaxed);
            script.truncate(1 + 2 * (job.cases.len() / 2));
            script.push((Duration::from_millis(5), Received::Interrupted));
        }
        script
    })
}

/// A command that ends with its `nth` worker as by a kill: nothing of it comes after.
pub fn killed_at(home: &Home, arguments: &[&str], nth: usize) {
    let mut workers = 0;
    let kill = move |job: &Job, _: &_| -> Script {
        workers += usize::from(is_of_round(job));
        if workers < nth { healthy_worker(job) } else { resume_unwind(Box::new("killed")) }
    };
    let command = home.hostmark(arguments);
    assert!(catch_unwind(AssertUnwindSafe(|| scripted(&command, kill))).is_err(), "it ended before it could be killed");
}

fn killed(home: &Home, arguments: &[&str], nth: usize) -> PathBuf {
    killed_at(home, arguments, nth);
    journal(home)
}

#[test]
fn the_same_seed_measures_in_the_same_order() {
    let order_of = |seed: &str| {
        let (home, jobs) = (Home::new(), Rc::new(RefCell::new(Vec::new())));
        let seen = Rc::clone(&jobs);
        let command = home.hostmark(&["run", "clock", "--seed", seed]);
        let (code, _, errors) = scripted(&command, move |job, _| {
            seen.borrow_mut().extend(job.cases.iter().map(|case| (job.round, case.id.clone())));
            healthy_worker(job)
        });
        assert_eq!((code, errors.as_str()), (0, ""));
        (only_run(&home), jobs.take().into_iter().filter(|(round, _)| *round < 3).collect::<Vec<_>>())
    };
    let ((run, one), (_, other), (_, another)) = (order_of("5"), order_of("5"), order_of("6"));
    assert_eq!(run.settings.seed, 5);
    assert_eq!(one.len(), 3 * run.cases.iter().filter(|case| case.measured().is_some()).count());
    assert_eq!(one, other);
    assert_ne!(one, another);
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_run_of_everything_ends_within_its_minute() {
    let home = Home::new();
    let run = load_run(&printed(&home, &["run", "--format", "json"])).unwrap();
    assert!(run.interrupted.is_none() && run.cases.len() > 100, "{}", run.cases.len());
    let wall_s = run.time.as_ref().unwrap().wall_s;
    assert!((30.0..60.0).contains(&wall_s), "{wall_s}");
    let measured = run.cases.iter().filter(|case| case.measured().is_some()).count();
    assert!(measured > 100, "{measured}");
    assert_eq!(run, only_run(&home));
}

#[test]
fn a_run_that_was_stopped_keeps_what_it_has_and_goes_on_as_it_says() {
    let home = Home::new();
    let (code, shown, errors) = stopped(&home, &["run", "clock", "syscall.null", "syscall.stat"], 4);
    assert_eq!((code, errors.as_str()), (130, ""));
    let kept = only_run(&home);
    assert_eq!(kept.interrupted.as_deref(), Some("stopped by a signal"));
    assert!(kept.finished.is_some() && kept.cases.iter().any(|case| case.measured().is_some()));
    // Nothing fails because a person wants to stop.
    assert!(kept.cases.iter().all(|case| !matches!(case.outcome, Outcome::Failed { .. })));
    let journal = journal(&home);
    assert!(shown.contains(&format!("\ncontinue: hostmark run --resume {}\n", journal.display())), "{shown}");
    // One run is listed, once.
    let listed = printed(&home, &["runs"]);
    assert_eq!(listed.matches(&kept.name).count(), 1, "{listed}");
    let words: Vec<&str> = listed.split_whitespace().collect();
    assert!(words.join(" ").contains("interrupted: stopped by a signal; --resume goes on"), "{listed}");
    let whole = load_run(&printed(&home, &["run", "--resume", "--format", "json"])).unwrap();
    assert_eq!(whole, only_run(&home));
    assert_eq!((&whole.id, whole.interrupted.as_ref(), journal.exists()), (&kept.id, None, false));
    assert!(whole.cases.iter().all(|case| case.measured().is_some()), "{:?}", whole.cases);
    assert!(whole.disturbances.iter().any(|text| text.en.starts_with("the run was cut short after ")));
}

#[test]
fn who_measures_into_the_file_of_a_stopped_run_again_begins_anew() {
    let home = Home::new();
    let file = home.data.path().join("mine.json");
    let arguments = ["run", "clock", "--out", file.to_str().unwrap(), "--format", "json"];
    assert_eq!(stopped(&home, &arguments, 3).0, 130);
    let id = only_run(&home).id;
    assert!(journal(&home).exists());
    printed(&home, &arguments);
    assert_eq!(files(home.data.path()), [file]);
    assert_ne!(only_run(&home).id, id);
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let home = Home::new();
    let arguments = ["run", "clock", "--seed", "9", "--set", "source=monotonic,monotonic_raw"];
    let journal = killed(&home, &arguments, 4);
    let mut before = fs::read_to_string(&journal).unwrap();
    let runs: Value = serde_json::from_str(&printed(&home, &["runs", "--format", "json"])).unwrap();
    assert_eq!(runs[0]["state"], "partial");
    assert!(printed(&home, &["runs"]).contains("cut short"));
    // Killed while it wrote a line.
    before.push_str("{\"case\":\"clo");
    fs::write(&journal, &before).unwrap();

    let run = load_run(&printed(&home, &["run", "--resume", "--format", "json"])).unwrap();
    assert_eq!(run, only_run(&home));
    assert!(!journal.exists());
    assert_eq!((run.settings.seed, run.interrupted.as_ref()), (9, None));
    assert_eq!(run.settings.set["source"], "monotonic,monotonic_raw");
    let has_remark = |start: &str| run.disturbances.iter().any(|text| text.en.starts_with(start));
    assert!(has_remark("the run was cut short after ") && has_remark("left out 1 damaged line of the journal"));
    for case in &run.cases {
        let rounds: Vec<u32> = case.measured().unwrap().rounds.iter().map(|round| round.round).collect();
        assert_eq!(rounds[..3], [0, 1, 2], "{}", case.id);
    }
    // What had been measured is in the run as it was.
    let first: Value = serde_json::from_str(before.lines().nth(1).unwrap()).unwrap();
    let case = run.cases.iter().find(|case| case.id == first["case"].as_str().unwrap()).unwrap();
    let count = first["events"].as_array().unwrap().iter().find_map(|event| Some(event["ns"].as_array()?.len()));
    assert_eq!(case.measured().unwrap().samples[0].len(), count.unwrap());
    let sentence = "no run on this machine was cut short; hostmark run begins one";
    assert_refused(&home, &["run", "--resume"], sentence);
}

#[test]
fn a_torn_journal_goes_on_with_every_line_that_is_whole() {
    let home = Home::new();
    let arguments = ["run", "clock", "--seed", "9", "--set", "source=monotonic,monotonic_raw"];
    let journal = killed(&home, &arguments, 4);
    let whole = fs::read(&journal).unwrap();
    let ends: Vec<usize> = (1..=whole.len()).filter(|end| whole[end - 1] == b'\n').collect();
    let goes_on = |torn: &[u8], lines: usize, damaged: usize| {
        files(home.data.path()).iter().for_each(|file| fs::remove_file(file).unwrap());
        fs::write(&journal, torn).unwrap();
        let run = load_run(&printed(&home, &["run", "--resume", "--format", "json"])).unwrap();
        let has_remark = |text: &str| run.disturbances.iter().filter(|remark| remark.en.contains(text)).count();
        assert_eq!(has_remark(&format!("the run was cut short after {lines} round")), 1, "{:?}", run.disturbances);
        assert_eq!(has_remark(&format!("left out {damaged} damaged line")), damaged.min(1), "{:?}", run.disturbances);
        for case in &run.cases {
            let rounds: Vec<u32> = case.measured().unwrap().rounds.iter().map(|round| round.round).collect();
            assert!(rounds.len() >= 5 && rounds.is_sorted(), "{}: {rounds:?}", case.id);
        }
    };
    // Each line is torn once, in its middle; one of them in every other way.
    for (&end, &next) in ends.iter().zip(&ends[1..]) {
        let mut zeroed = whole.clone();
        zeroed[end + 9..next - 9].fill(0);
        goes_on(&zeroed, ends.len() - 2, 1);
    }
    let line = ends.len() / 2;
    let end = ends[line];
    goes_on(&whole[..end], line, 0);
    goes_on(&[&whole[..end], &[0; 4096]].concat(), line, 1);
    goes_on(&whole[..end + 1], line, 1);
    goes_on(&whole[..ends[line + 1] - 1], line, 1);
    goes_on(&whole[..ends[0]], 0, 0);
}

#[test]
fn what_is_not_the_same_any_more_does_not_go_on() {
    let home = Home::new();
    let journal = killed(&home, &["run", "clock"], 4);
    let text = fs::read_to_string(&journal).unwrap();
    let shown = journal.display();
    let mut header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let with = |header: &Value| text.replacen(text.lines().next().unwrap(), &header.to_string(), 1);
    let name = header["run"]["name"].as_str().unwrap().to_owned();

    header["run"]["host"]["boot_id"] = "another".into();
    fs::write(&journal, with(&header)).unwrap();
    let sentence = format!("{shown} was begun before this host was started anew; measure anew");
    assert_refused(&home, &["run", "--resume", &name], &sentence);
    header["origin"]["binary"] = "0.0.9 1 2".into();
    fs::write(&journal, with(&header)).unwrap();
    let sentence = format!("{shown} was begun by another build of hostmark; go on with that one, or measure anew");
    assert_refused(&home, &["run", "--resume", &journal.display().to_string()], &sentence);
    let sentence = "there is no run 'nosuch' that was cut short; give its name or its journal";
    assert_refused(&home, &["run", "--resume", "nosuch"], sentence);
    fs::write(&journal, "{}\n").unwrap();
    let (code, _, errors) = home.mocked(&["run", "--resume"]);
    assert!(code == 2 && errors.contains("is no journal that this version can go on with"), "{errors}");
    for other in [&["clock"][..], &["--seed", "1"], &["--profile", "quick"], &["--dry-run"], &["--cpu", "0"]] {
        let arguments = [&["run"][..], other, &["--resume"]].concat();
        let (code, _, errors) = home.mocked(&arguments);
        assert!(code == 2 && errors.contains("cannot be used with"), "{arguments:?} {errors}");
    }
}

#[test]
fn a_worker_that_ends_costs_its_case_and_no_other() {
    let home = Home::new();
    let (code, json, errors) = scripted(&home.hostmark(&["run", "syscall", "--format", "json"]), |job, _| {
        let mut script = healthy_worker(job);
        if let Some(before) = job.cases.iter().position(|case| case.id == "syscall.null@copies=1") {
            script.truncate(1 + 2 * before);
            script.push((Duration::ZERO, Received::Ended("was ended by signal 9".into())));
        }
        script
    });
    assert_eq!((code, errors.as_str()), (3, ""));
    let run = load_run(&json).unwrap();
    let failed = |run: &Run| -> Vec<String> {
        let failed = run.cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed { .. }));
        failed.map(|case| case.id.clone()).collect()
    };
    assert!(failed(&run).contains(&"syscall.null@copies=1".to_owned()), "{:?}", failed(&run));
    assert!(run.cases.iter().filter(|case| case.measured().is_some()).count() > 3);
    assert_eq!(run, only_run(&home));
}
