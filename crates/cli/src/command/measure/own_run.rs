//! Whole runs of this program that a command starts for itself: what they store goes with their janitor.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::{Run, load_run};
use hostmark_say::say;
use rustix::fd::OwnedFd;

use super::machine::janitor_of_runs;
use crate::command::processes::janitor::Janitor;

/// Bytes that a run prints at most.
const MOST_BYTES: usize = 64 << 20;
/// Characters of a reason at most.
const LONGEST_REASON: usize = 500;

/// What starts them.
pub struct OwnRuns {
    program: PathBuf,
    /// Where they are stored.
    data: OsString,
    pub janitor: Janitor,
}

impl OwnRuns {
    /// Of this program.
    pub fn of(program: &Path) -> Result<OwnRuns> {
        let (janitor, data) = janitor_of_runs(program)?;
        Ok(OwnRuns { program: program.to_owned(), data, janitor })
    }

    /// Starts one behind these words, as those of a control group; a person's request to stop is heard where there is `stop`.
    pub fn begin(
        &mut self,
        before: &[OsString],
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        stop: Option<Rc<OwnedFd>>,
    ) -> Result<Supervised, String> {
        let own = self.program.clone().into_os_string();
        let mut words = before.iter().cloned().chain([own]);
        let mut command = command(Path::new(&words.next().unwrap_or_default()));
        command.args(words).arg("run").args(arguments.into_iter().map(Into::into)).args(["--format", "json"]);
        command.env("XDG_DATA_HOME", &self.data);
        let (errors, ending) = (Errors::Captured, Ending::Asked(timing().end));
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
        self.janitor.begin(command, terms).map_err(|error| error.to_string())
    }

    /// The run that one prints within a time, or why there is none.
    pub fn printed(&mut self, mut process: Supervised, limit: Duration) -> Result<Run, String> {
        let outcome = process.drain(limit, MOST_BYTES);
        let text = process.take_buffered();
        process.ends_within(timing().end);
        let _ = self.janitor.end(&mut process);
        match outcome {
            Ok(ReadOutcome::Closed) => {}
            Ok(_) => return Err(say!("it did not end in time").to_string()),
            Err(error) => return Err(error.to_string()),
        }
        match load_run(&String::from_utf8_lossy(&text)) {
            Ok(run) if run.interrupted.is_none() => Ok(run),
            _ => {
                let why = process.last_word().unwrap_or_else(|| say!("it printed no run").to_string());
                Err(why.chars().filter(|character| !character.is_control()).take(LONGEST_REASON).collect())
            }
        }
    }
}
