//! `hostmark runs --prune`: removes kept runs that are no longer wanted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::value;
use hostmark_engine::sys::place::Place;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Exit, Unit};

use crate::language::{current, said};
use crate::output;
use crate::store;
use crate::store::summary::{Summary, summaries};

/// Which runs go.
#[derive(Debug, Clone, Copy)]
pub struct Unwanted {
    /// All but so many of the newest.
    pub keep: Option<u32>,
    /// Those that began so many days ago or earlier.
    pub older_than: Option<i64>,
    /// Whether it is only said.
    pub is_dry: bool,
}

/// A run that goes: its file, what that is, and its size.
struct Candidate<'a> {
    path: &'a Path,
    inode: (u64, u64),
    bytes: u64,
}

/// Removes what is unwanted of these run files, oldest first, and says what: never the newest, and nothing that is no run of
/// hostmark's, as a link is none. A run that does not say when it began stays.
pub fn prune(files: &[PathBuf], unwanted: Unwanted, now: Timestamp) -> Result<Exit> {
    let dated = |(path, summary): (&'_ PathBuf, Result<Summary>)| {
        Some((Timestamp::parse(&summary.ok()?.started)?, path.clone()))
    };
    let mut runs: Vec<(Timestamp, PathBuf)> = files.iter().zip(summaries(files)).filter_map(dated).collect();
    runs.sort();
    let count = runs.len();
    let limit = unwanted.older_than.and_then(|days| now.days_before(days));
    let goes = |index: usize, began: Timestamp| {
        let newer = count - 1 - index;
        let is_beyond = unwanted.keep.is_none_or(|keep| newer >= keep as usize);
        let is_old = unwanted.older_than.is_none() || limit.is_some_and(|limit| began <= limit);
        newer > 0 && is_beyond && is_old
    };
    let chosen = runs.iter().enumerate().filter(|(index, (began, _))| goes(*index, *began));
    let candidates: Vec<Candidate> = chosen.filter_map(|(_, (_, path))| candidate(path)).collect();
    let mut freed = 0;
    let mut gone: usize = 0;
    for candidate in candidates {
        let shown = visible(&candidate.path.display().to_string());
        let size = value(candidate.bytes as f64, Unit::Bytes, current());
        if unwanted.is_dry {
            output::print(&said!("would remove {shown} ({size})\n"));
        } else if let Err(error) = remove(&candidate) {
            output::complain(&said!("{shown} cannot be removed ({error}); become its owner"));
            continue;
        } else {
            output::print(&said!("removed {shown} ({size})\n"));
        }
        (gone, freed) = (gone + 1, freed + candidate.bytes);
    }
    let (freed, left) = (value(freed as f64, Unit::Bytes, current()), count - gone);
    output::print(&match unwanted.is_dry {
        true => said!("{gone} of {count} runs would go, {freed}\n"),
        false => said!("{gone} of {count} runs are gone, {freed}; {left} are kept\n"),
    });
    Ok(Exit::Fine)
}

/// A regular file under this very name.
fn candidate(path: &Path) -> Option<Candidate<'_>> {
    let facts = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(Candidate { path, inode: (facts.dev(), facts.ino()), bytes: facts.len() })
}

/// Removes the file, unless its name is another's meanwhile.
fn remove(candidate: &Candidate) -> std::io::Result<()> {
    let facts = fs::symlink_metadata(candidate.path)?;
    if (facts.dev(), facts.ino()) != candidate.inode {
        return Err(std::io::Error::other(said!("another file has its name now")));
    }
    Place::entry(candidate.path)?.remove()?;
    // Nothing is left of a run that was stopped.
    let _ = Place::entry(&store::journal_of(candidate.path)).and_then(|journal| journal.remove());
    Ok(())
}

/// Days as a person types them: `90d`, `12w`, `1y`.
pub fn days(typed: &str) -> Result<i64, String> {
    let (digits, times) = match typed.char_indices().last() {
        Some((at, 'd')) => (&typed[..at], 1),
        Some((at, 'w')) => (&typed[..at], 7),
        Some((at, 'y')) => (&typed[..at], 365),
        _ => ("", 0),
    };
    let is_number = !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse::<i64>().ok()).flatten();
    // No calendar has more.
    let days = number.map(|number| number * times).filter(|days| (1..=1_000_000).contains(days));
    days.ok_or_else(|| said!("it is no age; give one as 90d, 12w or 1y"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_number_and_a_unit() {
        assert_eq!(days("90d"), Ok(90));
        assert_eq!((days("2w"), days("1y")), (Ok(14), Ok(365)));
        for wrong in ["", "d", "90", "0d", "-1d", "1h", "9999999d", "1.5d", "١d", "99999y"] {
            assert!(days(wrong).is_err(), "{wrong}");
        }
    }
}
