//! Two sides that measure in turn, in random order, so that what drifts meanwhile meets both alike (Abedi & Brecht,
//! "Conducting repeatable experiments in highly variable cloud computing environments", ICPE 2017).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::compare::{Comparison, LOOKS, Pool};
use hostmark_engine::plan::profile_limits;
use hostmark_engine::{Observer, Wall};
use hostmark_launch::timing::timing;
use hostmark_model::{Inputs, Run, Scratch};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::turn::{Party, Turn};
use crate::command::inputs::{SampledArguments, scratch};
use crate::command::interleaved::{Progress, file_stem, keep, prepare};
use crate::command::janitor::Janitor;
use crate::command::lost;
use crate::command::machine::{catch, own_program};
use crate::command::run::ProfileName;
use crate::command::sides::NamedRuns;
use crate::isolate::Outside;
use crate::progress::Bar;
use crate::wall::SinceStart;

/// What the two are called in the names of files.
const LETTERS: [&str; 2] = ["a", "b"];

/// What is to be measured in turn.
pub struct Trial<'a> {
    /// What the sides are called.
    pub sides: [&'a str; 2],
    /// What to measure.
    pub filters: &'a [String],
    /// The command that is measured in their place.
    pub command: Option<&'a str>,
    /// What of it is the value.
    pub sampled: &'a SampledArguments,
    /// How often each.
    pub pairs: Pairs,
    /// In how much time.
    pub profile: ProfileName,
    /// Of the order, and of each pair's runs.
    pub seed: Option<u64>,
    /// Where the runs are kept, if anywhere.
    pub keep: Option<&'a Path>,
}

/// How many pairs of runs there are.
#[derive(Debug, Clone, Copy)]
pub enum Pairs {
    /// So many.
    These(u32),
    /// Until every case is told to differ, or to be the same within this fraction; none that would end later than this.
    Until { within: f64, at_most: Duration },
}

impl Pairs {
    /// At most.
    fn most(self) -> u32 {
        match self {
            Pairs::These(count) => count,
            Pairs::Until { .. } => LOOKS[LOOKS.len() - 1] as u32,
        }
    }
}

/// How a trial ended.
pub enum Ended {
    /// Every run is there.
    Whole(Vec<NamedRuns>),
    /// By this signal; nothing half is left.
    Stopped(u8),
}

/// Measures; each side runs as often as the other.
pub fn run(trial: &Trial, parties: [&mut dyn Party; 2]) -> Result<Ended> {
    if let Some(directory) = trial.keep {
        prepare(directory, LETTERS.into_iter())?;
    }
    let stop = catch(&Outside::default())?;
    let mut janitor = Janitor::start(&own_program()?).map_err(lost)?;
    // Whoever runs here keeps its run in a place of its own, which goes when this ends.
    let data = match janitor.directory(&scratch(&Inputs::default())) {
        Scratch::Made { path, .. } => OsString::from_vec(path.0),
        Scratch::Missing(reason) => return Err(lost(reason)),
    };

    let seed = trial.seed.unwrap_or_else(|| uuid::Uuid::now_v7().as_u64_pair().1);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut runs: [Vec<Run>; 2] = Default::default();
    let mut bar = Bar::new();
    let (begin, mut pairs) = (SinceStart::now(), trial.pairs.most());
    let mut filters = trial.filters.to_vec();
    for pair in 0.. {
        if let Pairs::Until { within, at_most } = trial.pairs {
            match left(trial, &runs, within) {
                Left::All => {}
                Left::None => break,
                // Of a command there is nothing to choose.
                Left::These(ids) if trial.command.is_none() => filters = ids,
                Left::These(_) => {}
            }
            // Pairs become shorter as cases are decided, and never longer.
            let next = begin.elapsed() / pair.max(1);
            if pair > 0 && begin.elapsed() + next > at_most {
                break;
            }
            pairs = LOOKS.into_iter().find(|look| *look > pair as usize).map_or(pairs, |look| look as u32);
        }
        if pair >= trial.pairs.most() {
            break;
        }
        let all = 2 * pairs as usize;
        let first = usize::from(random.random::<bool>());
        // Both have their cases in the same order.
        let seed = random.random::<u32>();
        for side in [first, 1 - first] {
            let done = runs[0].len() + runs[1].len();
            let mean = if done == 0 { guess(trial) } else { begin.elapsed() / done as u32 };
            let turn = format!("{} {}/{pairs}", LETTERS[side], pair + 1);
            bar.round(&format!("{turn} {}", trial.sides[side]), done, all, mean * (all - done) as u32);
            let mut progress = Progress { bar: &mut bar, turn, done, all, later: mean * (all - done - 1) as u32 };
            // Beyond the profile's limit it may take as much again, and a login to a far host.
            let (run, limit) = (file_stem(LETTERS[side], pair), guess(trial) * 2 + timing().login);
            let (filters, profile) = (&filters[..], trial.profile);
            let (name, command, sampled) = (trial.sides[side], trial.command, trial.sampled);
            let turn = Turn { name, run, filters, command, sampled, profile, seed, limit, stop: &stop, data: &data };
            let Some((run, text)) = parties[side].take(&turn, &mut janitor, &mut progress)? else {
                bar.finish();
                return Ok(Ended::Stopped(stop.signal().unwrap_or(2)));
            };
            runs[side].push(run);
            if let Some(directory) = trial.keep {
                keep(directory, &turn.run, &text)?;
            }
        }
    }
    bar.finish();
    let sides = trial.sides.into_iter().zip(runs).map(|(name, runs)| NamedRuns { name: name.to_owned(), runs });
    Ok(Ended::Whole(sides.collect()))
}

/// What is left to measure.
enum Left {
    /// As before.
    All,
    /// These cases.
    These(Vec<String>),
    /// Nothing.
    None,
}

/// What is left when there are so many pairs: at a look, what is undecided.
fn left(trial: &Trial, runs: &[Vec<Run>; 2], within: f64) -> Left {
    if !LOOKS.contains(&runs[0].len()) {
        return Left::All;
    }
    let [base, new] = [0, 1].map(|side| Pool { name: trial.sides[side], runs: &runs[side] });
    let comparison = Comparison::in_turn(base, new, &LOOKS, within);
    let undecided: Vec<String> = comparison.undecided().into_iter().map(str::to_owned).collect();
    if undecided.is_empty() { Left::None } else { Left::These(undecided) }
}

/// How long a run takes at most.
fn guess(trial: &Trial) -> Duration {
    profile_limits(trial.profile.into()).limit
}
