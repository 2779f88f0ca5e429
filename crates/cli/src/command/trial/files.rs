//! Where a trial keeps its runs.

use std::path::Path;

use anyhow::Result;
use hostmark_engine::sys::place::Directory;

use crate::command::unwritten;
use crate::language::{refuse, said};
use crate::{store, writable};

/// What the file of a side's run is called; the first turn is 0.
pub fn stem(side: &str, turn: u32) -> String {
    format!("{side}-{:02}", turn + 1)
}

/// The directory for the runs of these sides, made where it is not there; one that holds runs of earlier turns is refused.
pub fn prepare<'a>(directory: &Path, sides: impl Iterator<Item = &'a str>) -> Result<()> {
    refuse_used(directory, sides)?;
    Directory::make(directory).map(drop).map_err(|error| unmade(directory, &error))
}

/// Refuses a directory that [`prepare`] would refuse, and makes none.
pub fn check<'a>(directory: &Path, sides: impl Iterator<Item = &'a str>) -> Result<()> {
    refuse_used(directory, sides)?;
    writable::check_new(directory).map_err(|error| unmade(directory, &error))
}

fn unmade(directory: &Path, error: &std::io::Error) -> anyhow::Error {
    unwritten(error, &said!("{directory} cannot be made", directory = directory.display()), &another_directory())
}

/// Refuses a directory that holds runs of these sides.
fn refuse_used<'a>(directory: &Path, mut sides: impl Iterator<Item = &'a str>) -> Result<()> {
    if sides.any(|side| directory.join(format!("{}.json", stem(side, 0))).exists()) {
        refuse!("{directory} holds runs of an earlier trial; give another directory", directory = directory.display());
    }
    Ok(())
}

/// Keeps a run there.
pub fn keep(directory: &Path, stem: &str, text: &str) -> Result<()> {
    let file = directory.join(format!("{stem}.json"));
    store::write(&file, text).map_err(|error| {
        unwritten(&error, &said!("{file} cannot be written", file = file.display()), &another_directory())
    })
}

fn another_directory() -> String {
    said!("give another directory")
}
