//! Where a run is kept: its file, and its journal while it goes on.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Result;
use hostmark_analysis::escape::visible;
use hostmark_engine::sys::place::Place;
use hostmark_engine::{Journal, Origin, PlanLine};
use hostmark_model::{Elsewhere, PathBytes, Run};
use hostmark_say::say;

use super::retyped;
use crate::command::{EndsWith, exit_of, message, unwritten};
use crate::language::{refused, said};
use crate::store::{self, RunFiles};
use crate::{output, words, writable};

/// Where a run goes: nowhere where it cannot be kept.
#[derive(Default)]
pub struct RunDestination {
    /// Its file.
    pub place: Option<RunFiles>,
    /// Its journal.
    pub journal: Option<Journal>,
    /// The command line that goes on with it, where one can.
    pub resume: Option<String>,
}

/// Who may go on with a run.
pub struct Author {
    /// What tells the program from any other.
    pub binary: String,
    /// Where else it measures.
    pub elsewhere: Option<Elsewhere>,
}

impl RunDestination {
    /// Makes the place of a run that begins, and names the run after it: the file that a person named, else one with the others.
    pub fn begin(
        run: &mut Run,
        named: Option<&RunFiles>,
        planned: &PlanLine,
        author: Author,
    ) -> Result<RunDestination> {
        let place = match named {
            Some(place) => Some(place.clone()),
            None => keep(&run.host.hostname),
        };
        let Some(place) = place else { return Ok(RunDestination::default()) };
        run.name.clone_from(&place.name);
        let resume = retyped::line(&place.journal, &run.settings.inputs, author.elsewhere.as_ref());
        let journal = open_journal(&place, named.is_some(), run, planned, author)?;
        Ok(RunDestination { place: Some(place).filter(|_| journal.is_some()), journal, resume })
    }

    /// Saves the run's file, and removes the journal, which would only be a copy: by that of a run that was stopped it goes on.
    /// None where it is not kept.
    pub fn save(self, run: &Run) -> Option<(RunFiles, io::Result<()>)> {
        let goes_on = self.goes_on(run).is_some();
        let place = self.place?;
        let saved = place.save(run);
        if saved.is_ok()
            && !goes_on
            && let Some(journal) = self.journal
        {
            let _ = journal.remove();
        }
        Some((place, saved))
    }

    /// The command line that goes on with this run, where it was stopped.
    pub fn goes_on(&self, run: &Run) -> Option<&str> {
        run.interrupted.as_ref().and(self.journal.as_ref()).and(self.resume.as_deref())
    }

    /// What can be done with the rounds in the journal: the run can go on, unless a server measured it. Nothing without one.
    pub fn what_to_do(&self) -> Option<String> {
        let path = self.journal.as_ref()?.path().display().to_string();
        let report =
            || format!("hostmark report --reestimate {}", words::quoted(&path).unwrap_or_else(|| visible(&path)));
        Some(self.resume.clone().unwrap_or_else(report))
    }

    /// An error after which there are rounds, told with what can be done with them.
    pub fn goes_on_later(self, error: anyhow::Error, rounds: usize) -> anyhow::Error {
        let Some(what) = self.what_to_do() else { return error };
        let (exit, sentence) = (exit_of(&error), message(&error));
        let sentence = match rounds {
            1 => say!("{sentence}; 1 round is kept: {what}"),
            _ => say!("{sentence}; {rounds} rounds are kept: {what}"),
        };
        EndsWith(exit, sentence).into()
    }

    /// Of a run of which nothing was measured nothing is kept.
    pub fn forget(self) {
        let _ = self.journal.map(Journal::remove);
    }
}

/// A sentence of [`RunDestination::goes_on_later`] without what can be done with the rounds: for who does not keep them.
pub fn without_rounds(sentence: &str) -> &str {
    let at =
        ["hostmark run --resume ", "hostmark report --reestimate "].iter().find_map(|command| sentence.find(command));
    let before = at.and_then(|at| sentence[..at].strip_suffix(": ").or(sentence[..at].strip_suffix("：")));
    let end = before.and_then(|before| before.rfind("; ").max(before.rfind("；")));
    end.map_or(sentence, |end| &sentence[..end])
}

/// Refuses a place where a run that begins would be refused, and leaves nothing there.
pub fn check(place: &RunFiles) -> Result<()> {
    let is_taken = place.journal.symlink_metadata().is_ok() && !is_of_stopped(place);
    let directory = place.journal.parent().filter(|parent| !parent.as_os_str().is_empty());
    let tried = match is_taken {
        true => Err(io::ErrorKind::AlreadyExists.into()),
        false => writable::check(directory.unwrap_or(Path::new("."))),
    };
    tried.map_err(|error| unopened(place, &error))
}

/// Where the run is kept, when nobody named a file. Without such a place the run is measured all the same.
fn keep(hostname: &str) -> Option<RunFiles> {
    match RunFiles::begun_now(hostname) {
        Ok(place) => Some(place),
        Err(reason) => {
            output::complain(&said!("the run cannot be kept ({reason}); name a file by --out"));
            None
        }
    }
}

/// Whether the journal in this place belongs to the file beside it, of a run that was stopped and does not go on at the moment.
fn is_of_stopped(place: &RunFiles) -> bool {
    Journal::read::<Run>(&place.journal)
        .is_ok_and(|(header, _, is_under_way)| !is_under_way && store::is_part_of(&place.file, &header.run.id))
}

/// The run's journal. One that cannot be made is an error where a person named the file, and else only said.
fn open_journal(
    place: &RunFiles,
    is_named: bool,
    run: &Run,
    planned: &PlanLine,
    by: Author,
) -> Result<Option<Journal>> {
    let bytes = |path: &OsStr| PathBytes(path.as_bytes().to_vec());
    let file = bytes(place.file.file_name().unwrap_or_default());
    let origin = Origin { binary: by.binary, file, elsewhere: by.elsewhere };
    let create = || Journal::create(&place.journal, run, planned, &origin);
    let created = match create() {
        // Who has a stopped run replaced has its journal replaced as well.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_named && is_of_stopped(place) => {
            Place::entry(&place.journal).and_then(|entry| entry.remove()).and_then(|()| create())
        }
        created => created,
    };
    let error = match created {
        Ok(journal) => return Ok(Some(journal)),
        Err(error) => error,
    };
    if !is_named {
        let path = place.journal.display();
        output::complain(&said!("the run cannot be kept ({path}: {error}); name a file by --out"));
        return Ok(None);
    }
    Err(unopened(place, &error))
}

/// Why a run cannot be kept in a file that a person named.
fn unopened(place: &RunFiles, error: &io::Error) -> anyhow::Error {
    let path = place.journal.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            refused!("{path} is the journal of a run under way or cut short; remove it, or name another file by --out")
        }
        _ => unwritten(error, &said!("the journal {path} cannot be written"), &said!("name another file by --out")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_keeps_no_rounds_gets_the_rest_of_the_sentence() {
        let lost = crate::command::lost("'ssh a' broke off; look there");
        let bare = RunDestination::default().goes_on_later(lost, 3).to_string();
        assert_eq!(without_rounds(&bare), "'ssh a' broke off; look there");
        let text = "'ssh a' broke off; look there; 3 rounds are kept: hostmark run --resume /runs/a.partial.jsonl";
        assert_eq!(without_rounds(text), "'ssh a' broke off; look there");
        let text = "“ssh a”中断；请检查；已保存 3 轮：hostmark run --resume /runs/a.partial.jsonl";
        assert_eq!(without_rounds(text), "“ssh a”中断；请检查");
        assert_eq!(without_rounds("its disk is full; make room"), "its disk is full; make room");
    }
}
