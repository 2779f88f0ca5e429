//! `hostmark self-check` as a whole: its lines, its exit code, what it stores, and that it leaves nothing.

use std::process::Stdio;
use std::time::Duration;

use hostmark::self_check::{Outcome, Report};
use hostmark_model::load_run;

use crate::alone::alone;
use crate::processes::{processes, within};
use crate::skip::skipped;
use crate::support::{Home, ended, files};

/// All checks together end within this time; a loaded machine starts processes late.
const SOON: Duration = Duration::from_secs(90);

#[test]
fn every_check_has_a_line_and_the_exit_code_follows_from_them() {
    let _alone = alone();
    let home = Home::new();
    let (code, out, errors) = ended(&mut home.hostmark(&["self-check", "--format", "json"]));
    assert_eq!(errors, "");
    let report: Report = serde_json::from_str(&out).unwrap();
    let ids: Vec<&str> = report.checks.iter().map(|line| line.id.as_str()).collect();
    let all =
        ["delay", "sleep", "multiply", "l1_cache", "compare", "competitor", "fleet", "quota", "disk", "link", "relay"];
    assert_eq!(ids, all);
    let has = |outcome: Outcome| report.checks.iter().any(|line| line.outcome == outcome);
    let expected = if has(Outcome::Error) { 3 } else { i32::from(has(Outcome::Failed)) };
    assert_eq!(code, expected, "{out}");
    // It needs nothing but this program.
    assert_eq!(report.checks[6].outcome, Outcome::Passed, "{out}");
    for line in &report.checks {
        let has_reason = matches!(line.outcome, Outcome::NotPossible | Outcome::Error);
        assert_eq!(has_reason, line.reason.is_some(), "{line:?}");
    }
    let stored = files(home.data.path());
    assert!(stored.len() == 1 && stored[0].parent().unwrap().ends_with("hostmark/self-checks"), "{stored:?}");
    assert_eq!(std::fs::read_to_string(&stored[0]).unwrap(), out);
    assert!(files(home.scratch.path()).is_empty() && processes(&home).is_empty());
}

#[test]
fn one_that_is_killed_beside_its_competitor_leaves_no_process() {
    let _alone = alone();
    let home = Home::new();
    let mut command = home.hostmark(&["self-check", "--lang", "zh"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_there = within(SOON, || processes(&home).iter().any(|(_, word)| word == "neighbour"));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(is_there && output.stderr.is_empty(), "{text}");
    // Headline, an empty line, and the checks before that of the competitor.
    assert!(text.lines().count() == 2 + 5 && text.contains("按 CLOCK_MONOTONIC_RAW 延迟 20.00 µs"), "{text}");
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
    assert!(files(home.data.path()).is_empty());
}

#[test]
fn a_run_names_the_self_check_that_passed_here_and_strict_runs_demand_it() {
    let _alone = alone();
    let home = Home::new();
    let strict = ["run", "clock.loop", "--strict", "--format", "json"];
    let (code, out, errors) = ended(&mut home.hostmark(&strict));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(errors.starts_with("hostmark: no self-check of this program has passed on this host"), "{errors}");
    let (code, _, _) = ended(&mut home.hostmark(&["self-check"]));
    if code != 0 {
        return skipped("the self-check did not pass here");
    }
    let (code, out, errors) = ended(&mut home.hostmark(&strict));
    assert_eq!((code, errors.as_str()), (0, ""));
    let checked = load_run(&out).unwrap().trust.unwrap().self_check.unwrap();
    assert!(checked.has_passed() && checked.passed >= 1, "{checked:?}");
    let (_, out, _) = ended(&mut home.hostmark(&["run", "clock.loop", "--full"]));
    assert!(out.replace('\n', " ").contains("self-check passed on"), "{out}");
    // Another program's is none.
    let stored = &files(&home.data.path().join("hostmark/self-checks"))[0];
    std::fs::rename(stored, stored.with_file_name("vm-00000000-00000000.json")).unwrap();
    assert_eq!(ended(&mut home.hostmark(&strict)).0, 2);
}
