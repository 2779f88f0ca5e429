//! What a list says of each kept run, remembered beside the runs: whole runs are megabytes, and a thousand take seconds to read.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hostmark_engine::sys::place::{Kind, Place};
use hostmark_engine::sys::regular;
use hostmark_model::{Imported, Outcome, Profile, Run};
use serde::{Deserialize, Serialize};

use super::{directory, load};

/// What is said of a run.
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
    /// Of a run as its file has it.
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

/// Where the summaries are remembered: beside the directory of runs, in which nothing but runs lies.
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

/// What changes when a file does. Of the two times nobody sets the second.
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
        write(&index, now);
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
    write(&index, runs);
}

/// Where it cannot be written, all is read again.
fn write(index: &Path, runs: HashMap<String, CachedSummary>) {
    // A link leads to what is not ours.
    let entry = Place::entry(index).ok().filter(|entry| [Kind::Nothing, Kind::File].contains(&entry.kind()));
    if let (Ok(text), Some(entry)) = (serde_json::to_string(&Remembered { form: FORM, runs }), entry) {
        let _ = entry.write(text.as_bytes(), true);
    }
}

/// What is remembered; nothing of what is torn, of another form, or no file.
fn read(index: &Path) -> Option<HashMap<String, CachedSummary>> {
    let file = fs::symlink_metadata(index)
        .ok()
        .filter(fs::Metadata::is_file)
        .and_then(|_| regular::open_to_read(index).ok())?;
    let remembered: Remembered = serde_json::from_slice(&regular::all_of(&file).ok()??).ok()?;
    (remembered.form == FORM).then_some(remembered.runs)
}
