//! What a run stands on changes while it goes on, or is elsewhere than where it is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hostmark_model::{HostReport, Outcome, Run, load_run};

use crate::alone::{alone, beside};
use crate::processes::{processes, within};
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, said};

/// The reasons of a run's cases that have no value.
fn reasons(run: &Run) -> Vec<&str> {
    let reason = |outcome| match outcome {
        &Outcome::Skipped { ref reason } | &Outcome::Failed { ref reason } => Some(reason.as_str()),
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
        command.args(["run", "syscall.null", "ipc.pipe@cpus=same_cpu", "net.tcp", "--format", "json"]);
        let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let has_worker = || processes(&home).iter().any(|(_, word)| word == "worker");
        assert!(within(Duration::from_secs(20), has_worker));
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

/// A group of CPUs while it lives.
struct CpuSet(PathBuf);

impl CpuSet {
    fn of(cpus: &str) -> Option<CpuSet> {
        let name = format!("hostmark-test-cpus-{}", std::process::id());
        ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"].into_iter().find_map(|parent| {
            let parent = Path::new(parent);
            // Version 2 gives the controller only where its parent says so.
            let _ = fs::write(parent.join("cgroup.subtree_control"), "+cpuset");
            fs::create_dir(parent.join(&name)).ok()?;
            let group = CpuSet(parent.join(&name));
            let nodes = fs::read_to_string(parent.join("cpuset.mems")).unwrap_or_default();
            let nodes = if nodes.trim().is_empty() { "0" } else { nodes.trim() };
            fs::write(group.0.join("cpuset.cpus"), cpus).ok()?;
            fs::write(group.0.join("cpuset.mems"), nodes).ok()?;
            Some(group)
        })
    }
}

impl Drop for CpuSet {
    fn drop(&mut self) {
        within(Duration::from_secs(5), || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_cpu_that_is_taken_costs_no_round_that_was_measured() {
    let _alone = alone();
    let cpus = hostmark_host::read_here().usable_cpus();
    let (Some(first), Some(last)) = (cpus.first(), cpus.get(1)) else { return skipped("there is one CPU") };
    let Some(group) = CpuSet::of(&format!("{first},{last}")) else { return skipped("there is no cpuset here") };
    let home = Home::new();
    let script = format!("echo $$ > {}/cgroup.procs && exec {PROGRAM} run \"$@\"", group.0.display());
    let mut command = home.start("sh");
    command.args(["-c", &script, "sh", "syscall.null", "ipc.pipe", "cpu.core_to_core", "net.tcp", "--format", "json"]);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let rounds = || {
        let left = crate::support::files(home.data.path());
        let journal = left.iter().find(|path| path.display().to_string().ends_with(".partial.jsonl"));
        journal.and_then(|journal| fs::read_to_string(journal).ok()).map_or(0, |text| text.lines().count())
    };
    // The first pass is over.
    assert!(within(Duration::from_secs(60), || rounds() > 12));
    fs::write(group.0.join("cpuset.cpus"), first.to_string()).unwrap();
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
    let is_told = |text: &str| text.starts_with("the loopback interface was set down after ");
    assert!(run.disturbances.iter().any(|text| is_told(&text.en)), "{:?}", run.disturbances);
    assert!(reasons(&run).into_iter().all(is_told), "{:?}", reasons(&run));
}
