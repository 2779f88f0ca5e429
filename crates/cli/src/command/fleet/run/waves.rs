//! Takes the hosts' turns: so many at once, each watched until its end, its limit or the person's request to stop.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::Wall;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_model::{FleetRequest, HostState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::directory::Directory;
use super::measuring::{Ended, Measuring, stops_within};
use super::places::{HostAccess, Places};
use crate::command::lost;
use crate::command::processes::janitor::Janitor;
use crate::language::said;
use crate::output;
use crate::signals::StopRequest;
use crate::wall::SinceStart;

/// The time between two looks at those under way.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How the turns are taken.
pub struct WaveOptions<'a> {
    pub program: &'a Path,
    pub request: FleetRequest,
    pub at_once: usize,
    /// How long a host's turn may last.
    pub timeout: Option<Duration>,
    /// Whether ways to measured hosts are needed afterwards.
    pub keeps_ways: bool,
}

/// A host whose turn it is.
struct HostTurn {
    host: usize,
    row: usize,
    since: SinceStart,
    /// Its run, once there is a way.
    measuring: Option<Measuring>,
    /// Why and when it was asked to stop.
    asked: Option<(HostState, String, SinceStart)>,
}

/// Takes the turns of these hosts, each a number among the places' and a row of the directory.
pub fn take(
    directory: &mut Directory,
    waiting: Vec<(usize, usize)>,
    places: &mut dyn Places,
    terms: &WaveOptions,
    stop: &StopRequest,
) -> Result<()> {
    allow_many_files();
    let janitor = Janitor::start(terms.program).map_err(lost)?;
    let all = waiting.len();
    let mut taking = Taking { directory, places, terms, stop, janitor, all, over: 0 };
    let mut waiting = waiting.into_iter();
    let mut turns: Vec<HostTurn> = Vec::new();
    let readable = stop.readable();
    let mut result = Ok(());
    loop {
        let is_over = stop.signal().is_some() || result.is_err();
        if is_over {
            turns.iter_mut().for_each(|turn| turn.ask(HostState::Stopped, &said!("stopped by a signal")));
        }
        let before = turns.len();
        while !is_over && turns.len() < terms.at_once {
            let Some((host, row)) = waiting.next() else { break };
            taking.directory.row(row, HostState::Running, None, None);
            turns.push(HostTurn { host, row, since: SinceStart::now(), measuring: None, asked: None });
        }
        if turns.is_empty() {
            break;
        }
        if turns.len() > before {
            result = result.and(taking.directory.save());
        }
        let mut going_on = Vec::new();
        for turn in turns {
            match taking.step(turn) {
                Ok(turn) => going_on.extend(turn),
                // The directory cannot be written to: all others end as well.
                Err(error) => result = result.and(Err(error)),
            }
        }
        turns = going_on;
        // Somebody who asked to stop once is heard; from then on time alone passes.
        let mut request = [PollFd::new(&*readable, PollFlags::IN)];
        let looked = if is_over { &mut [][..] } else { &mut request[..] };
        let _ = poll(looked, Some(&TURN));
    }
    result.and(directory.save())
}

/// Each host under way takes some descriptors: a thousand at once are more than the usual soft limit. Where it cannot be raised, the
/// hosts for which there are none are rows with that reason.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// What every turn needs.
struct Taking<'a> {
    directory: &'a mut Directory,
    places: &'a mut dyn Places,
    terms: &'a WaveOptions<'a>,
    stop: &'a StopRequest,
    janitor: Janitor,
    all: usize,
    over: usize,
}

impl Taking<'_> {
    /// Looks after a turn: none when it is over.
    fn step(&mut self, mut turn: HostTurn) -> Result<Option<HostTurn>> {
        if let Some(limit) = self.terms.timeout.filter(|limit| turn.since.elapsed() > *limit) {
            let seconds = limit.as_secs();
            turn.ask(HostState::Slow, &said!("not done after {seconds} s (--timeout)"));
        }
        if turn.measuring.is_none() {
            if let Some((state, mut why, _)) = turn.asked.take() {
                let known = if state == HostState::Slow { self.places.why_waiting(turn.host) } else { None };
                if let Some(known) = known {
                    why = said!("{why}: {known}");
                }
                return self.is_over(turn, state, Some(why)).map(|()| None);
            }
            match self.places.way(turn.host) {
                HostAccess::NotYet => return Ok(Some(turn)),
                // Who was asked to stop while a way was looked for looks no further; that is told at the next look.
                HostAccess::Closed(_) if self.stop.signal().is_some() => return Ok(Some(turn)),
                HostAccess::Closed(why) => return self.is_over(turn, HostState::Failed, Some(why)).map(|()| None),
                HostAccess::Open(way) => {
                    let begun = self.directory.begin(turn.row).map_err(anyhow::Error::from);
                    let begun =
                        begun.and_then(|file| Measuring::start(self.terms.program, &way, &self.terms.request, file));
                    match begun {
                        Ok(measuring) => {
                            self.janitor.record(&CleanupEntry::Group(measuring.id()));
                            turn.measuring = Some(measuring);
                        }
                        Err(error) => {
                            let why = crate::command::sentence(&error);
                            return self.is_over(turn, HostState::Failed, Some(why)).map(|()| None);
                        }
                    }
                }
            }
        }
        let is_late = turn.asked.as_ref().is_some_and(|(_, _, since)| since.elapsed() > stops_within());
        let Some(mut measuring) = turn.measuring.take() else { return Ok(Some(turn)) };
        if !measuring.has_ended() && !is_late {
            turn.measuring = Some(measuring);
            return Ok(Some(turn));
        }
        let (id, file) = (measuring.id(), measuring.file().to_owned());
        let ended = measuring.end();
        self.janitor.record(&CleanupEntry::Reaped(id));
        let (state, why) = match (ended, turn.asked.take()) {
            (Ended::WithRun, _) => match self.directory.take(turn.row, &file) {
                Ok(0) => (HostState::Measured, None),
                Ok(failed) => (HostState::Measured, Some(said!("{failed} cases failed"))),
                Err(error) => (HostState::Failed, Some(crate::command::sentence(&error))),
            },
            (Ended::Without(..), Some((state, why, _))) => (state, Some(why)),
            (Ended::Without(state, why), None) => (state, Some(self.places.why_lost(turn.host).unwrap_or(why))),
        };
        self.is_over(turn, state, why).map(|()| None)
    }

    /// Writes down what became of a host, and says it.
    fn is_over(&mut self, turn: HostTurn, state: HostState, why: Option<String>) -> Result<()> {
        let elapsed_s = (turn.since.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        if !self.terms.keeps_ways || state != HostState::Measured {
            self.places.leave(turn.host);
        }
        self.over += 1;
        self.directory.row(turn.row, state, why.clone(), Some(elapsed_s));
        let (over, all) = (self.over, self.all);
        let (host, words) = (&self.directory.hosts()[turn.row].host, state.word());
        let word = words.get(crate::language::current());
        let why = why.map(|why| said!(": {why}")).unwrap_or_default();
        output::remark(&said!("{over} of {all}: {host} {word} after {elapsed_s} s{why}"));
        self.directory.save()
    }
}

impl HostTurn {
    /// Asks its run to stop, once.
    fn ask(&mut self, state: HostState, why: &str) {
        if self.asked.is_none() {
            self.asked = Some((state, why.to_owned(), SinceStart::now()));
            self.measuring.iter().for_each(Measuring::ask_to_stop);
        }
    }
}
