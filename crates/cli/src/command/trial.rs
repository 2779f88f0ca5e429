//! A trial: sides that measure in turn, in random order, so that what drifts meanwhile meets all alike (Abedi & Brecht,
//! "Conducting repeatable experiments in highly variable cloud computing environments", ICPE 2017).

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::sys::place::Directory;
use hostmark_engine::{Observer, PlanLine, Wall};
use hostmark_model::{Elsewhere, RoundLine, Run, RunRequest};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::far::on::Keeper;
use super::far::peers::{Direct, typed};
use super::far::{Target, on};
use super::runs::kept;
use super::unwritten;
use crate::language::{refuse, said};
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store;
use crate::world::SinceStart;

/// Participant in a trial's turns. Its preparations are undone: at the turn's end by [`TakesTurns::put_back`], else by whoever holds it.
pub trait TakesTurns {
    type Run;

    /// Makes the machine what this side is to be measured on.
    fn prepare(&mut self, _: &Turn) -> Result<()> {
        Ok(())
    }

    /// Measures: the text of the run's file, and the run; none when the person asked to stop.
    fn measure(&mut self, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, Self::Run)>>;

    /// Puts back what [`TakesTurns::prepare`] changed, all or a part of it, however the turn ended.
    fn put_back(&mut self) -> Result<()> {
        Ok(())
    }

    /// Tells whether nothing is left to measure after these runs of each side; asked where the rounds have [looks](Rounds::Until).
    fn is_resolved(&mut self, _: &[Vec<Self::Run>]) -> bool {
        false
    }
}

pub struct Side {
    pub label: String,
    /// Place that a person named beside that.
    pub place: String,
}

/// Number of measurements of each side.
#[derive(Debug, Clone, Copy)]
pub enum Rounds {
    Fixed(u32),
    /// Rounds until everything is resolved at one of these numbers, or at the last; no round begins that would end later than this.
    Until {
        looks: &'static [usize],
        at_most: Duration,
    },
}

pub struct Turn {
    pub side: usize,
    /// Round; the first is 0.
    pub round: u32,
    pub rounds: u32,
    pub done: usize,
    /// Seed of the run: that of the others in this round, so that all have their cases in the same order.
    pub seed: u32,
    /// Name of the run's file.
    pub stem: String,
}

pub struct Taken<R> {
    /// Runs of each side, in the order of rounds.
    pub runs: Vec<Vec<R>>,
    /// The signal by which the person asked to stop before all was measured.
    pub stopped: Option<u8>,
}

/// Sides that take turns, the number of turns and their time.
pub struct Trial<'a> {
    pub sides: Vec<Side>,
    pub rounds: Rounds,
    /// Seed of the order, and of each round's runs.
    pub seed: Option<u64>,
    pub limit: Duration,
    /// Directory in which the runs are kept, each as soon as it has ended.
    pub keep: Option<&'a Path>,
    /// The person's request.
    pub stop: &'a StopRequest,
}

impl Trial<'_> {
    /// Takes the turns, until all are over, one fails or the person asks to stop.
    pub fn run<T: TakesTurns>(&self, party: &mut T) -> Result<Taken<T::Run>> {
        if let Some(directory) = self.keep {
            prepare(directory, self.sides.iter().map(|side| side.label.as_str()))?;
        }
        let seed = self.seed.unwrap_or_else(|| uuid::Uuid::now_v7().as_u64_pair().1);
        self.turns(seed, party, &SinceStart::now(), &mut Bar::new())
    }

    fn turns<T: TakesTurns>(
        &self,
        seed: u64,
        party: &mut T,
        wall: &dyn Wall,
        observer: &mut dyn Observer,
    ) -> Result<Taken<T::Run>> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..self.sides.len()).collect();
        let (mut runs, mut done) = (order.iter().map(|_| Vec::new()).collect::<Vec<_>>(), 0);
        for round in 0.. {
            let Some(rounds) = self.rounds.planned(round, wall, || party.is_resolved(&runs)) else { break };
            let all = self.sides.len() * rounds as usize;
            order.shuffle(&mut random);
            let seed = random.random::<u32>();
            for &side in &order {
                let Side { label, place } = &self.sides[side];
                let mean = wall.elapsed().checked_div(done as u32).unwrap_or(self.limit);
                let shown = format!("{label} {}/{rounds}", round + 1);
                observer.round(format!("{shown} {place}").trim_end(), done, all, mean * (all - done) as u32);
                let mut progress = Progress { observer, shown, done, all, later: mean * (all - done - 1) as u32 };
                let turn = Turn { side, round, rounds, done, seed, stem: stem(label, round) };
                let taken = if self.stop.signal().is_some() { None } else { take(party, &turn, &mut progress)? };
                let Some((text, run)) = taken else {
                    return Ok(Taken { runs, stopped: Some(self.stop.signal().unwrap_or(2)) });
                };
                if let Some(directory) = self.keep {
                    keep(directory, &turn.stem, &text)?;
                }
                runs[side].push(run);
                done += 1;
            }
        }
        Ok(Taken { runs, stopped: None })
    }
}

fn take<T: TakesTurns>(party: &mut T, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, T::Run)>> {
    let measured = party.prepare(turn).map(|()| party.measure(turn, observer));
    let is_back = party.put_back();
    let measured = measured?;
    // What the machine is like afterwards is told before what became of the run.
    is_back?;
    measured
}

impl Rounds {
    /// Number of rounds that are planned after so many; none where no more is to begin.
    fn planned(self, over: u32, wall: &dyn Wall, is_resolved: impl FnOnce() -> bool) -> Option<u32> {
        let (looks, at_most) = match self {
            Rounds::Fixed(count) => return (over < count).then_some(count),
            Rounds::Until { looks, at_most } => (looks, at_most),
        };
        if looks.contains(&(over as usize)) && is_resolved() {
            return None;
        }
        // Rounds become shorter as cases are decided, and never longer.
        let elapsed = wall.elapsed();
        if over > 0 && elapsed + elapsed / over > at_most {
            return None;
        }
        looks.iter().find(|look| **look > over as usize).map(|look| *look as u32)
    }
}

/// A turn within the progress of all.
struct Progress<'a> {
    observer: &'a mut dyn Observer,
    shown: String,
    done: usize,
    all: usize,
    /// Time of the turns after it.
    later: Duration,
}

impl Observer for Progress<'_> {
    fn round(&mut self, case: &str, _: usize, _: usize, left: Duration) {
        let shown = format!("{} {case}", self.shown);
        self.observer.round(&shown, self.done, self.all, left.saturating_add(self.later));
    }
}

/// The whole run that this program measures there, under this name, with these peers; none when the person asked to stop.
pub fn measured_at(
    place: &Target,
    request: RunRequest,
    name: &str,
    peers: &[Target],
    stop: &StopRequest,
    observer: &mut dyn Observer,
) -> Result<Option<Run>> {
    let mut keeper = RunNamer(name);
    let direct = Direct::open(peers, stop, profile_limits(request.profile).limit)?;
    let measured = on::measure_there(place, request, Vec::new(), stop, observer, &mut keeper, Some(&direct));
    direct.finish();
    // What there is of a run that was stopped is no turn.
    if stop.signal().is_some() {
        return Ok(None);
    }
    let mut run = whole(measured?.run, place.shown())?;
    run.peers = typed(run.peers, peers);
    kept::judge(&mut run);
    Ok(Some(run))
}

/// A run that came to its end.
pub fn whole(run: Run, place: &str) -> Result<Run> {
    match &run.interrupted {
        Some(why) => {
            refuse!("'{place}' ended early ({why}); measure again")
        }
        None => Ok(run),
    }
}

/// Names a run, and keeps none of its rounds: a turn that is cut short is taken anew.
struct RunNamer<'a>(&'a str);

impl Keeper for RunNamer<'_> {
    fn begins(&mut self, run: &mut Run, _: &PlanLine, _: Elsewhere) -> Result<()> {
        self.0.clone_into(&mut run.name);
        Ok(())
    }

    fn round(&mut self, _: &RoundLine) -> io::Result<()> {
        Ok(())
    }
}

/// File name of a side's run; the first turn is 0.
pub fn stem(side: &str, turn: u32) -> String {
    format!("{side}-{:02}", turn + 1)
}

/// The directory for the runs of these sides, made where it is not there; one that holds runs of earlier turns is refused.
pub fn prepare<'a>(directory: &Path, sides: impl Iterator<Item = &'a str>) -> Result<()> {
    refuse_used(directory, sides)?;
    Directory::make(directory).map(drop).map_err(|error| unmade(directory, &error))
}

/// Refuses a directory that [`prepare`] would refuse, and makes none.
pub fn check<'a>(directory: &Path, sides: impl Iterator<Item = &'a str>) -> Result<()> {
    refuse_used(directory, sides)?;
    crate::store::check_new(directory).map_err(|error| unmade(directory, &error))
}

fn unmade(directory: &Path, error: &std::io::Error) -> anyhow::Error {
    unwritten(error, &said!("{directory} cannot be made", directory = directory.display()), &another_directory())
}

fn refuse_used<'a>(directory: &Path, mut sides: impl Iterator<Item = &'a str>) -> Result<()> {
    if sides.any(|side| directory.join(format!("{}.json", stem(side, 0))).exists()) {
        refuse!("{directory} holds runs of an earlier trial; give another directory", directory = directory.display());
    }
    Ok(())
}

pub fn keep(directory: &Path, stem: &str, text: &str) -> Result<()> {
    let file = directory.join(format!("{stem}.json"));
    store::write(&file, text).map_err(|error| {
        unwritten(&error, &said!("{file} cannot be written", file = file.display()), &another_directory())
    })
}

fn another_directory() -> String {
    said!("give another directory")
}
