//! Every pair of hosts of a run, each alone: a tournament in which pairs that share no host are measured at the same time.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::{Observer, Wall};
use hostmark_launch::supervise::Supervised;
use hostmark_model::{HERE, PairRun};

use crate::command::far::pairs::{Pairs, tournament};
use crate::command::far::target::Target;
use crate::signals::StopRequest;
use crate::wall::SinceStart;

/// How long a pair takes by experience.
const EXPECTED: Duration = Duration::from_secs(6);
/// The hosts of a run, this one first.
pub struct Hosts<'a> {
    /// Where its peers are.
    pub places: &'a [Target],
    /// What they are called.
    pub names: &'a [String],
    /// What lets us in at servers among them.
    pub token_file: Option<&'a Path>,
}

impl Hosts<'_> {
    fn name(&self, host: usize) -> &str {
        host.checked_sub(1).map_or(HERE, |peer| &self.names[peer])
    }

    /// Measures all pairs, both ways; fewer where the person asked to stop.
    pub fn measure(&self, seed: u64, stop: &StopRequest, observer: &mut dyn Observer) -> Result<Vec<PairRun>> {
        let mut runs = Pairs::new(Some(seed), stop)?;
        let mut measured = Vec::new();
        let rounds = tournament(self.places.len() + 1);
        let (all, begin) = (rounds.iter().map(Vec::len).sum::<usize>(), SinceStart::now());
        for (turn, pairs) in (0..).zip(rounds) {
            let shown: Vec<String> =
                pairs.iter().map(|&(from, to)| format!("{} → {}", self.name(from), self.name(to))).collect();
            let done = measured.len();
            // As long as those before; the first has nobody to learn from.
            let each = begin.elapsed().checked_div(done as u32).unwrap_or(EXPECTED);
            observer.round(&shown.join(", "), done, all, each * (all - done.min(all)) as u32);
            let begun: Vec<_> = pairs.iter().map(|&pair| (pair, self.begin(&mut runs, pair))).collect();
            for (pair, process) in begun {
                let Some(outcome) = runs.collect(process) else { continue };
                let (from, to) = (self.name(pair.0).to_owned(), self.name(pair.1).to_owned());
                let failed = outcome.as_ref().err().cloned();
                measured.push(PairRun { from, to, turn, cases: outcome.unwrap_or_default(), failed });
            }
            if stop.signal().is_some() {
                return Ok(measured);
            }
        }
        Ok(measured)
    }

    /// Starts a run between two of them.
    fn begin(&self, runs: &mut Pairs, (from, to): (usize, usize)) -> Result<Supervised, String> {
        let place = |host: usize| host.checked_sub(1).map(|peer| &self.places[peer]);
        let is_served = [from, to].into_iter().any(|host| place(host).is_some_and(Target::is_served));
        runs.begin(place(from).map(Target::shown), place(to).map(Target::shown), self.token_file.filter(|_| is_served))
    }
}
