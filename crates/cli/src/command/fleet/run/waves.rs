//! Turns of the hosts and of their pairs: so many at once, each a program that is watched until its end, its limit or the person's
//! request to stop.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::Wall;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::{CaseRecord, Estimate, Exit, FleetPair, FleetRequest, HostState, Lang};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use super::hosts::{HostAccess, Places};
use super::manifest::Directory;
use super::words_of;
use crate::command::far::peers::{Pairs, tournament};
use crate::command::lost;
use crate::command::processes::janitor::Janitor;
use crate::command::runs::kept::without_rounds;
use crate::language::said;
use crate::signals::StopRequest;
use crate::world::SinceStart;
use crate::{language, output};

/// The time between two looks at those under way.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

pub struct WaveOptions<'a> {
    pub program: &'a Path,
    pub request: FleetRequest,
    pub at_once: usize,
    pub timeout: Option<Duration>,
    /// True where ways to measured hosts are needed afterwards.
    pub keeps_ways: bool,
}

struct HostTurn {
    host: usize,
    row: usize,
    since: SinceStart,
    /// Run, once there is a way.
    measuring: Option<Measuring>,
    /// Reason and time of the request to stop.
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
        let word = words.get(language::current());
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

/// Beginning of this program's messages.
const NAME: &str = "hostmark: ";

pub struct Measuring {
    process: Supervised,
    file: PathBuf,
}

pub enum Ended {
    WithRun,
    /// End without one, with the reason.
    Without(HostState, String),
}

/// Longest time in which a run stops: it waits for the far end to put things in order.
pub fn stops_within() -> Duration {
    timing().stop + timing().end
}

impl Measuring {
    /// Starts it behind these words.
    pub fn start(program: &Path, way: &[String], request: &FleetRequest, file: PathBuf) -> Result<Measuring> {
        let place = quoted(way)?;
        let lang = if language::current() == Lang::Zh { "zh" } else { "en" };
        let mut command = command(program);
        command.args(["--quiet", "--color=never", "--lang", lang, "run", "--on", &place, "--out"]).arg(&file);
        command.args(words_of(request));
        let (errors, ending) = (Errors::CapturedAtLeisure, Ending::Asked(stops_within()));
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop: None };
        let process = Supervised::start(command, terms)
            .map_err(|error| lost(said!("hostmark cannot be started ({error}); look at ulimit -a")))?;
        Ok(Measuring { process, file })
    }

    /// Id of its process, whose group it leads.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Tells whether it has ended; its output is drained, as it must not block on that.
    pub fn has_ended(&mut self) -> bool {
        while let Ok(ReadOutcome::Line(_)) = self.process.read_line_within(Duration::ZERO) {}
        self.process.has_ended().unwrap_or(true)
    }

    /// Asks it to stop. Unlike an interrupt, this is never ignored.
    pub fn ask_to_stop(&self) {
        let _ = self.process.signal(Signal::TERM);
    }

    /// Ends it if it still runs, and returns its end.
    pub fn end(mut self) -> Ended {
        let word = self.process.last_word().unwrap_or_default();
        let status = match self.process.kill() {
            Ok(status) => status,
            Err(error) => return Ended::Without(HostState::Lost, error.to_string()),
        };
        let Some(code) = status.code() else {
            return Ended::Without(HostState::Lost, said!("the run was killed ({status})"));
        };
        if [Exit::Fine.code(), Exit::CaseFailed.code()].contains(&u8::try_from(code).unwrap_or(u8::MAX)) {
            return Ended::WithRun;
        }
        let state = if code == i32::from(Exit::ResourceLost.code()) { HostState::Lost } else { HostState::Failed };
        let sentence = without_rounds(word.strip_prefix(NAME).unwrap_or(&word)).to_owned();
        let silent = || said!("it ended with code {code} and said nothing");
        Ended::Without(state, if sentence.is_empty() { silent() } else { sentence })
    }
}

/// The words of a command as one word for `--on`.
pub fn quoted(way: &[String]) -> Result<String> {
    let quoted: Option<Vec<String>> = way.iter().map(|word| language::quoted(word)).collect();
    quoted
        .map(|words| words.join(" "))
        .ok_or_else(|| lost(said!("the command that leads there has a control character; write it without")))
}

/// The time between two looks at a way that is being made.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Measures all pairs of these hosts that are not measured yet, so many hosts at once; fewer where the person asked to stop. Each host
/// is given by its number among the places and its row.
pub fn measure(
    directory: &mut Directory,
    hosts: &[(usize, usize)],
    places: &mut dyn Places,
    at_once: usize,
    stop: &StopRequest,
) -> Result<()> {
    let name = |directory: &Directory, host: usize| directory.hosts()[hosts[host].1].host.clone();
    let mut runs = Pairs::new(directory.request().seed, stop)?;
    let rounds = tournament(hosts.len());
    let all = rounds.iter().map(Vec::len).sum::<usize>();
    let mut over = 0;
    for (turn, pairs) in (0..).zip(rounds) {
        for together in pairs.chunks((at_once / 2).max(1)) {
            let mut begun = Vec::new();
            for &(from, to) in together {
                let (from_name, to_name) = (name(directory, from), name(directory, to));
                if directory.has_pair(&from_name, &to_name) {
                    over += 1;
                    continue;
                }
                let (since, ends) = (SinceStart::now(), [from, to].map(|host| hosts[host].0));
                begun.push((from_name, to_name, since, begin(&mut runs, ends, places, stop)));
            }
            for (from, to, since, process) in begun {
                let Some(outcome) = runs.collect(process) else { continue };
                over += 1;
                let why = outcome.as_ref().err().map(|why| said!(" failed: {why}")).unwrap_or_default();
                let seconds = (since.elapsed().as_secs_f64() * 10.0).round() / 10.0;
                output::remark(&said!("pair {over} of {all}: {from} → {to}{why} after {seconds} s"));
                directory.add_pair(pair_record(from, to, turn, outcome));
            }
            directory.save()?;
            if stop.signal().is_some() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Starts the run between two hosts once there are ways to both.
fn begin(
    runs: &mut Pairs,
    ends: [usize; 2],
    places: &mut dyn Places,
    stop: &StopRequest,
) -> Result<Supervised, String> {
    let [from, to] = ends.map(|host| open(places, host, stop));
    runs.begin(Some(&from?), Some(&to?), None)
}

/// The command that leads to a host, as one word for `--on`.
fn open(places: &mut dyn Places, host: usize, stop: &StopRequest) -> Result<String, String> {
    let readable = stop.readable();
    loop {
        if stop.signal().is_some() {
            return Err(said!("stopped by a signal"));
        }
        match places.way(host) {
            HostAccess::Open(words) => return quoted(&words).map_err(|error| crate::command::sentence(&error)),
            HostAccess::Closed(why) => return Err(why),
            HostAccess::NotYet => {
                let _ = poll(&mut [PollFd::new(&*readable, PollFlags::IN)], Some(&LOOK));
            }
        }
    }
}

fn pair_record(from: String, to: String, turn: u32, outcome: Result<Vec<CaseRecord>, String>) -> FleetPair {
    let (cases, failed) = match outcome {
        Ok(cases) => (cases, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let of = |probe: &str| -> Vec<Estimate> {
        let cases = cases.iter().filter(|case| case.probe == probe);
        cases.filter_map(|case| Some(case.measured()?.estimate.clone())).collect()
    };
    let bandwidth = of("net.tcp_bandwidth").into_iter().max_by(|one, other| one.value().total_cmp(&other.value()));
    let round_trip = of("net.round_trip").into_iter().next();
    let is_empty = bandwidth.is_none() && round_trip.is_none();
    let failed = failed.or_else(|| is_empty.then(|| said!("its run has no value")));
    FleetPair { from, to, turn, bandwidth, round_trip, failed }
}
