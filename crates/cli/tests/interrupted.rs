//! Runs that a person, the kernel or an accident stops, or whose machine changes: what is measured is kept, and nothing else is left.

use hostmark_model::{HostReport, out_of_memory};

use crate::control_group::{ControlGroup, set};
use crate::prelude::*;
use crate::under_way::{BEGUN_WITHIN, UnderWay, assert_is_interrupted, journal_in};

// Runs are timed: one at a time.

/// A run of many cases, which takes the whole minute when nobody stops it.
const LONG: &[&str] = &["run", "memory", "clock", "syscall", "--format", "json"];

#[test]
fn a_request_to_stop_keeps_what_is_measured() {
    let _alone = alone();
    // The last as a terminal sends it.
    for (signal, code, to_group) in
        [(Signal::INT, 130, false), (Signal::TERM, 143, false), (Signal::HUP, 129, false), (Signal::INT, 130, true)]
    {
        let mut run = UnderWay::start(LONG);
        match to_group {
            true => kill_process_group(Pid::from_child(&run.child), signal).unwrap(),
            false => run.child.signal(signal),
        }
        let (ended, json, errors) = said(&run.child.ends(SOON));
        assert_eq!((ended, errors.as_str()), (code, ""));
        let kept = run.kept();
        assert_is_interrupted(&kept);
        assert_eq!(load_run(&json).unwrap(), kept);
    }
}

#[test]
fn a_second_request_ends_a_run_at_once_and_leaves_the_journal() {
    let _alone = alone();
    let mut run = UnderWay::start(LONG);
    // Both are delivered in one, before the run can do anything about the first.
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        run.child.signal(signal);
    }
    let code = run.child.ends(SOON).status.code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
    run.left(SOON);
    run.assert_only_the_journal_is_left();
    // What it has is as good as any other run's rounds; what it lacks says so.
    let [journal] = &run.left(SOON)[..] else { unreachable!() };
    let journal = journal.to_str().unwrap();
    let json = succeeded(run.home.says(&["report", journal, "--reestimate", "--format", "json"]));
    let again = load_run(&json).unwrap();
    assert_eq!((again.interrupted.as_deref(), again.finished), (Some("only its journal is left"), None));
    let journalled = |id: &str| run.journal().lines().skip(1).any(|line| line.contains(&format!("\"{id}\"")));
    let of_workers = again.cases.iter().filter(|case| case.probe != "memory.hierarchy" && case.measured().is_some());
    assert!(of_workers.clone().count() > 0 && of_workers.clone().all(|case| journalled(&case.id)));
    let is_interrupted = |case: &&CaseRecord| {
        case.outcome == Outcome::Skipped { reason: ReasonCode::Interrupted.because("interrupted") }
    };
    assert!(again.cases.iter().filter(is_interrupted).count() > 0);
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let _alone = alone();
    let home = Home::new();
    if ended(home.start("sh").args(["-c", "env --ignore-signal=HUP true"])).0 != 0 {
        return skipped("env cannot set signals here");
    }
    let mut command = home.start("env");
    command.args(["--ignore-signal=HUP", PROGRAM, "run", "clock.loop", "syscall.null"]).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let is_under_way = || files(home.data.path()).iter().any(|path| fs::metadata(path).is_ok_and(|m| m.len() > 0));
    assert!(within(SOON, is_under_way));
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// What a process cost that was hit by a signal.
#[derive(Debug, PartialEq)]
enum Cost {
    Case(String),
    Round(String),
}

/// Sends a signal to a process with this first word as soon as it is there, in a run that measures this among others, and says what that
/// cost. One that had already done its work is none.
fn run_with_one_hit_by(case: &str, word: &str, signal: Signal) -> Option<Cost> {
    let mut run = UnderWay::start(&["run", case, "clock.read", "--format", "json"]);
    let workers = |run: &UnderWay| -> Vec<i32> {
        processes(&run.home).into_iter().filter(|(_, its)| its == word).map(|(pid, _)| pid).collect()
    };
    // A far end is hit as it begins; of workers the one that is kept, since it has filled memory, and mostly measures.
    let lives_on = word == "worker";
    let mut before = workers(&run);
    let mut hit = None;
    within(SOON, || {
        if lives_on {
            std::thread::sleep(Duration::from_millis(500));
        }
        let now = workers(&run);
        hit = now.iter().copied().find(|pid| before.contains(pid) == lives_on);
        if lives_on {
            before = now;
        }
        hit.is_some() || run.child.try_wait().unwrap().is_some()
    });
    // It may be gone already.
    let _ = kill_process(Pid::from_raw(hit?)?, signal);
    let (code, _, errors) = said(&run.child.ends(Duration::from_secs(120)));
    let kept = run.kept();
    assert!(kept.interrupted.is_none());
    let mut costs = Vec::new();
    for case in &kept.cases {
        match &case.outcome {
            Outcome::Measured(measured) => {
                let lost = measured.flags.iter().filter(|flag| flag.kind == FlagKind::RoundsLost);
                // Without a reason there was no time for it.
                costs.extend(lost.filter_map(|flag| Some(Cost::Round(flag.detail.split_once(": ")?.1.to_owned()))));
            }
            Outcome::Failed { reason } => costs.push(Cost::Case(reason.text.clone())),
            // On a busy machine it may be taken for one that waits for a CPU.
            Outcome::Skipped { reason } if reason.code == Some(ReasonCode::Disturbed) => return None,
            Outcome::Skipped { reason } => panic!("{} {reason}", case.id),
        }
    }
    assert!(costs.len() <= 1 && kept.cases.len() > 3, "{costs:?}");
    let has_failed = matches!(costs[..], [Cost::Case(_)]);
    assert_eq!((code, errors.as_str()), (if has_failed { 3 } else { 0 }, ""));
    costs.pop()
}

#[test]
fn a_far_end_that_is_killed_costs_its_case_and_one_that_hangs_or_a_worker_its_round_and_no_other() {
    let _alone = alone();
    let dead = format!("the far end {}", out_of_memory());
    let silent = ["the far end did not answer within ", "the far end did not listen within "];
    for (case, word, signal, costs_case, reasons) in [
        ("net.round_trip@protocol=tcp", "service", Signal::KILL, true, &[dead.as_str()][..]),
        ("net.round_trip@protocol=udp", "service", Signal::STOP, false, &silent),
        // It is waited for longer where it had waited for a CPU before.
        ("memory.read@size=64M", "worker", Signal::STOP, false, &["no answer within "]),
    ] {
        let Some(cost) = (0..5).find_map(|_| run_with_one_hit_by(case, word, signal)) else {
            skipped(&format!("no {word} of {case} was hit that had a CPU"));
            continue;
        };
        let (is_case, reason) = match &cost {
            Cost::Case(reason) => (true, reason),
            Cost::Round(reason) => (false, reason),
        };
        assert!(is_case == costs_case && reasons.iter().any(|start| reason.starts_with(start)), "{case}: {cost:?}");
    }
}

#[test]
fn a_watch_that_is_killed_leaves_no_process_and_goes_on_and_a_signal_ends_it_between_turns() {
    let _alone = alone();
    let home = Home::new();
    let turns = || files(&home.data.path().join("hostmark/series/s"));
    let first = ["watch", "clock.loop", "--series", "s", "--once", "--every", "10s", "--max-cpu", "100"];
    assert_eq!(home.says(&first).0, 0);
    let goes_on = || {
        let mut command = home.hostmark(&["watch", "--resume", "s", "--for", "1h"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // In its turn: a worker is there.
    let mut killed = goes_on();
    let is_measuring = within(SOON, || processes(&home).iter().any(|(_, word)| word == "worker"));
    killed.kill().unwrap();
    let output = killed.wait_with_output().unwrap();
    assert!(is_measuring, "{output:?}");
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
    assert!(turns().len() == 1 && files(home.scratch.path()).is_empty(), "{:?}", turns());
    // It counts on, and waits for the next turn when it is asked to end.
    let watch = goes_on();
    let is_waiting = within(BEGUN_WITHIN, || turns().len() == 2 && processes(&home).len() == 1);
    kill_process(Pid::from_raw(watch.id() as i32).unwrap(), Signal::TERM).unwrap();
    let (code, out, errors) = said(&watch.wait_with_output().unwrap());
    assert!(is_waiting && code == 143 && errors.is_empty(), "{code} {out} {errors}");
    assert!(out.contains("turn 2: ") && out.contains("1 turn kept in "), "{out}");
    assert!(turns().len() == 2 && processes(&home).is_empty());
}

/// The reasons of a run's cases that have no value.
fn reasons(run: &Run) -> Vec<&str> {
    let reason = |outcome| match outcome {
        &Outcome::Skipped { ref reason } | &Outcome::Failed { ref reason } => Some(&**reason),
        Outcome::Measured(_) => None,
    };
    run.cases.iter().filter_map(|case| reason(&case.outcome)).collect()
}

/// Whether commands run in such namespaces of their own here.
fn can_unshare(what: &str) -> bool {
    Command::new("unshare").args([what, "true"]).status().is_ok_and(|status| status.success())
}

#[test]
fn a_program_that_is_replaced_or_deleted_measures_to_its_end() {
    let _alone = alone();
    for replaces in [true, false] {
        let (home, place) = (Home::new(), tempfile::tempdir().unwrap());
        let (program, other) = (place.path().join("hostmark"), place.path().join("other"));
        fs::copy(PROGRAM, &program).unwrap();
        fs::copy("/bin/false", &other).unwrap();
        let mut command = home.start(program.to_str().unwrap());
        command.args(["run", "syscall.null", "ipc.round_trip@by=pipe,cpus=same_cpu", "net.rpc", "--format", "json"]);
        let mut run = Running::start(&mut command);
        let has_worker = || processes(&home).iter().any(|(_, word)| word == "worker");
        assert!(within(SOON, has_worker));
        let done = if replaces { fs::rename(&other, &program) } else { fs::remove_file(&program) };
        done.unwrap();
        let out = succeeded(said(&run.ends(SOON * 4)));
        assert_eq!(reasons(&load_run(&out).unwrap()), Vec::<&str>::new(), "{replaces}");
    }
}

#[test]
fn interfaces_are_those_of_the_network_namespace_of_the_process() {
    let _beside = beside();
    if !can_unshare("-n") {
        return skipped("no network namespace can be made here");
    }
    let home = Home::new();
    let names = |script: &str| {
        let script = format!("{script} && exec {PROGRAM} host --format json");
        let (out, _) = with_code(0, ended(home.start("unshare").args(["-n", "sh", "-c", &script])));
        let report: HostReport = serde_json::from_str(&out).unwrap();
        report.host.network.into_iter().map(|interface| interface.name).collect::<Vec<_>>()
    };
    // What is mounted at /sys is the outer namespace's.
    assert_eq!(names("true"), Vec::<String>::new());
    assert_eq!(names("ip link set lo up"), ["lo"]);
}

#[test]
fn without_dev_null_it_is_the_file_that_is_named() {
    let _beside = beside();
    if !can_unshare("-m") {
        return skipped("no mount namespace can be made here");
    }
    let home = Home::new();
    for (lang, wanted) in [("en", "make it by: mknod"), ("zh", "请创建它：mknod")] {
        let script = format!("mount -t tmpfs hostmark-test /dev && exec {PROGRAM} --lang {lang} run clock.loop");
        let (code, out, errors) = ended(home.start("unshare").args(["-m", "sh", "-c", &script]));
        assert_eq!((code, out.as_str()), (5, ""), "{errors}");
        assert!(errors.contains("/dev/null") && errors.contains(wanted), "{errors}");
    }
}

/// A group of these CPUs, and of the memory nodes of those above it.
fn cpu_set(cpus: &str) -> Option<ControlGroup> {
    let parents = ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"];
    let nodes = parents.map(|parent| {
        let nodes = fs::read_to_string(Path::new(parent).join("cpuset.mems")).unwrap_or_default();
        if nodes.trim().is_empty() { "0".to_owned() } else { nodes.trim().to_owned() }
    });
    let settings = nodes.each_ref().map(|nodes| [("cpuset.cpus", cpus), ("cpuset.mems", nodes.as_str())]);
    ControlGroup::of("cpus", &[(parents[0], &settings[0]), (parents[1], &settings[1])])
}

#[test]
fn a_cpu_that_is_taken_costs_no_round_that_was_measured() {
    let _alone = alone();
    let cpus = hostmark_host::read_here().usable_cpus();
    let (Some(first), Some(last)) = (cpus.first(), cpus.get(1)) else { return skipped("there is one CPU") };
    let Some(group) = cpu_set(&format!("{first},{last}")) else { return skipped("there is no cpuset here") };
    let home = Home::new();
    let words = ["run", "syscall.null", "ipc.round_trip@by=pipe", "cpu.core_to_core", "net.rpc", "--format", "json"];
    let mut run = Running::start(&mut group.start(&home, &[&[PROGRAM], &words[..]].concat()));
    // The first pass is over.
    assert!(within(SOON, || journal_in(&home).lines().count() > 12));
    set(&group.0.join("cpuset.cpus"), &first.to_string()).unwrap();
    let out = succeeded(said(&run.ends(SOON * 4)));
    let run = load_run(&out).unwrap();
    let taken = format!("CPU {last} was taken from this run after ");
    assert!(run.disturbances.iter().any(|text| text.en.starts_with(&taken)), "{:?}", run.disturbances);
    assert!(reasons(&run).iter().all(|reason| !reason.contains("os error")), "{:?}", reasons(&run));
    // It needs both, and was measured in the first pass.
    let both = run.cases.iter().find(|case| case.probe == "cpu.core_to_core").unwrap();
    assert!(both.measured().is_some(), "{:?}", both.outcome);
}

#[test]
fn a_loopback_interface_that_is_set_down_is_named() {
    let _alone = alone();
    if !can_unshare("-n") {
        return skipped("no network namespace can be made here");
    }
    let home = Home::new();
    let words = ["net.round_trip", "net.rpc@protocol=udp", "net.tcp_bandwidth", "--format", "json"].join(" ");
    let script = format!("ip link set lo up && {{ (sleep 2; ip link set lo down) & exec {PROGRAM} run {words}; }}");
    let (_, out, errors) = ended(home.start("unshare").args(["-n", "sh", "-c", &script]));
    let run = load_run(&out).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let is_named = |text: &str| text.starts_with("the loopback interface was found down after ");
    assert!(run.disturbances.iter().any(|text| is_named(&text.en)), "{:?}", run.disturbances);
    assert!(reasons(&run).into_iter().all(is_named), "{:?}", reasons(&run));
}
