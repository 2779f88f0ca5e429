//! Records on disk of settings that are changed for a while and of directories that a run makes: what is left of a process that was
//! killed with its janitor is told from them, or removed.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_engine::janitor::{CleanupEntry, clean_up_after};
use hostmark_engine::sys::place::{Directory, Place};
use hostmark_engine::sys::regular;
use hostmark_engine::sys::scratch::fresh_name;
use hostmark_engine::sys::setting::{PutBack, SettingChange};
use hostmark_model::Exit;
use hostmark_say::say;
use rustix::fs::{Mode, OFlags};

use crate::command::lost;
use crate::language::said;
use crate::{output, store};

/// The root of the kernel's files.
pub const ROOT: &str = "/";
/// Settings that are told one by one.
const FEW: usize = 3;

/// Record of the settings that this process and its janitor change, and of the directories that they make: the boot in which it was
/// begun, then a line for each before it is changed or made, and when it is put back. It is locked while either is there to do that, and
/// removed when all is done.
pub struct Record {
    file: File,
    pub path: PathBuf,
}

fn directory() -> Option<PathBuf> {
    Some(store::directory()?.with_file_name("changed"))
}

/// The boot of this machine, where the kernel tells. What was changed before it is no more.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

impl Record {
    pub fn begin() -> io::Result<Record> {
        let nowhere = || io::Error::other(say!("neither XDG_DATA_HOME nor HOME names a directory"));
        let (directory, name) = (directory().ok_or_else(nowhere)?, fresh_name()? + ".jsonl");
        let file = Directory::make(&directory)?.entry(name.as_ref())?.create_new(Mode::from_raw_mode(0o644))?;
        file.lock_shared()?;
        let mut record = Record { file, path: directory.join(name) };
        record.file.write_all((boot_id() + "\n").as_bytes())?;
        Ok(record)
    }

    pub fn add(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(line.as_bytes())
    }
}

/// A record of which nobody is left, its changes that are still in force, and the directories that were removed by it.
struct Left {
    place: Place,
    changes: Vec<SettingChange>,
    removed: Vec<PathBuf>,
}

/// Finds such records of this user and root, removes the directories in them, and the record itself where no change is in force.
fn find() -> Vec<Left> {
    let entries = directory().and_then(|directory| fs::read_dir(directory).ok());
    let mut paths: Vec<PathBuf> = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter_map(|path| left(path).ok().flatten()).collect()
}

fn left(path: &Path) -> io::Result<Option<Left>> {
    let place = Place::entry(path)?;
    let file = place.open(OFlags::RDONLY)?;
    let status = file.metadata()?;
    let is_ours = [0, rustix::process::geteuid().as_raw()].contains(&status.uid());
    if !status.is_file() || !is_ours || matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(None);
    }
    let text = String::from_utf8(regular::all_of(&file)?.unwrap_or_default()).unwrap_or_default();
    // One that has no lock yet.
    let Some((boot, entries)) = text.split_once('\n') else { return Ok(None) };
    let mut changes = Vec::<SettingChange>::new();
    // A line that is cut off is of a change that was never made.
    for entry in entries.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match entry {
            CleanupEntry::Change(change) => changes.push(change),
            CleanupEntry::PutBack(setting) => changes.retain(|change| change.setting != setting),
            _ => {}
        }
    }
    let now = |change: &SettingChange| change.setting.read(Path::new(ROOT));
    let is_of_this_boot = boot == boot_id();
    let removed = if is_of_this_boot { clean_up_after(entries.as_bytes()) } else { Vec::new() };
    // Where it cannot be read, as in another namespace, nobody knows, and the record stays.
    if !is_of_this_boot || changes.iter().all(|change| now(change).is_ok_and(|now| now != change.during)) {
        place.remove()?;
        changes.clear();
    }
    changes.retain(|change| now(change).is_ok_and(|now| now == change.during));
    Ok(Some(Left { place, changes, removed }))
}

/// Tells of every setting that a killed `hostmark try` has left changed, and of the directories of killed runs that are removed now.
pub fn tell() {
    let (mut changes, mut removed) = (Vec::new(), Vec::new());
    for left in find() {
        changes.extend(left.changes);
        removed.extend(left.removed);
    }
    for path in removed.iter().map(|path| path.display()) {
        output::complain(&said!("removed {path}, which a hostmark that was killed had left"));
    }
    for SettingChange { setting, before, during } in changes.iter().take(FEW) {
        let path = setting.path();
        output::complain(&said!(
            "{path} is still {during}, as a hostmark try that was killed left it, and was {before}; undo it by hostmark try \
             --undo, or by echo {before} > {path}"
        ));
    }
    if let Some(more) = changes.len().checked_sub(FEW).filter(|more| *more > 0) {
        output::complain(&said!("it left {more:other setting} as well; undo all by hostmark try --undo"));
    }
}

/// Puts back all settings that killed processes have left changed.
pub fn undo() -> Result<Exit> {
    let (mut failed, mut count) = (None, 0);
    for Left { place, changes, .. } in find() {
        let mut is_back = !changes.is_empty();
        for change in changes.iter().rev() {
            let (path, before) = (change.setting.path(), &change.before);
            match change.put_back(Path::new(ROOT)) {
                Ok(PutBack::Done) => output::print(&said!("{path} is {before} again\n")),
                Ok(PutBack::ChangedByOthers(now)) => output::complain(&changed_by_others(&path, &now)),
                Err(error) => {
                    is_back = false;
                    failed = Some(said!("{path} cannot be put back ({error}); write {before} to it"));
                }
            }
            count += 1;
        }
        if is_back {
            let _ = place.remove();
        }
    }
    if count == 0 {
        output::print(&said!("no setting is left changed\n"));
    }
    failed.map_or(Ok(Exit::Fine), |why| Err(lost(why)))
}

pub fn changed_by_others(path: &str, now: &str) -> String {
    said!("somebody else has changed {path} to {now} meanwhile, and it is left so; try again when nobody does")
}
