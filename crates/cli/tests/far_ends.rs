//! Runs at another place whose link, ends or carriers are killed, paused, cut or garbled: no finished round is lost, the run goes
//! on, and nothing is left on either side.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;

use crate::prelude::*;
use crate::relay::{Gate, Harm, Link, Relay, entries};

/// Two leases as they are in a release, which does not shorten them, the time that is given to put things in order, and a loaded
/// machine's.
const TWO_LEASES: Duration = Duration::from_secs(80 + 5 + 15);
/// A run's limit, and all that may hold it up.
const WHOLE: Duration = Duration::from_secs(170);

/// A run under way behind a link.
struct UnderWay {
    near: Home,
    link: Link,
    relay: Relay,
    child: Running,
}

impl UnderWay {
    /// Starts one, and waits until it has journalled some rounds.
    fn start(arguments: &[&str]) -> UnderWay {
        UnderWay::begin(Home::new, arguments, None).has_rounds()
    }

    /// A run whose link is given up soon, and on a loaded machine perhaps too soon: for a test that ends it anyway.
    fn start_hasty(arguments: &[&str]) -> UnderWay {
        UnderWay::begin(Home::with_short_timeouts, arguments, None).has_rounds()
    }

    fn has_rounds(self) -> UnderWay {
        assert!(within(SOON, || self.journalled() > 3), "{}", self.errors());
        self
    }

    fn begin(home: fn() -> Home, arguments: &[&str], harm: Option<Harm>) -> UnderWay {
        let (near, link) = (home(), Link::to(home()));
        let relay = link.carries(harm);
        let mut command = near.heeding(&["run", "--format", "json", "--on", &link.command()]);
        command.args(arguments).process_group(0);
        let to = |name: &str| Stdio::from(File::create(link.path(name)).unwrap());
        command.stdin(Stdio::null()).stdout(to("out")).stderr(to("err"));
        UnderWay { child: Running(command.spawn().unwrap()), near, link, relay }
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.link.path("err")).unwrap()
    }

    /// The file of this ending in the directory of runs.
    fn kept(&self, ending: &str) -> Option<PathBuf> {
        files(self.near.data.path()).into_iter().find(|file| file.to_string_lossy().ends_with(ending))
    }

    /// Rounds in its journal; none where there is none.
    fn journalled(&self) -> usize {
        let journal =
            self.kept(".partial.jsonl").and_then(|journal| fs::read_to_string(journal).ok()).unwrap_or_default();
        journal.matches('\n').count().saturating_sub(1)
    }

    /// Kills what stands for ssh, with all that it has started.
    fn kill_ssh(&self) {
        let of_ssh = processes(&self.near).into_iter().find(|(_, word)| word.ends_with("ssh.down"));
        kill_process_group(Pid::from_raw(of_ssh.unwrap().0).unwrap(), Signal::KILL).unwrap();
    }

    /// Waits for its end: the exit code, or 128 and the signal.
    fn ends(&mut self, limit: Duration) -> i32 {
        assert!(within(limit, || self.child.try_wait().unwrap().is_some()), "it goes on: {}", self.errors());
        let status = self.child.wait().unwrap();
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
    }

    /// Nothing is left on either side, but for what is kept.
    fn leaves_nothing(&self) {
        for (side, home) in [("here", &self.near), ("there", &self.link.far)] {
            let is_clean = || processes(home).is_empty() && entries(home.scratch.path()).is_empty();
            let clean = within(TWO_LEASES, is_clean);
            assert!(clean, "left {side}: {:?} {:?}", processes(home), entries(home.scratch.path()));
        }
        assert!(files(self.link.far.data.path()).is_empty());
    }

    /// It ended with a lost resource, told in one sentence with what to do, and has all rounds that came.
    fn broke_off(&mut self, known: usize) {
        let code = self.ends(TWO_LEASES);
        let errors = self.errors();
        assert_eq!((code, errors.lines().count()), (5, 1), "{errors}");
        let rounds = self.journalled();
        assert!(rounds >= known, "{rounds} of {known}");
        assert!(errors.contains(&format!("; {rounds} rounds are kept: hostmark run --resume ")), "{errors}");
        assert!(errors.contains("look at "), "{errors}");
        self.leaves_nothing();
    }

    /// Through a link that works it goes on to its end.
    fn goes_on(&mut self) {
        let (journal, rounds) = (self.kept(".partial.jsonl").unwrap(), self.journalled());
        (self.near.timing, self.link.far.timing) = (None, None);
        self.relay = self.link.carries(None);
        let place = self.link.command();
        let arguments = ["run", "--format", "json", "--resume", journal.to_str().unwrap(), "--on", &place];
        let json = succeeded(self.near.says(&arguments));
        let run = load_run(&json).unwrap();
        assert!(run.disturbances.iter().any(|text| text.en.contains(&format!("after {rounds} rounds"))), "{rounds}");
        self.is_whole(&run);
        self.leaves_nothing();
    }

    /// The run that is kept is this one, and every case of it has a value.
    fn is_whole(&self, run: &Run) {
        assert!(run.interrupted.is_none() && run.cases.len() > 3);
        assert!(run.cases.iter().filter(|case| case.measured().is_some()).count() > 3);
        let reason = run.cases.iter().find(|case| lacks_time(case));
        assert!(reason.is_none(), "{reason:?}");
        let kept = fs::read_to_string(self.kept(".json").unwrap()).unwrap();
        assert_eq!(load_run(&kept).unwrap(), *run);
        assert_eq!(self.kept(".partial.jsonl"), None);
    }

    fn shown(&self) -> Run {
        load_run(&fs::read_to_string(self.link.path("out")).unwrap()).unwrap()
    }
}

/// Whether a case was left out for want of time, or went wrong.
fn lacks_time(case: &CaseRecord) -> bool {
    match &case.outcome {
        Outcome::Measured(_) => false,
        Outcome::Skipped { reason } => reason.contains("no time left") || reason.contains("interrupted"),
        Outcome::Failed { .. } => true,
    }
}

/// What takes some seconds.
const SHORT: &[&str] = &[
    "syscall.null",
    "syscall.stat",
    "syscall.stat@call=fstat",
    "syscall.readiness@call=select",
    "syscall.readiness@call=poll",
];
/// What takes as long as it may.
const LONG: &[&str] = &["memory", "clock", "syscall"];

/// All of these at once: most of their time they wait.
fn at_once(trials: &[(&'static str, fn())]) {
    let started =
        trials.iter().map(|&(name, trial)| std::thread::Builder::new().name(name.into()).spawn(trial).unwrap());
    let failed: Vec<&str> = started
        .collect::<Vec<_>>()
        .into_iter()
        .zip(trials)
        .filter_map(|(trial, (name, _))| trial.join().err().map(|_| *name))
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn whoever_is_killed_no_finished_round_is_lost_and_the_run_goes_on() {
    let _beside = beside();
    at_once(&[
        ("what stands for ssh", || {
            let mut run = UnderWay::start(SHORT);
            let known = run.journalled();
            run.kill_ssh();
            run.broke_off(known);
            run.goes_on();
        }),
        ("what stands for sshd", || {
            let mut run = UnderWay::start(SHORT);
            let known = run.relay.lines("{\"round\"");
            run.relay.set(Gate::Closed);
            run.broke_off(known);
        }),
        ("the agent", || {
            let mut run = UnderWay::start(SHORT);
            run.relay.kill();
            let code = run.ends(SOON);
            let known = run.relay.lines("{\"round\"");
            assert!(code == 5 && run.journalled() == known, "{code} {known} {}", run.journalled());
            run.broke_off(known);
            run.goes_on();
        }),
        ("the parent", || {
            let mut run = UnderWay::start(SHORT);
            let known = run.journalled();
            run.child.signal(Signal::KILL);
            assert_eq!(run.ends(SOON), 128 + 9);
            assert!(run.journalled() >= known);
            run.leaves_nothing();
            run.goes_on();
        }),
        ("nobody", || {
            let mut run = UnderWay::start(SHORT);
            assert_eq!(run.ends(WHOLE), 0);
            run.is_whole(&run.shown());
            run.leaves_nothing();
        }),
    ]);
}

#[test]
fn a_link_that_stands_still_for_a_while_costs_nothing_and_one_that_is_cut_for_good_ends_both() {
    let _beside = beside();
    at_once(&[
        ("paused", || {
            let mut run = UnderWay::start(&["syscall"]);
            run.relay.set(Gate::Held);
            // Longer than a lease, and shorter than two.
            std::thread::sleep(Duration::from_secs(25));
            run.relay.set(Gate::Open);
            assert_eq!(run.ends(WHOLE), 0, "{}", run.errors());
            run.is_whole(&run.shown());
            run.leaves_nothing();
        }),
        ("cut", || {
            let mut run = UnderWay::start_hasty(SHORT);
            let known = run.journalled();
            run.relay.set(Gate::Held);
            run.broke_off(known);
            assert!(run.errors().contains("has said nothing for "), "{}", run.errors());
            run.goes_on();
        }),
        ("cut while much is to be said", || {
            let mut run = UnderWay::start_hasty(LONG);
            run.relay.set(Gate::Held);
            run.broke_off(0);
        }),
        ("slow", || {
            let mut run = UnderWay::start(SHORT);
            run.relay.set(Gate::Slow(100 << 10));
            assert_eq!(run.ends(WHOLE), 0, "{}", run.errors());
            run.is_whole(&run.shown());
            run.leaves_nothing();
        }),
    ]);
}

#[test]
fn a_byte_that_is_changed_or_the_last_ends_the_run_and_loses_no_round_before_it() {
    let _beside = beside();
    at_once(&[("changed", || harmed(Harm::Changed)), ("the last", || harmed(Harm::Last))]);
}

/// Tries some places, in the run and before it.
fn harmed(harm: fn(usize) -> Harm) {
    for behind in [0, 1, 997, 14_033] {
        let mut run = UnderWay::start_hasty(SHORT);
        run.relay.harm(|said| harm(said + behind));
        let code = run.ends(WHOLE);
        match code {
            // A digit of a value is another digit, and no more than that.
            0 => run.leaves_nothing(),
            _ => {
                let known = run.relay.lines("{\"round\"");
                run.broke_off(known);
            }
        }
    }
    for at in [0, 100, 300, 4000] {
        let mut run = UnderWay::begin(Home::with_short_timeouts, SHORT, Some(harm(at)));
        let code = run.ends(WHOLE);
        let errors = run.errors();
        assert!(matches!(code, 0 | 2 | 5) && errors.lines().count() == usize::from(code != 0), "{at}: {code} {errors}");
        assert!(run.kept(".partial.jsonl").is_none(), "{errors}");
        run.leaves_nothing();
    }
}

#[test]
fn a_request_to_stop_keeps_what_was_measured_there() {
    let _beside = beside();
    at_once(&[
        ("SIGINT", || stopped(Signal::INT)),
        ("SIGTERM", || stopped(Signal::TERM)),
        ("SIGHUP", || stopped(Signal::HUP)),
    ]);
}

fn stopped(signal: Signal) {
    let mut run = UnderWay::start(LONG);
    run.child.signal(signal);
    assert_eq!((run.ends(SOON), run.errors().as_str()), (128 + signal.as_raw(), ""));
    let shown = run.shown();
    assert!(shown.interrupted.is_some() && shown.cases.iter().any(|case| case.measured().is_some()));
    assert_eq!(load_run(&fs::read_to_string(run.kept(".json").unwrap()).unwrap()).unwrap(), shown);
    run.leaves_nothing();
}

#[test]
fn a_request_to_stop_while_a_place_is_reached_ends_it() {
    let _beside = beside();
    let home = Home::new();
    let mut command = home.heeding(&["run", "clock", "--on", "sh -c 'sleep 1000'"]);
    let child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(within(SOON, || processes(&home).iter().any(|(_, word)| word == "1000")), "{:?}", processes(&home));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
    assert!(files(home.data.path()).is_empty());
}

#[test]
fn a_command_without_an_end_and_layers_end_with_their_link() {
    let _beside = beside();
    at_once(&[("a command", || ends_with_its_link(&["--command", "sleep 1000"])), ("layers", layers)]);
}

fn layers() {
    if ended(Home::new().start("unshare").args(["-r", "--mount", "--pid", "--fork", "true"])).0 != 0 {
        return skipped("no user, mount and PID namespace can be made here");
    }
    ends_with_its_link(&["--isolate", "namespaces", "syscall"]);
}

fn ends_with_its_link(arguments: &[&str]) {
    let mut run = UnderWay::begin(Home::new, arguments, None);
    let is_under_way = || processes(&run.link.far).iter().any(|(_, word)| word == "worker" || word == "1000");
    assert!(within(SOON, is_under_way), "{} {:?}", run.errors(), processes(&run.link.far));
    run.kill_ssh();
    assert_eq!(run.ends(SOON), 5, "{}", run.errors());
    assert_eq!(run.errors().lines().count(), 1, "{}", run.errors());
    run.leaves_nothing();
}
