//! The janitor: a process of its own that knows what a run has made, and removes it when the run's process is gone.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hostmark_model::{PathBytes, Scratch};
use hostmark_say::say;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::round_error::reason_of;
use crate::sys::control_group::GroupPlace;
use crate::sys::descendants::{Lineage, ProcessGroup};
use crate::sys::place::Place;
use crate::sys::process;
use crate::sys::scratch::{Private, remove_left, remove_unanswered};
use crate::sys::setting::{Setting, SettingChange};

/// Message of a run to its janitor, a line of JSON: names given by a person or a file are data in it, never a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupEntry {
    /// A process group is alive.
    Group(u32),
    /// Process that has been reaped: its number may belong to others from now on.
    Reaped(u32),
    /// A directory for the run's files is to be made in this one. The answer is a line too: a [`Scratch`].
    Directory {
        base: PathBytes,
        /// The name that the run drew for it, which so knows what a janitor that is killed may leave.
        name: String,
    },
    /// A control group of the run's own is going to be made in this one. There is no answer.
    ControlGroup {
        /// The directory of the group above it.
        base: PathBytes,
        /// The name that the run drew for it.
        name: String,
    },
    /// A setting of the kernel's is going to be changed. The answer is a line too: the same entry.
    Change(SettingChange),
    /// File that records the run's changes and directories: locked from now on, removed when all settings are as before and all
    /// directories are gone.
    Record(PathBytes),
    /// Setting that has its old value again, or another program's: the run is no longer responsible for it.
    PutBack(Setting),
}

impl CleanupEntry {
    pub fn line(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

/// Listens until its input ends, which it does however the run's process ends; then kills and removes what is left. It
/// removes only directories that it made itself, by the descriptors that it had from the start.
pub fn serve(input: impl BufRead, output: impl Write) {
    serve_below(Path::new("/"), input, output);
}

/// The same where the kernel's settings lie below `root`.
pub fn serve_below(root: &Path, input: impl BufRead, mut output: impl Write) {
    let family = Lineage::own();
    let mut groups = BTreeMap::<u32, Option<ProcessGroup>>::new();
    let mut directories: Vec<Private> = Vec::new();
    let mut control_groups: Vec<GroupPlace> = Vec::new();
    let mut changes: Vec<SettingChange> = Vec::new();
    let mut record = None;
    for line in input.lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            // Its leader is held at once: later on its number may be another one's.
            Ok(CleanupEntry::Group(leader)) => {
                groups.insert(leader, family.as_ref().and_then(|family| family.group(leader)));
            }
            Ok(CleanupEntry::Reaped(leader)) => {
                groups.remove(&leader);
                directories.iter().for_each(|directory| directory.remove_objects(Some(leader)));
            }
            Ok(CleanupEntry::Directory { base, name }) => {
                let (made, entry) = make(Path::new(OsStr::from_bytes(&base.0)), &name);
                directories.extend(made);
                // A run that is gone reads no answer, and its input ends.
                let _ =
                    serde_json::to_string(&entry).map(|line| writeln!(output, "{line}").and_then(|()| output.flush()));
            }
            Ok(CleanupEntry::ControlGroup { base, name }) => {
                control_groups.extend(GroupPlace::of(Path::new(OsStr::from_bytes(&base.0)), &name));
            }
            Ok(CleanupEntry::Change(change)) => {
                changes.push(change);
                // It is changed when this is heard.
                let _ = writeln!(output, "{line}").and_then(|()| output.flush());
            }
            Ok(CleanupEntry::Record(path)) => record = locked(Path::new(OsStr::from_bytes(&path.0))).ok(),
            Ok(CleanupEntry::PutBack(setting)) => changes.retain(|change| change.setting != setting),
            Err(_) => {}
        }
    }
    // First: the whole machine waits for them, and ending processes takes a while. Those that were changed last, first.
    let put_back = |all, change: &SettingChange| process::retry_until(|| change.put_back(root).is_ok()) && all;
    let are_all_back = changes.iter().rev().fold(true, put_back);
    // Kills them, waits for all and removes what they made. A killed process still ends its system call, which may make a file.
    groups.values().flatten().for_each(ProcessGroup::end);
    let remove_all = |all, directory: &Private| {
        directory.remove_objects(None);
        remove(directory) && all
    };
    let are_all_gone = directories.iter().fold(true, remove_all);
    // Last: who is in them may be in the charge of others, and go a little later.
    for group in &control_groups {
        let _ = group.remove_when_empty();
    }
    if let Some((record, _)) = record.filter(|_| are_all_back && are_all_gone) {
        let _ = record.remove();
    }
}

/// Removes the directories of a run's lines whose makers are gone: a directory by its inode, and one that nobody knows to have been made
/// if it is empty; and the run's record. Returns the paths of the first.
pub fn clean_up_after(lines: &[u8]) -> Vec<PathBuf> {
    let lines = || lines.split(|&byte| byte == b'\n');
    let made = lines().filter_map(|line| serde_json::from_slice::<Scratch>(line).ok());
    let removed = made.filter_map(|made| remove_left(&made).map(Path::to_owned)).collect();
    for entry in lines().filter_map(|line| serde_json::from_slice(line).ok()) {
        match entry {
            CleanupEntry::Directory { base, name } => remove_unanswered(Path::new(OsStr::from_bytes(&base.0)), &name),
            // A run within layers writes it, which changes no setting.
            CleanupEntry::Record(path) => {
                drop(Place::entry(Path::new(OsStr::from_bytes(&path.0))).and_then(|place| place.remove()));
            }
            _ => {}
        }
    }
    removed
}

/// Opens a record, and locks it for as long as it is open: who finds it without a lock knows that nobody is in charge of it.
fn locked(record: &Path) -> io::Result<(Place, File)> {
    let place = Place::entry(record)?;
    let file = place.open(OFlags::RDONLY)?;
    file.lock_shared()?;
    Ok((place, file))
}

fn make(base: &Path, name: &str) -> (Option<Private>, Scratch) {
    let missing = |error: io::Error| {
        let base = base.display();
        Scratch::Missing(reason_of(
            &error,
            say!("no directory can be made in {base} ({error}); name another by --scratch"),
        ))
    };
    match Private::make_as(base, name) {
        Ok(made) => {
            let entry = made.entry().unwrap_or_else(missing);
            (Some(made), entry)
        }
        Err(error) => (None, missing(error)),
    }
}

fn remove(directory: &Private) -> bool {
    // Content may have changed meanwhile, or the kernel been short of memory. One that stays stays written down.
    process::retry_until(|| directory.remove().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::scratch::fresh_name;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    fn directory(base: Vec<u8>) -> CleanupEntry {
        CleanupEntry::Directory { base: PathBytes(base), name: fresh_name().unwrap() }
    }

    #[test]
    fn an_entry_reads_back_as_written_and_is_one_line_whatever_it_names() {
        let hostile = PathBytes(b"/tmp/a\n{\"group\":1}\ngroup 1\n\xff".to_vec());
        let group = CleanupEntry::ControlGroup { base: hostile.clone(), name: "a\nb".into() };
        let change = CleanupEntry::Change(change("a\nb", "c"));
        let put_back = CleanupEntry::PutBack(Setting::Boost);
        for entry in [CleanupEntry::Group(7), CleanupEntry::Reaped(7), directory(hostile.0), group, change, put_back] {
            let line = entry.line().unwrap();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(serde_json::from_str::<CleanupEntry>(&line).unwrap(), entry);
        }
    }

    fn change(before: &str, during: &str) -> SettingChange {
        SettingChange { setting: Setting::ReceiveBuffer, before: before.into(), during: during.into() }
    }

    /// Returns the content of the setting's file afterwards.
    fn after(holds: &str, entry: &[CleanupEntry]) -> String {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(Setting::ReceiveBuffer.path().trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, holds).unwrap();
        let (entry, mut answers) = (lines(entry), Vec::new());
        serve_below(root.path(), entry.as_bytes(), &mut answers);
        let asked: String =
            entry.lines().filter(|line| line.contains("change")).map(|line| format!("{line}\n")).collect();
        assert_eq!(String::from_utf8(answers).unwrap(), asked, "each change is answered by itself");
        std::fs::read_to_string(&file).unwrap()
    }

    fn lines(entries: &[CleanupEntry]) -> String {
        entries.iter().map(|entry| entry.line().unwrap()).collect()
    }

    #[test]
    fn a_setting_that_a_run_left_changed_is_put_back() {
        let (entry, back) =
            (CleanupEntry::Change(change("212992", "8388608")), CleanupEntry::PutBack(Setting::ReceiveBuffer));
        assert_eq!(after("8388608\n", std::slice::from_ref(&entry)), "212992\n");
        assert_eq!(after("212992\n", std::slice::from_ref(&entry)), "212992\n", "it was told of and not made");
        assert_eq!(after("5\n", std::slice::from_ref(&entry)), "5\n", "somebody else has changed it");
        assert_eq!(after("8388608\n", &[entry.clone(), back.clone()]), "8388608\n", "somebody else's from then on");
        assert_eq!(after("8388608\n", &[entry.clone(), back, entry]), "212992\n");
        assert_eq!(after("1\n", &[CleanupEntry::Change(change("a b\n", "1"))]), "1\n", "no word is written");
    }

    #[test]
    fn a_name_with_lines_in_it_gives_no_orders() {
        let base = tempfile::tempdir().unwrap();
        let mut bystander = Command::new("sleep").arg("60").process_group(0).stdout(Stdio::null()).spawn().unwrap();
        let pid = bystander.id();
        let name = format!("{}/a\ngroup {pid}\n{{\"group\":{pid}}}\n", base.path().display());
        std::fs::create_dir(&name).unwrap();
        let line = directory(name.clone().into_bytes()).line().unwrap();
        let mut answer = Vec::new();
        serve(line.as_bytes(), &mut answer);
        assert!(matches!(serde_json::from_slice(&answer).unwrap(), Scratch::Made { .. }));
        assert_eq!(bystander.try_wait().unwrap(), None);
        assert_eq!(std::fs::read_dir(&name).unwrap().count(), 0);
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }

    #[test]
    fn what_is_left_is_killed_and_removed_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let other = base.path().join("hostmark-1");
        std::fs::create_dir(&other).unwrap();
        let sleeper = || Command::new("sleep").arg("60").process_group(0).stdout(Stdio::null()).spawn().unwrap();
        let (mut left, mut reaped) = (sleeper(), sleeper());
        let entry: String = [
            CleanupEntry::Group(left.id()),
            CleanupEntry::Group(reaped.id()),
            CleanupEntry::Reaped(reaped.id()),
            directory(base.path().as_os_str().as_bytes().to_vec()),
            directory(other.join("nowhere").as_os_str().as_bytes().to_vec()),
        ]
        .iter()
        .map(|entry| entry.line().unwrap())
        .collect();
        let mut answers = Vec::new();
        serve(entry.as_bytes(), &mut answers);
        assert!(!left.wait().unwrap().success());
        assert_eq!(reaped.try_wait().unwrap(), None);
        reaped.kill().unwrap();
        reaped.wait().unwrap();
        let answers: Vec<Scratch> =
            serde_json::Deserializer::from_slice(&answers).into_iter().map(Result::unwrap).collect();
        let [Scratch::Made { path, .. }, Scratch::Missing(why)] = answers.as_slice() else { panic!("{answers:?}") };
        assert!(!Path::new(OsStr::from_bytes(&path.0)).exists() && other.exists());
        assert!(why.contains("nowhere (open: No such file"), "{why}");
    }
}
