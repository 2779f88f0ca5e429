//! What a run stands on changes while it goes on, or is elsewhere than where it is measured.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hostmark_model::{HostReport, Outcome, Run, load_run};

use crate::alone::{alone, beside};
use crate::control_group::{ControlGroup, set};
use crate::processes::{SOON, processes, within};
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, said};
use crate::under_way::journal_in;

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
        command.args(["run", "syscall.null", "ipc.round_trip@by=pipe,cpus=same_cpu", "net.tcp", "--format", "json"]);
        let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let has_worker = || processes(&home).iter().any(|(_, word)| word == "worker");
        assert!(within(SOON, has_worker));
        let done = if replaces { fs::rename(&other, &program) } else { fs::remove_file(&program) };
        done.unwrap();
        let (code, out, errors) = said(&run.wait_with_output().unwrap());
        assert_eq!((code, errors.as_str()), (0, ""), "{replaces}");
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
        let (code, out, errors) = ended(home.start("unshare").args(["-n", "sh", "-c", &script]));
        assert_eq!(code, 0, "{errors}");
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
    let words = ["run", "syscall.null", "ipc.round_trip@by=pipe", "cpu.core_to_core", "net.tcp", "--format", "json"];
    let mut command = group.start(&home, &[&[PROGRAM], &words[..]].concat());
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first pass is over.
    assert!(within(SOON, || journal_in(&home).lines().count() > 12));
    set(&group.0.join("cpuset.cpus"), &first.to_string()).unwrap();
    let (code, out, errors) = said(&run.wait_with_output().unwrap());
    assert_eq!((code, errors.as_str()), (0, ""));
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
    let words = ["net.tcp", "net.udp", "net.rpc_udp", "net.tcp_bandwidth", "--format", "json"].join(" ");
    let script = format!("ip link set lo up && {{ (sleep 2; ip link set lo down) & exec {PROGRAM} run {words}; }}");
    let (_, out, errors) = ended(home.start("unshare").args(["-n", "sh", "-c", &script]));
    let run = load_run(&out).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let is_named = |text: &str| text.starts_with("the loopback interface was set down after ");
    assert!(run.disturbances.iter().any(|text| is_named(&text.en)), "{:?}", run.disturbances);
    assert!(reasons(&run).into_iter().all(is_named), "{:?}", reasons(&run));
}
