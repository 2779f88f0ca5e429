//! `hostmark agent`: this program where another one sent it. It measures what that asks for, keeps nothing, and ends with it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::sys::clock::sleep;
use hostmark_engine::{PastRound, Wall};
use hostmark_launch::agent::{SERVED, parse_request};
use hostmark_launch::program::OWN;
use hostmark_launch::timing::timing;
use hostmark_launch::transport;
use hostmark_model::{
    AGENT_PROTOCOL, AgentAnswer, AgentRefusal, AgentRequest, BegunRun, Exit, HostReport, LONGEST_AGENT_LINE, Lang,
    Message, PeerAnswer, PeerRequest, RunRequest,
};
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use sessions::{Link, Outbox, OutboxWriter, Serving};

use super::peers::FarPeers;
use crate::command::far::peers::{NoAnswer, PeerLink};
use crate::command::measure::ready::Ready;
use crate::command::measure::{Means, MeasuredMachine, inputs, measure, ready, report_of_host};
use crate::command::runs::kept;
use crate::command::{EndsWith, exit_of, lost, message, sentence};
use crate::isolate::Layer;
use crate::language::{refuse, refused, said};
use crate::signals::{Asker, StopRequest};
use crate::world::SinceStart;

mod sessions;

pub use sessions::MOST_PLANNING;

/// The word that starts it; no command for people.
pub const NAME: &str = hostmark_launch::agent::AGENT;
/// Rounds at most that a run goes on after: each case of the largest plan has some dozens.
const MOST_PAST: usize = 1 << 20;
/// Longest silence that a request may ask for: twice the longest run.
const LONGEST_IDLE: Duration = Duration::from_secs(2 * 3600);
/// Bytes of a line at most of who came by a server: none of its requests has rounds with it.
const LONGEST_SERVED_LINE: usize = 128 << 10;

/// Client that came by a server, and has no login here.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    bound: IpAddr,
    memory_bytes: u64,
}

impl Served {
    /// Parses the words behind the agent's name; none where no server has started it.
    fn of(words: &[OsString]) -> Option<Served> {
        let word = |at: usize| words.get(at)?.to_str();
        // Of a server that does not say it, nobody but this machine reaches the far ends.
        let bound = word(1).and_then(|word| word.parse().ok()).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let memory_bytes = word(2).and_then(|word| word.parse().ok()).unwrap_or(0);
        (word(0) == Some(SERVED)).then_some(Served { bound, memory_bytes })
    }
}

/// Serves who is at the other end of standard input and output, until that is over. The words behind its name say whether that
/// is somebody whom a server has let in, and what that one may have.
pub fn serve(words: &[OsString]) -> ExitCode {
    let served = Served::of(words);
    // Nor does anything that is started here inherit the program's file.
    let _ = transport::close_own_descriptor();
    // Nothing else of this process writes to standard output.
    let streams = || -> io::Result<_> {
        let output = File::from(rustix::io::dup(io::stdout())?);
        Ok((Outbox::new(output, timing().silence())?, Inbox::of(rustix::io::dup(io::stdin())?)))
    };
    let (mut outbox, mut inbox) = match streams() {
        Ok(streams) => streams,
        Err(error) => return complain(&said!("a standard stream cannot be used ({error})")),
    };
    if served.is_some() {
        inbox.longest = LONGEST_SERVED_LINE;
    }
    let (serving, idle) = (sessions::Serving::of(served), timing().silence());
    let mut session = AgentSession { inbox: Some(inbox), greeted: false, served, serving, idle };
    loop {
        match session.next(&mut outbox) {
            Ok(true) => {}
            Ok(false) => return ExitCode::SUCCESS,
            Err(error) => {
                let answer = AgentAnswer::Error(AgentRefusal::new(message(&error), exit_of(&error)));
                return match outbox.say(&answer) {
                    Ok(()) => ExitCode::from(exit_of(&error).code()),
                    Err(_) => complain(&sentence(&error)),
                };
            }
        }
    }
}

fn complain(sentence: &str) -> ExitCode {
    crate::output::complain(&said!("an agent is started by hostmark run --on, not by hand ({sentence})"));
    ExitCode::from(Exit::BadInput.code())
}

struct AgentSession {
    /// Incoming requests; none once another thread reads them.
    inbox: Option<Inbox>,
    greeted: bool,
    /// Services for a run of another machine.
    serving: Serving,
    /// Longest silence while nothing is served.
    idle: Duration,
    /// Client of a server, which must get nothing like a login.
    served: Option<Served>,
}

impl AgentSession {
    /// Does what is asked for next. False when nothing is any more.
    fn next(&mut self, outbox: &mut Outbox) -> Result<bool> {
        // Nobody is waited for who says nothing.
        let Next::Request(request) = self.next_request()? else { return Ok(false) };
        let is_served = self.greeted && self.served.is_some();
        if let Some(why) = is_served.then(|| sessions::refusal(&request)).flatten() {
            return Err(EndsWith(Exit::BadInput, why).into());
        }
        match request {
            AgentRequest::Hello { protocol } => {
                let digest = ready::own_digest();
                let (version, target) = (env!("CARGO_PKG_VERSION").to_owned(), ready::target());
                outbox.say(&AgentAnswer::Hello { protocol: AGENT_PROTOCOL, version, target, digest })?;
                self.greeted = true;
                if protocol != AGENT_PROTOCOL {
                    refuse!(
                        "this hostmark speaks version {AGENT_PROTOCOL} of the protocol and was asked in version {protocol}; \
                         take the same version of both"
                    );
                }
            }
            AgentRequest::Bye => return Ok(false),
            // One that comes late, of a run that has ended by itself.
            AgentRequest::Acknowledge { .. } | AgentRequest::Stop => {}
            _ if !self.greeted => refuse!("the first line is no greeting; use hostmark run --on"),
            AgentRequest::Facts => outbox.say(&AgentAnswer::Facts(Box::new(report_of_host())))?,
            AgentRequest::Check(request) => outbox.say(&AgentAnswer::Facts(Box::new(self.check(*request)?)))?,
            AgentRequest::Kept { run } => outbox.say(&AgentAnswer::Run(Box::new(kept::found(&run, Lang::En)?)))?,
            AgentRequest::Peer(request) => outbox.say(&AgentAnswer::Peer(self.serving.answer(request)?))?,
            AgentRequest::Idle { ms } => self.idle = Duration::from_millis(ms).clamp(timing().silence(), LONGEST_IDLE),
            // One that comes late, as above.
            AgentRequest::Relayed(_) => {}
            AgentRequest::Past(_) => refuse!("rounds came that nothing goes on after; start anew"),
            AgentRequest::Run(request) => {
                self.run(*request, outbox)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Next request, or the end after too long a silence.
    fn next_request(&mut self) -> Result<Next> {
        let patience = self.serving.patience(self.idle);
        self.inbox.as_mut().map_or(Ok(Next::End), |inbox| inbox.next(patience))
    }

    /// The machine as a run would see it, which is refused here as it would be before its first round.
    fn check(&self, mut request: RunRequest) -> Result<HostReport> {
        let machine = MeasuredMachine::local(Some(OWN.into()), &layers(&request)?)?;
        request.inputs = inputs::on_this_machine(request.inputs)?;
        let mut host = machine.facts(&request.inputs);
        let planning = self.served.map(|_| sessions::watch_planning()).transpose()?;
        host.memory_look = ready::planned_here(&request, host.clone(), &machine, uuid::Uuid::now_v7())?.1.memory_look;
        drop(planning);
        inputs::check_command(&request.inputs)?;
        Ok(HostReport { host, ..report_of_host() })
    }

    /// Measures: the plan, the rounds as they end, the run.
    fn run(&mut self, mut request: RunRequest, outbox: &mut Outbox) -> Result<()> {
        let wall = SinceStart::now();
        let begun = request.begun.take();
        let past = self.past(begun.as_deref())?;
        let machine = MeasuredMachine::local(Some(OWN.into()), &layers(&request)?)?;
        request.inputs = inputs::on_this_machine(request.inputs)?;
        let host = machine.facts(&request.inputs);
        let stop = machine.catch()?;
        let planning = self.served.map(|_| sessions::watch_planning()).transpose()?;
        let mut ready = match begun {
            Some(begun) => {
                let BegunRun { run, cases, .. } = *begun;
                let shown = format!("the run {}", run.name);
                ready::go_on(run, &cases, past, host, &shown, &machine)?
            }
            None => Ready::fresh(&request, host, &machine, &wall)?,
        };
        drop(planning);
        if let Some(served) = self.served {
            // A round fills half of what its host has, at most.
            let memory = &mut ready.host.memory;
            memory.available_bytes = memory.available_bytes.min(served.memory_bytes.saturating_mul(2));
        }
        let cases = ready.plan.cases.iter().map(|case| case.id.to_string()).collect();
        let link = Arc::clone(outbox.link());
        outbox.begin(&AgentAnswer::Plan { run: Box::new(ready.run.clone()), cases })?;
        // From here on the other thread alone reads what comes.
        let (relays, answers) = mpsc::channel();
        if let (Some(inbox), Some(woken)) = (self.inbox.take(), outbox.woken()) {
            begin(inbox, woken, &link, stop.asker(), relays).map_err(|error| {
                lost(say!("no thread could be started ({error}); raise the limit of processes (ulimit -u)"))
            })?;
        }
        let shared_outbox = RefCell::new(outbox);
        let (mut observer, mut sink) = (OutboxWriter(&shared_outbox), OutboxWriter(&shared_outbox));
        let names = request.inputs.peers.clone();
        let relayed =
            Relayed { shared_outbox: OutboxWriter(&shared_outbox), answers, names: names.clone(), stop: &stop };
        let peers = FarPeers::settle(relayed, names, &request.via)?;
        ready.run.peers = peers.described()?;
        let means = Means { machine, stop: &stop, wall: &wall, peers: &peers };
        let measured = measure(ready, means, &mut observer, Some(&mut sink))?;
        if let Some(error) = measured.sink_lost {
            return Err(lost(say!("rounds could not be sent ({error}); go on by hostmark run --resume")));
        }
        shared_outbox.borrow_mut().say(&AgentAnswer::Run(Box::new(measured.run)))?;
        link.wait_until_acknowledged();
        Ok(())
    }

    fn past(&mut self, begun: Option<&BegunRun>) -> Result<Vec<PastRound>> {
        let count = begun.map_or(0, |begun| begun.rounds);
        if count > MOST_PAST {
            refuse!("the run to go on with has {count} rounds, more than any has; measure anew");
        }
        let mut past = Vec::new();
        while past.len() < count {
            match self.next_request()? {
                Next::Request(AgentRequest::Past(line)) => past.push(PastRound::of(line)),
                Next::Request(_) => refuse!("something else came in the place of a past round; start anew"),
                Next::Silence | Next::End => return Err(lost(say!("not all past rounds came; start anew"))),
            }
        }
        Ok(past)
    }
}

fn layers(request: &RunRequest) -> Result<Vec<Layer>> {
    let named = request.inputs.isolate.iter().map(|name| match Layer::named(name) {
        Some(layer) => Ok(layer),
        None => refuse!("no layer is called '{name}'; take the same version of both", name = name.escape_debug()),
    });
    named.collect()
}

pub type Relays = Sender<Result<PeerAnswer, Message>>;

pub fn begin(inbox: Inbox, woken: OwnedFd, link: &Arc<Link>, asker: Asker, relays: Relays) -> io::Result<()> {
    let link = Arc::clone(link);
    // It sleeps until something comes.
    std::thread::Builder::new().name("hm-watch".into()).stack_size(256 << 10).spawn(move || {
        if read_requests(inbox, &woken, &link, &asker, &relays) == WatchEnd::Bye {
            // A run that is over needs no more time, and is not to be stopped.
            sleep(timing().end);
        }
        asker.ask();
        // What the run does not put in order by then, the janitor does.
        sleep(timing().end);
        // The run's thread may be writing to where nobody reads.
        std::process::exit(Exit::ResourceLost.code().into());
    })?;
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum WatchEnd {
    Bye,
    /// The other end is gone, or makes no sense.
    Gone,
}

fn read_requests(mut inbox: Inbox, woken: &OwnedFd, link: &Link, asker: &Asker, relays: &Relays) -> WatchEnd {
    loop {
        loop {
            match inbox.whole_line() {
                Ok(None) => break,
                Ok(Some(AgentRequest::Acknowledge { lines })) if link.acknowledge(lines) => {}
                Ok(Some(AgentRequest::Stop)) => asker.ask(),
                // A run that is over waits for none.
                Ok(Some(AgentRequest::Relayed(answer))) => drop(relays.send(answer)),
                Ok(Some(AgentRequest::Bye)) => return WatchEnd::Bye,
                Ok(Some(_)) | Err(_) => return WatchEnd::Gone,
            }
        }
        let left = link.left();
        if left.is_some_and(|left| left.is_zero()) {
            return WatchEnd::Gone;
        }
        let mut watched = [PollFd::new(&inbox, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
        let at_most = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, at_most.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return WatchEnd::Gone,
        }
        let (has_line, is_woken) = (!watched[0].revents().is_empty(), !watched[1].revents().is_empty());
        if is_woken {
            let _ = rustix::io::read(woken, &mut [0; 64]);
        }
        if has_line && !matches!(inbox.read(Some(Duration::ZERO)), Ok(None | Some(1..))) {
            return WatchEnd::Gone;
        }
    }
}

/// Bytes that are read at once.
const PART: usize = 1 << 16;

/// Bytes in all at most: those of the longest journal, and acknowledgements for a week.
const MOST_BYTES: u64 = 512 << 20;

#[derive(Debug, PartialEq)]
pub enum Next {
    Request(AgentRequest),
    /// Silence for the time given.
    Silence,
    End,
}

/// Requests from one end of a link, which nothing else reads.
pub struct Inbox {
    from: OwnedFd,
    unread: Vec<u8>,
    /// Number of bytes that hold no end of a line.
    searched: usize,
    /// Bytes that have come in all.
    taken: u64,
    /// Bytes of a line at most.
    longest: usize,
}

impl Inbox {
    pub fn of(from: OwnedFd) -> Inbox {
        Inbox { from, unread: Vec::new(), searched: 0, taken: 0, longest: LONGEST_AGENT_LINE }
    }

    /// The next request, waited for no longer than this.
    pub fn next(&mut self, at_most: Duration) -> Result<Next> {
        let begin = SinceStart::now();
        loop {
            if let Some(request) = self.whole_line()? {
                return Ok(Next::Request(request));
            }
            match self.read(Some(at_most.saturating_sub(begin.elapsed())))? {
                None if begin.elapsed() >= at_most => return Ok(Next::Silence),
                Some(0) => return Ok(Next::End),
                _ => {}
            }
        }
    }

    fn whole_line(&mut self) -> Result<Option<AgentRequest>> {
        let Some(end) = self.unread[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.unread.len();
            if self.searched > self.longest {
                refuse!("a line has no end; start anew");
            }
            return Ok(None);
        };
        let line: Vec<u8> = self.unread.drain(..=self.searched + end).collect();
        self.searched = 0;
        let line = String::from_utf8_lossy(&line[..line.len() - 1]);
        parse_request(&line).map(Some).map_err(|why| refused!("a line is no request ({why}); start anew"))
    }

    /// Takes in what there is, waited for no longer than this: how many bytes, none where nothing came.
    pub fn read(&mut self, at_most: Option<Duration>) -> io::Result<Option<usize>> {
        let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
        match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], at_most.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut part = [0; PART];
        match rustix::io::read(&self.from, &mut part) {
            Ok(length) => {
                self.taken += length as u64;
                if self.taken > MOST_BYTES {
                    return Err(io::Error::other("more came than a run has"));
                }
                self.unread.extend_from_slice(&part[..length]);
                Ok(Some(length))
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}

/// The time between two looks at whether somebody asked to stop.
const TURN: Duration = Duration::from_millis(200);

pub struct Relayed<'a, 'b> {
    shared_outbox: OutboxWriter<'a, 'b>,
    pub answers: Receiver<Result<PeerAnswer, Message>>,
    pub names: Vec<String>,
    pub stop: &'a StopRequest,
}

impl PeerLink for Relayed<'_, '_> {
    fn ask(&self, peer: usize, request: PeerRequest) -> Result<PeerAnswer, NoAnswer> {
        let lost = |how: Message| {
            NoAnswer::Lost(say!("{name} cannot be asked ({how}); look at the way there", name = self.names[peer]))
        };
        let wants = AgentAnswer::Wants { peer: self.names[peer].clone(), request };
        self.shared_outbox.0.borrow_mut().say(&wants).map_err(|error| lost(error.into()))?;
        // Both who asks and the peer may be silent.
        let (begin, limit) = (SinceStart::now(), timing().silence() * 2);
        loop {
            match self.answers.recv_timeout(TURN) {
                Ok(answer) => return answer.map_err(NoAnswer::Lost),
                Err(RecvTimeoutError::Disconnected) => return Err(NoAnswer::Stopped),
                Err(RecvTimeoutError::Timeout) if self.stop.signal().is_some() => return Err(NoAnswer::Stopped),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > limit => {
                    return Err(lost(say!("no answer within {silent:.0} s", silent = limit.as_secs())));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
