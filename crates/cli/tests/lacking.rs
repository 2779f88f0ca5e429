//! Hosts that lack something or are disturbed: `host` names it, and `run` adapts or skips with the reason.

use hostmark::self_check::limits::disk_of;
use hostmark_engine::sys::process::forbid_huge_pages;
use hostmark_model::{BusyTask, HostReport};

// Runs are timed, and one of these tests keeps a CPU busy: one at a time.
use crate::control_group::ControlGroup;
use crate::prelude::*;
use crate::under_way::{Neighbour, one_cpu};

/// hostmark behind a shell that first makes the world smaller; none where that is not possible here.
struct Smaller<'a> {
    home: &'a Home,
    /// A program that starts the shell, with its arguments.
    outside: &'a [&'a str],
    /// What the shell does before it becomes hostmark.
    inside: String,
}

impl Smaller<'_> {
    fn start(&self, what: &[&str]) -> Command {
        let mut command = self.home.start(self.outside.first().unwrap_or(&"sh"));
        let rest = self.outside.get(1..).unwrap_or_default();
        let shell = if self.outside.is_empty() { &[][..] } else { &["sh"] };
        command.args(rest).args(shell).args(["-c", &format!("{} && exec \"$@\"", self.inside), "sh"]).args(what);
        command
    }

    fn can_be_had(&self) -> bool {
        self.start(&[PROGRAM, "--version"]).output().is_ok_and(|output| output.status.success())
    }

    /// Exit code and report of `host --check`.
    fn host(&self) -> (i32, HostReport) {
        let (code, out, errors) = ended(&mut self.start(&[PROGRAM, "host", "--check", "--format", "json"]));
        assert_eq!(errors, "");
        (code, serde_json::from_str(&out).unwrap())
    }

    /// A run that ended well or could measure nothing, in which nothing failed, and what it said on standard error.
    fn run(&self, filters: &[&str]) -> (Run, String) {
        let (code, json, errors) = ended(self.start(&[PROGRAM, "run"]).args(filters).args(["--format", "json"]));
        let run = load_run(&json).unwrap();
        let is_measured = run.cases.iter().any(|case| case.measured().is_some());
        let whole = if errors.contains("the run cannot be kept") { 5 } else { 0 };
        assert_eq!(code, if is_measured { whole } else { 4 }, "{errors}");
        for case in &run.cases {
            assert!(!matches!(case.outcome, Outcome::Failed { .. }), "{case:?}");
        }
        assert_eq!(files(self.home.scratch.path()), Vec::<PathBuf>::new(), "left behind");
        (run, errors)
    }

    /// What people are shown of a run.
    fn table(&self, filters: &[&str]) -> String {
        ended(self.start(&[PROGRAM, "run"]).args(filters)).1
    }
}

fn ids(report: &HostReport) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id.as_str()).collect()
}

fn reason_of<'a>(run: &'a Run, id: &str) -> &'a str {
    let case = run.cases.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("{id} is absent"));
    match &case.outcome {
        Outcome::Skipped { reason } => reason,
        _ => "",
    }
}

fn is_measured(run: &Run, probe: &str) -> bool {
    run.cases.iter().any(|case| case.probe == probe && case.measured().is_some())
}

fn has_flag(case: &CaseRecord, kind: FlagKind) -> bool {
    case.measured().is_some_and(|measured| measured.flags.iter().any(|flag| flag.kind == kind))
}

#[test]
fn a_quota_of_half_a_cpu_is_named_and_a_run_under_it_says_so() {
    let _alone = alone();
    let Some(group) = ControlGroup::with_quota("lacking", 50_000) else {
        return skipped("no CPU control group can be made here");
    };
    let home = Home::new();
    let inside = Smaller { home: &home, outside: &[], inside: group.enter() };
    let (code, report) = inside.host();
    assert_eq!((code, report.findings[0].id.as_str()), (1, "host.cpu_quota"));
    let (run, errors) = inside.run(&["clock.loop", "cpu.frequency"]);
    assert_eq!((run.host.limits.cpu_quota, errors.as_str()), (Some(0.5), ""));
    assert!(is_measured(&run, "clock.loop") && is_measured(&run, "cpu.frequency"));
    assert!(inside.table(&["clock.loop"]).contains("! a CPU quota of 0.500"));
}

#[test]
fn a_busy_neighbour_is_named() {
    let _alone = alone();
    let Some(one) = one_cpu() else { return skipped("no CPU below 1024 may be used") };
    let Some(neighbour) = Neighbour::on(one, "while :; do :; done") else { return skipped("there is no taskset here") };
    let home = Home::new();
    let beside = Smaller { home: &home, outside: &[], inside: "true".into() };
    let named = (0..5).any(|_| {
        let (code, report) = beside.host();
        // Ours, unless this machine is so busy that another one takes more than a share of one CPU.
        let is_ours = |busy: &BusyTask| busy.pid == neighbour.id() || busy.cpus > 0.3;
        code == 1 && ids(&report).contains(&"host.busy_process") && report.disturbed.busy.as_ref().is_some_and(is_ours)
    });
    assert!(named, "no look in five saw the process {}", neighbour.id());
}

#[test]
fn on_a_slow_disk_what_takes_too_long_to_fill_is_skipped_with_its_rate_and_nothing_fails() {
    let _alone = alone();
    let home = Home::new();
    let Some((major, minor)) = disk_of(home.scratch.path()) else {
        return skipped("scratch files lie on no disk here");
    };
    let disk = format!("{major}:{minor}");
    // The first takes minutes to fill a file, of which a worker tells as it goes on; the second is silent for long.
    for bytes_a_second in [1_000_000, 200_000] {
        let (one, both) = (format!("{disk} {bytes_a_second}"), format!("{disk} wbps={bytes_a_second}"));
        let (first, second) = ([("blkio.throttle.write_bps_device", one.as_str())], [("io.max", both.as_str())]);
        let places: [(&str, &[_]); 2] = [("/sys/fs/cgroup/blkio", &first), ("/sys/fs/cgroup", &second)];
        let Some(group) = ControlGroup::of("lacking", &places) else { return skipped("no disk can be made slow here") };
        let (run, _) = Smaller { home: &home, outside: &[], inside: group.enter() }.run(&["disk.read", "clock.loop"]);
        assert!(is_measured(&run, "clock.loop"));
        for case in run.cases.iter().filter(|case| case.probe == "disk.direct_io") {
            let reason = reason_of(&run, &case.id);
            let expected = reason.contains(" MB/s takes ") || reason.contains("waited for a device");
            assert!(expected, "{bytes_a_second} {case:?}");
        }
    }
}

/// A mount namespace of one's own, in which mounts go nowhere else.
const OWN_MOUNTS: &[&str] = &["unshare", "--mount", "--propagation", "private"];

#[test]
fn without_sys_the_host_says_what_stays_unknown_and_runs_are_measured() {
    let _alone = alone();
    let home = Home::new();
    let inside = Smaller { home: &home, outside: OWN_MOUNTS, inside: "mount -t tmpfs hostmark-test /sys".into() };
    if !inside.can_be_had() {
        return skipped("no mount namespace is available here");
    }
    let (_, report) = inside.host();
    assert!(ids(&report).contains(&"host.no_sys"), "{:?}", ids(&report));
    assert!(!report.host.usable_cpus().is_empty() && report.host.memory.total_bytes > 0);
    let (run, errors) = inside.run(&["clock.loop", "memory.read@size=64K"]);
    assert_eq!(errors, "");
    assert!(is_measured(&run, "clock.loop") && is_measured(&run, "memory.read"));
    // The same host with its files has nothing of the kind to say.
    let (_, whole, _) = home.says(&["host", "--format", "json"]);
    assert!(!Path::new("/sys/devices/system").exists() || !whole.contains("host.no_sys"));
}

#[test]
fn on_a_read_only_root_the_host_says_that_nothing_can_be_kept_or_made() {
    let _alone = alone();
    let home = Home::new();
    // The places of this test may lie on a file system of their own: each is made read-only by itself.
    let read_only = |path: &Path| {
        let path = path.display();
        format!("mount --bind '{path}' '{path}' && mount -o remount,bind,ro '{path}'")
    };
    let places = [home.data.path(), home.scratch.path()].map(read_only).join(" && ");
    let inside = format!("mount -o remount,bind,ro / && {places}");
    let inside = Smaller { home: &home, outside: OWN_MOUNTS, inside };
    if !inside.can_be_had() {
        return skipped("no mount namespace is available here");
    }
    let (code, report) = inside.host();
    let named = ids(&report);
    assert!(code == 1 && named.contains(&"host.no_room_for_runs") && named.contains(&"host.no_scratch"), "{named:?}");
}

#[test]
fn an_unprivileged_user_is_named_and_measures() {
    let _alone = alone();
    let home = Home::new();
    let outside = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let inside = Smaller { home: &home, outside: &outside, inside: "true".into() };
    if !inside.can_be_had() {
        return skipped("no other user is available here, or it cannot start the program");
    }
    let let_in = |directory: &Path, mode| {
        fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
    };
    let_in(home.data.path(), 0o755);
    let_in(home.scratch.path(), 0o777);
    let (code, report) = inside.host();
    assert!(report.host.limits.is_root == Some(false) && code == 1);
    // Where runs go is root's here, and where probes write is everybody's.
    assert!(ids(&report).contains(&"host.no_room_for_runs") && !ids(&report).contains(&"host.no_scratch"));
    let room = report.findings.iter().find(|finding| finding.id == "host.no_room_for_runs").unwrap();
    assert!(room.effect.en.contains("not this user's to write"), "{room:?}");
    let page = ended(&mut inside.start(&[PROGRAM, "host"])).1;
    assert!(page.contains("not root"), "{page}");
    let_in(home.data.path(), 0o777);
    let (run, errors) = inside.run(&["clock.loop", "process.exec"]);
    assert_eq!(errors, "");
    assert!(is_measured(&run, "clock.loop") && is_measured(&run, "process.exec"));
    assert!(!ids(&inside.host().1).contains(&"host.no_room_for_runs"));
}

#[test]
fn limits_of_a_group_that_cannot_be_seen_are_unknown_everywhere() {
    let _alone = alone();
    let Some(group) = ControlGroup::with_quota("lacking", 30_000) else {
        return skipped("no CPU control group can be made here");
    };
    let home = Home::new();
    let ways = ["umount -l /sys/fs/cgroup", "mount -t tmpfs hostmark-test /sys/fs/cgroup"];
    for way in ways {
        let inside = Smaller { home: &home, outside: OWN_MOUNTS, inside: format!("{} && {way}", group.enter()) };
        if !inside.can_be_had() {
            return skipped("control groups cannot be hidden here");
        }
        let (code, report) = inside.host();
        assert!(code == 1 && ids(&report).contains(&"host.limits_unseen"), "{way}: {:?}", ids(&report));
        let name = group.0.file_name().unwrap().to_str().unwrap();
        let unseen = report.host.limits.unseen_groups();
        assert!(unseen.iter().any(|group| group.contains(name)), "{way}: {unseen:?}");
        let page = ended(&mut inside.start(&[PROGRAM, "host"])).1;
        assert!(page.contains("CPU quota unknown") && page.contains("whose limits cannot be seen"), "{page}");
        assert!(!page.contains("no CPU quota"), "{page}");
        let table = inside.table(&["clock.loop", "--full"]);
        assert!(table.contains("cannot be seen"), "{table}");
    }
}

#[test]
fn without_proc_or_with_a_part_of_it_a_check_does_not_pass() {
    let _beside = beside();
    let home = Home::new();
    for inside in ["umount -l /proc", "umount -l /proc && mount -t proc -o subset=pid proc /proc"] {
        let smaller = Smaller { home: &home, outside: OWN_MOUNTS, inside: inside.into() };
        if !smaller.can_be_had() {
            return skipped("/proc cannot be taken away here");
        }
        let (code, report) = smaller.host();
        assert!(code == 1 && ids(&report).contains(&"host.no_proc"), "{inside}: {:?}", ids(&report));
        let page = ended(&mut smaller.start(&[PROGRAM, "host"])).1;
        assert!(page.contains("WHAT CANNOT BE SEEN"), "{page}");
        let plan = succeeded(ended(&mut smaller.start(&[PROGRAM, "run", "clock.read", "--dry-run"])));
        assert!(plan.contains("Nothing is measured"), "{plan}");
        if inside.contains("subset") {
            let run = smaller.run(&["memory.latency@size=65536"]).0;
            assert!(is_measured(&run, "memory.latency"), "{:?}", run.cases);
        }
    }
}

#[test]
fn who_yields_to_others_is_reported_and_no_finding_has_another_cause_for_it() {
    let _alone = alone();
    let home = Home::new();
    // `nice` adds to what the tests run at.
    let nice = format!("nice {}", (rustix::process::getpriority_process(None).unwrap() + 7).min(19));
    for (outside, named) in [(&["chrt", "--idle", "0"][..], "SCHED_IDLE"), (&["nice", "-n", "7"], &nice)] {
        let smaller = Smaller { home: &home, outside, inside: "true".into() };
        if !smaller.can_be_had() {
            return skipped("there is no chrt here");
        }
        let (code, report) = smaller.host();
        assert!(code == 1 && ids(&report).contains(&"host.yields_to_others"), "{:?}", ids(&report));
        let table = smaller.table(&["ipc.round_trip@by=pipe", "--full"]);
        assert!(table.contains(named), "{table}");
        assert!(!table.contains("leaves the guest") && !table.contains("deep idle state"), "{table}");
    }
}

#[test]
fn where_too_few_files_may_be_open_every_probe_is_skipped_with_the_same_remedy() {
    let _beside = beside();
    let (home, mut skipped) = (Home::new(), 0);
    const FAR: &[&str] = &["net.round_trip@protocol=tcp,cpus=same_cpu", "net.rpc@protocol=udp,cpus=same_cpu"];
    // No worker has room, or no far end has.
    for (files, filters) in [(17, &["net", "ipc", "file"][..]), (18, FAR), (19, FAR)] {
        let smaller = Smaller { home: &home, outside: &[], inside: format!("ulimit -n {files}") };
        let remedy = format!("{files} files may be open here; raise ulimit -n");
        for case in smaller.run(filters).0.cases {
            let Outcome::Skipped { reason } = &case.outcome else { continue };
            assert!(reason.ends_with(&remedy) || reason.contains("kernel module"), "{}: {reason}", case.id);
            skipped += usize::from(reason.ends_with(&remedy));
        }
    }
    assert!(skipped > 0);
}

#[test]
fn what_stands_on_the_loopback_path_is_reported_and_is_unknown_to_who_may_not_see_it() {
    let _alone = alone();
    let home = Home::new();
    let rules = "ip link set lo up && for n in $(seq 30); do iptables -A INPUT -s 10.0.0.$n -j DROP || exit; done";
    let smaller = Smaller { home: &home, outside: &["unshare", "-n"], inside: rules.into() };
    if !smaller.can_be_had() {
        return skipped("no network namespace with a packet filter can be made here");
    }
    let (_, report) = smaller.host();
    assert_eq!(report.host.loopback.filter_rules, Some(30));
    assert!(ids(&report).contains(&"host.loopback_path"), "{:?}", ids(&report));
    let table = smaller.table(&["net.round_trip@protocol=udp,cpus=same_cpu", "--full"]);
    assert!(table.contains("30 packet-filter rules on the loopback path"), "{table}");
    let nobody = Smaller { outside: &["setpriv", "--reuid=65534", "--clear-groups"], inside: "true".into(), ..smaller };
    let (_, report) = nobody.host();
    assert_eq!(report.host.loopback.filter_rules, None);
    assert!(ids(&report).contains(&"host.packet_filter_unseen"), "{:?}", ids(&report));
}

#[test]
fn where_huge_pages_are_forbidden_no_case_has_them() {
    let _alone = alone();
    let home = Home::new();
    if forbid_huge_pages(true).is_err() {
        return skipped("huge pages cannot be forbidden here");
    }
    let inside = Smaller { home: &home, outside: &[], inside: "true".into() };
    let (_, report) = inside.host();
    let (run, _) = inside.run(&["memory.latency@size=4M,page=huge", "memory.latency@size=4M,page=base"]);
    forbid_huge_pages(false).unwrap();
    assert!(ids(&report).contains(&"host.huge_pages_forbidden"), "{:?}", ids(&report));
    assert!(is_measured(&run, "memory.latency"));
    let huge: Vec<_> = run.cases.iter().filter(|case| case.params.get("page") == Some("pmd")).collect();
    assert!(!huge.is_empty());
    for case in huge {
        assert!(reason_of(&run, &case.id).starts_with("huge pages are forbidden for this process"), "{case:?}");
    }
}

#[test]
fn an_overlay_on_memory_is_no_disk() {
    let _alone = alone();
    let home = Home::new();
    let at = home.scratch.path().display();
    let inside = format!(
        "mount -t tmpfs hostmark-test {at} && cd {at} && mkdir l u w m \
         && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m && cd /"
    );
    let smaller = Smaller { home: &home, outside: OWN_MOUNTS, inside };
    if !smaller.can_be_had() {
        return skipped("no overlay can be mounted here");
    }
    let scratch = format!("{at}/m");
    let (run, _) = smaller.run(&["disk.fsync", "--scratch", &scratch]);
    assert!(!is_measured(&run, "disk.fsync"));
    let case = run.cases.iter().find(|case| case.probe == "disk.fsync").unwrap();
    assert!(reason_of(&run, &case.id).contains("lies in memory (overlay on tmpfs)"), "{case:?}");
}

#[test]
fn a_device_that_is_a_file_is_reported_beside_the_disks_values_and_answers_from_a_cache_below() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let home = Home::new();
    let at = home.data.path().display();
    let image = format!("{at}/image");
    let inside = format!(
        "truncate -s 300M {image} && mkfs.ext4 -qF {image} && mkdir -p {at}/mounted && mount -o loop {image} {at}/mounted"
    );
    let smaller = Smaller { home: &home, outside: OWN_MOUNTS, inside };
    if !smaller.can_be_had() {
        return skipped("no loop device can be had here");
    }
    let (run, _) = smaller.run(&["disk.direct_io@op=read", "--scratch", &format!("{at}/mounted")]);
    let table = home.says(&["report", "--full"]).1;
    assert!(table.contains("ext4 on loop") && table.replace("\n  ", " ").contains(&image), "{table}");
    // What others read meanwhile from the device below counts as if this file had been read from there.
    let is_flagged = has_flag(&run.cases[0], FlagKind::FromCache) && table.contains("from a cache below");
    quiet.holds(is_flagged, || format!("{:?} {table}", run.cases[0]));
}
