//! The janitor: a process of its own that knows what a run has made, and removes it when the run's process is gone.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sys::process::kill_group;
use crate::sys::remains::remove_of_group;

/// Directories that a run makes start like this; the janitor removes nothing else.
pub const SCRATCH_PREFIX: &str = "hostmark-";

/// How often the janitor looks again, and how long it waits before, where what it removes is still in use.
const MOST_TURNS: usize = 100;
const TURN: Duration = Duration::from_millis(5);

/// The scratch directory in `base` of this process' round after `done` others; empty where there is no `base`.
pub(crate) fn scratch(base: &str, done: usize) -> String {
    match base {
        "" => String::new(),
        _ => format!("{base}/{SCRATCH_PREFIX}{}-{done}", std::process::id()),
    }
}

/// What a run tells its janitor, a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Charge {
    /// A process group is alive.
    Group(u32),
    /// It has been reaped: its number may belong to others from now on.
    Reaped(u32),
    /// A scratch directory may exist.
    Directory(PathBuf),
}

impl Charge {
    /// The line that tells it.
    pub fn line(&self) -> String {
        match self {
            Charge::Group(leader) => format!("group {leader}\n"),
            Charge::Reaped(leader) => format!("reaped {leader}\n"),
            Charge::Directory(path) => format!("directory {}\n", path.display()),
        }
    }

    fn parse(line: &str) -> Option<Charge> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "group" => rest.parse().ok().map(Charge::Group),
            "reaped" => rest.parse().ok().map(Charge::Reaped),
            "directory" => Some(Charge::Directory(rest.into())),
            _ => None,
        }
    }
}

/// Listens until its input ends, which it does however the run's process ends; then kills and removes what is left.
pub fn serve(input: impl BufRead) {
    let mut groups = BTreeSet::new();
    let mut directories = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        match Charge::parse(&line) {
            Some(Charge::Group(leader)) => drop(groups.insert(leader)),
            Some(Charge::Reaped(leader)) => {
                groups.remove(&leader);
                remove_of_group(leader);
            }
            Some(Charge::Directory(path)) => drop(directories.insert(path)),
            None => {}
        }
    }
    groups.into_iter().for_each(end);
    directories.iter().for_each(|path| remove(path));
}

/// Kills a group, waits until none of it is left, and removes what it made. Who is killed still ends the call that it is in,
/// which may make a file.
fn end(leader: u32) {
    for _ in 0..MOST_TURNS {
        if !kill_group(leader) {
            break;
        }
        std::thread::sleep(TURN);
    }
    remove_of_group(leader);
}

fn remove(path: &Path) {
    let is_ours = path.is_absolute()
        && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(SCRATCH_PREFIX));
    if !is_ours {
        return;
    }
    for _ in 0..MOST_TURNS {
        // Nobody is left who could be told of an error. One whose content changed meanwhile is tried again.
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => std::thread::sleep(TURN),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    #[test]
    fn a_charge_reads_back_as_written() {
        for charge in [Charge::Group(7), Charge::Reaped(7), Charge::Directory("/tmp/hostmark-x y".into())] {
            assert_eq!(Charge::parse(charge.line().trim_end_matches('\n')), Some(charge));
        }
        assert_eq!(Charge::parse("group x"), None);
    }

    #[test]
    fn what_is_left_is_killed_and_removed_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let (ours, other) = (base.path().join("hostmark-1"), base.path().join("other"));
        for directory in [&ours, &other] {
            std::fs::create_dir(directory).unwrap();
        }
        let sleeper = || Command::new("sleep").arg("60").process_group(0).stdout(Stdio::null()).spawn().unwrap();
        let (mut left, mut reaped) = (sleeper(), sleeper());
        let told: String = [
            Charge::Group(left.id()),
            Charge::Group(reaped.id()),
            Charge::Reaped(reaped.id()),
            Charge::Directory(ours.clone()),
            Charge::Directory(other.clone()),
        ]
        .iter()
        .map(Charge::line)
        .collect();
        serve(told.as_bytes());
        assert!(!left.wait().unwrap().success());
        assert_eq!(reaped.try_wait().unwrap(), None);
        reaped.kill().unwrap();
        reaped.wait().unwrap();
        assert!(!ours.exists() && other.exists());
    }
}
