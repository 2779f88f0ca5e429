//! The turns of the sides: the same request at each, and the guest watched from outside.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_engine::Observer;
use hostmark_model::{Inputs, Run, RunRequest};
use hostmark_say::say;

use super::options::GUEST;
use super::sides::VmSide;
use super::watch::Watch;
use crate::command::far::target::Target;
use crate::command::trial::place::measured_at;
use crate::command::trial::{TakesTurns, Turn, files};
use crate::command::{EndsWith, exit_of, message};
use crate::language::said;
use crate::signals::StopRequest;
use crate::store;

/// The sides and what they have in common.
pub struct VmTurns<'a> {
    /// Who takes turns.
    pub sides: Vec<VmSide>,
    /// What each is asked for, but for its own inputs and the seed.
    pub request: RunRequest,
    /// Where the other ends of the network are, which all sides measure to.
    pub peers: Vec<Target>,
    /// Where the runs are kept.
    pub directory: PathBuf,
    /// The person's request.
    pub stop: &'a StopRequest,
    /// What tells of the guest, where it was made here.
    pub watch: Option<Watch>,
}

impl TakesTurns for VmTurns<'_> {
    type Run = Run;

    fn measure(&mut self, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, Run)>> {
        let VmSide { name, place, inputs } = &self.sides[turn.side];
        let Inputs { command, limit_s, peers, .. } = self.request.inputs.clone();
        let inputs = Inputs { command, limit_s, peers, ..inputs.clone() };
        let request = RunRequest { seed: Some(turn.seed.into()), inputs, ..self.request.clone() };
        if let Some(watch) = &mut self.watch {
            watch.begins();
        }
        let measured = measured_at(place, request, name, &self.peers, self.stop, observer);
        let Some(mut run) = measured.map_err(|error| failed(turn, name, &error, &self.directory))? else {
            return Ok(None);
        };
        match &mut self.watch {
            Some(watch) if name == GUEST => run.guest = Some(Box::new(watch.was_measured())),
            Some(watch) => watch.was_idle(),
            None => {}
        }
        if run.guest.is_some() || VmSide::is_ours(name) {
            // No command that a person typed leads there.
            run.place = None;
        }
        Ok(Some((store::text_of(&run), run)))
    }
}

/// A turn's error, and what is kept nevertheless.
fn failed(turn: &Turn, name: &str, error: &anyhow::Error, directory: &Path) -> anyhow::Error {
    let Turn { round, rounds, done, .. } = turn;
    let (round, directory) = (round + 1, directory.display());
    let kept = match done {
        0 => String::new(),
        _ => said!("; whole runs: {done}, in {directory}"),
    };
    let error_text = message(error);
    let text = say!("turn {round} of {rounds} of {name}: {error_text}{kept}");
    EndsWith(exit_of(error), text).into()
}

impl VmTurns<'_> {
    /// All runs, side by side. The guest's say what it took while it was idle, which is known only now.
    pub fn finish(&self, taken: Vec<Vec<Run>>) -> Result<Vec<Run>> {
        let idle_cpus = self.watch.as_ref().and_then(Watch::idle_cpus);
        let mut all = Vec::new();
        for (side, mut runs) in self.sides.iter().zip(taken) {
            for (round, run) in (0..).zip(&mut runs) {
                if let Some(guest) = &mut run.guest {
                    guest.idle_cpus = idle_cpus;
                    files::keep(&self.directory, &files::stem(&side.name, round), &store::text_of(run))?;
                }
            }
            all.append(&mut runs);
        }
        Ok(all)
    }
}
