//! What asks the operating system for something, where the system refuses much of it: an unprivileged user in a container with
//! a read-only root, little memory for files, no io_uring, and low limits. Everything is measured, or says why not.

use crate::control_group::ControlGroup;
use crate::prelude::*;

// Runs are timed: one at a time.

/// Of these no probe asks the system for more than memory and CPUs, or they need a command of the person.
const OTHERS: [&str; 4] = ["clock", "cpu", "memory", "external"];

/// Has the kernel answer io_uring_setup(2) with "not permitted", and becomes what its arguments say: a filter of system calls
/// of four instructions (load the number; is it this one; EPERM; allow).
const WITHOUT_IO_URING: &str = r#"
    my $code = pack("SCCL" x 4, 0x20, 0, 0, 0, 0x15, 0, 1, 425, 0x06, 0, 0, 0x50001, 0x06, 0, 0, 0x7fff0000);
    my $filter = pack("S x6 P", 4, $code);
    syscall(shift(@ARGV) + 0, 1, 0, $filter) == 0 or die "no filter: $!";
    exec @ARGV or die "no program: $!";
"#;

const SECCOMP: &str = if cfg!(target_arch = "aarch64") { "277" } else { "317" };

/// A container's view of this machine: what is mounted in it, and what limits are on it.
struct Confined {
    home: Home,
    mounts: String,
    limits: &'static [&'static str],
}

impl Confined {
    /// A read-only root, but for `writable`.
    fn new(home: Home, writable: &[&Path], memory: &str, limits: &'static [&'static str]) -> Confined {
        let path = |path: &&Path| format!("mount --bind '{0}' '{0}'", path.display());
        // What is bound onto itself is a mount of its own, which the root's flag leaves alone.
        let bound: Vec<String> = writable.iter().map(path).collect();
        let own = |path: &Path| format!("mount --bind '{0}' '{0}' && mount -o remount,bind,ro '{0}'", path.display());
        // The places of a test may lie on a file system of their own.
        let places = [home.data.path(), home.scratch.path()];
        let others: Vec<String> =
            places.iter().filter(|place| !writable.contains(place)).map(|place| own(place)).collect();
        let memory = format!("mount -t tmpfs -o {memory} hostmark-test /dev/shm");
        let root = "mount -o remount,bind,ro /".to_owned();
        let mounts = [vec![memory], bound, others, vec![root]].concat().join(" && ");
        for place in places {
            fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
        }
        Confined { home, mounts, limits }
    }

    /// A command inside, by a user that is nobody.
    fn start(&self, what: &[&str]) -> Command {
        let mut command = self.home.start("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &format!("{} && exec \"$@\"", self.mounts)]);
        command.args(["sh", "prlimit"]).args(self.limits);
        command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
        command.args(["perl", "-e", WITHOUT_IO_URING, SECCOMP]).args(what);
        command
    }

    fn can_be_had(&self) -> bool {
        self.start(&[PROGRAM, "--version"]).output().is_ok_and(|output| output.status.success())
    }

    /// A run that ended well, in which everything has a value or a reason why it has none; its complaints. None where others took
    /// the time of what has no value.
    fn run(&self, filters: &[String]) -> Option<(Run, String)> {
        let quiet = Quiet::begin();
        let (code, json, errors) = ended(self.start(&[PROGRAM, "run", "--format", "json"]).args(filters));
        let whole = if errors.contains("the run cannot be kept") { 5 } else { 0 };
        if (code != whole || json.contains("\"no time left\"")) && quiet.is_over() {
            skipped(&format!("disturbed: others use the CPUs: {code} {errors}"));
            return None;
        }
        assert_eq!(code, whole, "{errors}");
        let run = load_run(&json).unwrap();
        for case in &run.cases {
            match &case.outcome {
                Outcome::Measured(_) => {}
                Outcome::Skipped { reason } => {
                    assert!(reason.len() >= "needs root".len() && reason.code.is_some(), "{}: {reason}", case.id);
                }
                Outcome::Failed { reason } => panic!("{}: {reason}", case.id),
            }
        }
        assert!(files(self.home.scratch.path()).is_empty(), "{:?}", files(self.home.scratch.path()));
        Some((run, errors))
    }
}

/// The default case of every probe that asks the system for something, as a filter.
fn defaults() -> Vec<String> {
    let (list, _) = with_code(0, Home::new().says(&["list", "--format", "json"]));
    let probes: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let filter = |probe: &serde_json::Value| {
        let id = text(&probe["id"]);
        let axes = probe["axes"].as_array().unwrap().iter();
        let values: Vec<String> =
            axes.map(|axis| format!("{}={}", text(&axis["name"]), text(&axis["default"]))).collect();
        if values.is_empty() { id } else { format!("{id}@{}", values.join(",")) }
    };
    let asks = |filter: &String| !OTHERS.contains(&filter.split('.').next().unwrap());
    probes.iter().map(filter).filter(asks).collect()
}

fn of_probe<'a>(run: &'a Run, probe: &str) -> &'a CaseRecord {
    let is_it = |case: &&CaseRecord| case.probe == probe || case.id.starts_with(&format!("{probe},"));
    run.cases.iter().find(is_it).unwrap_or_else(|| panic!("{probe} is absent"))
}

fn reason<'a>(run: &'a Run, probe: &str) -> &'a str {
    match &of_probe(run, probe).outcome {
        Outcome::Skipped { reason } => reason,
        _ => "",
    }
}

#[test]
fn in_a_container_that_allows_little_every_group_is_measured() {
    let _alone = alone();
    let home = Home::new();
    // On a disk, as far as the build is: direct reads and writes need one.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::set_permissions(disk.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let data = home.data.path().to_owned();
    let inside = Confined::new(home, &[&data, disk.path()], "size=1m", &[]);
    if !inside.can_be_had() {
        return skipped("a mount namespace, another user or a filter of system calls is not available here");
    }
    let write = "disk.direct_io@op=write".into();
    let filters = [defaults(), vec![write, "--scratch".into(), disk.path().display().to_string()]].concat();
    let Some((run, errors)) = inside.run(&filters) else { return };
    assert_eq!(errors, "");
    for case in &run.cases {
        let group = case.probe.split('.').next().unwrap();
        let of_group = |other: &&CaseRecord| other.probe.split('.').next() == Some(group);
        assert!(run.cases.iter().filter(of_group).any(|case| case.measured().is_some()), "nothing of {group}");
    }
    assert_eq!(
        reason(&run, "syscall.io_uring"),
        "io_uring is not available: io_uring_setup: Operation not permitted (os error 1)"
    );
    for probe in ["disk.direct_io@op=read", "disk.direct_io@op=write"] {
        match of_probe(&run, probe).measured() {
            Some(measured) => assert_eq!(measured.notes["interface"], "pread and pwrite", "{probe}"),
            // A build that lies on no disk, or a machine that is busy.
            None => {
                let reason = reason(&run, probe);
                assert!(
                    ["in memory", "direct", "no time left"].iter().any(|why| reason.contains(why)),
                    "{probe}: {reason}"
                )
            }
        }
    }
    assert_eq!(reason(&run, "file.reread"), "needs a file of 64 MiB where there is room for 1 MiB");
    assert!(of_probe(&run, "file.create_delete").measured().is_some());
}

#[test]
fn where_nothing_can_be_written_and_little_be_opened_what_needs_it_says_so() {
    let _alone = alone();
    let limits = &["--nofile=64:64", "--msgqueue=0:0", "--memlock=0:0", "--stack=1048576:1048576"];
    let inside = Confined::new(Home::new(), &[], "size=1m,ro", limits);
    if !inside.can_be_had() {
        return skipped("a mount namespace, another user or a filter of system calls is not available here");
    }
    let groups = ["disk.", "file.", "ipc.", "paging.", "process.", "syscall.", "sched.messaging"];
    let filters = defaults().into_iter().filter(|filter| groups.iter().any(|group| filter.starts_with(group)));
    let ways = ["fifo", "unix_stream", "posix_queue", "eventfd"].map(|way| format!("ipc.round_trip@by={way}"));
    let Some((run, errors)) = inside.run(&filters.chain(ways.clone()).collect::<Vec<_>>()) else { return };
    let [fifo, unix_stream, posix_queue, eventfd] = ways.each_ref().map(String::as_str);
    assert!(errors.starts_with("hostmark: the run cannot be kept (") && errors.lines().count() == 1, "{errors}");
    for probe in ["disk.fsync", fifo, unix_stream, "process.exec"] {
        assert!(reason(&run, probe).starts_with("no directory can be made in "), "{probe}: {}", reason(&run, probe));
    }
    assert!(
        reason(&run, "file.create_delete").starts_with("there is no tmpfs to write to: "),
        "{}",
        reason(&run, "file.create_delete")
    );
    assert!(reason(&run, posix_queue).contains("Too many open files"), "{}", reason(&run, posix_queue));
    for probe in ["ipc.round_trip", eventfd, "ipc.hand_over", "paging.fault", "process.fork_exit", "syscall.null"] {
        assert!(of_probe(&run, probe).measured().is_some(), "{probe}: {}", reason(&run, probe));
    }
}

// Runs are timed: one at a time.

fn run(home: &Home, words: &[&str]) -> Run {
    let (_, json, errors) = ended(home.hostmark(&["run", "--format", "json", "--profile", "quick"]).args(words));
    assert!(files(home.scratch.path()).is_empty(), "nothing is left");
    load_run(&json).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

fn note<'a>(case: &'a CaseRecord, name: &str) -> &'a str {
    let Outcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.id, case.outcome) };
    measured.notes.get(name).map_or("", String::as_str)
}

fn limit(name: &str) -> u64 {
    fs::read_to_string(format!("/proc/sys/net/core/{name}")).unwrap().trim().parse().unwrap()
}

#[test]
fn buffers_and_congestion_control_are_noted_as_obtained() {
    let _alone = alone();
    let home = Home::new();
    let words =
        ["net.tcp_bandwidth", "--set", "window=64k", "--set", "cpus=same_cpu", "--set", "congestion=default,reno"];
    let run = run(&home, &words);
    assert_eq!(run.cases.len(), 2);
    let mut measured = 0;
    for case in &run.cases {
        if let Outcome::Skipped { reason } = &case.outcome {
            assert!(reason.contains("reno is the system's own"), "{reason}");
            continue;
        }
        measured += 1;
        for (end, limit) in [("send_buffer_bytes", limit("wmem_max")), ("receive_buffer_bytes", limit("rmem_max"))] {
            assert_eq!(note(case, end), limit.min(64 << 10).to_string(), "{}", case.id);
        }
        let used = note(case, "congestion_control");
        assert!(used == "reno" || case.params.get("congestion") == Some("default"), "{used}");
        assert_eq!(note(case, "zero_copy"), "");
    }
    assert!(measured > 0);
}

#[test]
fn what_the_kernel_reports_about_zero_copy_is_noted() {
    let _alone = alone();
    let home = Home::new();
    let run = run(
        &home,
        &["net.tcp_bandwidth", "--set", "method=zero_copy", "--set", "cpus=same_cpu", "--set", "congestion=default"],
    );
    // Over loopback it is copied where it is received.
    assert_eq!(note(&run.cases[0], "zero_copy"), "copied");
}

#[test]
fn a_filter_that_refuses_namespaces_is_the_reason_why_a_network_of_ones_own_is_skipped() {
    let _alone = alone();
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    if !actions.contains("errno") {
        return skipped("this kernel cannot filter system calls");
    }
    let home = Home::new();
    let run = run(&home, &["net.tcp_offload", "--isolate", "seccomp"]);
    assert!(!run.cases.is_empty());
    for case in &run.cases {
        let Outcome::Skipped { reason } = &case.outcome else { panic!("{}: {:?}", case.id, case.outcome) };
        assert!(reason.starts_with("a network of its own cannot be set up so: unshare: "), "{reason}");
    }
}

/// What makes processes and threads, and connects them.
const MANY: &[&str] =
    &["sched.messaging", "sched.context_switch@processes=16", "process.thread", "ipc.round_trip@by=pipe,cpus=same_cpu"];
/// What writes files, with and without names.
const FILES: &[&str] =
    &["file.create_delete@op=create,size=10240", "disk.fsync@block=2300", "ipc.round_trip@by=fifo,cpus=same_cpu"];
const OPEN: &[&str] =
    &["syscall.readiness@call=poll,descriptors=100", "sched.context_switch@processes=16", "net.tcp_connect@copies=1"];
/// What fills memory, or asks the kernel for objects in it.
const MEMORY: &[&str] =
    &["memory.read@size=512M", "ipc.round_trip@by=posix_queue", "ipc.hand_over@by=sysv_semaphore,cpus=same_cpu"];
const FILL: &[&str] = &["memory.read@size=512M", "memory.stream", "process.fork_resident", "file.reread", "paging"];
const NET: &[&str] = &["net.tcp_connect@copies=1", "net.rpc", "syscall.readiness@call=poll,descriptors=100"];

#[derive(Default)]
struct Lack {
    /// What is run, beside what needs nothing.
    filters: &'static [&'static str],
    /// What is told of it, in the reason of one case at least. Empty where nothing is refused by it.
    message: &'static str,
    limit: &'static str,
    /// What a shell does first, in a mount namespace of its own.
    first: &'static str,
    /// Network interfaces, too: none is up.
    is_alone: bool,
    code: u8,
    /// A control group: controller, limit of version 1 and 2, value.
    group: Option<[&'static str; 4]>,
}

const LACKS: &[Lack] = &[
    Lack { filters: MANY, message: "pids.max", group: Some(["pids", "pids.max", "pids.max", "20"]), ..NOTHING },
    Lack { filters: MANY, message: "raise ulimit -u", limit: "--nproc=8", ..NOTHING },
    // Its ten groups are 400 processes.
    Lack { filters: &["sched.messaging@groups=10"], message: "clone: ", limit: "--nproc=60", ..NOTHING },
    // The run is shown, and its journal cannot be kept.
    Lack { filters: FILES, code: 5, message: "raise ulimit -f", limit: "--fsize=1024", ..NOTHING },
    Lack { filters: FILES, code: 5, message: "raise ulimit -f", limit: "--fsize=8192", ..NOTHING },
    Lack { filters: OPEN, message: "raise ulimit -n", limit: "--nofile=24", ..NOTHING },
    Lack { filters: MEMORY, message: "raise ulimit -v", limit: "--as=204800000", ..NOTHING },
    // The run is shown, and lost on the disk.
    Lack { code: 5, first: "mount -t tmpfs -o size=32k,mode=1777 hostmark-test \"$XDG_DATA_HOME\"", ..NOTHING },
    Lack {
        filters: FILES,
        message: "there is room for",
        first: "umount /dev/shm; mount -t tmpfs -o size=32k,mode=1777 hostmark-test /dev/shm",
        ..NOTHING
    },
    Lack { filters: NET, message: "ip link set lo up", is_alone: true, ..NOTHING },
    Lack {
        filters: FILL,
        message: "MiB of memory",
        group: Some(["memory", "memory.limit_in_bytes", "memory.max", "134217728"]),
        ..NOTHING
    },
];

const NOTHING: Lack = Lack { filters: &[], message: "", limit: "", first: "", is_alone: false, code: 0, group: None };

/// Starts the bystander and hostmark as the same user, and tells how both fared and what is left. The run is printed to a
/// pipe: it is no part of what is limited.
const INSIDE: &str = include_str!("support/confined.sh");

/// A group in which this is limited: controller, limit of version 1 and 2, value.
fn group_of([controller, first, second, value]: [&str; 4]) -> Option<ControlGroup> {
    let parent = format!("/sys/fs/cgroup/{controller}");
    ControlGroup::of("short-of", &[(&parent, &[(first, value)]), ("/sys/fs/cgroup", &[(second, value)])])
}

/// Where a process namespace is had, and as whom hostmark runs in it.
struct Apart {
    home: Home,
    /// The program, where another user finds it, and a place for the names of queues.
    place: tempfile::TempDir,
    words: Vec<&'static str>,
    user: String,
}

impl Apart {
    fn new() -> Option<Apart> {
        let (home, place) = (Home::new(), tempfile::tempdir().unwrap());
        fs::copy(PROGRAM, place.path().join("hostmark")).unwrap();
        fs::create_dir(place.path().join("queues")).unwrap();
        for path in [place.path(), home.data.path(), home.scratch.path()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        // Nobody else's processes count against this one's limit.
        let user = 1_800_000_000 + std::process::id();
        let user = format!("setpriv --reuid={user} --regid={user} --clear-groups");
        let ways: [(&[&str], &str); 2] =
            [(&["unshare", "-pfmi", "--mount-proc"], &user), (&["unshare", "-Urpfmi", "--mount-proc"], "")];
        let (words, user) = ways.into_iter().find(|(way, user)| {
            let tried = home.start(way[0]).args(&way[1..]).args(user.split_whitespace()).arg("true").output();
            tried.is_ok_and(|output| output.status.success())
        })?;
        let (words, user) = (words.to_vec(), user.to_owned());
        Some(Apart { home, place, words, user })
    }

    /// Exit code, output and errors of a run where this is lacking, by which nobody else has lost anything and of which nothing is left; None
    /// where it cannot be taken from hostmark here.
    fn run(&self, lack: &Lack) -> Option<(u8, String, String)> {
        let group = match lack.group {
            Some(group) => Some(group_of(group)?),
            None => None,
        };
        let mut command = self.home.start("sh");
        let procs = group.as_ref().map_or("/dev/null".into(), |group| group.0.join("cgroup.procs"));
        command.args(["-c", "echo $$ >\"$0\" && exec \"$@\""]).arg(procs).args(&self.words);
        command.args(lack.is_alone.then_some("-n")).args(["sh", "-c", INSIDE]).arg(self.place.path().join("hostmark"));
        let limit = if lack.limit.is_empty() { String::new() } else { format!("prlimit --core=0 {} --", lack.limit) };
        command
            .args([&self.user, &limit, lack.first])
            .arg(self.place.path().join("queues"))
            .arg("clock.loop")
            .args(lack.filters);
        let (_, json, errors) = ended(command.current_dir("/"));
        let code = errors.lines().find_map(|line| line.strip_prefix("code ")?.parse::<u8>().ok())?;
        assert!(errors.contains("the bystander lives\n"), "{} {}: {errors}", lack.limit, lack.first);
        assert!(errors.lines().any(|line| line == "left:"), "{} {}: {errors}", lack.limit, lack.first);
        Some((code, json, errors))
    }

    /// The reasons why cases have no value where this is lacking.
    fn reasons(&self, lack: &Lack) -> Option<Vec<String>> {
        let (code, json, errors) = self.run(lack)?;
        let what = format!("{} {} {}: {errors}", lack.message, lack.limit, lack.first);
        let run = load_run(&json).unwrap_or_else(|error| panic!("{what}{error:?}"));
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. });
        let failed: Vec<_> = run.cases.iter().filter(|case| failed(&case.outcome)).collect();
        assert!(code == lack.code && failed.is_empty(), "{what}{failed:?}");
        assert!(run.cases.iter().any(|case| case.measured().is_some()), "{what}");
        let reason = |outcome: &Outcome| match outcome {
            Outcome::Skipped { reason } => Some(reason.text.clone()),
            _ => None,
        };
        Some(run.cases.iter().filter_map(|case| reason(&case.outcome)).collect())
    }
}

#[test]
fn resource_limits_are_reported_and_contained() {
    let _alone = alone();
    let Some(apart) = Apart::new() else { return skipped("no process namespace can be made here") };
    for lack in LACKS {
        let Some(reasons) = apart.reasons(lack) else {
            skipped(&format!("this cannot be lacking here: {} {}", lack.message, lack.first));
            continue;
        };
        assert!(
            reasons.iter().any(|reason| reason.contains(lack.message)) || lack.message.is_empty(),
            "{}: {reasons:?}",
            lack.message
        );
    }
    assert!(files(apart.home.scratch.path()).is_empty());
    // Nothing of it stands in the way of the next run.
    succeeded(apart.home.says(&["run", "clock.loop"]));
}

#[test]
fn a_user_with_few_processes_learns_which_call_was_refused_and_loses_none() {
    let _alone = alone();
    let Some(apart) = Apart::new() else { return skipped("no process namespace can be made here") };
    const FEW: &[&str] = &[
        "ipc.round_trip@by=pipe,cpus=same_cpu",
        "process.fork_exit@way=syscall",
        "ipc.hand_over@by=sysv_semaphore,cpus=same_cpu",
    ];
    // The bystander, the run, its janitor and a worker: where is the last one that the limit admits?
    let said = ["--nproc=3", "--nproc=4", "--nproc=5", "--nproc=6"].map(|limit| {
        let (code, json, errors) = apart.run(&Lack { filters: FEW, limit, ..NOTHING }).unwrap();
        assert!(matches!(code, 0 | 3 | 4 | 5), "{limit}: {code} {errors}");
        json + &errors
    });
    assert!(said.concat().contains("clone: "), "{said:?}");
}
