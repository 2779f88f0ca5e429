//! A side of `--interleave`: a command that ends in a hostmark, or this program at a place.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::sys::regular;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::{Exit, Run, load_run};

use crate::command::far::target::Target;
use crate::command::processes::janitor::Janitor;
use crate::command::trial::whole;
use crate::language::{refuse, refused};
use crate::signals::StopRequest;
use crate::words;

/// What a program is called that measures by itself.
const PROGRAM: &str = "hostmark";

/// A side as a person names it.
pub enum TypedSide {
    /// A command that ends in a hostmark, whose runs it prints.
    Command(Vec<String>),
    /// Where this program measures.
    Target(Target),
}

impl TypedSide {
    /// What a person typed: a command where one of its words is a hostmark, else a place.
    pub fn of(typed: &str, token_file: Option<&Path>) -> Result<TypedSide> {
        let words = words::split(typed).map_err(|why| {
            refused!("the command {typed:?} cannot be split into words: {why}; quote it as for a shell")
        })?;
        if words.is_empty() {
            refuse!("--interleave wants two places, or commands that each end in a hostmark; one of them is empty");
        }
        Ok(match words.iter().any(|word| is_hostmark(word)) {
            true => TypedSide::Command(words),
            false => TypedSide::Target(Target::of_words(words, typed, token_file)?),
        })
    }
}

/// Whether a word of a command is a hostmark: its name, or the path of one, which may have more behind its name.
fn is_hostmark(word: &str) -> bool {
    match word.rsplit_once('/') {
        Some((_, name)) => name.starts_with(PROGRAM),
        None => word == PROGRAM,
    }
}

/// One run that a command prints.
pub struct PrintedRun<'a> {
    /// The side as it was typed.
    pub name: &'a str,
    /// How long it may take.
    pub limit: Duration,
    /// The person's request.
    pub stop: &'a StopRequest,
}

impl PrintedRun<'_> {
    /// What was printed, and the run; none when the person asked to stop.
    pub fn by(&self, command: Command, janitor: &mut Janitor) -> Result<Option<(String, Run)>> {
        let Some(text) = self.text(command, janitor)? else { return Ok(None) };
        let run = self.read(&text)?;
        Ok(Some((text, run)))
    }

    /// What the command printed, when it ended well; none when the person asked to stop.
    fn text(&self, command: Command, janitor: &mut Janitor) -> Result<Option<String>> {
        let name = self.name;
        let (errors, ending) = (Errors::Captured, Ending::Asked(timing().end));
        let stop = Some(self.stop.readable());
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
        let mut process = janitor
            .begin(command, terms)
            .map_err(|error| refused!("'{name}' cannot be started ({error}); give another command"))?;
        let outcome = process.drain(self.limit, regular::MOST_BYTES as usize);
        let text = process.take_buffered();
        let has_ended = matches!(outcome, Ok(ReadOutcome::Closed)) && process.ends_within(timing().end);
        let status = janitor.end(&mut process);
        match outcome.map_err(|error| refused!("'{name}' cannot be heard ({error}); try again"))? {
            ReadOutcome::Stopped => return Ok(None),
            ReadOutcome::TimedOut => {
                refuse!(
                    "'{name}' took over {as_secs} s; set up key-based login for ssh",
                    as_secs = self.limit.as_secs()
                )
            }
            ReadOutcome::TooLong => {
                refuse!("'{name}' printed over 256 MiB; the command must end with the hostmark executable")
            }
            ReadOutcome::Closed | ReadOutcome::Line(_) => {}
        }
        let Some(status) = status.ok().filter(|_| has_ended) else {
            refuse!("'{name}' closed its output and did not end; give another command")
        };
        // A case that failed is told in the comparison.
        if ![Exit::Fine, Exit::CaseFailed].iter().any(|fine| status.code() == Some(fine.code().into())) {
            refuse!("'{name}' ended with {status}{process}; try it by itself", process = because(&mut process));
        }
        String::from_utf8(text).map(Some).map_err(|_| refused!("'{name}' printed no text; it must end in a hostmark"))
    }

    /// The run that was printed.
    fn read(&self, text: &str) -> Result<Run> {
        if text.trim().is_empty() {
            refuse!("'{name}' printed nothing; it must end in a hostmark", name = self.name);
        }
        let run = load_run(text).map(hostmark_probes::run_of_today).map_err(|error| {
            refused!(
                "what '{name}' printed {error}",
                name = self.name,
                error = crate::language::spoken(&error.message())
            )
        })?;
        whole(run, self.name)
    }
}

/// What a command complained of last, behind a colon.
fn because(process: &mut Supervised) -> String {
    let last = process.last_word();
    last.map(|line| format!(": {}", line.trim_end_matches(['.', ';']))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_command_where_one_of_its_words_is_a_hostmark() {
        let is_command = |typed: &str| matches!(TypedSide::of(typed, None).unwrap(), TypedSide::Command(_));
        for typed in
            ["hostmark", "ssh db-17 hostmark", "./hostmark-0.2", "taskset -c 0 '/a b/hostmark'", "hostmark --x"]
        {
            assert!(is_command(typed), "{typed}");
        }
        for typed in ["here", "ssh hostmark-7", "ssh a", "env", "hostmark/bin/env", "ssh me@hostmark", "my-hostmark"] {
            assert!(!is_command(typed), "{typed}");
        }
        assert!(TypedSide::of(" ", None).is_err() && TypedSide::of("'a", None).is_err());
    }
}
