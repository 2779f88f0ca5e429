//! The run files below a directory, however many and whatever else lies there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::{self, JOURNAL};

/// Directories below each other that are gone into.
const DEEPEST: usize = 8;
/// Entries that are looked at: a directory may be without end for all practical purposes.
const MOST_ENTRIES: usize = 2_000_000;

/// What was found.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// Run files by their names, in order.
    pub files: Vec<PathBuf>,
    /// Runs that were cut short, as their journals tell.
    pub journals: Vec<PathBuf>,
    /// Directories that could not be read, and why.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Whether there were more entries than are looked at.
    pub is_cut: bool,
}

/// Everything below `directory` that is called like a run. Links are not followed into directories, so that nothing is read twice
/// or without end; hidden files are nobody's runs.
pub fn below(directory: &Path) -> io::Result<FoundFiles> {
    let mut found = FoundFiles::default();
    let mut entries = 0;
    let mut pending = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        let listed = match fs::read_dir(&directory) {
            Ok(listed) => listed,
            Err(error) if depth == 0 => return Err(error),
            Err(error) => {
                found.unreadable.push((directory, error));
                continue;
            }
        };
        for entry in listed {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    found.unreadable.push((directory.clone(), error));
                    break;
                }
            };
            entries += 1;
            if entries > MOST_ENTRIES {
                found.is_cut = true;
                pending.clear();
                break;
            }
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEEPEST {
                    pending.push((path, depth + 1));
                }
            } else if name.ends_with(JOURNAL) {
                found.journals.push(path);
            } else if store::stem(&name).is_some() {
                found.files.push(path);
            }
        }
    }
    store::only_runs(&mut found.files);
    // A journal beside its run is that of a run that ended while it was being removed.
    found.journals.retain(|journal| {
        let whole = PathBuf::from(journal.to_string_lossy().replace(JOURNAL, ".json"));
        found.files.binary_search(&whole).is_err()
    });
    found.journals.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_below_and_nothing_is_gone_into_twice() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("a/b/c/d/e/f/g/h/i/j")).unwrap();
        for name in
            ["one.json", "a/two.json", "a/notes.txt", "a/.hidden.json", "cut.partial.jsonl", "one.partial.jsonl"]
        {
            fs::write(at(name), "{}").unwrap();
        }
        fs::write(at("a/b/c/d/e/f/g/h/i/j/deep.json"), "{}").unwrap();
        std::os::unix::fs::symlink(root.path(), at("a/again")).unwrap();
        let found = below(root.path()).unwrap();
        let names = |paths: &[PathBuf]| -> Vec<String> {
            let short = |path: &PathBuf| path.strip_prefix(root.path()).unwrap().to_string_lossy().into_owned();
            paths.iter().map(short).collect()
        };
        assert_eq!(names(&found.files), ["a/two.json", "one.json"]);
        assert_eq!(names(&found.journals), ["cut.partial.jsonl"]);
        assert!(!found.is_cut && found.unreadable.is_empty());
        assert!(below(&at("nowhere")).is_err());
    }
}
