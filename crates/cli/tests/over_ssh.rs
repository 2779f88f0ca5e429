//! A run over a real ssh: whole, and cut short by the death of each process on its way.

use hostmark_model::load_run;
use rustix::process::{Pid, Signal, kill_process};

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::processes::{SOON, processes, within};
use crate::skip::skipped;
use crate::sshd::{Options, Sshd};
use crate::support::{Home, ended, files};
use crate::under_way::{UnderWay, assert_is_interrupted};

const NO_SERVER: &str = "there is no sshd here that lets this user in";
/// Some seconds when nobody stops it.
const SHORT: &[&str] = &["clock.read", "syscall.null", "--seed", "7"];

/// A server whose sessions belong to this home, and the place that it is.
fn server(far: &Home) -> Option<(Sshd, String)> {
    let directories = [&far.data, &far.scratch].map(|directory| directory.path().display().to_string());
    let environment = [("XDG_DATA_HOME", directories[0].as_str()), ("TMPDIR", directories[1].as_str())];
    let server = Sshd::start(&Options { environment: &environment, ..Options::default() })?;
    let place = server.prefix().join(" ");
    Some((server, place))
}

/// Nothing of ours is alive or lies there.
fn is_left_in_peace(far: &Home) {
    assert!(within(SOON, || processes(far).is_empty()), "{:?}", processes(far));
    for directory in [&far.data, &far.scratch] {
        assert!(files(directory.path()).is_empty(), "{:?}", files(directory.path()));
    }
}

#[test]
fn a_run_over_ssh_is_kept_here_and_leaves_nothing_there() {
    let _alone = alone();
    let (near, far) = (Home::new(), Home::new());
    let Some((_server, place)) = server(&far) else { return skipped(NO_SERVER) };
    let arguments = [&["run", "--on", &place, "--format", "json"], SHORT].concat();
    let (code, out, errors) = ended(&mut near.hostmark(&arguments));
    assert_eq!((code, errors.as_str()), (0, ""));
    let run = load_run(&out).unwrap();
    assert_eq!((run.place.as_deref(), run.settings.seed), (Some(place.as_str()), 7));
    assert!(run.cases.iter().all(|case| case.measured().is_some()));
    assert_eq!(files(near.data.path()).len(), 1);
    is_left_in_peace(&far);
}

/// Kills one of those on the way in the middle of a run, which then goes on over the same server. `who` finds its processes.
fn goes_on_after(who: impl FnOnce(&Sshd, &UnderWay, &Home) -> Vec<i32>) {
    let far = Home::new();
    let Some((server, place)) = server(&far) else { return skipped(NO_SERVER) };
    let mut run = UnderWay::start(&[&["run", "--on", &place, "--format", "json"], SHORT].concat());
    let victims = who(&server, &run, &far);
    assert!(!victims.is_empty(), "{:?} {:?}", processes(&run.home), processes(&far));
    let before = run.journal().lines().count() - 1;
    for victim in victims {
        let _ = kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL);
    }
    let output = run.ends(SOON);
    if output.status.code().is_some() {
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), errors.lines().count()), (Some(5), 1), "{errors}");
        assert!(errors.contains(&place) && errors.contains("hostmark run --resume"), "{errors}");
    }
    run.assert_only_the_journal_is_left();
    is_left_in_peace(&far);
    let kept = run.journal().lines().count() - 1;
    assert!(kept >= before, "{kept} {before}");
    let (code, out, errors) = ended(&mut run.home.hostmark(&["run", "--resume", "--on", &place, "--format", "json"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    let whole = load_run(&out).unwrap();
    assert!(whole.interrupted.is_none() && whole.cases.iter().all(|case| case.measured().is_some()));
    let expected = format!("cut short after {kept} rounds");
    assert!(whole.disturbances.iter().any(|one| one.en.contains(&expected)), "{:?}", whole.disturbances);
    is_left_in_peace(&far);
}

/// The numbers of those that were started with this first argument.
fn started_with(home: &Home, word: &str) -> Vec<i32> {
    processes(home).into_iter().filter(|(_, first)| first == word).map(|(pid, _)| pid).collect()
}

#[test]
fn ssh_that_is_killed_loses_no_finished_round() {
    let _alone = alone();
    goes_on_after(|_, run, _| started_with(&run.home, "-F"));
}

#[test]
fn a_session_of_sshd_that_is_killed_loses_no_finished_round() {
    let _alone = alone();
    goes_on_after(|server, _, _| {
        let listener = server.pid();
        let children = std::fs::read_to_string(format!("/proc/{listener}/task/{listener}/children")).unwrap();
        children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    });
}

#[test]
fn an_agent_that_is_killed_loses_no_finished_round() {
    let _alone = alone();
    goes_on_after(|_, _, far| started_with(far, "agent"));
}

#[test]
fn a_parent_that_is_killed_loses_no_finished_round() {
    let _alone = alone();
    goes_on_after(|_, run, _| vec![i32::try_from(run.child.id()).unwrap()]);
}

#[test]
fn a_request_to_stop_keeps_what_was_measured_over_ssh() {
    let _alone = alone();
    let far = Home::new();
    let Some((_server, place)) = server(&far) else { return skipped(NO_SERVER) };
    let mut run = UnderWay::start(&["run", "--on", &place, "memory.read", "clock", "syscall", "--format", "json"]);
    run.signal(Signal::INT);
    assert_eq!(run.ends(SOON).status.code(), Some(130));
    assert_is_interrupted(&run.kept());
    is_left_in_peace(&far);
}
