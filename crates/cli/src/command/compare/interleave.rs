//! Two sides that measure in turn: what both are asked for, and those of `--interleave`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use hostmark_analysis::compare::{Comparison, LOOKS, Pool};
use hostmark_engine::Observer;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::sys::regular;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::{CaseRecord, Exit, Inputs, Outcome, Run, RunRequest, load_run};

use super::NamedRuns;
use crate::command::far::Target;
use crate::command::measure::inputs::{ProfileName, SampledArguments};
use crate::command::measure::{inputs, janitor_of_runs, own_program};
use crate::command::processes::janitor::Janitor;
use crate::command::trial::{Rounds, Side, TakesTurns, Trial, Turn, measured_at, whole};
use crate::language::{refuse, refused};
use crate::signals::StopRequest;
use crate::{language, store};

/// Request for two sides that take turns.
pub struct TwoSides<'a> {
    pub names: [&'a str; 2],
    /// The command that is measured in the place of probes, as it was typed.
    pub command: Option<&'a str>,
    pub sampled: &'a SampledArguments,
    pub rounds: Rounds,
    pub profile: ProfileName,
    /// Seed of the order, and of each round's runs.
    pub seed: Option<u64>,
    /// Directory in which the runs are kept, if any.
    pub keep: Option<&'a Path>,
    pub stop: &'a StopRequest,
}

impl TwoSides<'_> {
    /// Takes the turns: the runs of both, or the signal by which the person asked to stop.
    pub fn run(&self, party: &mut impl TakesTurns<Run = Run>) -> Result<Result<Vec<NamedRuns>, u8>> {
        let sides = ["a", "b"].into_iter().zip(self.names);
        let sides = sides.map(|(label, place)| Side { label: label.into(), place: place.into() }).collect();
        let TwoSides { rounds, seed, keep, stop, .. } = *self;
        let taken = Trial { sides, rounds, seed, limit: self.limit(), keep, stop }.run(party)?;
        let named = self.names.into_iter().zip(taken.runs);
        let named = named.map(|(name, runs)| NamedRuns { name: name.to_owned(), runs }).collect();
        Ok(taken.stopped.map_or(Ok(named), Err))
    }

    fn limit(&self) -> Duration {
        profile_limits(self.profile.into()).limit
    }

    /// Measures there in a turn by this program, with these inputs beside the command.
    pub fn measured_at(
        &self,
        place: &Target,
        filters: &[String],
        inputs: Inputs,
        turn: &Turn,
        observer: &mut dyn Observer,
    ) -> Result<Option<(String, Run)>> {
        // The command line has seen to it that it can be split.
        let command = self.command.and_then(|typed| inputs::command(typed).ok()).map_or_else(Vec::new, Vec::from);
        let request = RunRequest {
            filters: filters.to_vec(),
            profile: self.profile.into(),
            seed: Some(turn.seed.into()),
            inputs: Inputs { command, sampled: self.sampled.given(), ..inputs },
            ..RunRequest::default()
        };
        let run = measured_at(place, request, &turn.stem, &[], self.stop, observer)?;
        Ok(run.map(|run| (store::text_of(&run), run)))
    }

    /// Arguments of another hostmark that measures.
    fn words(&self, filters: &[String], seed: u32) -> Vec<String> {
        let profile = self.profile.to_possible_value().map(|value| value.get_name().to_owned());
        let mut words = vec!["run".to_owned()];
        words.extend(filters.iter().cloned());
        words.extend(self.command.into_iter().flat_map(|command| ["--command".to_owned(), command.to_owned()]));
        words.extend(self.sampled.typed());
        words.extend(["--profile".into(), profile.unwrap_or_default()]);
        words.extend(["--format".into(), "json".into(), "--seed".into(), seed.to_string()]);
        words
    }
}

/// Two sides as they were typed.
pub struct Interleaved<'a> {
    asked: &'a TwoSides<'a>,
    sides: [TypedSide; 2],
    filters: Vec<String>,
    /// Fraction within which sides are the same and need no more runs.
    same_within: f64,
    janitor: Janitor,
    /// Directory in which commands keep their runs.
    data: OsString,
}

impl Interleaved<'_> {
    pub fn new<'a>(
        asked: &'a TwoSides,
        sides: [TypedSide; 2],
        filters: &[String],
        same_within: f64,
    ) -> Result<Interleaved<'a>> {
        let (janitor, data) = janitor_of_runs(&own_program()?)?;
        Ok(Interleaved { asked, sides, filters: filters.to_vec(), same_within, janitor, data })
    }
}

impl TakesTurns for Interleaved<'_> {
    type Run = Run;

    fn measure(&mut self, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, Run)>> {
        let (asked, filters) = (self.asked, &self.filters);
        match &self.sides[turn.side] {
            TypedSide::Target(place) => asked.measured_at(place, filters, Inputs::default(), turn, observer),
            TypedSide::Command(words) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]).args(asked.words(filters, turn.seed)).env("XDG_DATA_HOME", &self.data);
                // Beyond the profile's limit it may take as much again, and a login to a far host.
                let limit = asked.limit() * 2 + timing().login;
                PrintedRun { name: asked.names[turn.side], limit, stop: asked.stop }.by(command, &mut self.janitor)
            }
        }
    }

    fn is_resolved(&mut self, runs: &[Vec<Run>]) -> bool {
        let [base, new] = [0, 1].map(|side| Pool { name: self.asked.names[side], runs: &runs[side] });
        let comparison = Comparison::in_turn(base, new, &LOOKS, self.same_within);
        let undecided: Vec<String> = comparison.undecided().into_iter().map(str::to_owned).collect();
        let is_resolved = undecided.is_empty();
        // Of a command there is nothing to choose.
        if self.asked.command.is_none() {
            self.filters = undecided;
        }
        is_resolved
    }
}

/// Name of a program that measures by itself.
const PROGRAM: &str = "hostmark";

/// A side as a person names it.
pub enum TypedSide {
    /// A command that ends in a hostmark, whose runs it prints.
    Command(Vec<String>),
    /// Place where this program measures.
    Target(Target),
}

impl TypedSide {
    /// Parses a side: a command if one of its words is a hostmark, else a place.
    pub fn of(typed: &str, token_file: Option<&Path>) -> Result<TypedSide> {
        let words = language::split(typed).map_err(|why| {
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

/// Tells whether a word of a command is a hostmark: its name, or the path of one, which may have more behind its name or another name.
fn is_hostmark(word: &str) -> bool {
    match word.rsplit_once('/') {
        Some((_, name)) => name.starts_with(PROGRAM) || names_hostmark(Path::new(word)),
        None => word == PROGRAM,
    }
}

/// A word of every hostmark's texts, and of every script that starts one.
const NAMED: &[u8] = b"hostmark ";

/// Tells whether a file is a program that speaks of hostmark commands: a hostmark under another name, or a script around one.
fn names_hostmark(path: &Path) -> bool {
    let is_program =
        std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0);
    let bytes = || regular::all_of(&regular::open_to_read(path).ok()?).ok()?;
    is_program && bytes().is_some_and(|bytes| bytes.windows(NAMED.len()).any(|window| window == NAMED))
}

/// The exit code by cases that failed in every run of a side.
pub fn failure(sides: &[NamedRuns]) -> Exit {
    let fails = |side: &NamedRuns| {
        let cases = || side.runs.iter().flat_map(|run| &run.cases);
        let measured: HashSet<&str> = cases().filter(|case| case.measured().is_some()).map(|case| &*case.id).collect();
        let has_failed = |case: &CaseRecord| matches!(case.outcome, Outcome::Failed { .. });
        cases().any(|case| has_failed(case) && !measured.contains(&*case.id))
    };
    if sides.iter().any(fails) { Exit::CaseFailed } else { Exit::Fine }
}

pub struct PrintedRun<'a> {
    /// The side as it was typed.
    pub name: &'a str,
    pub limit: Duration,
    pub stop: &'a StopRequest,
}

impl PrintedRun<'_> {
    /// Output and run of a command; none when the person asked to stop.
    pub fn by(&self, command: Command, janitor: &mut Janitor) -> Result<Option<(String, Run)>> {
        let Some(text) = self.text(command, janitor)? else { return Ok(None) };
        let run = self.read(&text)?;
        Ok(Some((text, run)))
    }

    /// Output of a command that ended well; none when the person asked to stop.
    fn text(&self, command: Command, janitor: &mut Janitor) -> Result<Option<String>> {
        let name = self.name;
        let (errors, ending) = (Errors::Captured, Ending::Asked(timing().end));
        let stop = Some(self.stop.readable());
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
        let mut process = janitor
            .begin(command, terms)
            .map_err(|error| refused!("'{name}' cannot be started ({error}); give another command"))?;
        let outcome = process.drain(self.limit, regular::MOST_BYTES as usize);
        let most = regular::MOST_BYTES >> 20;
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
                refuse!("'{name}' printed over {most} MiB; the command must end with the hostmark executable")
            }
            ReadOutcome::Closed | ReadOutcome::Line(_) => {}
        }
        let Some(status) = status.ok().filter(|_| has_ended) else {
            refuse!("'{name}' closed its output and did not end; give another command")
        };
        // A case that failed is told in the comparison, and a run that cannot be kept there is here.
        if ![Exit::Fine, Exit::CaseFailed, Exit::ResourceLost]
            .iter()
            .any(|fine| status.code() == Some(fine.code().into()))
        {
            refuse!("'{name}' ended with {status}{process}; try it by itself", process = because(&mut process));
        }
        String::from_utf8(text).map(Some).map_err(|_| refused!("'{name}' printed no text; it must end in a hostmark"))
    }

    fn read(&self, text: &str) -> Result<Run> {
        if text.trim().is_empty() {
            refuse!("'{name}' printed nothing; it must end in a hostmark", name = self.name);
        }
        let run = load_run(text).map(hostmark_probes::run_of_today).map_err(|error| {
            refused!("what '{name}' printed {error}", name = self.name, error = language::spoken(&error.message()))
        })?;
        whole(run, self.name)
    }
}

/// Last complaint of a command, behind a colon.
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bench");
        std::fs::write(&path, "#!/bin/sh\nexec hostmark \"$@\"\n").unwrap();
        for (mode, expected) in [(0o600, false), (0o700, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_command(path.to_str().unwrap()), expected);
        }
        for typed in ["here", "ssh hostmark-7", "ssh a", "env", "hostmark/bin/env", "ssh me@hostmark", "my-hostmark"] {
            assert!(!is_command(typed), "{typed}");
        }
        assert!(TypedSide::of(" ", None).is_err() && TypedSide::of("'a", None).is_err());
    }
}
