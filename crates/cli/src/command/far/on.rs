//! `--on`: what is asked for is done where a command leads, and what comes of it is kept here.

use std::collections::HashSet;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::escape::visible;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::{Observer, PastRound, PlanLine, line_of};
use hostmark_launch::agent::AgentError;
use hostmark_launch::timing::timing;
use hostmark_model::{
    AgentAnswer, AgentRequest, CaseId, Elsewhere, HostReport, Profile, RoundLine, Run, RunRequest, SCHEMA, Sampled,
    Settings,
};

use super::peers::{Direct, NoAnswer, PeerLink};
use super::{RunningAgent, Target, failed};
use crate::command::lost;
use crate::command::measure::{Measured, catch};
use crate::isolate::Outside;
use crate::language::said;
use crate::signals::StopRequest;

/// Cases of a plan at most; the largest profile on the largest machines has some thousands.
const MOST_CASES: usize = 1 << 17;
const LONGEST_CASE: usize = 200;

/// Facts about the machine there.
pub fn report_of_host(place: &Target, stop: &StopRequest) -> Result<HostReport> {
    report(place, &AgentRequest::Facts, stop)
}

/// The same as a run of this request would see it, which is refused as that run would be.
pub fn checked_report(place: &Target, request: &RunRequest, stop: &StopRequest) -> Result<HostReport> {
    report(place, &AgentRequest::Check(Box::new(request.clone())), stop)
}

fn report(place: &Target, request: &AgentRequest, stop: &StopRequest) -> Result<HostReport> {
    let mut far = RunningAgent::open(place, stop)?;
    let answer = far.ask(request).and_then(|()| far.receive()).map_err(|error| failed(error, stop))?;
    let AgentAnswer::Facts(report) = answer else { return Err(astray(place)) };
    far.finish();
    match crate::command::measure::ready::is_machine(&report.host) {
        true => Ok(*report),
        false => Err(astray(place)),
    }
}

pub fn kept_run(place: &Target, run: &str) -> Result<Run> {
    let stop = catch(&Outside::default())?;
    let mut far = RunningAgent::open(place, &stop)?;
    let request = AgentRequest::Kept { run: run.to_owned() };
    let answer = far.ask(&request).and_then(|()| far.receive()).map_err(|error| failed(error, &stop))?;
    let AgentAnswer::Run(run) = answer else { return Err(astray(place)) };
    far.finish();
    readable(*run, place)
}

/// Storage for the rounds of a run that is measured elsewhere.
pub trait Keeper {
    /// Begins a run with its plan and its place. May name the run.
    fn begins(&mut self, run: &mut Run, planned: &PlanLine, elsewhere: Elsewhere) -> Result<()>;

    fn round(&mut self, line: &RoundLine) -> io::Result<()>;
}

/// Measures there: the run under the name that its keeper gave it.
pub fn measure_there(
    place: &Target,
    request: RunRequest,
    past: Vec<PastRound>,
    stop: &StopRequest,
    observer: &mut dyn Observer,
    keeper: &mut dyn Keeper,
    peers: Option<&Direct>,
) -> Result<Measured> {
    let wanted = Wanted::of(&request);
    let at_most = match wanted.command.is_empty() {
        // Beyond its limit it may take as much again, and a login, the copying and a slow way.
        true => (profile_limits(request.profile).limit + timing().login) * 2,
        // How long a command takes is what is asked.
        false => Duration::MAX,
    };
    let mut far = RunningAgent::open(place, stop)?;
    far.ends_within(at_most);
    let asked = far.ask(&AgentRequest::Run(Box::new(request))).and_then(|()| {
        let lines = past.iter().map(|past| line_of(&past.case, &past.round, &past.took));
        lines.map(AgentRequest::Past).try_for_each(|line| far.ask(&line))
    });
    asked.map_err(|error| failed(error, stop))?;
    let rounds = past.into_iter().map(|past| (past.case, past.round.round)).collect();
    let mut remote = RemoteRun { place, keeper, wanted, planned: None, rounds, sink_lost: None };
    let mut is_stopping = false;
    loop {
        let answer = match far.receive() {
            Ok(answer) => answer,
            Err(AgentError::Stopped) if !is_stopping => {
                is_stopping = true;
                far.stops();
                continue;
            }
            Err(error) => return Err(failed(error, stop)),
        };
        // What the run needs of its peers is asked for here.
        if let (AgentAnswer::Wants { peer, request }, Some(peers)) = (&answer, peers) {
            let index = remote.wanted.peers.iter().position(|name| name == peer).ok_or_else(|| astray(place))?;
            let answer = match peers.ask(index, request.clone()) {
                Ok(answer) => Ok(answer),
                Err(NoAnswer::Lost(sentence)) => Err(sentence),
                // The run ends by the request to stop, which is heard next.
                Err(NoAnswer::Stopped) => continue,
            };
            far.ask(&AgentRequest::Relayed(answer)).map_err(|error| failed(error, stop))?;
            continue;
        }
        if let Some(run) = remote.take(answer, far.digest(), observer)? {
            far.finish();
            return Ok(Measured { run, sink_lost: remote.sink_lost });
        }
    }
}

/// Parts of a request that its run repeats.
struct Wanted {
    filters: Vec<String>,
    profile: Profile,
    seed: Option<u64>,
    table: Option<String>,
    command: Vec<String>,
    sampled: Option<Sampled>,
    peers: Vec<String>,
}

impl Wanted {
    fn of(request: &RunRequest) -> Wanted {
        let RunRequest { filters, profile, seed, table, inputs, .. } = request.clone();
        Wanted { filters, profile, seed, table, command: inputs.command, sampled: inputs.sampled, peers: inputs.peers }
    }

    /// Tells whether the run is the requested one: its display and its resumption follow from that.
    fn is_of(&self, run: &Run) -> bool {
        let Settings { filters, profile, seed, table, inputs, .. } = &run.settings;
        let is_seed = self.seed.is_none_or(|wanted| wanted == *seed);
        let is_work = (&self.filters, &self.table, &self.command) == (filters, table, &inputs.command)
            && (&self.sampled, &self.peers) == (&inputs.sampled, &inputs.peers);
        is_work && is_seed && self.profile == *profile
    }
}

/// State of a run that is measured elsewhere.
struct RemoteRun<'a> {
    place: &'a Target,
    keeper: &'a mut dyn Keeper,
    wanted: Wanted,
    planned: Option<Planned>,
    rounds: HashSet<(String, u32)>,
    sink_lost: Option<io::Error>,
}

struct Planned {
    id: String,
    name: String,
    cases: HashSet<String>,
}

impl RemoteRun<'_> {
    fn take(&mut self, answer: AgentAnswer, digest: &str, observer: &mut dyn Observer) -> Result<Option<Run>> {
        match (answer, &self.planned) {
            (AgentAnswer::Plan { run, cases }, None) => {
                let mut run = readable(*run, self.place)?;
                if !self.wanted.is_of(&run)
                    || cases.len() > MOST_CASES
                    || cases.iter().any(|case| CaseId::from_str(case).is_err())
                {
                    return Err(astray(self.place));
                }
                self.place.mark(&mut run, digest);
                let planned = PlanLine { seed: run.settings.seed, cases };
                self.keeper.begins(&mut run, &planned, self.place.elsewhere(digest))?;
                observer.begins(&run.probes, &[]);
                let cases = planned.cases.into_iter().collect();
                self.planned = Some(Planned { id: run.id, name: run.name, cases });
            }
            (AgentAnswer::Step { case, done, all, left_ms }, Some(_)) => {
                let case = visible(&case.chars().take(LONGEST_CASE).collect::<String>());
                let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
                observer.round(&case, count(done), count(all), Duration::from_millis(left_ms));
            }
            (AgentAnswer::Value { case, value }, Some(_)) => {
                let case = CaseId::from_str(&case).map_err(|_| astray(self.place))?;
                observer.value(&case, value);
            }
            (AgentAnswer::Round(line), Some(planned))
                if planned.cases.contains(&line.case) && self.rounds.insert((line.case.clone(), line.round)) =>
            {
                if self.sink_lost.is_none() {
                    self.sink_lost = self.keeper.round(&line).err();
                }
            }
            (AgentAnswer::Run(run), Some(planned)) if run.id == planned.id && self.wanted.is_of(&run) => {
                let mut run = Run { name: planned.name.clone(), ..readable(*run, self.place)? };
                self.place.mark(&mut run, digest);
                return Ok(Some(run));
            }
            _ => return Err(astray(self.place)),
        }
        Ok(None)
    }
}

fn readable(run: Run, place: &Target) -> Result<Run> {
    let mut machines = std::iter::once(&run.host).chain(run.peers.iter().map(|peer| &peer.host));
    match run.schema == SCHEMA
        && uuid::Uuid::parse_str(&run.id).is_ok()
        && machines.all(crate::command::measure::ready::is_machine)
    {
        true => Ok(run),
        false => Err(astray(place)),
    }
}

fn astray(place: &Target) -> anyhow::Error {
    lost(said!("'{shown}' said what was not asked for; look at what runs there", shown = place.shown()))
}

#[cfg(test)]
#[path = "on_tests.rs"]
mod tests;
