//! The runs that are kept: a list of many in little time, whatever lies beside them, and what is removed when asked.

use std::os::unix::fs::symlink;

use rustix::time::{ClockId, clock_gettime};

use crate::commands::{assert_refused, printed};
use crate::prelude::*;
use crate::support::in_process::{healthy_worker, scripted};

/// A measured run, and the directory it lies in.
fn measured(home: &Home) -> (String, PathBuf) {
    printed(home, &["run", "clock.loop"]);
    let runs = home.data.path().join("hostmark/runs");
    let [file] = &files(&runs)[..] else { panic!("one run is kept") };
    let text = fs::read_to_string(file).unwrap();
    fs::remove_file(file).unwrap();
    (text, runs)
}

/// The same run as it was measured on another day.
fn on_day(text: &str, day: u32) -> (String, String) {
    let mut run: Value = serde_json::from_str(text).unwrap();
    let name = format!("2026{:02}{:02}T000000Z-host-0000", 1 + day / 28, 1 + day % 28);
    run["name"] = name.clone().into();
    run["started"] = format!("2026-{:02}-{:02}T00:00:00Z", 1 + day / 28, 1 + day % 28).into();
    (name, run.to_string())
}

fn names(home: &Home) -> Vec<String> {
    let list: Value = serde_json::from_str(&printed(home, &["runs", "--format", "json"])).unwrap();
    list.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
}

fn keep(runs: &Path, name: &str, text: &str) {
    fs::write(runs.join(format!("{name}.json")), text).unwrap();
}

#[test]
fn what_is_remembered_of_runs_is_never_believed_against_their_files() {
    let home = Home::new();
    let (text, runs) = measured(&home);
    assert!(runs.with_file_name("summaries.json").is_file(), "a run is remembered where it is kept");
    for day in 0..3 {
        let (name, text) = on_day(&text, day);
        keep(&runs, &name, &text);
    }
    let first = printed(&home, &["runs"]);
    let index = runs.with_file_name("summaries.json");
    assert!(index.is_file());
    assert_eq!(printed(&home, &["runs"]), first, "what is remembered says the same");
    // A file that has changed, with the same size and the same time of change as anybody may set it.
    let (name, old) = on_day(&text, 1);
    let path = runs.join(format!("{name}.json"));
    let facts = fs::metadata(&path).unwrap();
    fs::write(&path, old.replace("2026-01-02T00:00:00Z", "2025-12-31T00:00:00Z")).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(facts.modified().unwrap()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), facts.len());
    assert!(printed(&home, &["runs"]).contains("2025-12-31"));
    // One that is gone, and one that is new.
    fs::remove_file(&path).unwrap();
    let (new, text) = on_day(&text, 5);
    keep(&runs, &new, &text);
    let now = names(&home);
    assert!(now.len() == 3 && now.contains(&new) && !now.contains(&name), "{now:?}");
    // Torn, of another form, empty, no file at all: the list is the same.
    let list = printed(&home, &["runs"]);
    let whole = fs::read_to_string(&index).unwrap();
    for broken in [&whole[..whole.len() / 2], &whole.replace("\"form\":1", "\"form\":2"), "", "[]", "null"] {
        fs::write(&index, broken).unwrap();
        assert_eq!(printed(&home, &["runs"]), list, "{broken:.40}");
    }
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(printed(&home, &["runs"]), list);
    fs::remove_dir(&index).unwrap();
    // A link leads to somebody's file, which is neither believed nor written to.
    let thesis = home.data.path().join("thesis");
    fs::write(&thesis, "chapter one").unwrap();
    symlink(&thesis, &index).unwrap();
    assert_eq!(printed(&home, &["runs"]), list);
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "chapter one");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_thousand_runs_are_listed_much_sooner_than_they_are_read() {
    let home = Home::new();
    let (text, runs) = measured(&home);
    // As large as a run of everything is: a field that nobody reads makes up for cases.
    let mut large: Value = serde_json::from_str(&text).unwrap();
    large["filler"] = vec!["x".repeat(1 << 16); 16].into();
    let large = large.to_string();
    for number in 0..300 {
        keep(&runs, &format!("20260101T{number:06}Z-host-0000"), &large);
    }
    // This thread's CPU time, in which nobody else has a part.
    let spent = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let timed = || {
        let before = spent();
        let list = printed(&home, &["runs"]);
        (spent() - before, list)
    };
    let (read, first) = timed();
    let (again, second) = (0..3).map(|_| timed()).min().unwrap();
    assert_eq!(first.lines().count(), 302, "{:.300}", first);
    assert!(first == second, "what is remembered says the same");
    assert!(again < read / 3 || again < Duration::from_millis(100), "{again:?} beside {read:?}");
}

#[test]
fn only_what_was_asked_for_is_removed_and_never_the_newest_or_another_file() {
    let home = Home::new();
    let (text, runs) = measured(&home);
    let all: Vec<String> = (0..6)
        .map(|day| {
            let (name, text) = on_day(&text, day);
            keep(&runs, &name, &text);
            name
        })
        .collect();
    // What is no run of hostmark's, and a run that does not lie here.
    let elsewhere = home.data.path().join("elsewhere.json");
    fs::write(&elsewhere, on_day(&text, 0).1).unwrap();
    symlink(&elsewhere, runs.join("20250101T000000Z-link-0000.json")).unwrap();
    fs::write(runs.join("20250101T000000Z-notes.json"), r#"{"my":"notes"}"#).unwrap();
    fs::write(runs.join("20250101T000000Z-x.partial.jsonl"), "a journal").unwrap();
    let listed = || {
        let mut names: Vec<String> = fs::read_dir(&runs)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let before = listed();
    for words in [
        &["runs", "--prune"][..],
        &["runs", "--keep", "2"],
        &["runs", "--prune", "--keep", "0"],
        &["runs", "--prune", "--older-than", "soon"],
        &["runs", "--prune", "--keep", "2", "--format", "json"],
    ] {
        assert_eq!(home.says(words).0, 2, "{words:?}");
    }
    let would = printed(&home, &["runs", "--prune", "--keep", "4", "--dry-run"]);
    assert!(would.contains(&all[0]) && would.contains(&all[1]) && !would.contains(&all[2]), "{would}");
    assert!(would.contains("2 of 7 runs would go"), "{would}");
    assert_eq!(listed(), before, "nothing is removed that is only shown");
    // Alone, a journal that cannot be removed would be a run that was cut short.
    let journal = runs.join(format!("{}.partial.jsonl", all[0]));
    fs::create_dir_all(journal.join("content")).unwrap();
    home.says(&["runs", "--prune", "--keep", "5"]);
    fs::remove_dir_all(journal).unwrap();
    assert_eq!(listed(), before);
    let done = printed(&home, &["runs", "--prune", "--keep", "4"]);
    assert!(done.contains(&all[0]) && done.contains(&all[1]) && done.contains("2 of 7 runs are gone"), "{done}");
    let mut left: Vec<String> = before.clone();
    left.retain(|name| !name.starts_with(&all[0]) && !name.starts_with(&all[1]));
    assert_eq!(listed(), left);
    // Whatever is asked for, the newest stays, and so does what is no run.
    printed(&home, &["runs", "--prune", "--older-than", "1d"]);
    left.retain(|name| !all[..5].iter().any(|gone| name.starts_with(gone)));
    assert_eq!(listed(), left);
    assert!(left.iter().any(|name| name.starts_with(&all[5])) && elsewhere.is_file());
    assert_eq!(printed(&home, &["runs", "--prune", "--keep", "1", "--lang", "zh"]).matches("删除 0 个").count(), 1);
}

#[test]
fn a_value_is_got_in_its_base_unit_or_the_one_that_is_asked_for() {
    let home = Home::new();
    printed(&home, &["run", "clock.loop"]);
    let got = |words: &[&str]| printed(&home, &[&["report", "last", "--get", "clock.loop"], words].concat());
    // The base unit stands behind its number; a unit that was asked for does not.
    let (base, asked) = (got(&[]), got(&["--unit", "us"]));
    let ns: f64 = base.strip_suffix(" ns\n").unwrap().parse().unwrap();
    let us: f64 = asked.trim().parse().unwrap();
    assert!(ns > 0.0 && (us * 1e3 / ns - 1.0).abs() < 1e-5, "{base} {asked}");
    let digits = base.chars().filter(char::is_ascii_digit).collect::<String>();
    assert!(digits.trim_start_matches('0').len() <= 6, "{base}");
}

#[test]
fn a_run_that_is_slower_than_expected_ends_with_one() {
    let home = Home::new();
    let (text, _) = measured(&home);
    for (name, factor, slower) in [("faster", 0.7, true), ("slower", 2.0, false)] {
        let directory = home.data.path().join(name);
        fs::create_dir(&directory).unwrap();
        for day in 0..5 {
            let (file, text) = scaled(&text, day, factor);
            keep(&directory, &file, &text);
        }
        let (code, shown, errors) = home.mocked(&["run", "clock.loop", "--expect", &directory.display().to_string()]);
        assert_eq!(code == 1, slower, "{shown}{errors}");
        assert!(shown.contains("CASES"), "{shown}");
    }
}

/// The same run with every value times a factor, on another kernel.
fn scaled(text: &str, day: u32, factor: f64) -> (String, String) {
    let (name, text) = on_day(text, day);
    let mut run: Value = serde_json::from_str(&text).unwrap();
    run["id"] = format!("00000000-0000-7000-8000-{day:012}").into();
    run["host"]["kernel"]["release"] = if factor > 1.1 { "6.99.0" } else { "6.1.0" }.into();
    for case in run["cases"].as_array_mut().unwrap() {
        let noise = 1.0 + 0.01 * f64::from(day * 37 % 11) / 11.0;
        let times = |number: &mut Value| *number = (number.as_f64().unwrap_or(0.0) * factor * noise).into();
        let measured = &mut case["outcome"]["measured"];
        let medians = measured["rounds"].as_array_mut().unwrap().iter_mut().map(|round| &mut round["median"]);
        medians.for_each(times);
        measured["samples"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .flat_map(|round| round.as_array_mut().unwrap())
            .for_each(times);
        let estimate = &mut measured["estimate"];
        for key in ["typical", "ci_low", "ci_high", "min", "max", "mean", "stddev", "mad", "best_round"] {
            times(&mut estimate[key]);
        }
        for end in ["/range/0", "/range/1", "/repetition/low", "/repetition/high"] {
            estimate.pointer_mut(end).map(times);
        }
        estimate.as_object_mut().unwrap().remove("quiet");
        estimate["leading"] = "typical".into();
    }
    (name, run.to_string())
}

#[test]
fn a_change_for_good_is_reported_with_its_run_and_what_changed_with_it() {
    let home = Home::new();
    let (text, runs) = measured(&home);
    for day in 0..16 {
        let (name, text) = scaled(&text, day, if day < 8 { 1.0 } else { 1.25 });
        keep(&runs, &name, &text);
    }
    fs::write(runs.join("20260102T000000Z-torn.json"), &text.as_bytes()[..text.len() / 2]).unwrap();
    let (table, errors) = with_code(0, home.says(&["runs", "--changes"]));
    assert!(errors.lines().count() == 1 && errors.contains("torn"), "{errors}");
    for word in ["16 runs, 1 change", "2026-01-09T00:00:00Z", "clock.loop", "6.1.0 → 6.99.0", "8 and 8 runs"] {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    let list: Value = serde_json::from_str(&home.says(&["runs", "--changes", "clock", "--format", "json"]).1).unwrap();
    let ratio = list[0]["cases"][0]["ratio"].as_f64().unwrap();
    assert!((ratio - 1.25).abs() < 0.02, "{list}");
    let chinese = home.says(&["runs", "--changes", "--lang", "zh"]).1;
    assert!(chinese.contains("16 次运行，1 处变化") && chinese.contains("同时改变：内核版本"), "{chinese}");
    // Nothing asked for is there.
    let nothing: i32 = hostmark_model::Exit::NothingSelected.code().into();
    assert_eq!(home.says(&["runs", "--changes", "memory"]).0, nothing);
    assert_eq!(home.says(&["runs", "memory"]).0, 2, "a filter is for changes");
}

// Runs are timed: one at a time.

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
    let is_empty = |folder: &tempfile::TempDir| fs::read_dir(folder.path()).unwrap().next().is_none();
    assert!(is_empty(&home.data) && is_empty(&home.scratch));
}

#[test]
fn a_journal_that_cannot_be_removed_is_named_and_no_run_goes_on_by_it() {
    let home = Home::new();
    let runs = home.data.path().join("hostmark/runs");
    let journals = move || {
        let entries = fs::read_dir(&runs).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.to_string_lossy().ends_with(".partial.jsonl"))
    };
    let (journal, saved) = (journals.clone(), home.scratch.path().join("saved"));
    let kept = saved.clone();
    let (code, out, errors) = scripted(&home.hostmark(&["run", "clock.loop"]), move |job, _| {
        // In its place lies what no file is removed as.
        if let Some(path) = journal().find(|path| path.is_file()) {
            fs::rename(&path, &kept).unwrap();
            fs::create_dir(&path).unwrap();
        }
        healthy_worker(job)
    });
    let [path] = &journals().collect::<Vec<_>>()[..] else { panic!("one journal is left") };
    let sentence = format!("hostmark: the journal {} is not needed any more and cannot be removed (", path.display());
    assert!(code == 5 && errors.starts_with(&sentence) && out.contains("saved as"), "{errors}");
    // As a program leaves it that is killed before it has removed it.
    fs::remove_dir(path).unwrap();
    fs::rename(&saved, path).unwrap();
    assert_refused(&home, &["run", "--resume"], "no run on this machine was cut short; hostmark run begins one");
    let (code, _, errors) = home.mocked(&["run", "--resume", path.to_str().unwrap()]);
    assert!(code == 2 && errors.contains("holds this run whole, and its journal is not needed any more"), "{errors}");
}

/// A run that is killed when its journal has some rounds; its journal.
fn cut_short(home: &Home, arguments: &[&str]) -> PathBuf {
    let mut run = Running::start(&mut home.hostmark(arguments));
    let is_journal = |path: &PathBuf| path.to_string_lossy().ends_with(".partial.jsonl");
    let journal = || files(home.data.path()).into_iter().find(is_journal);
    let has_rounds = |path: PathBuf| fs::read_to_string(path).is_ok_and(|text| text.lines().count() > 4);
    assert!(within(SOON, || journal().is_some_and(has_rounds)));
    run.signal(Signal::KILL);
    run.ends(SOON);
    // The workers and the janitor go at once, and take their directories with them.
    assert!(within(SOON, || processes(home).is_empty()));
    journal().unwrap()
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
    let executed = || fs::read_to_string(&lines).unwrap();
    let before = executed();
    let resume = ["run", "--resume", journal.to_str().unwrap()];
    for typed in [&[][..], &["--command", "true"], &["--command", &command, "--on", "env"]] {
        let (code, _, errors) = home.says(&[&resume[..], typed].concat());
        assert!(code == 2 && errors.contains("alone decides on no command") && errors.contains("echo >>"), "{errors}");
    }
    let with_command = [&resume[..], &["--command", &command]].concat();
    fs::write(&file, "precious").unwrap();
    let sentence =
        format!("{} is there already and is no part of this run; name it by --out to replace it", file.display());
    assert_refused(&home, &with_command, &sentence);
    assert_eq!((executed(), fs::read_to_string(&file).unwrap().as_str()), (before.clone(), "precious"));
    fs::remove_file(&file).unwrap();
    assert_eq!(home.says(&with_command).0, 0);
    assert!(executed().len() > before.len() && file.exists() && !journal.exists());
}

#[test]
fn the_kept_runs_are_listed_newest_last_and_what_is_unreadable_is_named() {
    let home = Home::new();
    let none = "hostmark: no run is kept on this machine; hostmark run makes one\n".to_owned();
    assert_eq!(home.says(&["runs"]), (2, String::new(), none.clone()));
    assert_eq!(home.says(&["runs", "--format", "json"]), (2, "[]\n".to_owned(), none));
    printed(&home, &["run", "clock.loop", "syscall.byte@call=read"]);
    printed(&home, &["run", "clock.loop"]);
    fs::write(home.data.path().join("hostmark/runs/00-bad.json"), "{}").unwrap();
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
    assert!(rows.len() == 5 && rows[4].starts_with("3 runs of "), "{table}");
    assert!(rows[3].starts_with(list[2]["name"].as_str().unwrap()), "{table}");
}
