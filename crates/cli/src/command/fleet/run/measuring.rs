//! One host's run under way: this program once more, which measures there and keeps the run here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::{Exit, FleetRequest, HostState, Lang};
use rustix::process::Signal;

use super::options::words_of;
use crate::command::lost;
use crate::command::runs::kept::without_rounds;
use crate::language::{self, said};
use crate::words;

/// What this program begins its sentences with.
const NAME: &str = "hostmark: ";

/// A run under way.
pub struct Measuring {
    process: Supervised,
    /// Where it writes.
    file: PathBuf,
}

/// How one ended.
pub enum Ended {
    /// It says that there is a run.
    WithRun,
    /// It says why there is none.
    Without(HostState, String),
}

/// How long a run that was asked to stop may take: it waits for the far end to put things in order.
pub fn stops_within() -> Duration {
    timing().stop + timing().end
}

impl Measuring {
    /// Starts it behind these words.
    pub fn start(program: &Path, way: &[String], request: &FleetRequest, file: PathBuf) -> Result<Measuring> {
        let place = quoted(way)?;
        let lang = if language::current() == Lang::Zh { "zh" } else { "en" };
        let mut command = command(program);
        command.args(["--quiet", "--color=never", "--lang", lang, "run", "--on", &place, "--out"]).arg(&file);
        command.args(words_of(request));
        let (errors, ending) = (Errors::CapturedAtLeisure, Ending::Asked(stops_within()));
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop: None };
        let process = Supervised::start(command, terms)
            .map_err(|error| lost(said!("hostmark cannot be started ({error}); look at ulimit -a")))?;
        Ok(Measuring { process, file })
    }

    /// Its process, whose group it leads.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether it has ended; what it prints meanwhile is not wanted, and must not hold it up.
    pub fn has_ended(&mut self) -> bool {
        while let Ok(ReadOutcome::Line(_)) = self.process.read_line_within(Duration::ZERO) {}
        self.process.has_ended().unwrap_or(true)
    }

    /// Asks it to stop. Unlike an interrupt, this is never ignored.
    pub fn ask_to_stop(&self) {
        let _ = self.process.signal(Signal::TERM);
    }

    /// How it ended, which it has, or is made to.
    pub fn end(mut self) -> Ended {
        let word = self.process.last_word().unwrap_or_default();
        let status = match self.process.kill() {
            Ok(status) => status,
            Err(error) => return Ended::Without(HostState::Lost, error.to_string()),
        };
        let Some(code) = status.code() else {
            return Ended::Without(HostState::Lost, said!("the run was killed ({status})"));
        };
        if [Exit::Fine.code(), Exit::CaseFailed.code()].contains(&u8::try_from(code).unwrap_or(u8::MAX)) {
            return Ended::WithRun;
        }
        let state = if code == i32::from(Exit::ResourceLost.code()) { HostState::Lost } else { HostState::Failed };
        let sentence = without_rounds(word.strip_prefix(NAME).unwrap_or(&word)).to_owned();
        let silent = || said!("it ended with code {code} and said nothing");
        Ended::Without(state, if sentence.is_empty() { silent() } else { sentence })
    }
}

/// The words of a command as one word for `--on`.
pub fn quoted(way: &[String]) -> Result<String> {
    let quoted: Option<Vec<String>> = way.iter().map(|word| words::quoted(word)).collect();
    quoted
        .map(|words| words.join(" "))
        .ok_or_else(|| lost(said!("the command that leads there has a control character; write it without")))
}
