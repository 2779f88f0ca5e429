//! Runs within layers of a container: what is measured is inside, requests to stop and exit codes pass through, and nothing is
//! left whoever is killed.

use crate::prelude::*;
use crate::under_way::{UnderWay, assert_is_interrupted, measured};

// Runs are timed: one at a time.

/// A run of many cases, which takes the whole minute when nobody stops it.
const LONG: &[&str] = &["run", "memory", "clock", "syscall", "--format", "json", "--isolate", "namespaces"];
/// The namespaces that a run of root's within them has for itself.
const OWN: [&str; 5] = ["ipc", "mnt", "net", "pid", "uts"];
const LACKS_NAMESPACES: &str = "namespaces cannot be had here";
const LACKS_FILTERS: &str = "a filter of system calls cannot be had here";

/// How a run is asked to stop.
type Send<'a> = &'a dyn Fn(&UnderWay);
type Who<'a> = &'a dyn Fn(&UnderWay) -> Vec<Pid>;

/// Whether runs within this layer are possible here, by what another program says.
fn can_have_namespaces() -> bool {
    let try_out = |more: &[&str]| {
        Command::new("unshare")
            .args(more)
            .args(["-mpiunf", "--mount-proc", "true"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if rustix::process::geteuid().is_root() { try_out(&[]) } else { try_out(&["-Ur"]) }
}

fn can_have_filters() -> bool {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    actions.contains("errno")
}

/// A whole run of these words.
fn run(home: &Home, words: &[&str]) -> Run {
    measured(home.hostmark(&["run"]).args(words))
}

fn of_probe<'a>(run: &'a Run, probe: &str) -> &'a CaseRecord {
    run.cases.iter().find(|case| case.probe == probe).unwrap_or_else(|| panic!("{probe} is absent"))
}

/// What a measured process of a run sees: its status, and its namespaces by name, and the names in /proc.
fn seen_within(home: &Home, layers: &str) -> (String, BTreeMap<String, String>, Vec<String>) {
    let file = home.data.path().join("seen");
    let script = format!(
        "cat /proc/self/status > {0}.status; for n in /proc/self/ns/*; do echo ${{n##*/}} $(readlink $n); done > {0}.ns; \
         ls /proc > {0}.proc",
        file.display()
    );
    let inside = run(home, &["--isolate", layers, "--command", &format!("sh -c '{script}'")]);
    assert!(of_probe(&inside, "external.command").measured().is_some(), "{:?}", inside.cases);
    let read = |what: &str| fs::read_to_string(file.with_extension(what)).unwrap();
    let namespaces = read("ns");
    let namespaces = namespaces.lines().filter_map(|line| line.split_once(' '));
    let namespaces = namespaces.map(|(name, link)| (name.to_owned(), link.to_owned())).collect();
    (read("status"), namespaces, read("proc").lines().map(str::to_owned).collect())
}

/// The link of one of this process' namespaces.
fn own(name: &str) -> String {
    fs::read_link(format!("/proc/self/ns/{name}")).unwrap().display().to_string()
}

/// What is mounted where a run within namespaces mounts something for itself; others may mount elsewhere meanwhile.
fn mounted() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = |line: &&str| line.split(' ').nth(4).is_some_and(|place| ["/proc", "/sys", "/"].contains(&place));
    mounts.lines().filter(place).map(str::to_owned).collect()
}

#[test]
fn within_namespaces_everything_is_measured_in_them_and_the_run_says_so() {
    let _alone = alone();
    if !can_have_namespaces() {
        return skipped(LACKS_NAMESPACES);
    }
    let before = mounted();
    let home = Home::new();
    let filters = ["syscall.null", "ipc.round_trip", "ipc.hand_over", "net.rpc", "file.create_delete", "process.exec"];
    let inside = run(&home, &[&filters[..], &["--isolate", "namespaces"]].concat());
    for probe in filters {
        assert!(of_probe(&inside, probe).measured().is_some(), "{:?}", of_probe(&inside, probe).outcome);
    }
    assert_eq!(inside.settings.inputs.isolate, ["namespaces"]);
    assert_eq!(inside.settings.set["isolate"], "namespaces");
    let native = run(&home, &["syscall.null"]);
    // The machine is the same.
    assert_eq!(inside.host.virtualization.container, native.host.virtualization.container);
    assert_eq!(
        (&inside.host.limits.seccomp, &inside.host.limits.cpu_quota),
        (&native.host.limits.seccomp, &native.host.limits.cpu_quota)
    );
    let (_, seen, names) = seen_within(&home, "namespaces");
    for name in OWN {
        assert_ne!(seen[name], own(name), "{name}");
    }
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(seen["user"] == own("user"), is_root);
    let numbers = names.iter().filter(|name| name.parse::<u32>().is_ok()).count();
    assert!((3..30).contains(&numbers), "{names:?}");
    assert!(names.contains(&"1".to_owned()));
    assert_eq!(mounted(), before);
}

#[test]
fn within_a_filter_what_is_refused_says_so_and_the_rest_is_measured() {
    let _alone = alone();
    if !can_have_filters() {
        return skipped(LACKS_FILTERS);
    }
    let home = Home::new();
    let filters = [
        "syscall.null",
        "syscall.io_uring",
        "ipc.round_trip@by=pipe",
        "net.round_trip@protocol=tcp",
        "file.create_delete@op=create",
        "process.exec",
        "memory.latency@size=32K",
    ];
    let inside = run(&home, &[&filters[..], &["--isolate", "seccomp"]].concat());
    let Outcome::Skipped { reason } = &of_probe(&inside, "syscall.io_uring").outcome else {
        panic!("{:?}", of_probe(&inside, "syscall.io_uring").outcome)
    };
    assert_eq!(&**reason, "io_uring is not available: io_uring_setup: Operation not permitted (os error 1)");
    assert_eq!(reason.code, Some(hostmark_model::ReasonCode::Permission));
    for case in inside.cases.iter().filter(|case| case.probe != "syscall.io_uring") {
        assert!(case.measured().is_some(), "{}: {:?}", case.id, case.outcome);
    }
    assert_eq!(inside.settings.inputs.isolate, ["seccomp"]);
    assert_eq!(inside.host.limits.seccomp.as_deref(), Some("filter"));
    let (status, seen, _) = seen_within(&home, "seccomp");
    assert!(status.contains("\nNoNewPrivs:\t1\n") && status.contains("\nSeccomp:\t2\n"), "{status}");
    for name in OWN {
        assert_eq!(seen[name], own(name), "{name}");
    }
}

#[test]
fn layers_are_entered_together_and_reported_by_a_comparison() {
    let _alone = alone();
    if !can_have_namespaces() || !can_have_filters() {
        return skipped("namespaces or a filter of system calls cannot be had here");
    }
    let home = Home::new();
    let (status, seen, _) = seen_within(&home, "seccomp,namespaces,seccomp");
    assert!(status.contains("\nSeccomp:\t2\n") && seen["pid"] != own("pid"), "{status} {seen:?}");
    let file = |name: &str| home.data.path().join(name).display().to_string();
    let (native, layered) = (file("native.json"), file("inside.json"));
    run(&home, &["syscall.null", "--out", &native]);
    let inside = run(&home, &["syscall.null", "--out", &layered, "--isolate", "seccomp,namespaces"]);
    assert_eq!(inside.settings.inputs.isolate, ["namespaces", "seccomp"]);
    let (_, text, errors) = home.says(&["compare", &native, &layered]);
    assert_eq!(errors, "");
    assert!(text.contains("isolate=namespaces,seccomp"), "{text}");
    let view = ["report", &format!("native={native}"), &format!("layers={layered}"), "--format", "overhead"];
    let text = succeeded(home.says(&view));
    assert!(text.contains("layers") && text.contains('%'), "{text}");
}

/// A command by root that lacks the privilege that namespaces ask for.
fn without_privilege(home: &Home) -> Command {
    let mut command = home.start("setpriv");
    command.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]);
    command
}

#[test]
fn a_layer_that_is_refused_ends_a_run_before_anything_is_measured() {
    let _beside = beside();
    let home = Home::new();
    if !rustix::process::geteuid().is_root() || ended(without_privilege(&home).arg("true")).0 != 0 {
        return skipped("it takes root to give up privileges");
    }
    let command = [PROGRAM, "run", "syscall.null", "--isolate", "namespaces"];
    let errors = refusal(ended(without_privilege(&home).args(command)));
    assert!(errors.starts_with("hostmark: namespaces cannot be entered (unshare: Operation not permitted"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(fs::read_dir(home.data.path()).unwrap().next().is_none());
}

#[test]
fn another_user_than_root_has_namespaces_too() {
    let _alone = alone();
    let home = Home::new();
    let as_nobody = |what: &[&str]| {
        let mut command = home.start("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(what);
        command
    };
    for place in [home.data.path(), home.scratch.path()] {
        fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    }
    // A build may lie where nobody else can read.
    let program = home.data.path().join("program");
    fs::copy(PROGRAM, &program).unwrap();
    let can = as_nobody(&["unshare", "-Umpiunf", "--mount-proc", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !rustix::process::geteuid().is_root() || !can {
        return skipped("another user's user namespace cannot be had here");
    }
    let program = program.to_str().unwrap();
    let words = [
        "run",
        "syscall.null",
        "file.create_delete@op=create",
        "net.round_trip@protocol=tcp",
        "ipc.round_trip@by=pipe",
        "--format",
        "json",
        "--isolate",
        "namespaces",
    ];
    let json = succeeded(ended(&mut as_nobody(&[&[program], &words[..]].concat())));
    let run = load_run(&json).unwrap();
    assert!(run.cases.iter().all(|case| case.measured().is_some()), "{:?}", run.cases);
    // It is who it was, also inside.
    assert_eq!(run.host.limits.is_root, Some(false));
    assert!(fs::read_dir(home.scratch.path()).unwrap().next().is_none());
}

#[test]
fn a_request_to_stop_reaches_the_run_once_whomever_it_is_sent_to() {
    let _alone = alone();
    if !can_have_namespaces() {
        return skipped(LACKS_NAMESPACES);
    }
    let to_group = |run: &UnderWay| kill_process_group(Pid::from_child(&run.child), Signal::INT).unwrap();
    let to_outer = |run: &UnderWay| run.child.signal(Signal::INT);
    let to_outer_term = |run: &UnderWay| run.child.signal(Signal::TERM);
    let ways: [(Send, i32); 3] = [(&to_group, 130), (&to_outer, 130), (&to_outer_term, 143)];
    for (send, wanted) in ways {
        let mut run = UnderWay::start(LONG);
        send(&run);
        let (code, json, errors) = said(&run.child.ends(SOON));
        assert_eq!((code, errors.as_str()), (wanted, ""));
        let kept = run.kept();
        assert_is_interrupted(&kept);
        assert_eq!(load_run(&json).unwrap(), kept);
    }
}

/// The processes of a run by what the kernel calls them, without its workers and its janitor.
fn by_name(run: &UnderWay, name: &str) -> Vec<Pid> {
    let is_called =
        |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name);
    let of_run = processes(&run.home).into_iter().map(|(pid, _)| pid).filter(is_called);
    of_run.filter_map(Pid::from_raw).collect()
}

/// Nothing of the run is mounted, neither in the memory's directory nor anywhere else.
fn assert_nothing_is_mounted(before: &str) {
    assert_eq!(fs::read_to_string("/proc/self/mountinfo").unwrap(), before);
}

#[test]
fn whoever_is_killed_only_the_journal_is_left() {
    let _alone = alone();
    if !can_have_namespaces() {
        return skipped(LACKS_NAMESPACES);
    }
    let mounted = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let outer = |run: &UnderWay| vec![Pid::from_child(&run.child)];
    let first = |run: &UnderWay| by_name(run, "hm-within");
    let inner = |run: &UnderWay| {
        // The one that has the words of the run, and neither stands outside nor is the first inside.
        let all = processes(&run.home)
            .into_iter()
            .filter(|(_, word)| word == "run")
            .filter_map(|(pid, _)| Pid::from_raw(pid));
        let known = [outer(run), first(run)].concat();
        all.filter(|pid| !known.contains(pid)).collect()
    };
    let all_of_the_name = |run: &UnderWay| by_name(run, "hostmark");
    let victims: [(Who, usize, Option<i32>); 4] =
        [(&outer, 1, None), (&first, 1, Some(137)), (&inner, 1, Some(137)), (&all_of_the_name, 2, None)];
    for (at, (victims, least, code)) in victims.into_iter().enumerate() {
        let mut run = UnderWay::start(LONG);
        let victims = victims(&run);
        assert!(victims.len() >= least, "{at}: {victims:?} of {:?}", processes(&run.home));
        let directories = directories(&run);
        assert_eq!(directories.len(), 2, "{at}");
        // Of several some end with the first.
        let killed = victims.into_iter().filter(|victim| kill_process(*victim, Signal::KILL).is_ok()).count();
        assert!(killed > 0, "{at}");
        let ended = run.child.ends(SOON);
        assert_eq!(ended.status.code(), code, "{at}: {ended:?}");
        run.assert_only_the_journal_is_left();
        assert!(within(SOON, || directories.iter().all(|directory| !directory.exists())), "{at}: {directories:?}");
    }
    assert_nothing_is_mounted(&mounted);
}

/// The directories that the run's janitor holds.
fn directories(run: &UnderWay) -> Vec<PathBuf> {
    let janitors = by_name(run, "hm-janitor").into_iter();
    let descriptors = janitors.flat_map(|pid| fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).unwrap());
    let links = descriptors.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    // Its record of them is a file.
    let of_run = |link: &PathBuf| link.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hostmark-"));
    links.filter(|link| of_run(link) && link.is_dir()).collect()
}

#[test]
fn a_run_that_was_cut_short_goes_on_within_the_same_layers_alone() {
    let _alone = alone();
    if !can_have_namespaces() {
        return skipped(LACKS_NAMESPACES);
    }
    let mut run = UnderWay::start(&["run", "clock", "--format", "json", "--isolate", "namespaces"]);
    run.child.signal(Signal::KILL);
    run.child.ends(SOON);
    run.assert_only_the_journal_is_left();
    let (code, _, errors) = run.home.says(&["run", "--resume"]);
    assert_eq!(code, 2);
    assert!(errors.trim_end().ends_with("was begun within layers; add --isolate namespaces"), "{errors}");
    let (code, json, errors) = run.home.says(&["run", "--resume", "--isolate", "namespaces", "--format", "json"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let resumed = load_run(&json).unwrap();
    assert_eq!(resumed.settings.inputs.isolate, ["namespaces"]);
    assert!(resumed.finished.is_some() && resumed.interrupted.is_none());
}
