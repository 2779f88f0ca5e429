//! `hostmark run --on`: a run that is measured at a place, and kept and shown here; every pair of hosts, each alone.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::{Observer, PlanLine, RoundSink, Wall};
use hostmark_launch::supervise::Supervised;
use hostmark_model::{Elsewhere, Exit, HERE, Lang, PairRun, RoundLine, Run, RunRequest};

use super::{RunArguments, finish, show_plan};
use crate::command::compare::verdict::Expected;
use crate::command::far::on::{Keeper, checked_report, measure_there};
use crate::command::far::peers::{self, Direct, Pairs, tournament};
use crate::command::far::target::Target;
use crate::command::measure::machine::catch;
use crate::command::measure::ready;
use crate::command::measure::ready::Begun;
use crate::command::runs::kept::{Author, RunDestination};
use crate::isolate::Outside;
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store;
use crate::world::SinceStart;

/// Measures there, keeps and shows here.
pub(super) fn run(
    arguments: &RunArguments,
    begun: Option<Begun>,
    place: &Target,
    expected: Option<Expected>,
    lang: Lang,
) -> Result<Exit> {
    let mut request = arguments.request()?;
    if arguments.dry_run {
        arguments.check_place()?;
        let (places, stop) = (arguments.peers()?, catch(&Outside::default())?);
        let report = checked_report(place, &request, &stop)?;
        expected.as_ref().map_or(Ok(()), |expected| expected.check(&report.host))?;
        Direct::open(&places, &stop, profile_limits(request.profile).limit)?.finish();
        return show_plan(arguments, &request, &ready::planned(&request, report.host, uuid::Uuid::now_v7())?, lang);
    }
    let places = arguments.peers()?;
    peers::names_of(&places, begun.as_ref())?;
    let fresh = Here { expected: expected.as_ref(), named: None, note: None, kept: None, rounds: 0 };
    let mut keeper = Here { named: arguments.named_file()?, note: arguments.note.clone(), ..fresh };
    let stop = catch(&Outside::default())?;
    let mut past = Vec::new();
    if let Some(begun) = begun {
        // How the peers are reached is said anew, as their places are.
        request = RunRequest { via: request.via, ..begun.request() };
        past = begun.past;
        let (note, rounds) = (begun.header.run.note.clone(), past.len());
        keeper = Here { named: None, note, kept: Some(begun.kept), rounds, ..keeper };
    }
    let peers = Direct::open(&places, &stop, profile_limits(request.profile).limit)?;
    let mut bar = Bar::new();
    let measured = measure_there(place, request, past, &stop, &mut bar, &mut keeper, Some(&peers));
    bar.finish();
    peers.finish();
    match (measured, keeper.kept) {
        (Ok(mut measured), kept) => {
            measured.run.note = keeper.note;
            measured.run.peers = peers::typed(measured.run.peers, &places);
            finish(arguments, measured, kept.unwrap_or_default(), expected, stop.signal(), lang)
        }
        (Err(error), Some(kept)) if keeper.rounds > 0 => Err(kept.goes_on_later(error, keeper.rounds)),
        (Err(error), kept) => {
            kept.unwrap_or_default().forget();
            Err(error)
        }
    }
}

/// Keeps a run as one of this machine is kept.
struct Here<'a> {
    /// Expectation for the run, which must be known of that machine before it measures.
    expected: Option<&'a Expected>,
    named: Option<store::RunFiles>,
    note: Option<String>,
    kept: Option<RunDestination>,
    rounds: usize,
}

impl Keeper for Here<'_> {
    fn begins(&mut self, run: &mut Run, planned: &PlanLine, elsewhere: Elsewhere) -> Result<()> {
        self.expected.map_or(Ok(()), |expected| expected.check(&run.host))?;
        run.note.clone_from(&self.note);
        match self.kept.as_ref().and_then(|kept| kept.place.as_ref()) {
            Some(place) => run.name.clone_from(&place.name),
            None => {
                let author = Author { binary: env!("CARGO_PKG_VERSION").into(), elsewhere: Some(elsewhere) };
                self.kept = Some(RunDestination::begin(run, self.named.as_ref(), planned, author)?);
            }
        }
        Ok(())
    }

    fn round(&mut self, line: &RoundLine) -> io::Result<()> {
        let Some(journal) = self.kept.as_mut().and_then(|kept| kept.journal.as_mut()) else { return Ok(()) };
        journal.append_round(line)?;
        self.rounds += 1;
        journal.sync()
    }
}

const EXPECTED: Duration = Duration::from_secs(6);
/// The hosts of a run, this one first.
pub struct Hosts<'a> {
    pub places: &'a [Target],
    pub names: &'a [String],
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
