//! The turns: each side measures once in each of them, in random order, so that what drifts meanwhile meets all alike.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::{Observer, Wall};
use hostmark_model::{Inputs, Run, RunRequest};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::options::GUEST;
use super::sides::VmSide;
use super::watch::Watch;
use crate::command::interleaved::{Progress, file_stem, keep, measured_at};
use crate::command::target::Target;
use crate::command::{EndsWith, exit_of, sentence};
use crate::language::both;
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store;
use crate::wall::SinceStart;

/// What is to be measured in turns.
pub struct Trial<'a> {
    /// Who takes turns.
    pub sides: Vec<VmSide>,
    /// What each is asked for, but for its own inputs and the seed.
    pub request: RunRequest,
    /// Where the other ends of the network are, which all sides measure to.
    pub peers: Vec<Target>,
    /// How many turns each has.
    pub runs: u32,
    /// Of the order, and of each turn's runs.
    pub seed: u64,
    /// How long one turn of one side may take.
    pub limit: Duration,
    /// Where the runs are kept, each as soon as it has ended.
    pub directory: PathBuf,
    /// The person's request.
    pub stop: &'a StopRequest,
    /// What tells of the guest, where it was made here.
    pub watch: Option<Watch>,
}

impl Trial<'_> {
    /// Takes the turns, until all are over or the person asks to stop.
    pub fn run(&mut self) -> Result<()> {
        let mut bar = Bar::new();
        let taken = self.turns(&mut bar);
        bar.finish();
        taken
    }

    fn turns(&mut self, bar: &mut Bar) -> Result<()> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let (begin, all, mut done) = (SinceStart::now(), self.sides.len() * self.runs as usize, 0);
        for turn in 0..self.runs {
            let mut order: Vec<usize> = (0..self.sides.len()).collect();
            order.shuffle(&mut random);
            // All have their cases in the same order.
            let seed = random.random::<u32>();
            for side in order {
                let mean = begin.elapsed().checked_div(done as u32).unwrap_or(self.limit);
                let name = format!("{} {}/{}", self.sides[side].name, turn + 1, self.runs);
                bar.round(&name, done, all, mean * (all - done) as u32);
                let later = mean * (all - done - 1) as u32;
                let mut progress = Progress { bar, turn: name, done, all, later };
                if !self.turn(side, turn, seed, &mut progress)? {
                    return Ok(());
                }
                done += 1;
            }
        }
        Ok(())
    }

    /// One side's turn; whether the person has not asked to stop.
    fn turn(&mut self, side: usize, turn: u32, seed: u32, progress: &mut Progress) -> Result<bool> {
        let whole: usize = self.sides.iter().map(|side| side.runs.len()).sum();
        let VmSide { name, place, inputs, runs } = &mut self.sides[side];
        let Inputs { command, limit_s, peers, .. } = self.request.inputs.clone();
        let inputs = Inputs { command, limit_s, peers, ..inputs.clone() };
        let request = RunRequest { seed: Some(seed.into()), inputs, ..self.request.clone() };
        if let Some(watch) = &mut self.watch {
            watch.begins();
        }
        let measured = measured_at(place, request, name, &self.peers, self.stop, progress).map_err(|error| {
            let (turn, runs, directory) = (turn + 1, self.runs, self.directory.display());
            let kept = if whole > 0 {
                both!("; whole runs: {whole}, in {directory}", "；完整的运行有 {whole} 个，在 {directory} 中")
            } else {
                String::new()
            };
            EndsWith(
                exit_of(&error),
                both!(
                    "turn {turn} of {runs} of {name}: {}{kept}",
                    "{name} 的第 {turn}/{runs} 轮：{}{kept}",
                    sentence(&error)
                ),
            )
        })?;
        let Some(mut run) = measured else { return Ok(false) };
        match &mut self.watch {
            Some(watch) if name == GUEST => run.guest = Some(Box::new(watch.was_measured())),
            Some(watch) => watch.was_idle(),
            None => {}
        }
        if run.guest.is_some() || VmSide::is_ours(name) {
            // No command that a person typed leads there.
            run.place = None;
        }
        keep(&self.directory, &file_stem(name, turn), &store::text_of(&run))?;
        runs.push(run);
        Ok(true)
    }

    /// Whether each side has a run: less can be shown as no comparison.
    pub fn is_shown(&self) -> bool {
        self.sides.iter().all(|side| !side.runs.is_empty())
    }

    /// All runs, side by side. The guest's say what it took while it was idle, which is known only now.
    pub fn finish(self) -> Result<Vec<Run>> {
        let idle_cpus = self.watch.as_ref().and_then(Watch::idle_cpus);
        let mut all = Vec::new();
        for mut side in self.sides {
            for (turn, run) in (0..).zip(&mut side.runs) {
                if let Some(guest) = &mut run.guest {
                    guest.idle_cpus = idle_cpus;
                    keep(&self.directory, &file_stem(&side.name, turn), &store::text_of(run))?;
                }
            }
            all.append(&mut side.runs);
        }
        Ok(all)
    }
}
