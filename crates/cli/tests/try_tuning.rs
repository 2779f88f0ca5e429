//! `hostmark try`: a setting is off and on in turn, and is put back however the trial ends.

use hostmark_analysis::findings::{Demonstration, RULES};

use crate::prelude::*;

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

fn over(home: &Home, script: &str, file: &Path) -> Command {
    let mut command = home.start("env");
    command.args(["--default-signal=INT,HUP", "unshare", "-rm", "--propagation", "private", "sh", "-c", script]);
    command.arg(file);
    command
}

/// A trial under way, over a file of its own.
struct Trial {
    home: Home,
    file: PathBuf,
    child: Running,
}

/// Starts a trial and waits until the setting is changed; none where a test cannot lay a file over another one.
fn begun(pairs: &str) -> Option<Trial> {
    let home = Home::new();
    let file = home.scratch.path().join("setting");
    fs::write(&file, BEFORE).unwrap();
    if ended(over(&home, OVER, &file).arg("true")).0 != 0 {
        skipped("no mount namespace can be made here");
        return None;
    }
    let mut command = over(&home, OVER, &file);
    command.args([PROGRAM, "try", "udp-buffer", "net.udp_bandwidth@cpus=same_cpu", "--seed", "1", "--pairs", pairs]);
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut trial = Trial { child: Running(command.spawn().unwrap()), home, file };
    let is_changed = within(BEGUN_WITHIN, || trial.text() == DURING || trial.child.try_wait().unwrap().is_some());
    assert!(is_changed && trial.text() == DURING, "{}", trial.text());
    Some(trial)
}

impl Trial {
    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    #[track_caller]
    fn is_put_back(&self) {
        assert!(within(SOON, || self.text() == BEFORE), "{}", self.text());
    }

    fn leaves_nothing(&self) {
        assert!(within(SOON, || processes(&self.home).is_empty()), "{:?}", processes(&self.home));
        assert_eq!(files(&self.home.data.path().join("hostmark/changed")), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_setting_is_put_back_when_the_trial_is_killed_or_asked_to_stop_also_without_who_would_put_it_back() {
    let _alone = alone();
    let Some(killed) = begun("40") else { return };
    killed.child.signal(Signal::KILL);
    killed.is_put_back();
    killed.leaves_nothing();
    let mut stopped = begun("40").unwrap();
    stopped.child.signal(Signal::INT);
    stopped.is_put_back();
    assert_eq!(said(&stopped.child.ends(ENDS_WITHIN)), (130, String::new(), String::new()));
    let twice = begun("40").unwrap();
    (0..2).for_each(|_| twice.child.signal(Signal::INT));
    twice.is_put_back();
    let alone = begun("40").unwrap();
    for (pid, _) in processes(&alone.home).into_iter().filter(|(_, word)| word == "janitor") {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    alone.child.signal(Signal::INT);
    alone.is_put_back();
}

#[test]
fn a_setting_that_stays_when_all_are_killed_at_once_is_told_by_every_command_until_it_is_undone() {
    let _alone = alone();
    let Some(trial) = begun("40") else { return };
    let any = |words: &[&str]| ended(over(&trial.home, OVER, &trial.file).arg(PROGRAM).args(words));
    assert_eq!(any(&["list", "clock"]).2, "", "while somebody is there to put it back");
    for signal in [Signal::STOP, Signal::KILL] {
        processes(&trial.home).iter().for_each(|(pid, _)| _ = kill_process(Pid::from_raw(*pid).unwrap(), signal));
    }
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
    trial.leaves_nothing();
}

#[test]
fn what_somebody_else_sets_meanwhile_stays_and_is_reported() {
    let _alone = alone();
    let Some(mut trial) = begun("3") else { return };
    // As long as what it replaces, and by one write: a setting is never empty for a moment, as a file that is cut short first would be.
    let other = "5000000\n";
    assert_eq!(other.len(), DURING.len());
    fs::OpenOptions::new().write(true).open(&trial.file).unwrap().write_all(other.as_bytes()).unwrap();
    let expected = format!(
        "hostmark: somebody else has changed {FILE} to 5000000 meanwhile, and it is left so; try again when nobody does\n"
    );
    assert_eq!(said(&trial.child.ends(ENDS_WITHIN)), (5, String::new(), expected));
    assert_eq!(trial.text(), other);
}

#[test]
fn what_is_read_only_is_refused_in_one_sentence() {
    let _beside = beside();
    let home = Home::new();
    let file = home.data.path().join("file");
    fs::write(&file, BEFORE).unwrap();
    if ended(over(&home, OVER_READ_ONLY, &file).arg("true")).0 != 0 {
        return skipped("no mount namespace can be made here");
    }
    let (code, out, errors) = ended(over(&home, OVER_READ_ONLY, &file).args([PROGRAM, "try", "udp-buffer"]));
    let expected = format!(
        "hostmark: udp-buffer cannot be tried: {FILE} is read-only here, as in a container; try it on the host\n"
    );
    assert_eq!((code, out.as_str(), errors), (2, "", expected));
    assert_eq!(fs::read_to_string(&file).unwrap(), BEFORE);
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
    let (code, out, errors) = home.says(&[&["try", "pipe-size"][..], &filters].concat());
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
    let (_, out, _) = Home::new().says(&["try"]);
    let listed: Vec<&str> = out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let tried = RULES.iter().filter_map(|rule| match rule.shown {
        Demonstration::Try(setting) => Some(setting),
        _ => None,
    });
    let tried: Vec<&str> = tried.collect();
    assert!(tried.len() > 4 && tried.iter().all(|setting| listed.contains(setting)), "{tried:?} {out}");
}

#[test]
fn every_probe_that_a_finding_names_is_explained() {
    let _beside = beside();
    let home = Home::new();
    for rule in RULES {
        if let Demonstration::Explain(probe) = rule.shown {
            assert_eq!(home.says(&["explain", probe]).0, 0, "{probe}");
        }
    }
}
