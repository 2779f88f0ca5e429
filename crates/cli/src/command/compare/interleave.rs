//! Two sides that measure in turn: what both are asked for, and those of `--interleave`.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use hostmark_analysis::compare::{Comparison, LOOKS, Pool};
use hostmark_engine::Observer;
use hostmark_engine::plan::profile_limits;
use hostmark_launch::timing::timing;
use hostmark_model::{Inputs, Run, RunRequest};

use super::sides::NamedRuns;
use super::typed_side::{PrintedRun, TypedSide};
use crate::command::far::target::Target;
use crate::command::measure::inputs::{self, ProfileName, SampledArguments};
use crate::command::measure::machine::{janitor_of_runs, own_program};
use crate::command::processes::janitor::Janitor;
use crate::command::trial::{Rounds, Side, TakesTurns, Trial, Turn, measured_at};
use crate::signals::StopRequest;
use crate::store;

/// What two sides are asked for, and how they take turns.
pub struct TwoSides<'a> {
    /// What the sides are called.
    pub names: [&'a str; 2],
    /// The command that is measured in the place of probes, as it was typed.
    pub command: Option<&'a str>,
    /// What of it is the value.
    pub sampled: &'a SampledArguments,
    /// How often each.
    pub rounds: Rounds,
    /// In how much time.
    pub profile: ProfileName,
    /// Of the order, and of each round's runs.
    pub seed: Option<u64>,
    /// Where the runs are kept, if anywhere.
    pub keep: Option<&'a Path>,
    /// The person's request.
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

    /// How long a run takes at most.
    fn limit(&self) -> Duration {
        profile_limits(self.profile.into()).limit
    }

    /// What this program measures there in a turn, with these inputs beside the command.
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
            set: Vec::new(),
            table: None,
            inputs: Inputs { command, sampled: self.sampled.given(), ..inputs },
            via: Vec::new(),
            begun: None,
        };
        let run = measured_at(place, request, &turn.stem, &[], self.stop, observer)?;
        Ok(run.map(|run| (store::text_of(&run), run)))
    }

    /// What stands behind the words of a hostmark that measures by itself.
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
    /// What is left to measure.
    filters: Vec<String>,
    /// What is the same within this fraction needs no more runs.
    same_within: f64,
    janitor: Janitor,
    /// Where commands keep their runs.
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
