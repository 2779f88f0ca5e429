//! `hostmark compare` as a person meets it: what may be named, what it ends with, and two commands in turn.

use crate::prelude::*;
use crate::{skip, support};

fn a_run(home: &Home) -> Run {
    let out = succeeded(home.mocked(&["run", "clock.loop", "--format", "json"]));
    load_run(&out).unwrap()
}

/// The run again under another id, every value times `factor` but for a hundredth of jitter.
fn variant(run: &Run, id: &str, factor: f64) -> Run {
    let mut run = Run { id: id.into(), name: id.into(), ..run.clone() };
    for (index, case) in run.cases.iter_mut().enumerate() {
        let Outcome::Measured(measured) = &mut case.outcome else { continue };
        let middle = measured.estimate.typical * factor;
        let rounds = 0..measured.rounds.len();
        let medians: Vec<f64> = rounds.map(|round| middle * (1.0 + 0.0001 * ((index + round) % 3) as f64)).collect();
        measured.samples = medians.iter().map(|&median| vec![median]).collect();
        for (record, &median) in measured.rounds.iter_mut().zip(&medians) {
            (record.median, record.disturbance_flags) = (median, vec![0]);
        }
        measured.noise.left_out = 0;
        measured.also.clear();
        measured.estimate = hostmark_engine::estimate(&measured.samples, 0.0, hostmark_model::Better::Lower);
    }
    run
}

fn write(directory: &Path, name: &str, run: &Run) -> String {
    let path = directory.join(name);
    fs::write(&path, serde_json::to_string(run).unwrap()).unwrap();
    path.display().to_string()
}

#[test]
fn a_regression_ends_with_1_and_a_threshold_forgives_it() {
    let home = Home::new();
    let run = a_run(&home);
    assert!(run.cases.iter().any(|case: &CaseRecord| case.measured().is_some()));
    let at = tempfile::tempdir().unwrap();
    let base = write(at.path(), "base.json", &variant(&run, "base", 1.0));
    let slow = write(at.path(), "slow.json", &variant(&run, "slow", 1.08));
    let same = write(at.path(), "same.json", &variant(&run, "same", 1.0));
    let compare = |rest: &[&str]| home.says(&[&["compare"][..], rest].concat());

    let (code, out, errors) = compare(&[&base, &slow]);
    assert_eq!((code, errors.as_str()), (1, ""), "{out}");
    assert!(out.contains("slower") && out.contains("+8.0 %"), "{out}");
    assert_eq!(compare(&[&base, &slow, "--threshold", "10"]).0, 0);
    assert_eq!(compare(&[&base, &slow, "--threshold", "5%"]).0, 1);
    assert_eq!(compare(&[&slow, &base]).0, 0, "faster is no regression");
    assert_eq!(compare(&[&base, &same]).0, 0);
    assert_eq!(compare(&[&base, &same, &slow]).0, 1, "on any side");
    // What cannot be told is a reason only where that is asked for, and a regression goes before it.
    let near = write(at.path(), "near.json", &variant(&run, "near", 1.004));
    assert_eq!(compare(&[&base, &near, "--threshold", "0.5"]).0, 0);
    assert_eq!(compare(&[&base, &near, "--threshold", "0.5", "--strict"]).0, 6);
    assert_eq!(compare(&[&base, &near, &slow, "--threshold", "0.5", "--strict"]).0, 1);
    assert_eq!(compare(&[&base, &same, "--strict"]).0, 0);

    let (code, out, _) = compare(&[&base, &slow, "--format", "json"]);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, value["schema"].as_str()), (1, Some("hostmark.comparison/2")));
    assert_eq!(value["new"][0]["counts"]["slower"], 1);
    let file = at.path().join("report.md");
    let (code, out, _) = compare(&[&base, &slow, "--format", "markdown", "--out", &file.display().to_string()]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(fs::read_to_string(&file).unwrap().contains("| ▼ slower"));
    let (_, out, _) = compare(&[&base, &slow, "--lang", "zh"]);
    assert!(out.contains("变慢"), "{out}");
}

#[test]
fn a_strict_gate_is_open_for_cases_alone_that_are_the_same_or_faster() {
    let home = Home::new();
    let run = a_run(&home);
    let at = tempfile::tempdir().unwrap();
    let file = |name: &str, change: &dyn Fn(&mut Run)| {
        let mut run = variant(&run, name, 1.0);
        // Another case beside it, which is as it is.
        let twin = CaseRecord { id: "clock.loop@twin=1".into(), ..run.cases[0].clone() };
        run.cases.push(twin);
        change(&mut run);
        write(at.path(), &format!("{name}.json"), &run)
    };
    let ends = |run: &mut Run, outcome: Outcome| run.cases[1].outcome = outcome;
    let failed = |why: &str| Outcome::Failed { reason: ReasonCode::CheckFailed.because(why) };
    let skipped = |why: &str| Outcome::Skipped { reason: ReasonCode::NotApplicable.because(why) };
    let [whole, again] = ["whole", "again"].map(|name| file(name, &|_| {}));
    let broken = file("broken", &|run| ends(run, failed("it broke")));
    let left_out = file("left_out", &|run| ends(run, skipped("no time left")));
    let [root, no_root] = ["root", "no_root"].map(|name| file(name, &|run| ends(run, skipped("it takes root"))));
    let missing = file("missing", &|run| drop(run.cases.pop()));
    let slow = file("slow", &|run| run.cases[0] = variant(&run.clone(), "s", 1.5).cases[0].clone());
    let empty = file("empty", &|run| run.cases.iter_mut().for_each(|case| case.outcome = skipped("it takes root")));
    let empty_again =
        file("empty_again", &|run| run.cases.iter_mut().for_each(|case| case.outcome = skipped("it takes root")));
    let compare = |rest: &[&str]| home.says(&[&["compare"][..], rest].concat());
    assert_eq!(compare(&[&whole, &again, "--strict"]).0, 0);
    assert_eq!(compare(&[&whole, &slow, "--strict"]).0, 1);
    assert_eq!(compare(&[&broken, &slow, "--strict"]).0, 1, "what is slower goes first");
    for (base, new, expected, why) in [
        (&whole, &broken, "1 failed on the new side", "failed on the other side: it broke"),
        (&broken, &whole, "1 failed on the base", "failed on the base: it broke"),
        (&whole, &left_out, "1 skipped on the new side", "skipped on the other side: no time left"),
        (&left_out, &whole, "1 skipped on the base", "skipped on the base: no time left"),
        (&whole, &missing, "1 missing on the new side", "only the base has it"),
        (&missing, &whole, "1 missing on the base", "the base does not have it"),
    ] {
        let summary = format!("1 same within 5 %, 0 cannot tell, 1 not comparable ({expected})");
        let (code, out, errors) = compare(&[base, new]);
        assert!((code, errors.as_str()) == (0, "") && out.contains(why), "{out}");
        assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(&summary), "{out}");
        let (code, _, errors) = compare(&[base, new, "--strict"]);
        let begins = "hostmark: clock.loop@twin=1 (";
        assert!(code == 6 && errors.starts_with(begins) && errors.ends_with(&format!("): {why}\n")), "{code} {errors}");
        let (code, out, _) = compare(&[base, new, "--strict", "--format", "json"]);
        let value: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, &value["new"][0]["without"][0]["cases"]), (6, &Value::from(1)));
    }
    assert_eq!(compare(&[&root, &no_root, "--strict"]).0, 0, "what both skipped tells nothing");
    let (code, _, errors) = compare(&[&empty, &empty_again, "--strict"]);
    assert!(code == 6 && errors.contains("no case could be compared"), "{code} {errors}");
    assert_eq!(compare(&[&empty, &empty_again]).0, 0);
}

#[test]
fn a_file_that_contradicts_itself_is_shown_and_said_to() {
    let home = Home::new();
    let run = a_run(&home);
    let at = tempfile::tempdir().unwrap();
    let whole = write(at.path(), "whole.json", &run);
    let mut forged = Run { id: "forged".into(), ..run.clone() };
    let case = forged.cases.iter_mut().find(|case| case.measured().is_some()).unwrap();
    let id = case.id.clone();
    let Outcome::Measured(measured) = &mut case.outcome else { panic!("{id} has no value") };
    measured.estimate.typical = 2.0 * measured.estimate.ci_high.unwrap();
    let forged = write(at.path(), "forged.json", &forged);

    let says = |errors: &str, between: [&str; 3]| {
        let [contradicts, outside, cure] = between;
        let begins = format!("hostmark: {forged}{contradicts}{id}{outside}");
        assert!(errors.starts_with(&begins) && errors.ends_with(&format!("{cure}\n")), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    };
    let english = [" contradicts itself: ", ": the median ", "; measure again, or restore the file"];
    for format in ["table", "json", "markdown"] {
        let (code, out, errors) = home.says(&["report", &forged, "--format", format]);
        assert_eq!(code, 0);
        assert!(!out.is_empty());
        says(&errors, english);
    }
    let (_, _, errors) = home.says(&["report", &forged, "--lang", "zh"]);
    says(&errors, [" 自相矛盾：", "：中位数 ", "；请重新测量，或恢复该文件"]);
    assert_eq!(home.says(&["report", &whole]).2, "");

    let (code, out, errors) = home.says(&["compare", &whole, &forged, "--format", "json"]);
    assert_eq!(code, 0, "what cannot be compared is no regression: {out}");
    says(&errors, english);
    let value: Value = serde_json::from_str(&out).unwrap();
    let case = value["new"][0]["cases"].as_array().unwrap().iter().find(|case| case["id"] == id.as_str()).unwrap();
    let reason = (case["verdict"].as_str(), case["reason"]["kind"].as_str());
    assert_eq!(reason, (Some("not_comparable"), Some("contradicts_itself")));
}

#[test]
fn several_runs_of_one_environment_are_pooled() {
    let home = Home::new();
    let run = a_run(&home);
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for index in 0..4 {
        let jitter = 1.0 + 0.001 * f64::from(index);
        write(before.path(), &format!("b-{index}.json"), &variant(&run, &format!("b{index}"), jitter));
        write(after.path(), &format!("a-{index}.json"), &variant(&run, &format!("a{index}"), 1.05 * jitter));
    }
    let list = |directory: &Path| files(directory).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let pattern = |directory: &Path| directory.join("*-?.json").display().to_string();
    let folder = |directory: &Path| directory.display().to_string();
    for [base, new] in [
        [list(before.path()).join(","), list(after.path()).join(",")],
        [pattern(before.path()), pattern(after.path())],
        [folder(before.path()), folder(after.path())],
    ] {
        let (code, out, errors) = home.says(&["compare", &base, &new, "--format", "json"]);
        assert_eq!((code, errors.as_str()), (1, ""), "{base}");
        let value: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value["base"]["runs"].as_array().unwrap().len(), 4);
        assert_eq!(value["new"][0]["cases"][0]["effect"]["test"]["runs"], 8);
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn pairs_are_made_until_all_is_reported() {
    let home = Home::new();
    let at = tempfile::tempdir().unwrap();
    let kept = at.path().join("kept");
    let arguments = ["compare", "--interleave", "here", "env", "clock.loop", "--resolve", "50%", "--at-most", "2m"];
    let rest = ["--keep", kept.to_str().unwrap(), "--format", "json"];
    let told = home.says(&[&arguments[..], &rest].concat());
    if told.0 != 0 && files(&kept).len() < 40 {
        return skip::skipped(&format!("disturbed: {} runs in two minutes: {}", files(&kept).len(), told.2));
    }
    let out = succeeded(told);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["new"][0]["same_within"], 0.5);
    assert_eq!(value["new"][0]["counts"]["same"], 1);
    // The same program twice is told to be the same at the first look, as a rule; a look is after so many pairs, or so many more.
    assert!([10, 20, 40].contains(&files(&kept).len()), "{:?}", files(&kept));
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn two_commands_measure_in_turn() {
    let home = Home::new();
    let at = tempfile::tempdir().unwrap();
    let kept = at.path().join("kept");
    // A word with a blank, as a shell would quote it.
    let script = at.path().join("my tools/hostmark-0.2");
    fs::create_dir(script.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(PROGRAM, &script).unwrap();
    let other = format!("env 'A B=c d' '{}'", script.display());
    let arguments = [
        "compare",
        "--interleave",
        PROGRAM,
        &other,
        "clock.loop",
        "--pairs",
        "3",
        "--seed",
        "7",
        "--keep",
        kept.to_str().unwrap(),
        "--format",
        "json",
    ];
    let (code, out, errors) = home.says(&arguments);
    assert!(matches!(code, 0 | 1) && errors.is_empty(), "{code} {errors}");
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["base"]["name"], PROGRAM);
    assert_eq!(value["new"][0]["side"]["name"], other);
    assert_eq!(value["new"][0]["cases"][0]["effect"]["test"]["runs"], 6);
    let runs: Vec<Run> =
        files(&kept).iter().map(|path| load_run(&fs::read_to_string(path).unwrap()).unwrap()).collect();
    let names: Vec<PathBuf> = files(&kept);
    let mut stems: Vec<String> = names.iter().map(|path| path.file_stem().unwrap().to_string_lossy().into()).collect();
    stems.sort();
    assert_eq!(stems, ["a-01", "a-02", "a-03", "b-01", "b-02", "b-03"]);
    // Both runs of a pair have one seed, and so one order of cases.
    assert_eq!(runs.iter().map(|run| run.settings.seed).collect::<std::collections::HashSet<_>>().len(), 3);
    // They were kept nowhere else, and nothing is left of them.
    assert!(files(home.data.path()).is_empty() && files(home.scratch.path()).is_empty());
    let again = home.says(&arguments);
    assert_eq!(again.0, 2, "{}", again.2);
}

/// Two sides in turn, and the comparison.
fn in_turn(home: &Home, sides: [&str; 2], rest: &[&str]) -> Value {
    let arguments = [&["compare", "--interleave", sides[0], sides[1], "clock.loop", "--format", "json"], rest].concat();
    let (code, out, errors) = home.says(&arguments);
    assert!(matches!(code, 0 | 1) && errors.is_empty(), "{code} {errors}");
    serde_json::from_str(&out).unwrap()
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_program_of_ones_own_is_measured_in_turn_and_each_side_finds_its_own() {
    let home = Home::new();
    let directory = tempfile::tempdir().unwrap();
    // What each says of itself: no load of the machine brings them nearer to each other.
    for (side, ms) in [("old", 20), ("new", 60)] {
        let program = directory.path().join(side).join("program");
        fs::create_dir(program.parent().unwrap()).unwrap();
        fs::write(&program, format!("#!/bin/sh\necho took {ms}\n")).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let side = |name: &str| format!("env -C '{}' {PROGRAM}", directory.path().join(name).display());
    let (old, new) = (side("old"), side("new"));
    let arguments = ["compare", "--interleave", &old, &new, "--command", "./program", "--value", "took ([0-9]+)"];
    let format = ["--unit", "ms", "--pairs", "3", "--format", "json"];
    let (code, out, errors) = ended(home.hostmark(&arguments).args(format));
    assert!(code == 1 && errors.is_empty(), "{code} {errors}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let cases = json["new"][0]["cases"].as_array().unwrap();
    let [case] = &cases[..] else { panic!("{json}") };
    assert!(case["id"].as_str().unwrap().starts_with("external.time@"), "{case}");
    assert_eq!(case["verdict"], "slower", "{case}");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn two_places_measure_in_turn_by_one_program() {
    let home = Home::new();
    let at = tempfile::tempdir().unwrap();
    let kept = at.path().join("kept");
    let value = in_turn(&home, ["env 'A=b c'", "here"], &["--pairs", "2", "--keep", kept.to_str().unwrap()]);
    assert_eq!((&value["base"]["name"], &value["new"][0]["side"]["name"]), (&"env 'A=b c'".into(), &"here".into()));
    let digest = value["new"][0]["program"].as_str().unwrap();
    assert_eq!(digest, hostmark_launch::program::digest_of(PROGRAM.as_ref()).unwrap());
    let mut files = files(&kept);
    files.sort();
    let runs: Vec<Run> = files.iter().map(|file| load_run(&fs::read_to_string(file).unwrap()).unwrap()).collect();
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["a-01", "a-02", "b-01", "b-02"]);
    // Each says how far it can be trusted, as any run does whose value has an interval: on a busy machine its rounds may disagree too far.
    let has_interval = |run: &Run| run.cases[0].measured().is_some_and(|it| it.estimate.of_this_run().is_some());
    assert!(runs.iter().all(|run| run.trust.is_some() || !has_interval(run)));
    assert!(files.iter().zip(&names).all(|(file, name)| file.file_stem().unwrap() == *name));
    let places: Vec<Option<&str>> = runs.iter().map(|run| run.place.as_deref()).collect();
    assert_eq!(places, [Some("env 'A=b c'"), Some("env 'A=b c'"), None, None]);
    let of_pair = |run: &Run| (run.settings.seed, run.settings.rounds, run.settings.filters.clone());
    assert_eq!((of_pair(&runs[0]), of_pair(&runs[1])), (of_pair(&runs[2]), of_pair(&runs[3])));
    assert_ne!(runs[0].settings.seed, runs[1].settings.seed);
    assert!(support::files(home.data.path()).is_empty() && support::files(home.scratch.path()).is_empty());
    let [a, b] = ["a-01.json", "b-01.json"].map(|name| kept.join(name).display().to_string());
    let (_, table, _) = home.says(&["compare", &a, &b]);
    assert!(table.contains(&format!("one program measured both sides: SHA-256 {}…", &digest[..12])), "{table}");
    let (_, table, _) = home.says(&["compare", &a, &b, "--lang", "zh"]);
    assert!(table.contains("双方由同一程序测量：SHA-256"), "{table}");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_place_and_a_command_measure_in_turn_and_two_programs_are_reported() {
    let home = Home::new();
    let at = tempfile::tempdir().unwrap();
    // One more byte makes it another program, which measures the same.
    let other = at.path().join("hostmark-other");
    fs::copy(PROGRAM, &other).unwrap();
    std::io::Write::write_all(&mut fs::File::options().append(true).open(&other).unwrap(), b"x").unwrap();
    let value = in_turn(&home, ["env", other.to_str().unwrap()], &["--pairs", "1"]);
    let (base, new) = (&value["base"]["runs"][0], &value["new"][0]["side"]["runs"][0]);
    assert_eq!((&base["place"], &new["place"]), (&"env".into(), &Value::Null));
    assert!(base["digest"].is_string() && base["digest"] != new["digest"]);
    assert!(value["new"][0]["program"].is_null());
    let differs = value["new"][0]["differs"].as_array().unwrap();
    assert!(differs.iter().any(|fact| fact["key"] == "tool.digest"), "{differs:?}");
    assert!(files(home.data.path()).is_empty() && files(home.scratch.path()).is_empty());
}

/// Asks a comparison to stop once it has begun: its errors. It prints nothing, and nobody is left.
fn stopped_once(home: &Home, arguments: &[&str], has_begun: impl FnMut() -> bool) -> String {
    let mut child = Running::start(&mut home.heeding(arguments));
    assert!(within(SOON, has_begun), "it never began");
    child.signal(Signal::INT);
    let (code, out, errors) = said(&child.ends(SOON));
    assert_eq!((code, out.as_str()), (130, ""), "{errors}");
    assert!(within(SOON, || processes(home).is_empty()), "left: {:?}", processes(home));
    errors
}

#[test]
fn a_request_to_stop_ends_a_turn_at_a_place_or_both_commands_and_leaves_nothing() {
    let home = Home::new();
    let kept = tempfile::tempdir().unwrap();
    let kept_as = kept.path().display().to_string();
    let arguments = ["compare", "--interleave", "env", "env", "memory", "syscall", "--keep", &kept_as];
    let errors = stopped_once(&home, &arguments, || processes(&home).iter().any(|(_, word)| word == "worker"));
    assert!(errors.is_empty() && files(home.scratch.path()).is_empty(), "{errors}");
    // It says that it began, and takes far longer than this test.
    let begun = home.scratch.path().join("begun");
    let command = format!("sh -c 'echo $$ > {}; exec sleep 300' hostmark", begun.display());
    let said = || fs::read_to_string(&begun).unwrap_or_default();
    let arguments = ["compare", "--interleave", &command, &command, "--keep", &kept_as];
    stopped_once(&home, &arguments, || said().ends_with('\n'));
    assert!(!Path::new("/proc").join(said().trim()).exists(), "the command goes on");
    fs::remove_file(&begun).unwrap();
    assert!([home.scratch.path(), home.data.path(), kept.path()].iter().all(|at| files(at).is_empty()));
}
