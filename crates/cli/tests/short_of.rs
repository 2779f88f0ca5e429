//! Hosts that are short of something: every group's system calls are refused there, and what they need is told; nobody else
//! loses anything, and nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hostmark_model::{Outcome, load_run};

use crate::alone::alone;
use crate::control_group::ControlGroup;
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, files, succeeded};

/// What makes processes and threads, and connects them.
const MANY: &[&str] =
    &["sched.messaging", "sched.context_switch@processes=16", "process.thread", "ipc.round_trip@by=pipe,cpus=same_cpu"];
/// What writes files, with and without names.
const FILES: &[&str] =
    &["file.create_delete@op=create,size=10240", "disk.fsync@block=2300", "ipc.round_trip@by=fifo,cpus=same_cpu"];
/// What opens many descriptors.
const OPEN: &[&str] =
    &["syscall.readiness@call=poll,descriptors=100", "sched.context_switch@processes=16", "net.tcp_connect@copies=1"];
/// What fills memory, or asks the kernel for objects in it.
const MEMORY: &[&str] =
    &["memory.read@size=512M", "ipc.round_trip@by=posix_queue", "ipc.hand_over@by=sysv_semaphore,cpus=same_cpu"];
/// What sends over loopback.
const NET: &[&str] =
    &["net.tcp_connect@copies=1", "net.udp@cpus=same_cpu", "syscall.readiness@call=poll,descriptors=100"];

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
    Lack { filters: FILES, message: "raise ulimit -f", limit: "--fsize=1024", ..NOTHING },
    Lack { filters: FILES, message: "raise ulimit -f", limit: "--fsize=8192", ..NOTHING },
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
        filters: MEMORY,
        message: "MiB of memory",
        group: Some(["memory", "memory.limit_in_bytes", "memory.max", "134217728"]),
        ..NOTHING
    },
];

const NOTHING: Lack = Lack { filters: &[], message: "", limit: "", first: "", is_alone: false, code: 0, group: None };

/// Starts the bystander and hostmark as the same user, and tells how both fared and what is left. The run is printed to a
/// pipe: it is no part of what is limited.
const INSIDE: &str = r#"
    as=$1 limit=$2 first=$3 queues=$4
    shift 4
    mount -t tmpfs -o mode=1777 hostmark-test /dev/shm || exit 99
    mount -t mqueue hostmark-test "$queues" || exit 99
    eval "$first" || exit 99
    $as sleep 1000 & bystander=$!
    $as $limit "$0" run "$@" --format json
    echo "code $?" >&2
    kill -0 "$bystander" && echo "the bystander lives" >&2
    left() {
        for process in /proc/[0-9]*; do
            case "${process#/proc/}" in 1 | "$bystander") continue ;; esac
            # The shells of this script itself are no remains.
            read -r number name state rest <"$process/stat" && [ "$state" != Z ] && [ "$name" != '(sh)' ] && echo "$name"
        done 2>/dev/null
        ls -A /dev/shm "$TMPDIR" "$queues" | grep hostmark
        cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | grep -v key
    }
    # What a run's janitor removes is gone soon after it.
    for look in $(seq 60); do
        found=$(left)
        [ -z "$found" ] && break
        sleep 0.5
    done
    echo "left:" $found >&2
    kill "$bystander"
"#;

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

    /// The reasons why cases have no value where this is lacking; None where it cannot be taken from hostmark here.
    fn reasons(&self, lack: &Lack) -> Option<Vec<String>> {
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
        let what = format!("{} {} {}: {errors}", lack.message, lack.limit, lack.first);
        assert!(errors.contains("the bystander lives\n"), "{what}");
        assert!(errors.lines().any(|line| line == "left:"), "{what}");
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
    succeeded(ended(&mut apart.home.hostmark(&["run", "clock.loop"])));
}
