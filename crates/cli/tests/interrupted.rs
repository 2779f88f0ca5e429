//! Runs that a person, the kernel or an accident stops: what is measured is kept, and nothing else is left.

// Runs are timed: one at a time.
#[path = "../../../tests/support/alone.rs"]
mod alone;
#[path = "support/processes.rs"]
mod processes;
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod support;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use alone::alone;
use hostmark_model::{CaseRecord, Outcome, Run, load_run};
use processes::{processes, within};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use skip::skipped;
use support::{Home, PROGRAM, ended, files, said};

/// Long enough for a loaded machine to do what is done at once.
const SOON: Duration = Duration::from_secs(10);
/// A run of many cases, which takes the whole minute when nobody stops it.
const LONG: &[&str] = &["run", "memory", "clock", "syscall", "--format", "json"];

/// A run under way, which its test stops.
struct UnderWay {
    home: Home,
    child: Child,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // A test that failed leaves nothing either.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl UnderWay {
    /// Starts a run, the leader of a group of its own as under a shell, and waits until it has journalled some rounds.
    fn start(arguments: &[&str]) -> UnderWay {
        let home = Home::new();
        let mut command = home.hostmark(arguments);
        if ignores_interrupts() {
            // A background job of a script is started so, and its children inherit it.
            command = home.start("env");
            command.args(["--default-signal=INT,HUP", PROGRAM]).args(arguments);
        }
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = UnderWay { child: command.spawn().unwrap(), home };
        let is_measuring =
            within(SOON, || run.journal().lines().count() > 3 || run.child.try_wait().unwrap().is_some());
        assert!(is_measuring, "{:?}", files(run.home.data.path()));
        run
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// The text of the journal; nothing when there is none.
    fn journal(&self) -> String {
        let left = files(self.home.data.path());
        let journal = left.iter().find(|path| path.display().to_string().ends_with(".partial.jsonl"));
        journal.and_then(|journal| std::fs::read_to_string(journal).ok()).unwrap_or_default()
    }

    /// Waits for the end. Nobody reads the output meanwhile, so it has to fit into a pipe, or the run to be stopped soon.
    fn ends(&mut self, limit: Duration) -> Output {
        let (stdout, stderr) = (self.child.stdout.take().unwrap(), self.child.stderr.take().unwrap());
        let read = |mut stream: Box<dyn std::io::Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).unwrap();
                bytes
            })
        };
        let (stdout, stderr) = (read(Box::new(stdout)), read(Box::new(stderr)));
        assert!(within(limit, || self.child.try_wait().unwrap().is_some()), "the run goes on");
        Output { status: self.child.wait().unwrap(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
    }

    /// Nothing of the run is alive or lies in the scratch directory; what is in the data directory.
    fn left(&self, limit: Duration) -> Vec<PathBuf> {
        assert!(within(limit, || processes(&self.home).is_empty()), "left: {:?}", processes(&self.home));
        let scratch = self.home.scratch.path();
        assert!(within(limit, || std::fs::read_dir(scratch).unwrap().next().is_none()), "left: {:?}", files(scratch));
        files(self.home.data.path())
    }

    /// The run in the one file that is left.
    fn kept(&self) -> Run {
        let left = self.left(SOON);
        assert!(left.len() == 1 && left[0].extension().is_some_and(|extension| extension == "json"), "{left:?}");
        load_run(&std::fs::read_to_string(&left[0]).unwrap()).unwrap()
    }

    /// The one file that is left is a journal that begins with its header and has whole lines, perhaps but for the last.
    fn assert_only_the_journal_is_left(&self) {
        let left = self.left(Duration::from_secs(5));
        assert!(left.len() == 1 && left[0].display().to_string().ends_with(".partial.jsonl"), "{left:?}");
        let text = self.journal();
        let whole = text.rsplit_once('\n').unwrap().0;
        let lines: Vec<serde_json::Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["run"]["schema"], "hostmark.run/1");
        assert!(lines[0]["plan"]["cases"].as_array().unwrap().len() > 1);
        assert!(lines.len() > 3 && lines[1..].iter().all(|line| line["events"].is_array() && line["case"].is_string()));
    }
}

/// Whether this process, and so each that it starts, ignores SIGINT or SIGHUP.
fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() & 0b11 != 0
}

/// What was measured is kept, and the rest says that it was not.
fn assert_is_interrupted(run: &Run) {
    assert_eq!(run.interrupted.as_deref(), Some("stopped by a signal"));
    assert!(run.finished.is_some());
    assert!(run.cases.iter().any(|case| case.measured().is_some()));
    let mut others = run.cases.iter().filter(|case| case.measured().is_none()).peekable();
    assert!(others.peek().is_some());
    for case in others {
        let is_told = match &case.outcome {
            Outcome::Skipped { reason } => !reason.is_empty(),
            // Nothing fails because a person wants to stop.
            _ => false,
        };
        assert!(is_told, "{case:?}");
    }
}

#[test]
fn a_request_to_stop_keeps_what_is_measured() {
    let _alone = alone();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut run = UnderWay::start(LONG);
        run.signal(signal);
        let (ended, json, errors) = said(&run.ends(SOON));
        assert_eq!((ended, errors.as_str()), (code, ""));
        let kept = run.kept();
        assert_is_interrupted(&kept);
        assert_eq!(load_run(&json).unwrap(), kept);
    }
}

#[test]
fn a_terminals_interrupt_goes_to_the_whole_group_and_keeps_what_is_measured() {
    let _alone = alone();
    let mut run = UnderWay::start(LONG);
    kill_process_group(run.pid(), Signal::INT).unwrap();
    let (code, _, errors) = said(&run.ends(SOON));
    assert_eq!((code, errors.as_str()), (130, ""));
    assert_is_interrupted(&run.kept());
}

#[test]
fn two_interrupts_end_a_run_at_once() {
    let _alone = alone();
    let mut run = UnderWay::start(LONG);
    run.signal(Signal::INT);
    // Two of one kind that wait are one: the second is sent when the first has been delivered.
    let status = format!("/proc/{}/status", run.child.id());
    let is_pending = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        text.lines().any(|line| line.starts_with("ShdPnd:") && line.ends_with('2'))
    };
    within(SOON, || !is_pending());
    run.signal(Signal::INT);
    assert_eq!(run.ends(SOON).status.code(), Some(130));
    // The first may already have brought everything to its end.
    match &run.left(SOON)[..] {
        [file] if file.extension().is_some_and(|extension| extension == "json") => assert_is_interrupted(&run.kept()),
        _ => run.assert_only_the_journal_is_left(),
    }
}

#[test]
fn a_second_request_ends_a_run_at_once_and_leaves_the_journal() {
    let _alone = alone();
    let mut run = UnderWay::start(LONG);
    // Both are delivered in one, before the run can do anything about the first.
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        run.signal(signal);
    }
    let code = run.ends(SOON).status.code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
    run.left(SOON);
    run.assert_only_the_journal_is_left();
    // What it has is as good as any other run's rounds; what it lacks says so.
    let [journal] = &run.left(SOON)[..] else { unreachable!() };
    let journal = journal.to_str().unwrap();
    let (code, json, errors) = ended(&mut run.home.hostmark(&["report", journal, "--again", "--format", "json"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    let again = load_run(&json).unwrap();
    assert_eq!((again.interrupted.as_deref(), again.finished), (Some("only its journal is left"), None));
    let journalled = |id: &str| run.journal().lines().skip(1).any(|line| line.contains(&format!("\"{id}\"")));
    let of_workers = again.cases.iter().filter(|case| case.probe != "memory.hierarchy" && case.measured().is_some());
    assert!(of_workers.clone().count() > 0 && of_workers.clone().all(|case| journalled(&case.id)));
    let is_interrupted = |case: &&CaseRecord| case.outcome == Outcome::Skipped { reason: "interrupted".into() };
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
    let is_under_way = || files(home.data.path()).iter().any(|path| std::fs::metadata(path).is_ok_and(|m| m.len() > 0));
    assert!(within(SOON, is_under_way));
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn after_a_kill_only_the_journal_is_left() {
    let _alone = alone();
    let mut run = UnderWay::start(LONG);
    run.signal(Signal::KILL);
    assert_eq!(run.ends(SOON).status.signal(), Some(9));
    run.assert_only_the_journal_is_left();
}

/// Sends a signal to a worker as soon as it is there, and says what became of the case that it measured. A worker that
/// had already done its work is none.
fn run_with_a_worker_hit_by(signal: Signal) -> Option<String> {
    run_with_one_hit_by("memory.read@size=64M", "worker", signal)
}

/// The same of whatever process has this first word, in a run that measures this among others.
fn run_with_one_hit_by(case: &str, word: &str, signal: Signal) -> Option<String> {
    let mut run = UnderWay::start(&["run", case, "clock", "--format", "json"]);
    let workers = |run: &UnderWay| -> Vec<i32> {
        processes(&run.home).into_iter().filter(|(_, its)| its == word).map(|(pid, _)| pid).collect()
    };
    let known = workers(&run);
    let mut hit = None;
    within(SOON, || {
        hit = workers(&run).into_iter().find(|pid| !known.contains(pid));
        hit.is_some() || run.child.try_wait().unwrap().is_some()
    });
    // It may be gone already.
    let _ = kill_process(Pid::from_raw(hit?)?, signal);
    let (code, _, errors) = said(&run.ends(Duration::from_secs(55)));
    let kept = run.kept();
    assert!(kept.interrupted.is_none());
    let mut reasons = Vec::new();
    for case in &kept.cases {
        match &case.outcome {
            Outcome::Measured(_) => {}
            Outcome::Failed { reason } => reasons.push(reason.clone()),
            Outcome::Skipped { reason } => panic!("{} {reason}", case.id),
        }
    }
    assert!(reasons.len() <= 1 && kept.cases.len() > 3, "{reasons:?}");
    assert_eq!((code, errors.as_str()), (if reasons.is_empty() { 0 } else { 3 }, ""));
    reasons.pop()
}

#[test]
fn a_worker_that_is_killed_costs_its_case_and_no_other() {
    let _alone = alone();
    let reason = (0..5).find_map(|_| run_with_a_worker_hit_by(Signal::KILL)).expect("a worker was hit");
    assert_eq!(reason, "the worker was ended by signal 9");
}

#[test]
fn a_far_end_that_is_killed_costs_its_case_and_no_other() {
    let _alone = alone();
    let hit = || run_with_one_hit_by("net.tcp", "service", Signal::KILL);
    let reason = (0..5).find_map(|_| hit()).expect("a far end was hit");
    assert!(reason.starts_with("the far end was ended by signal 9"), "{reason}");
}

#[test]
fn a_far_end_that_hangs_costs_its_case_and_no_other() {
    let _alone = alone();
    let hit = || run_with_one_hit_by("net.udp", "service", Signal::STOP);
    let reason = (0..5).find_map(|_| hit()).expect("a far end was hit");
    let expected = ["the far end did not answer within 2 s", "the far end did not listen within 5 s"];
    assert!(expected.contains(&reason.as_str()), "{reason}");
}

#[test]
fn a_worker_that_hangs_costs_its_case_and_no_other() {
    let _alone = alone();
    let reason = (0..5).find_map(|_| run_with_a_worker_hit_by(Signal::STOP)).expect("a worker was hit");
    assert_eq!(reason, "no answer within 5 s");
}
