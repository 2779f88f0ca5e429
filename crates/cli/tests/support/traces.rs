//! What of a run could outlive it: processes, scratch directories, System V objects, names of POSIX queues.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use tempfile::TempDir;

/// Where POSIX queues have their names, if that can be looked at.
pub enum Queues {
    Mounted(PathBuf),
    /// Mounted for the test; unmounted when dropped.
    Own(TempDir),
    /// Not to be seen by this user.
    Unseen,
}

impl Queues {
    pub fn seen() -> Queues {
        let usual = Path::new("/dev/mqueue");
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        if mounts.lines().any(|line| line.split(' ').nth(1) == usual.to_str()) {
            return Queues::Mounted(usual.to_owned());
        }
        let own = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "mqueue", "hostmark-test"]).arg(own.path());
        match mount.output().is_ok_and(|output| output.status.success()) {
            true => Queues::Own(own),
            false => Queues::Unseen,
        }
    }

    fn names(&self) -> Vec<String> {
        let directory = match self {
            Queues::Mounted(path) => path.as_path(),
            Queues::Own(directory) => directory.path(),
            Queues::Unseen => return Vec::new(),
        };
        names(directory)
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        if let Queues::Own(directory) = self {
            let _ = Command::new("umount").arg("-l").arg(directory.path()).status();
        }
    }
}

/// The names in a directory; none where there is no such.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Kinds of System V objects as /proc names them.
pub const KINDS: [&str; 3] = ["shm", "sem", "msg"];

/// Every System V object and every POSIX queue that there is, with its kind: `sem 7`.
pub fn objects(queues: &Queues) -> BTreeSet<String> {
    let of_kind = |kind: &str| -> Vec<String> {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let ids = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
        ids.map(|id| format!("{kind} {id}")).collect()
    };
    let posix = queues.names().into_iter().map(|name| format!("queue {name}"));
    KINDS.into_iter().flat_map(of_kind).chain(posix).collect()
}

/// Set for the process that has one test to do.
const ADOPTS: &str = "HOSTMARK_TEST_ADOPTS";

/// Has every process whose parents have ended become a child of this one, which is started for the calling test alone: it waits for all
/// of its children, and other tests have children too. Where it is false that process has done the test.
pub fn adopt_orphans() -> bool {
    if std::env::var_os(ADOPTS).is_some() {
        set_child_subreaper(Some(getpid())).unwrap();
        return true;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", &name, "--nocapture"]).env(ADOPTS, "1").stderr(Stdio::inherit());
    let output = test.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

/// The live processes that are children of this one, `known` apart, by their command lines; those that have ended are reaped
/// on the way, as init would.
pub fn orphans(known: &[u32]) -> Vec<String> {
    let parent_and_state = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.to_owned();
        Some((words.next()?.parse::<u32>().ok()?, state))
    };
    let mut alive = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let Some(pid) = entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        match parent_and_state(pid) {
            Some((parent, state)) if parent == std::process::id() && !known.contains(&pid) => {
                let reaped = waitpid(Pid::from_raw(pid as i32), WaitOptions::NOHANG);
                if matches!(reaped, Ok(None)) {
                    let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                    alive.push(format!("{pid} {state} {}", words.replace('\0', " ")));
                }
            }
            _ => {}
        }
    }
    alive
}
