//! Arguments that may mean several runs: a list with commas, a pattern, or a directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::language::refuse;
use crate::store;

/// Whether an argument may mean several runs. A file may have a comma or a star in its name.
pub fn is_meant(name: &str) -> bool {
    let path = Path::new(name);
    path.is_dir() || !path.exists() && (name.contains([',', '*', '?']) || store::series(name).is_some())
}

/// The files of one argument, at least one: one run, several with commas between, a pattern, or a directory of runs.
pub fn files(name: &str) -> Result<Vec<PathBuf>> {
    if !Path::new(name).exists() && store::series(name).is_some() {
        let found = store::turns(name)?;
        if found.is_empty() {
            refuse!("the series {name} has no turn; measure one by hostmark watch");
        }
        return Ok(found);
    }
    if Path::new(name).is_dir() {
        let mut found = matching(Path::new(name), "*")?;
        store::only_runs(&mut found);
        if found.is_empty() {
            refuse!("there is no run (*.json) in {name}; give another directory");
        }
        return Ok(found);
    }
    if !is_meant(name) {
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
            refuse!("no run is called like '{part}'; hostmark runs shows those that are kept");
        }
        all.extend(found);
    }
    if all.is_empty() {
        refuse!("'{name}' names no run; give a file, a run's name, or last");
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
            refuse!("{folder} cannot be read ({error}); give a directory that may be read", folder = folder.display())
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
