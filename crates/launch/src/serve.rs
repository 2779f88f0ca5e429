//! A server that lets those in who have its token, and gives each an agent. It accepts, shakes hands and relays, in one thread
//! that sleeps until there is something to do; who measures is a process of its own.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hostmark_model::{AgentAnswer, AgentRefusal, Exit, JsonLine, Message};
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;

use crate::agent::{AGENT, SERVED};
use crate::channel::Token;
use crate::group::{GroupLeader, null};
use crate::program::command;
use crate::relay::{Carried, Relay, is_later};
use crate::supervise::now;
use admission::{Admission, AdmittedClient, RateLimiter, Refusal, Refusals};

mod admission;

pub use admission::MOST_HANDSHAKES;

/// The port of a server, unless another one is named.
pub const PORT: u16 = 7417;
/// Sessions at once, unless another number is named.
pub const SESSIONS: usize = 8;

/// Connections that are accepted within [`ACCEPT_WITHIN`] at most: a flood waits in the kernel, and takes no more of a CPU that
/// others measure on.
const MOST_ACCEPTED: usize = 100;
const ACCEPT_WITHIN: Duration = Duration::from_millis(100);
/// Pause in accepting after there were no more files or memory.
const PAUSE: Duration = Duration::from_millis(100);

/// Memory that a session may fill of what is left: two thirds, so that one that is alone has nearly all, and the eighth still some.
pub const fn share_bytes(left_bytes: u64) -> u64 {
    left_bytes / 3 * 2
}

pub struct ServerOptions<'a> {
    pub token: Token,
    /// Sessions at once at most.
    pub sessions: usize,
    /// The program whose agents are started.
    pub program: PathBuf,
    /// Bytes of memory that all sessions together may fill at most.
    pub memory_bytes: u64,
    /// Becomes readable when the server is to end.
    pub stop: &'a OwnedFd,
    /// Takes lines about those who were refused.
    pub report: &'a mut dyn FnMut(&Message),
}

/// Serves until it is to end. Then nothing of its sessions is left.
pub fn serve<'a>(listener: &'a TcpListener, terms: ServerOptions<'a>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let door = Admission::new(terms.token.clone());
    let mut server = Server {
        listener,
        door,
        accepts: admission::RateLimiter::of(MOST_ACCEPTED, ACCEPT_WITHIN),
        paused: None,
        sessions: Vec::new(),
        leftovers: Vec::new(),
        refusals: admission::Refusals::default(),
        terms,
    };
    while server.turn()? {}
    Ok(())
}

struct Server<'a> {
    listener: &'a TcpListener,
    door: Admission,
    accepts: RateLimiter,
    /// End of the pause in accepting.
    paused: Option<Instant>,
    sessions: Vec<Session>,
    leftovers: Vec<Leftover>,
    refusals: Refusals,
    terms: ServerOptions<'a>,
}

#[derive(Default)]
struct Ready {
    is_to_end: bool,
    has_connection: bool,
    at_door: Vec<bool>,
    sessions: Vec<bool>,
}

impl Server<'_> {
    /// Waits, and does what there is to do. False when the server is to end.
    fn turn(&mut self) -> io::Result<bool> {
        let ready = self.wait()?;
        if ready.is_to_end {
            return Ok(false);
        }
        let now = now();
        // Before new ones come: these are in the order of what is ready.
        for guest in self.door.turn(&ready.at_door, now, &mut self.refusals) {
            self.welcome(guest, now);
        }
        if ready.has_connection {
            self.accept(now);
        }
        self.carry(&ready.sessions, now);
        self.leftovers.retain(|leftover| leftover.stays(now));
        self.refusals.report(now, &mut *self.terms.report);
        Ok(true)
    }

    fn wait(&self) -> io::Result<Ready> {
        let now = now();
        let rest = self.rest(now);
        let mut watched = vec![PollFd::new(self.terms.stop, PollFlags::IN)];
        if rest.is_none() {
            watched.push(PollFd::new(self.listener, PollFlags::IN));
        }
        let begin = watched.len();
        self.door.watch(&mut watched);
        let mut ends = vec![watched.len()];
        for session in &self.sessions {
            session.watch(&mut watched);
            ends.push(watched.len());
        }
        let sessions = self.sessions.iter().map(|session| session.wait(now));
        let leftovers = self.leftovers.iter().map(Leftover::wait);
        let others = [rest, self.door.wait(now), self.refusals.wait(now)].into_iter().flatten();
        // A millisecond more, so that what is waited for has come then.
        let at_most = sessions.chain(leftovers).chain(others).min().map(|wait| wait + Duration::from_millis(1));
        let at_most = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(&mut watched, at_most.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(error.into()),
        }
        let is_ready: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
        Ok(Ready {
            is_to_end: is_ready[0],
            has_connection: rest.is_none() && is_ready[1],
            at_door: is_ready[begin..ends[0]].to_vec(),
            sessions: ends.windows(2).map(|ends| is_ready[ends[0]..ends[1]].contains(&true)).collect(),
        })
    }

    /// Time for which nothing is accepted.
    fn rest(&self, now: Instant) -> Option<Duration> {
        let paused = self.paused.map(|until| until.saturating_duration_since(now)).filter(|left| !left.is_zero());
        paused.into_iter().chain(self.accepts.wait(now)).max()
    }

    fn accept(&mut self, now: Instant) {
        while self.accepts.wait(now).is_none() {
            match self.listener.accept() {
                Ok((socket, _)) => {
                    self.accepts.count(now);
                    self.door.greet(socket, now, &mut self.refusals);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It has gone before it was accepted.
                Err(error) if is_later(&error) || error.kind() == io::ErrorKind::ConnectionAborted => {
                    self.accepts.count(now);
                }
                Err(_) => {
                    self.refusals.count(admission::Refusal::NoAccept, None);
                    self.paused = Some(now + PAUSE);
                    return;
                }
            }
        }
    }

    /// Gives somebody an agent, or tells why there is none.
    fn welcome(&mut self, guest: AdmittedClient, now: Instant) {
        let from = guest.from;
        if self.sessions.len() >= self.terms.sessions {
            self.refusals.count(admission::Refusal::Full, from);
            return self.turn_away(guest, now);
        }
        let (bound, memory_bytes) = (self.listener.local_addr(), self.share_bytes(now));
        match bound.and_then(|at| Session::begin(guest, &self.terms.program, at.ip(), memory_bytes, now)) {
            Ok(session) => self.sessions.push(session),
            Err(_) => self.refusals.count(admission::Refusal::NoAgent, from),
        }
    }

    /// Memory that the next session may fill: a part of what the others leave.
    fn share_bytes(&mut self, now: Instant) -> u64 {
        self.leftovers.retain(|leftover| leftover.stays(now));
        let of_leftovers = self.leftovers.iter().map(Leftover::memory_bytes);
        let taken: u64 = self.sessions.iter().map(Session::memory_bytes).chain(of_leftovers).sum();
        share_bytes(self.terms.memory_bytes.saturating_sub(taken))
    }

    /// Tells somebody in the agent's place that there is none.
    fn turn_away(&mut self, guest: AdmittedClient, now: Instant) {
        let AdmittedClient { mut socket, from, mut channel } = guest;
        let count = self.terms.sessions;
        let why = say!(
            "{count} sessions are under way there, and no more are allowed; try again later, or raise hostmark serve --sessions"
        );
        let answer = AgentAnswer::Error(AgentRefusal::new(why, Exit::ResourceLost));
        let mut unsent = Vec::new();
        let sealed = answer.to_line().is_ok_and(|line| {
            channel.seal(line.as_bytes(), &mut unsent).and_then(|()| channel.seal(&[], &mut unsent)).is_ok()
        });
        if sealed && matches!(io::Write::write(&mut socket, &unsent), Ok(sent) if sent == unsent.len()) {
            self.door.see_off(socket, from, now);
        }
    }

    fn carry(&mut self, ready: &[bool], now: Instant) {
        for (index, mut session) in std::mem::take(&mut self.sessions).into_iter().enumerate() {
            // One that has just begun has had no wait yet.
            let is_due = ready.get(index).copied().unwrap_or(true) || session.wait(now).is_zero();
            let turned = if is_due { session.turn(now) } else { Turned::On };
            if turned == Turned::On {
                self.sessions.push(session);
                continue;
            }
            let from = session.from();
            let (leftover, socket) = session.end(now);
            self.leftovers.push(leftover);
            match turned {
                Turned::Informed => self.door.see_off(socket, from, now),
                Turned::Refused(refusal) => self.refusals.count(refusal, from),
                Turned::On | Turned::Lost => {}
            }
        }
    }
}

/// Longest session: longer than the longest run until its client gives it up.
pub const LONGEST: Duration = Duration::from_secs(90 * 60);
/// Bytes that a session may carry, both ways together: more than the longest run and its acknowledgements.
pub const MOST_BYTES: u64 = 1 << 30;
/// Time for an agent to clean up after its session. Then it is killed, and its janitor does.
const GRACE: Duration = Duration::from_secs(1);
/// The time between two looks whether it has ended.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

pub struct Session {
    /// Ended with its group when this is dropped.
    agent: GroupLeader,
    relay: Relay,
    from: Option<IpAddr>,
    memory_bytes: u64,
    until: Instant,
}

/// State of a session after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    On,
    /// Session is over, and all of its output was sent.
    Informed,
    /// The connection has ended.
    Lost,
    Refused(Refusal),
}

/// An agent whose session is over.
pub struct Leftover {
    agent: GroupLeader,
    memory_bytes: u64,
    until: Instant,
}

impl Session {
    /// Starts an agent of this program, which has nothing listen but at the address to which its server is bound, and fills so much
    /// memory at most.
    pub fn begin(
        guest: AdmittedClient,
        program: &Path,
        bound: IpAddr,
        memory_bytes: u64,
        now: Instant,
    ) -> io::Result<Session> {
        let AdmittedClient { socket, from, channel } = guest;
        let mut command = command(program);
        command.args([AGENT, SERVED, &bound.to_string(), &memory_bytes.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(null()?);
        let mut agent = GroupLeader::spawn(&mut command)?;
        let (stdin, stdout) = (agent.streams().stdin.take(), agent.streams().stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let (output, input) = (File::from(OwnedFd::from(stdin)), File::from(OwnedFd::from(stdout)));
        let relay = Relay::new(socket, *channel, input, output);
        Ok(Session { agent, relay, from, memory_bytes, until: now + LONGEST })
    }

    /// Adds what is to be waited for.
    pub fn watch<'a>(&'a self, watched: &mut Vec<PollFd<'a>>) {
        self.relay.watch(watched);
    }

    pub fn wait(&self, now: Instant) -> Duration {
        self.until.saturating_duration_since(now)
    }

    pub fn turn(&mut self, now: Instant) -> Turned {
        match self.relay.turn() {
            Carried::Altered => Turned::Refused(Refusal::Altered),
            _ if self.relay.bytes() > MOST_BYTES => Turned::Refused(Refusal::Bytes),
            _ if now >= self.until => Turned::Refused(Refusal::Time),
            Carried::Lost => Turned::Lost,
            Carried::On if self.relay.has_said_all() => Turned::Informed,
            Carried::On => Turned::On,
        }
    }

    pub fn from(&self) -> Option<IpAddr> {
        self.from
    }

    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Agent, whose input is closed by that as by the end of its link, and the connection.
    pub fn end(self, now: Instant) -> (Leftover, TcpStream) {
        (Leftover { agent: self.agent, memory_bytes: self.memory_bytes, until: now + GRACE }, self.relay.into_socket())
    }
}

impl Leftover {
    /// Tells whether it is still to be looked after; one that has ended, or has had its time, is gone with its group when this is dropped.
    pub fn stays(&self, now: Instant) -> bool {
        now < self.until && !self.agent.has_ended().unwrap_or(true)
    }

    /// Memory that it may still have filled.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    pub const fn wait(&self) -> Duration {
        BETWEEN_LOOKS
    }
}

/// Connections at most that wait at one door.
pub const MOST_AT_DOOR: usize = 256;

/// Index of the waiting client, the oldest first, that makes room for another: the oldest of the network that most of them are of. So one
/// network that fills the door has no one else's connection ended. None where nobody waits.
pub fn who_makes_room(from: impl Iterator<Item = Option<IpAddr>>) -> Option<usize> {
    let networks: Vec<Option<[u8; 8]>> = from.map(|from| from.map(network)).collect();
    let mut counts = HashMap::new();
    for of in &networks {
        *counts.entry(of).or_insert(0_usize) += 1;
    }
    let most = counts.values().copied().max();
    networks.iter().position(|of| most == counts.get(of).copied())
}

/// Network that counts as one party: an address of IPv4, or the least of IPv6 that one host has.
fn network(address: IpAddr) -> [u8; 8] {
    let mut network = [0; 8];
    match address.to_canonical() {
        IpAddr::V4(address) => network[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => network.copy_from_slice(&address.octets()[..8]),
    }
    network
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
