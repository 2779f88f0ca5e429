//! The runs kept on this machine: where they lie, how they are named, how one is found again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hostmark_model::{Run, load_run};

/// Where runs are kept: `$XDG_DATA_HOME/hostmark/runs`, else `~/.local/share/hostmark/runs`.
pub fn directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("hostmark").join("runs"))
}

/// Where one run goes: its file, and its journal while it goes on.
#[derive(Debug, Clone)]
pub struct Place {
    /// The run file.
    pub file: PathBuf,
    /// The journal.
    pub journal: PathBuf,
    /// The run's name: the file's stem.
    pub name: String,
    /// Whether a file that is already there may be replaced: the person named it.
    replace: bool,
}

impl Place {
    /// The file that the person named.
    pub fn named(file: &Path) -> Result<Place> {
        let name = file.file_stem().and_then(|stem| stem.to_str()).context("--out needs a file name")?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !parent.is_dir() {
            bail!("--out {}: there is no directory {}; create it first", file.display(), parent.display());
        }
        let journal = parent.join(format!("{name}.partial.jsonl"));
        Ok(Place { file: file.to_owned(), journal, name: name.to_owned(), replace: true })
    }

    /// A new name in the directory of runs, which is made when it is not there.
    pub fn fresh(started: &str, hostname: &str, unique: &str) -> Result<Place> {
        let directory = directory().context("neither XDG_DATA_HOME nor HOME names a directory")?;
        fs::create_dir_all(&directory).with_context(|| format!("{} cannot be made", directory.display()))?;
        let name = format!("{started}-{}-{unique}", file_part(hostname));
        let at = |suffix: &str| directory.join(format!("{name}{suffix}"));
        Ok(Place { file: at(".json"), journal: at(".partial.jsonl"), name, replace: false })
    }

    /// Writes the run's file: whole and synced, or not at all.
    pub fn save(&self, text: &str) -> io::Result<()> {
        let directory = self.file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".hostmark-").suffix(".tmp").tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        // A run is for others to read as well, as any file that a program writes.
        rustix::fs::fchmod(file.as_file(), rustix::fs::Mode::from_raw_mode(0o644))?;
        let persisted = if self.replace { file.persist(&self.file) } else { file.persist_noclobber(&self.file) };
        persisted.map(drop).map_err(|error| error.error)
    }
}

/// A host's name as a part of a file name.
fn file_part(hostname: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let part: String = hostname.chars().take(40).map(keep).collect();
    if part.is_empty() { "host".into() } else { part }
}

/// Every finished run that is kept, oldest first: names begin with the time.
fn kept() -> Vec<PathBuf> {
    let Some(entries) = directory().and_then(|directory| fs::read_dir(directory).ok()) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    files.sort();
    files
}

/// The file that a person means by `run`: a file, `last`, `last-1` …, or the name of a run that is kept.
pub fn find(run: &str) -> Result<PathBuf> {
    let back = match run {
        "last" => Some(0),
        _ => run.strip_prefix("last-").and_then(|number| number.parse::<usize>().ok()),
    };
    if let Some(back) = back {
        let kept = kept();
        let index = kept.len().checked_sub(back + 1);
        return index.map(|index| kept[index].clone()).with_context(|| match kept.len() {
            0 => "no run is kept on this machine; hostmark run makes one".to_owned(),
            count => format!("there is no {run}, since {count} runs are kept on this machine; go back less far"),
        });
    }
    let path = PathBuf::from(run);
    if path.exists() {
        return Ok(path);
    }
    let named = directory().map(|directory| directory.join(format!("{run}.json"))).filter(|path| path.exists());
    named.with_context(|| format!("there is no run '{run}'; give a file, a run's name, or last"))
}

/// Reads a run.
pub fn load(path: &Path) -> Result<Run> {
    let text = match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .ok()
            .with_context(|| format!("{} is no text, and so no hostmark run; give a file that `hostmark run` wrote", path.display()))?,
        Err(error) => bail!("{} cannot be read: {error}; give another file", path.display()),
    };
    load_run(&text).map_err(|error| anyhow::anyhow!("{} {error}", path.display()))
}

/// Writes `text` to a file that a person named.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let written = OpenOptions::new().write(true).create(true).truncate(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("{} cannot be written; give another file", path.display()))
}
