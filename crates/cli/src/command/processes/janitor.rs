//! `hostmark janitor`: started by a run, outlives it, and removes what it left.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use anyhow::Result;
use hostmark_engine::janitor::{CleanupEntry, clean_up_after};
use hostmark_engine::reason_of;
use hostmark_engine::sys::call::spawned;
use hostmark_engine::sys::place::{Directory, Place};
use hostmark_engine::sys::regular;
use hostmark_engine::sys::scratch::{fresh_name, of_run, remove_left, remove_unanswered};
use hostmark_engine::sys::setting::{PutBack, Setting, SettingChange};
use hostmark_launch::program::{OWN, command};
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::{Exit, Message, PathBytes, Scratch};
use hostmark_say::say;
use rustix::fs::{Mode, OFlags};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::command::lost;
use crate::language::{of_launch, said};
use crate::{output, store, world};

/// The word that starts it; no command for people.
pub const NAME: &str = "janitor";

/// Serves until standard input ends.
pub fn serve() -> ExitCode {
    // Who kills the program by its name (`killall hostmark`) leaves who cleans up after it.
    let _ = rustix::thread::set_name(c"hm-janitor");
    // What it makes is its user's, whatever the user's umask says; it starts no other program.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A janitor that cannot be asked to go is the better one; without it there is still the end of its input.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    // The run waits for this line: what is started here is this program, and it works.
    let mut out = io::stdout().lock();
    if out.write_all(b"\n").and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    hostmark_engine::janitor::serve(io::stdin().lock(), out);
    ExitCode::SUCCESS
}

/// The run's side of the janitor.
pub struct Janitor {
    process: Supervised,
    /// True where its next line is the answer to the next question.
    answers: bool,
    /// Directories that it made, for the case that it is killed itself.
    made: Vec<Scratch>,
    /// Directories that it was asked to make, where and under which name, without an answer: killed meanwhile, it may have made them.
    asked: Vec<(PathBuf, String)>,
    /// Settings of the kernel's that are changed now, for the same case, and the record of them on disk for the case that both are killed.
    changes: Vec<SettingChange>,
    written: Option<Record>,
    /// Log for the process that cleans up if both the run and the janitor are killed at once: requested and created resources.
    outside: Option<File>,
}

impl Janitor {
    /// Starts it, in a process group of its own, and waits until it is there: what can start the janitor can start
    /// workers. Otherwise the sentence that says why it cannot.
    pub fn start(program: &Path) -> Result<Janitor, String> {
        let mut command = command(program);
        command.arg(NAME);
        let (errors, ending) = (Errors::Dropped, Ending::Awaited);
        let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop: None };
        let process = Supervised::start(command, terms).map_err(|error| match error.raw_os_error() {
            Some(_) => not_started(program, spawned(error)),
            None => of_launch(&error),
        })?;
        let (made, asked, changes) = (Vec::new(), Vec::new(), Vec::new());
        let mut janitor = Janitor { process, answers: true, made, asked, changes, written: None, outside: None };
        match janitor.answer() {
            Ok(Some(_)) => Ok(janitor),
            Ok(None) => {
                // It has ended, or must be made to: nothing is in its charge yet.
                let how = janitor.process.kill().map_or_else(|error| error.to_string(), describe);
                Err(not_started(program, &how))
            }
            Err(error) => Err(not_started(program, error)),
        }
    }

    /// Next line of the janitor, if that comes in time; none as well when it has ended.
    fn answer(&mut self) -> io::Result<Option<String>> {
        if !self.answers {
            return Ok(None);
        }
        Ok(match self.process.read_line_within(timing().start)? {
            ReadOutcome::Line(line) => Some(line),
            _ => None,
        })
    }

    /// Copies to `outside` from now on what it is asked to make and has made.
    pub fn copy_records_to(&mut self, outside: File) {
        self.outside = Some(outside);
    }

    /// Process id, which is nobody else's until it is waited for.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Tells it. A janitor that is gone cannot be told, and the worker's parent-death signal remains.
    pub fn record(&mut self, entry: &CleanupEntry) {
        let _ = entry.line().and_then(|line| self.process.send(&line));
    }

    /// Starts a command in its charge: it ends whoever is left of that when this process ends.
    pub fn begin(&mut self, command: Command, terms: Terms) -> io::Result<Supervised> {
        let process = Supervised::start(command, terms)?;
        self.record(&CleanupEntry::Group(process.id()));
        Ok(process)
    }

    /// Ends a process that is in its charge, which has no more to do with it then. One that cannot be ended stays in it.
    pub fn end(&mut self, process: &mut Supervised) -> io::Result<ExitStatus> {
        let status = process.end()?;
        self.record(&CleanupEntry::Reaped(process.id()));
        Ok(status)
    }

    /// Has it make a directory in `base` for the run's files, which it removes when the run has ended.
    pub fn directory(&mut self, base: &Path) -> Scratch {
        let scratch = self.make(base).unwrap_or_else(|error| {
            // What might still come would be taken for the answer to another question.
            self.answers = false;
            let base = base.display();
            let text = say!("no directory could be made in {base} ({error}); name another by --scratch");
            Scratch::Missing(reason_of(&error, text))
        });
        if let Ok(line) = serde_json::to_string(&scratch) {
            self.write_down(&(line + "\n"));
        }
        self.made.push(scratch.clone());
        scratch
    }

    /// Leaves it in charge of a setting that is going to be changed: an error where it cannot be, and must not be changed then.
    pub fn takes_charge(&mut self, change: &SettingChange) -> io::Result<()> {
        let entry = CleanupEntry::Change(change.clone());
        self.written()?.add(&entry.line()?)?;
        self.record(&entry);
        match self.answer()? {
            Some(line) if serde_json::from_str(&line).is_ok_and(|done: CleanupEntry| done == entry) => {
                self.changes.push(change.clone());
                Ok(())
            }
            _ => {
                self.answers = false;
                Err(io::Error::other("the process that would put it back does not answer"))
            }
        }
    }

    /// Returns its record on disk, begun where it was not.
    fn written(&mut self) -> io::Result<&mut Record> {
        if self.written.is_none() {
            let record = Record::begin()?;
            let entry = CleanupEntry::Record(PathBytes(record.path.as_os_str().as_bytes().to_vec()));
            self.tell_outside(&entry.line()?);
            self.record(&entry);
            self.written = Some(record);
        }
        self.written.as_mut().ok_or_else(|| io::Error::other("no record"))
    }

    /// Writes a line on directories down for whoever comes later. A run whose data directory takes no file goes on without.
    fn write_down(&mut self, line: &str) {
        self.tell_outside(line);
        let _ = self.written().and_then(|record| record.add(line));
    }

    fn tell_outside(&mut self, line: &str) {
        if let Some(outside) = &mut self.outside {
            let _ = outside.write_all(line.as_bytes());
        }
    }

    /// Ends its charge of a setting that has been put back.
    pub fn was_put_back(&mut self, setting: Setting) {
        self.changes.retain(|change| change.setting != setting);
        let entry = CleanupEntry::PutBack(setting);
        let _ = self.written.as_mut().zip(entry.line().ok()).map(|(record, line)| record.add(&line));
        self.record(&entry);
    }

    fn make(&mut self, base: &Path) -> io::Result<Scratch> {
        let name = fresh_name()?;
        self.asked.push((base.to_owned(), name.clone()));
        let entry = CleanupEntry::Directory { base: PathBytes(base.as_os_str().as_bytes().to_vec()), name };
        self.write_down(&entry.line()?);
        self.record(&entry);
        let line = self.answer()?.ok_or_else(|| io::Error::other("no answer"))?;
        let scratch = serde_json::from_str(&line)?;
        self.asked.pop();
        Ok(scratch)
    }
}

fn describe(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("status {code}"))
}

/// Reason why this program cannot start itself, and the remedy.
fn not_started(program: &Path, how: impl Into<Message>) -> String {
    // The link says less than the name.
    let named = std::env::current_exe().ok().filter(|_| program == Path::new(OWN));
    let program = named.as_deref().unwrap_or(program).display();
    let how = of_launch(how);
    match world::name() {
        Some(emulator) => said!(
            "{emulator} executes this program and cannot start it again for its workers ({how}); \
             run it natively, or register the emulator with binfmt_misc"
        ),
        None => said!(
            "{program} cannot be started for the workers ({how}); start hostmark by its own file, \
             and look at the limits of processes and of memory (ulimit -a)"
        ),
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        let has_cleaned_up = self.process.end().is_ok_and(|status| status.success());
        let put_back = |all, change: &SettingChange| change.put_back(Path::new("/")).is_ok() && all;
        let are_all_back = match has_cleaned_up {
            true => self.changes.is_empty(),
            false => self.changes.iter().rev().fold(true, put_back),
        };
        self.made.iter().for_each(|made| {
            remove_left(made);
        });
        // Made or not, one without an answer is in nobody's charge.
        self.asked.iter().for_each(|(base, name)| remove_unanswered(base, name));
        // A janitor that could not open the record has not removed it either.
        let is_there = |made: &Scratch| matches!(of_run(made), Some(Ok(_)));
        if let Some(record) = self.written.as_ref().filter(|_| are_all_back && !self.made.iter().any(is_there)) {
            let _ = Place::entry(&record.path).and_then(|place| place.remove());
        }
    }
}

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
        let mut record = Record { file, path: directory.join(name) };
        let begun = record.file.lock_shared().and_then(|()| record.add(&(boot_id() + "\n")));
        if begun.is_err() {
            let _ = Place::entry(&record.path).and_then(|place| place.remove());
        }
        begun?;
        // Another command may have found it before it was locked, and taken it for one that a killed process began.
        if record.file.metadata()?.nlink() == 0 { Record::begin() } else { Ok(record) }
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
    let Some((boot, entries)) = text.split_once('\n') else {
        // Begun by a process that was killed, or that has no lock yet and begins another.
        place.remove()?;
        return Ok(None);
    };
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_record_is_removed_also_where_the_janitor_could_not_open_it_and_stays_while_a_change_is_in_force() {
        let place = tempfile::tempdir().unwrap();
        let (program, record) = (place.path().join("janitor"), place.path().join("record"));
        fs::write(&program, "#!/bin/sh\necho\nexec cat > /dev/null\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let change = SettingChange { setting: Setting::ReceiveBuffer, before: "1".into(), during: "2".into() };
        for (changes, stays) in [(vec![], false), (vec![change], true)] {
            let mut janitor = Janitor::start(&program).unwrap();
            janitor.written = Some(Record { file: File::create(&record).unwrap(), path: record.clone() });
            janitor.changes = changes;
            drop(janitor);
            assert_eq!(record.exists(), stays);
        }
        // One that was killed while it began its record has left nothing to undo.
        fs::write(&record, "").unwrap();
        assert!(left(&record).unwrap().is_none() && !record.exists());
    }

    #[test]
    fn what_a_janitor_made_before_it_was_killed_without_an_answer_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("base");
        fs::create_dir(&base).unwrap();
        let program = place.path().join("janitor");
        let script = "#!/bin/sh\necho\nuntil [ \"${line#*name}\" != \"$line\" ]; do read -r line; done\nname=${line##*'name\":\"'}\nmkdir -m 700 \"${0%/*}/base/${name%%'\"'*}\"\nls \"${0%/*}/base\" > \"${0%/*}/made\"\nkill -9 $$\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let mut janitor = Janitor::start(&program).unwrap();
        assert!(matches!(janitor.directory(&base), Scratch::Missing(_)));
        drop(janitor);
        assert!(fs::read_to_string(place.path().join("made")).unwrap().starts_with("hostmark-"));
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    }
}
