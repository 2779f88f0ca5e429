//! The sides of a comparison: which runs a person means, and what earlier runs tell of their environments.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use hostmark_model::{Lang, Run};
use hostmark_report::compare::{History, Pool};

use crate::command::load;
use crate::store;

/// Earlier runs that are read at most, the newest: each is some megabytes of text.
const MOST_EARLIER: usize = 60;

/// One side: what it is called, and its runs.
pub struct Side {
    /// As it was typed.
    pub name: String,
    /// At least one.
    pub runs: Vec<Run>,
}

impl Side {
    /// The side as a comparison takes it.
    pub fn pool(&self) -> Pool<'_> {
        Pool { name: &self.name, runs: &self.runs }
    }
}

/// The sides that a person names, the base first.
pub fn read(names: &[String], lang: Lang) -> Result<Vec<Side>> {
    if names.len() < 2 {
        bail!("a comparison has a base and something new; give both, as hostmark compare last-1 last");
    }
    let sides = names.iter().map(|name| side(name, lang)).collect::<Result<Vec<Side>>>()?;
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for side in &sides {
        for run in &side.runs {
            if let Some(other) = seen.insert(&run.id, &side.name) {
                bail!(
                    "the run {} is in '{other}' and again in '{}'; a run compared with itself tells nothing, so name each \
                     run once",
                    run.name,
                    side.name
                );
            }
        }
    }
    Ok(sides)
}

fn side(name: &str, lang: Lang) -> Result<Side> {
    let runs = files(name)?.iter().map(|file| load::checked(file, lang)).collect::<Result<Vec<Run>>>()?;
    if runs.is_empty() {
        bail!("'{name}' names no run; give a file, a run's name, or last");
    }
    // `last` is another run tomorrow.
    let name = match runs.as_slice() {
        [only] if !Path::new(name).exists() => only.name.clone(),
        _ => name.to_owned(),
    };
    Ok(Side { name, runs })
}

/// The files of one side: one run, several with commas between, a pattern, or a directory of runs.
fn files(name: &str) -> Result<Vec<PathBuf>> {
    if Path::new(name).is_dir() {
        let found = matching(Path::new(name), "*.json")?;
        if found.is_empty() {
            bail!("there is no run (*.json) in {name}; give another directory");
        }
        return Ok(found);
    }
    // A file may have a comma or a star in its name.
    if Path::new(name).exists() || !name.contains([',', '*', '?']) {
        return Ok(vec![store::find(name)?]);
    }
    let mut all = Vec::new();
    for part in name.split(',').filter(|part| !part.is_empty()) {
        if !part.contains(['*', '?']) || Path::new(part).exists() {
            all.push(store::find(part)?);
            continue;
        }
        let found = of_pattern(part)?;
        if found.is_empty() {
            bail!("no run is called like '{part}'; hostmark runs shows those that are kept");
        }
        all.extend(found);
    }
    Ok(all)
}

/// The runs that a pattern names: files where it says, else runs that are kept.
fn of_pattern(pattern: &str) -> Result<Vec<PathBuf>> {
    let (folder, name) = match pattern.rsplit_once('/') {
        Some(("", name)) => (PathBuf::from("/"), name),
        Some((folder, name)) => (PathBuf::from(folder), name),
        None => (PathBuf::from("."), pattern),
    };
    let found = matching(&folder, name)?;
    if !found.is_empty() || pattern.contains('/') {
        return Ok(found);
    }
    let is_meant = |path: &PathBuf| path.file_stem().is_some_and(|stem| is_like(&stem.to_string_lossy(), name));
    Ok(store::kept()?.into_iter().filter(is_meant).collect())
}

/// The files of a directory whose names are like `pattern`, in order.
fn matching(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            bail!("{} cannot be read ({error}); give a directory that may be read", folder.display())
        }
        Err(_) => return Ok(Vec::new()),
        Ok(entries) => entries,
    };
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        is_like(&name, pattern) && !name.starts_with('.') && path.is_file()
    };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_wanted).collect();
    found.sort();
    Ok(found)
}

/// Whether a name is like a pattern: `*` stands for any characters, `?` for one.
fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) = (name.chars().collect(), pattern.chars().collect());
    // How far the pattern's beginnings reach: `ends[n]` says whether the first n characters of the name are like it.
    let mut ends = vec![false; name.len() + 1];
    ends[0] = true;
    for &wanted in &pattern {
        if wanted == '*' {
            for n in 1..=name.len() {
                ends[n] |= ends[n - 1];
            }
        } else {
            for n in (1..=name.len()).rev() {
                ends[n] = ends[n - 1] && (wanted == '?' || wanted == name[n - 1]);
            }
            ends[0] = false;
        }
    }
    ends[name.len()]
}

/// What the runs that are kept here tell of how much runs of the sides' hosts differ. What cannot be read tells nothing.
pub fn history(sides: &[Side]) -> History {
    let mut history = History::default();
    let hosts: HashSet<String> =
        sides.iter().flat_map(|side| &side.runs).map(|run| store::file_part(&run.host.hostname)).collect();
    let of_hosts = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        hosts.iter().any(|host| name.contains(&format!("-{host}-")))
    };
    for path in store::kept().unwrap_or_default().into_iter().rev().filter(of_hosts).take(MOST_EARLIER) {
        if let Ok(run) = store::load(&path) {
            history.add(&run);
        }
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (name, pattern) in
            [("before-1.json", "before-*.json"), ("a", "?"), ("ab", "**b"), ("", "*"), ("a*b", "a*b")]
        {
            assert!(is_like(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("after-1.json", "before-*"), ("ab", "?"), ("", "?"), ("abc", "a*b"), ("a", "")] {
            assert!(!is_like(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn a_directory_a_pattern_and_a_list_are_pools() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a-2.json", "a-1.json", "b,c.json", ".a-3.json", "notes.txt"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let at = |name: &str| directory.path().join(name).display().to_string();
        let names = |side: &str| -> Vec<String> {
            let found = files(side).unwrap();
            found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(&at("")), ["a-1.json", "a-2.json", "b,c.json"]);
        assert_eq!(names(&at("a-*.json")), ["a-1.json", "a-2.json"]);
        assert_eq!(names(&format!("{},{}", at("a-2.json"), at("a-1.json"))), ["a-2.json", "a-1.json"]);
        assert_eq!(names(&at("b,c.json")), ["b,c.json"]);
        assert!(files(&at("x-*.json")).is_err());
    }
}
