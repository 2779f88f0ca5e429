//! `hostmark runs --changes`: when the values of this machine's kept runs changed for good.

use std::path::PathBuf;

use anyhow::Result;
use hostmark_analysis::fleet::{Gathering, HostChange, changes};
use hostmark_analysis::words;
use hostmark_model::{Exit, Text};
use hostmark_say::say;

use crate::command::EndsWith;
use crate::language::current;
use crate::{output, store};

/// The changes of the cases that these filters name, of all where there is none, and of how many runs. One file is in memory at a time.
pub fn found(files: &[PathBuf], filters: &[String]) -> Result<(Vec<HostChange>, usize)> {
    let mut gathering = Gathering::new(filters);
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match store::bytes(path) {
            Ok(Some(bytes)) => gathering.read(&name, &bytes),
            Ok(None) => gathering.refuse(&name, too_large()),
            Err(error) => gathering.refuse(&name, cannot(&error)),
        }
    }
    for unread in gathering.unread() {
        output::complain(&format!("{} {}", unread.file, unread.reason.get(current())));
    }
    if !filters.is_empty() && gathering.runs() > 0 && !gathering.has_cases() {
        let named = filters.join(" ");
        let sentence = say!("no kept run has a case of {named}; name groups, probes or cases as hostmark list does");
        return Err(EndsWith(Exit::NothingSelected, sentence).into());
    }
    Ok((changes(&gathering), gathering.runs()))
}

fn too_large() -> Text<String> {
    term!("is too large for a run").to_owned_text()
}

fn cannot(error: &std::io::Error) -> Text<String> {
    words(say!("cannot be read ({error})"))
}
