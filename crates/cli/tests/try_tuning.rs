//! `hostmark try`: a setting is off and on in turn, and is put back however the trial ends.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use hostmark_analysis::findings::{Demonstration, RULES};
use hostmark_model::load_run;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::alone::{alone, beside};
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, SOON, ended, files, processes, said, within};

/// The first turn begins after the machine has been looked at; a loaded machine takes its time.
const BEGUN_WITHIN: Duration = Duration::from_secs(120);
const ENDS_WITHIN: Duration = Duration::from_secs(240);

/// What is tried: the file is there on every kernel, and in a test another one lies over it.
const FILE: &str = "/proc/sys/net/core/rmem_default";
const BEFORE: &str = "212992\n";
const DURING: &str = "8388608\n";

/// Lays the first argument over the file, in a mount namespace of its own, and becomes the rest.
const OVER: &str = r#"mount --bind "$0" /proc/sys/net/core/rmem_default && exec "$@""#;
/// The same, where nothing can be written.
const OVER_READ_ONLY: &str = r#"mount --bind "$0" /proc/sys/net/core/rmem_default && mount -o remount,bind,ro /proc/sys/net/core/rmem_default && exec "$@""#;

/// A trial under way, over a file of its own.
struct Trial {
    home: Home,
    file: PathBuf,
    child: Child,
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn over(home: &Home, script: &str, file: &Path) -> Command {
    let mut command = home.start("env");
    command.args(["--default-signal=INT,HUP", "unshare", "-rm", "--propagation", "private", "sh", "-c", script]);
    command.arg(file).arg(PROGRAM);
    command
}

/// Whether this machine lets a test lay a file over another one.
fn can_lay_over() -> bool {
    let home = Home::new();
    let file = home.data.path().join("file");
    fs::write(&file, BEFORE).unwrap();
    let mut command = home.start("unshare");
    command.args(["-rm", "--propagation", "private", "sh", "-c", OVER]).arg(&file).arg("true");
    let can = command.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !can {
        skipped("no mount namespace can be made here");
    }
    can
}

impl Trial {
    /// Starts one and waits until the setting is changed.
    fn begun(pairs: &str) -> Trial {
        let home = Home::new();
        let file = home.scratch.path().join("setting");
        fs::write(&file, BEFORE).unwrap();
        let mut command = over(&home, OVER, &file);
        command.args(["try", "udp-buffer", "net.udp_bandwidth@cpus=same_cpu", "--seed", "1", "--pairs", pairs]);
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut trial = Trial { child: command.spawn().unwrap(), home, file };
        let is_changed = within(BEGUN_WITHIN, || trial.text() == DURING || trial.child.try_wait().unwrap().is_some());
        assert!(is_changed && trial.text() == DURING, "{}", trial.text());
        trial
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn ends(mut self) -> Output {
        assert!(within(ENDS_WITHIN, || self.child.try_wait().unwrap().is_some()), "the trial goes on");
        let (mut out, mut errors) = (self.child.stdout.take().unwrap(), self.child.stderr.take().unwrap());
        let read = |stream: &mut dyn std::io::Read| {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        };
        Output { status: self.child.wait().unwrap(), stdout: read(&mut out), stderr: read(&mut errors) }
    }
}

#[test]
fn a_setting_is_put_back_when_the_trial_is_killed() {
    if !can_lay_over() {
        return;
    }
    let _alone = alone();
    let trial = Trial::begun("40");
    trial.signal(Signal::KILL);
    assert!(within(SOON, || trial.text() == BEFORE), "{}", trial.text());
    assert!(within(SOON, || processes(&trial.home).is_empty()), "{:?}", processes(&trial.home));
    assert_eq!(files(&trial.home.data.path().join("hostmark/changed")), Vec::<PathBuf>::new());
}

#[test]
fn a_setting_that_stays_when_all_are_killed_at_once_is_told_by_every_command_until_it_is_undone() {
    if !can_lay_over() {
        return;
    }
    let _alone = alone();
    let trial = Trial::begun("40");
    let any = |words: &[&str]| ended(over(&trial.home, OVER, &trial.file).args(words));
    assert_eq!(any(&["list", "clock"]).2, "", "while somebody is there to put it back");
    let all = |signal| {
        processes(&trial.home).iter().for_each(|(pid, _)| _ = kill_process(Pid::from_raw(*pid).unwrap(), signal))
    };
    all(Signal::STOP);
    all(Signal::KILL);
    assert!(within(SOON, || processes(&trial.home).is_empty()), "{:?}", processes(&trial.home));
    assert_eq!(trial.text(), DURING);
    let told = format!(
        "hostmark: {FILE} is still 8388608, as a hostmark try that was killed left it, and was 212992; undo it by hostmark try \
         --undo, or by echo 212992 > {FILE}\n"
    );
    for words in [&["list", "clock"][..], &["explain", "net.round_trip"], &["--quiet", "host"], &[]] {
        assert_eq!(any(words).2, told, "{words:?}");
    }
    assert_eq!(any(&["try", "--undo"]), (0, format!("{FILE} is 212992 again\n"), String::new()));
    assert_eq!((trial.text().as_str(), any(&["list", "clock"]).2.as_str()), (BEFORE, ""));
    assert_eq!(any(&["try", "--undo"]).1, "no setting is left changed\n");
    assert_eq!(files(&trial.home.data.path().join("hostmark/changed")), Vec::<PathBuf>::new());
}

#[test]
fn a_setting_is_put_back_when_a_person_asks_to_stop_once_or_twice() {
    if !can_lay_over() {
        return;
    }
    let _alone = alone();
    let trial = Trial::begun("40");
    let (file, signal) = (trial.file.clone(), Signal::INT);
    trial.signal(signal);
    // The home goes with the trial.
    assert!(within(SOON, || fs::read_to_string(&file).is_ok_and(|text| text == BEFORE)));
    let (code, out, errors) = said(&trial.ends());
    assert_eq!((code, out.as_str(), errors.as_str()), (130, "", ""));
    let twice = Trial::begun("40");
    twice.signal(signal);
    twice.signal(signal);
    assert!(within(SOON, || twice.text() == BEFORE), "{}", twice.text());
}

#[test]
fn a_setting_is_put_back_when_who_would_put_it_back_is_killed() {
    if !can_lay_over() {
        return;
    }
    let _alone = alone();
    let trial = Trial::begun("40");
    for (pid, _) in processes(&trial.home).into_iter().filter(|(_, word)| word == "janitor") {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    trial.signal(Signal::INT);
    assert!(within(SOON, || trial.text() == BEFORE), "{}", trial.text());
}

#[test]
fn what_somebody_else_sets_meanwhile_stays_and_is_reported() {
    if !can_lay_over() {
        return;
    }
    let _alone = alone();
    let trial = Trial::begun("3");
    // As long as what it replaces, and by one write: a setting is never empty for a moment, as a file that is cut short first would be.
    let other = "5000000\n";
    assert_eq!(other.len(), DURING.len());
    fs::OpenOptions::new().write(true).open(&trial.file).unwrap().write_all(other.as_bytes()).unwrap();
    let file = trial.file.clone();
    let mut trial = trial;
    assert!(within(ENDS_WITHIN, || trial.child.try_wait().unwrap().is_some()));
    assert_eq!(fs::read_to_string(&file).unwrap(), other);
    let (code, out, errors) = said(&trial.ends());
    let expected = format!(
        "hostmark: somebody else has changed {FILE} to 5000000 meanwhile, and it is left so; try again when nobody does\n"
    );
    assert_eq!((code, out.as_str(), errors), (5, "", expected));
}

#[test]
fn what_may_not_be_changed_is_refused_in_one_sentence() {
    let _beside = beside();
    let home = Home::new();
    let (code, out, errors) = ended(&mut home.hostmark(&["try", "no-such"]));
    assert_eq!((code, out.as_str(), errors.lines().count()), (2, "", 1));
    assert!(errors.starts_with("hostmark: there is no setting 'no-such' to try; choose from huge-pages, "), "{errors}");
    let (code, _, errors) = ended(&mut home.hostmark(&["try", "pipe-size", "syscall.null"]));
    assert_eq!((code, errors.lines().count()), (2, 1), "{errors}");
    assert_eq!(ended(&mut home.hostmark(&["try", "pipe-size", "--command", "true"])).0, 2);
    assert_eq!(ended(&mut home.hostmark(&["try", "../../etc/passwd"])).0, 2);
    if !can_lay_over() {
        return;
    }
    let file = home.data.path().join("file");
    fs::write(&file, BEFORE).unwrap();
    let mut command = over(&home, OVER_READ_ONLY, &file);
    let (code, out, errors) = ended(command.args(["try", "udp-buffer"]));
    let expected = format!(
        "hostmark: udp-buffer cannot be tried: {FILE} is read-only here, as in a container; try it on the host\n"
    );
    assert_eq!((code, out.as_str(), errors), (2, "", expected));
    assert_eq!(fs::read_to_string(&file).unwrap(), BEFORE);
}

#[test]
fn the_settings_are_listed_with_what_they_cure_in_both_languages() {
    let _beside = beside();
    let home = Home::new();
    let (code, out, errors) = ended(&mut home.hostmark(&["try"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    for name in ["huge-pages", "binding", "pipe-size", "zerocopy", "idle-poll", "busy-neighbour", "thp", "udp-buffer"] {
        assert!(out.lines().any(|line| line.trim_start().starts_with(name)), "{out}");
    }
    assert!(out.contains("finding: ipc.pipe_capacity"), "{out}");
    let (code, out, _) = ended(&mut home.hostmark(&["try", "--lang", "zh"]));
    assert!(code == 0 && out.contains("可试验的设置") && out.contains("huge-pages"), "{out}");
}

#[test]
fn huge_pages_are_tried_in_pairs_and_the_runs_say_which_side_they_are() {
    let _alone = alone();
    let home = Home::new();
    let keep = home.data.path().join("kept");
    let case = "memory.latency@size=4194304,pattern=random,page=pmd";
    let mut command = home.hostmark(&["try", "huge-pages", case, "--pairs", "3", "--format", "json", "--keep"]);
    let (code, out, errors) = ended(command.arg(&keep));
    if errors.contains("the kernel gives no huge pages") {
        skipped("no huge pages");
        return;
    }
    assert_eq!((code, errors.as_str()), (0, ""));
    let comparison: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(comparison["schema"], "hostmark.comparison/2");
    assert_eq!(comparison["base"]["name"], "base pages");
    assert_eq!(comparison["new"][0]["side"]["name"], "huge pages");
    let said = &comparison["new"][0]["said"][0];
    assert!(said["en"].as_str().is_some_and(|said| said.ends_with('.')), "{said}");
    assert!(said["zh"].as_str().is_some_and(|said| said.ends_with('。')), "{said}");
    let [compared] = &comparison["new"][0]["cases"].as_array().unwrap()[..] else { panic!("{out}") };
    assert!(compared["id"].as_str().unwrap().starts_with(case), "{compared}");
    assert_ne!(compared["verdict"], "not_comparable", "other pages are what is tried: {compared}");
    assert_eq!(compared["base"]["runs"], 3);
    assert_eq!(files(&keep).len(), 6);
    for (side, tried) in [("a", "huge-pages=off"), ("b", "huge-pages=on")] {
        for pair in 1..=3 {
            let run = load_run(&fs::read_to_string(keep.join(format!("{side}-0{pair}.json"))).unwrap()).unwrap();
            assert_eq!(run.settings.inputs.tried.as_deref(), Some(tried));
            let pages = run.cases[0].measured().unwrap().notes.get("pages").unwrap().clone();
            if side == "a" {
                assert_eq!(pages, "pmd 0 %, the rest base", "no process of this side gets huge pages");
            }
        }
    }
    assert!(processes(&home).is_empty(), "{:?}", processes(&home));
}

#[test]
fn an_axis_is_tried_as_one_case_and_reported_in_a_sentence() {
    let _alone = alone();
    let home = Home::new();
    let filters = ["ipc.bandwidth@by=pipe,message=4096,cpus=same_cpu", "--pairs", "3"];
    let (code, out, errors) = ended(&mut home.hostmark(&[&["try", "pipe-size"][..], &filters].concat()));
    assert_eq!((code, errors.as_str()), (0, ""));
    let first = out.lines().next().unwrap();
    let begins = ["Pipes of 1 MiB make", "Pipes of 1 MiB do not change", "3 pairs cannot tell"];
    assert!(begins.iter().any(|begin| first.starts_with(begin)), "{out}");
    assert!(out.contains("base usual pipe") && out.contains("new pipe of 1 MiB"), "{out}");
    assert!(out.contains("capacity_bytes differs: 65536 → 1048576"), "{out}");
    // Only what gained something is worth keeping.
    let gained = !out.contains(" 0 faster,");
    assert_eq!(out.contains("To make it permanent: fcntl(fd, F_SETPIPE_SZ"), gained, "{out}");
}

#[test]
fn a_neighbour_ends_with_its_side() {
    let _alone = alone();
    let home = Home::new();
    let mut command = home.hostmark(&["try", "idle-poll", "syscall.null", "--pairs", "3"]);
    let (code, out, errors) = ended(&mut command);
    if errors.contains("it takes two CPUs") {
        skipped("one CPU");
        return;
    }
    assert_eq!((code, errors.as_str()), (0, ""), "{out}");
    assert!(out.contains("CPUs kept awake"), "{out}");
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
}

#[test]
fn every_trial_that_a_finding_names_is_in_the_list() {
    let _beside = beside();
    let (_, out, _) = ended(&mut Home::new().hostmark(&["try"]));
    let listed: Vec<&str> = out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let tried = RULES.iter().filter_map(|rule| match rule.shown {
        Demonstration::Try(setting) => Some(setting),
        _ => None,
    });
    let tried: Vec<&str> = tried.collect();
    assert!(tried.len() > 4 && tried.iter().all(|setting| listed.contains(setting)), "{tried:?} {out}");
}

#[test]
fn every_probe_that_a_finding_names_is_explained_with_the_settings_to_try() {
    let _beside = beside();
    let home = Home::new();
    let (_, out, _) = ended(&mut home.hostmark(&["explain", "ipc.bandwidth"]));
    assert!(out.ends_with("Settings that change it, to try here:\n  hostmark try pipe-size\n"), "{out}");
    for rule in RULES {
        if let Demonstration::Explain(probe) = rule.shown {
            assert_eq!(ended(&mut home.hostmark(&["explain", probe])).0, 0, "{probe}");
        }
    }
}
