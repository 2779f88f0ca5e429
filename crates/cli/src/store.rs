//! The runs kept on this machine: where they lie, how they are named, how one is found again.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use hostmark_engine::sys::place::{Directory, Kind, Place};
use hostmark_engine::sys::regular;
use hostmark_engine::sys::scratch::fresh_name;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Imported, Outcome, Profile, Run, load_run};
use hostmark_present::{RenderOptions, export};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::language::{refuse, refused, said};
use crate::world::context;

/// Directory of stored runs: `$XDG_DATA_HOME/hostmark/runs`, else `~/.local/share/hostmark/runs`.
pub fn directory() -> Option<PathBuf> {
    let absolute = |name: &str| (context().variable)(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("hostmark").join("runs"))
}

/// Bytes of all series at most, unless somebody asks otherwise.
pub const SERIES_BYTES: u64 = 2 << 30;

/// Directory of series, one in a directory of its name: beside the runs, among which thousands of turns would hide all others.
fn all_series() -> Option<PathBuf> {
    Some(directory()?.with_file_name("series"))
}

/// The directory of a series, where a person may mean one by this name.
pub fn series(name: &str) -> Option<PathBuf> {
    let is_name = file_part(name) == name;
    all_series().filter(|_| is_name).map(|all| all.join(name)).filter(|path| path.is_dir())
}

/// The files of a series' turns, oldest first.
pub fn turns(name: &str) -> Result<Vec<PathBuf>> {
    let directory = series(name).with_context(|| said!("there is no series '{name}'; hostmark runs lists them"))?;
    run_files_in(&directory)
}

/// Tells whether a series of this name has a turn: a watch that is killed in its first one leaves a directory.
pub fn has_turns(name: &str) -> bool {
    turns(name).is_ok_and(|turns| !turns.is_empty())
}

pub fn series_names() -> Vec<String> {
    let entries = all_series().and_then(|all| fs::read_dir(all).ok());
    let names = entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| series(name).is_some()).collect();
    names.sort();
    names
}

/// Files of one run: the run file, and its journal while it goes on.
#[derive(Debug, Clone)]
pub struct RunFiles {
    pub file: PathBuf,
    pub journal: PathBuf,
    /// The run's name: the file's stem.
    pub name: String,
    /// True where a file that is already there may be replaced: the person named it.
    replace: bool,
}

impl RunFiles {
    pub fn named(file: &Path) -> Result<RunFiles> {
        let (shown, parent) = (file.display(), parent(file));
        let stem = file.file_stem().with_context(|| said!("--out '{shown}' has no file name; give another file"))?;
        // Not only once the run is measured.
        let kind = Place::find(file).map(|place| place.kind()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                refused!("--out {shown}: there is no directory {parent}; create it first", parent = parent.display())
            }
            _ => {
                let error = crate::language::of_launch(&error);
                refused!("--out {shown} cannot be written ({error}); give another file")
            }
        })?;
        // A run replaces the file, and must not do that to a directory or to /dev/null.
        match kind {
            Kind::Directory => {
                refuse!("--out {shown} is a directory; name a file in it")
            }
            Kind::Other => refuse!("--out {shown} is no regular file; give another file"),
            Kind::Nothing | Kind::File => {}
        }
        let mut journal = stem.to_owned();
        journal.push(JOURNAL);
        let name = stem.to_string_lossy().into_owned();
        Ok(RunFiles { file: file.to_owned(), journal: parent.join(journal), name, replace: true })
    }

    /// A new name in the directory of runs, which is made when it is not there; or why there is none.
    pub fn fresh(started: &str, hostname: &str, unique: &str) -> Result<RunFiles, String> {
        RunFiles::fresh_in(directory(), started, hostname, unique)
    }

    pub fn of_turn(series: &str, hostname: &str) -> Result<RunFiles, String> {
        let (stamp, unique) = moment(now());
        RunFiles::fresh_in(all_series().map(|all| all.join(series)), &stamp, hostname, &unique)
    }

    fn fresh_in(directory: Option<PathBuf>, started: &str, hostname: &str, unique: &str) -> Result<RunFiles, String> {
        let directory = directory.ok_or_else(|| said!("neither XDG_DATA_HOME nor HOME names a directory"))?;
        Directory::make(&directory).map_err(|error| format!("{} cannot be made: {error}", directory.display()))?;
        let name = format!("{started}-{}-{unique}", file_part(hostname));
        let at = |suffix: &str| directory.join(format!("{name}{suffix}"));
        Ok(RunFiles { file: at(".json"), journal: at(".partial.jsonl"), name, replace: false })
    }

    pub fn begun_now(hostname: &str) -> Result<RunFiles, String> {
        let (stamp, unique) = moment(now());
        RunFiles::fresh(&stamp, hostname, &unique)
    }

    /// Files of a run whose journal is already there. A file in its place is replaced if it holds what this run had before.
    pub fn of_journal(journal: &Path, file: &Path, run: &Run) -> Result<RunFiles> {
        let file = parent(journal).join(file);
        let replace = is_part_of(&file, &run.id);
        if !replace && load(&file).is_ok_and(|whole| whole.id == run.id) {
            let (file, journal) = (file.display(), journal.display());
            refuse!("{file} holds this run whole, and its journal is not needed any more; remove {journal}");
        }
        if !replace && file.symlink_metadata().is_ok() {
            refuse!(
                "{file} is there already and is no part of this run; name it by --out to replace it",
                file = file.display()
            );
        }
        Ok(RunFiles { file, journal: journal.to_owned(), name: run.name.clone(), replace })
    }

    /// Writes the run's file: whole and synced, or not at all.
    pub fn save(&self, run: &Run) -> io::Result<()> {
        Place::find(&self.file)?.write(text_of(run).as_bytes(), self.replace)?;
        remember(&self.file, run);
        Ok(())
    }
}

/// Tells whether a file holds the interrupted run of this id.
pub fn is_part_of(file: &Path, id: &str) -> bool {
    load(file).is_ok_and(|run| run.id == id && run.interrupted.is_some())
}

/// A time as names of runs have it: to the second, and a part of a second in 1/65536, so that runs of the same second are in
/// order as well.
pub fn moment(time: Timestamp) -> (String, String) {
    let unique = format!("{:04x}", (i64::from(time.nanoseconds()) << 16) / 1_000_000_000);
    (time.to_string().replace(['-', ':'], ""), unique)
}

/// The name of a new directory beside the runs that are kept, for several that belong together; it is not made.
pub fn fresh_directory(hostname: &str) -> Result<PathBuf> {
    let (stamp, unique) = moment(now());
    let runs = directory()
        .with_context(|| said!("neither XDG_DATA_HOME nor HOME names a directory for the runs; name one by --out"))?;
    Ok(runs.join(format!("{stamp}-{}-{unique}", file_part(hostname))))
}

pub fn now() -> Timestamp {
    (context().now)()
}

pub fn text_of(run: &Run) -> String {
    let json = export::format_named("json").map(|format| format.render_one(run, &RenderOptions::default()));
    json.unwrap_or_default()
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A host's name as a part of a file name.
pub fn file_part(hostname: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let part: String = hostname.chars().take(40).map(keep).collect();
    if part.is_empty() { "host".into() } else { part }
}

/// Every finished run that is kept, oldest first: names begin with the time.
pub fn kept() -> Result<Vec<PathBuf>> {
    directory().map_or_else(|| Ok(Vec::new()), |directory| run_files_in(&directory))
}

/// The end of a journal's name.
pub const JOURNAL: &str = ".partial.jsonl";

pub fn journal_of(file: &Path) -> PathBuf {
    named_like(file, ".json", JOURNAL)
}

/// The file in which a run is kept, if it is, that has this journal.
pub fn run_of(journal: &Path) -> PathBuf {
    named_like(journal, JOURNAL, ".json")
}

fn named_like(path: &Path, ending: &str, other: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let stem = name.strip_suffix(ending.as_bytes()).unwrap_or(name);
    path.with_file_name(OsStr::from_bytes(&[stem, other.as_bytes()].concat()))
}

/// Every journal beside them by which a run can go on, oldest first: that of a run that is whole is none, which stays of a program
/// that was killed before it removed it.
pub fn journals() -> Result<Vec<PathBuf>> {
    let mut journals = directory().map_or_else(|| Ok(Vec::new()), |directory| files_in(&directory, JOURNAL))?;
    journals.retain(|journal| !load(&run_of(journal)).is_ok_and(|run| run.interrupted.is_none()));
    Ok(journals)
}

/// Endings of run files: as they are written, and packed by gzip.
const ENDINGS: [&str; 2] = [".json", ".json.gz"];

/// A file's name without the ending of run files; none where it has another one, or is hidden.
pub fn stem(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).filter(|_| !name.starts_with('.'))
}

/// Leaves out files that are no runs, and those that are packed and lie beside themselves; the others in order.
pub fn only_runs(files: &mut Vec<PathBuf>) {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.retain(|path| stem(&name(path)).is_some());
    files.sort();
    let all: HashSet<PathBuf> = files.iter().cloned().collect();
    files.retain(|path| path.extension().is_none_or(|end| end != "gz") || !all.contains(&path.with_extension("")));
}

fn run_files_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = files_in(directory, "")?;
    only_runs(&mut files);
    Ok(files)
}

/// A directory that is not there holds nothing; one that cannot be read is an error.
fn files_in(directory: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let cannot = |error| unreadable(directory, &error);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(cannot)?,
    };
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Neither a pipe, which would be waited for, nor a device.
        name.ends_with(ending) && !name.starts_with('.') && path.is_file()
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>().map_err(cannot)?;
    files.retain(is_wanted);
    files.sort();
    Ok(files)
}

fn unreadable(directory: &Path, error: &io::Error) -> anyhow::Error {
    refused!(
        "the directory of runs {directory} cannot be read ({error}); become its owner, or set XDG_DATA_HOME to another place",
        directory = directory.display()
    )
}

/// The file of this name in the directory of runs, if it is there.
fn in_store(name: &str) -> Result<Option<PathBuf>> {
    let Some(directory) = directory() else { return Ok(None) };
    let path = directory.join(name);
    match path.try_exists() {
        Ok(is_there) => Ok((is_there && path.is_file()).then_some(path)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(unreadable(&directory, &error)),
        // No such name can be: too long, or through a file.
        Err(_) => Ok(None),
    }
}

/// The journal that a person means: a file, or the name of a run that was cut short; nothing means the newest.
pub fn find_journal(run: &str) -> Result<PathBuf> {
    if run.is_empty() {
        return journals()?
            .pop()
            .with_context(|| said!("no run on this machine was cut short; hostmark run begins one"));
    }
    let path = PathBuf::from(run);
    if path.is_file() && run.ends_with(JOURNAL) {
        return Ok(path);
    }
    in_store(&format!("{run}{JOURNAL}"))?
        .with_context(|| said!("there is no run '{run}' that was cut short; give its name or its journal"))
}

/// The newest run that was given this name, or was measured on a host of this name: what stands between the time and its part of a second.
fn newest_named(name: &str) -> Result<Option<PathBuf>> {
    let is_named = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let parts = stem.split_once('-').and_then(|(_, rest)| rest.rsplit_once('-'));
        parts.is_some_and(|(middle, _)| middle == name)
    };
    Ok(kept()?.into_iter().rev().find(is_named))
}

/// The file that a person means by `run`: a file, `last`, `last-1` …, or the name of a run that is kept.
pub fn find(run: &str) -> Result<PathBuf> {
    let back = match run {
        "last" => Some(0),
        _ => run.strip_prefix("last-").and_then(|number| number.parse::<usize>().ok()),
    };
    if let Some(back) = back {
        let mut kept = kept()?;
        let all = kept.len();
        // One without a value says nothing to who asks for the last. One that cannot be read is told of.
        let mut summaries = summaries(&kept).into_iter().map(|run| run.is_ok_and(|run| run.measured == 0));
        kept.retain(|_| summaries.next() != Some(true));
        let index = kept.len().checked_sub(back + 1);
        return index.map(|index| kept[index].clone()).with_context(|| match kept.len() {
            0 if all == 0 => said!("no run is kept on this machine; hostmark run makes one"),
            0 => said!("none of the runs that are kept on this machine ({all}) has a value; hostmark runs lists them"),
            count => {
                said!("there is no {run}, since {count} runs with values are kept on this machine; go back less far")
            }
        });
    }
    let path = PathBuf::from(run);
    if path.exists() {
        return Ok(path);
    }
    let found =
        ENDINGS.iter().map(|ending| in_store(&format!("{run}{ending}"))).find(|found| !matches!(found, Ok(None)));
    let found = found.transpose()?.flatten();
    let found = found.map_or_else(|| newest_named(run), |path| Ok(Some(path)))?;
    found.with_context(|| match run.contains('/') || run.ends_with(".json") || run.ends_with(".json.gz") {
        true => said!("there is no file {run}; give another, a run's name, or last"),
        false => said!("there is no run '{run}'; give a file, a run's name, or last"),
    })
}

pub fn load(path: &Path) -> Result<Run> {
    let text = text(path)?;
    // A number cut off at its sign, point or exponent would be called invalid rather than cut off; no run ends so.
    let run = load_run(text.trim_end_matches(['-', '+', '.', 'e', 'E']));
    run.map(hostmark_probes::run_of_today)
        .map_err(|error| anyhow::anyhow!("{} {}", path.display(), crate::language::spoken(&error.message())))
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// All of a file that is to hold a run, unpacked where it is packed; none where that is more than a run has.
pub fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let bytes = regular::all_of(&regular::open_to_read(path)?)?;
    let Some(packed) = bytes.as_deref().filter(|bytes| bytes.starts_with(&GZIP)) else { return Ok(bytes) };
    let mut unpacked = Vec::new();
    // A few bytes may be packed of any number.
    let length = MultiGzDecoder::new(packed).take(regular::MOST_BYTES + 1).read_to_end(&mut unpacked)?;
    Ok((length as u64 <= regular::MOST_BYTES).then_some(unpacked))
}

/// The text of a file that is to hold a run.
pub fn text(path: &Path) -> Result<String> {
    let shown = path.display();
    let bytes = match bytes(path) {
        Err(error) => refuse!("{shown} cannot be read: {error}; give another file"),
        Ok(None) => {
            let most = regular::MOST_BYTES >> 20;
            refuse!("{shown} has over {most} MiB, more than any run; give a file that `hostmark run` wrote")
        }
        Ok(Some(bytes)) if bytes.is_empty() => {
            refuse!("{shown} is empty; restore it, or measure again")
        }
        Ok(Some(bytes)) => bytes,
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        // It ends inside a character: it is cut off there, which is told below.
        Err(error) if error.error_len().is_none() => {
            Ok(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default().to_owned())
        }
        Err(_) => refuse!("{shown} is no text, and so no hostmark run; give a file that `hostmark run` wrote"),
    }
}

/// Writes `text` to a file that a person named: a regular file whole or not at all, anything else as it can be.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let place = Place::find(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), format!("there is no directory {}", parent(path).display()))
        }
        _ => error,
    })?;
    place.write(text.as_bytes(), true)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub name: String,
    #[serde(default)]
    pub note: Option<String>,
    pub id: String,
    pub started: String,
    pub finished: Option<String>,
    pub host: String,
    pub profile: Profile,
    pub imported: Option<Imported>,
    pub filters: Vec<String>,
    pub measured: usize,
    pub skipped: usize,
    pub failed: usize,
    pub interrupted: Option<String>,
}

impl Summary {
    pub fn of(run: &Run) -> Summary {
        let count = |is: fn(&Outcome) -> bool| run.cases.iter().filter(|case| is(&case.outcome)).count();
        Summary {
            name: run.name.clone(),
            note: run.note.clone(),
            id: run.id.clone(),
            started: run.started.clone(),
            finished: run.finished.clone(),
            host: run.host.hostname.clone(),
            profile: run.settings.profile,
            imported: run.imported.clone(),
            filters: run.settings.filters.clone(),
            measured: count(|outcome| matches!(outcome, Outcome::Measured(_))),
            skipped: count(|outcome| matches!(outcome, Outcome::Skipped { .. })),
            failed: count(|outcome| matches!(outcome, Outcome::Failed { .. })),
            interrupted: run.interrupted.clone(),
        }
    }
}

/// File of the cached summaries: beside the directory of runs, in which nothing but runs lies.
fn index() -> Option<PathBuf> {
    Some(directory()?.with_file_name("summaries.json"))
}

/// The form of that file: one of another form is made anew.
const FORM: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Remembered {
    form: u32,
    runs: HashMap<String, CachedSummary>,
}

/// A summary, and the file that it was made of.
#[derive(Clone, Serialize, Deserialize)]
struct CachedSummary {
    file: Version,
    run: Summary,
}

/// Version of a file, to notice a change. Of the two times nobody sets the second.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Version {
    inode: u64,
    bytes: u64,
    modified_ns: i64,
    changed_ns: i64,
}

impl Version {
    fn of(path: &Path) -> Option<Version> {
        let facts = fs::metadata(path).ok()?;
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Some(Version {
            inode: facts.ino(),
            bytes: facts.len(),
            modified_ns: ns(facts.mtime(), facts.mtime_nsec()),
            changed_ns: ns(facts.ctime(), facts.ctime_nsec()),
        })
    }
}

/// The summaries of these files of the directory of runs, each as it is or why there is none. What is remembered stands only for the
/// very file that it was made of; all else is read, and remembered for the next time where that can be.
pub fn summaries(files: &[PathBuf]) -> Vec<anyhow::Result<Summary>> {
    let index = index();
    let remembered = index.as_deref().and_then(read).unwrap_or_default();
    let mut now = HashMap::new();
    let mut is_new = false;
    let mut of = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let version = Version::of(path);
        let known = remembered.get(&name).filter(|known| Some(known.file) == version);
        let run = match known {
            Some(known) => known.run.clone(),
            None => {
                is_new = true;
                Summary::of(&load(path)?)
            }
        };
        // One that was written meanwhile is read again the next time.
        if let Some(file) = version.filter(|version| Version::of(path) == Some(*version)) {
            now.insert(name, CachedSummary { file, run: run.clone() });
        }
        Ok(run)
    };
    let all = files.iter().map(&mut of).collect();
    if (is_new || now.len() < remembered.len())
        && let Some(index) = index
    {
        write_summary(&index, now);
    }
    all
}

/// Remembers the summary of a run that was just kept in this file, where that is one of the directory of runs.
pub fn remember(path: &Path, run: &Run) {
    let is_kept = directory().is_some_and(|directory| path.parent() == Some(&directory));
    let (Some(name), Some(file), Some(index)) = (path.file_name(), Version::of(path), index().filter(|_| is_kept))
    else {
        return;
    };
    let mut runs = read(&index).unwrap_or_default();
    runs.insert(name.to_string_lossy().into_owned(), CachedSummary { file, run: Summary::of(run) });
    write_summary(&index, runs);
}

/// Writes the cached summaries; if that fails, all runs are read again.
fn write_summary(index: &Path, runs: HashMap<String, CachedSummary>) {
    // A link leads to what is not ours.
    let entry = Place::entry(index).ok().filter(|entry| [Kind::Nothing, Kind::File].contains(&entry.kind()));
    if let (Ok(text), Some(entry)) = (serde_json::to_string(&Remembered { form: FORM, runs }), entry) {
        let _ = entry.write(text.as_bytes(), true);
    }
}

/// Reads the cached summaries; none of a file that is torn, of another form, or missing.
fn read(index: &Path) -> Option<HashMap<String, CachedSummary>> {
    let file = fs::symlink_metadata(index)
        .ok()
        .filter(fs::Metadata::is_file)
        .and_then(|_| regular::open_to_read(index).ok())?;
    let remembered: Remembered = serde_json::from_slice(&regular::all_of(&file).ok()??).ok()?;
    (remembered.form == FORM).then_some(remembered.runs)
}

/// Tries to make something in a directory that is there.
pub fn check(directory: &Path) -> io::Result<()> {
    // A file without a name leaves nothing, whoever is killed when; not every filesystem has them.
    let nameless = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    if rustix::fs::open(directory, nameless, Mode::RUSR | Mode::WUSR).is_ok() {
        return Ok(());
    }
    let inside = Directory::open(directory)?.entry(OsStr::new(&fresh_name()?))?;
    inside.create_new(Mode::RUSR | Mode::WUSR)?;
    inside.remove()
}

/// The same for a directory that may have to be made first, with those above it.
pub fn check_new(directory: &Path) -> io::Result<()> {
    let whole = std::path::absolute(directory)?;
    match whole.ancestors().find(|above| above.exists()) {
        None => Ok(()),
        Some(there) if there == whole => check(there),
        Some(above) => {
            let (above, name) = (Directory::open(above)?, fresh_name()?);
            above.make_below(&name)?;
            above.remove_below(&name)
        }
    }
}
