//! A session: an agent of its own for somebody who has been let in, and the relay between the two.

use std::fs::File;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::event::PollFd;

use super::admission::AdmittedClient;
use super::refusals::Refusal;
use crate::agent::{AGENT, SERVED};
use crate::group::{GroupLeader, null};
use crate::program::command;
use crate::relay::{Carried, Relay};

/// How long a session may take: more than the longest run takes until it is given up by who asked for it.
pub const LONGEST: Duration = Duration::from_secs(90 * 60);
/// Bytes that a session may carry, both ways together: more than the longest run and its acknowledgements.
pub const MOST_BYTES: u64 = 1 << 30;
/// How long an agent whose session is over may take to put things in order. Then it is killed, and its janitor does.
const GRACE: Duration = Duration::from_secs(1);
/// The time between two looks whether it has ended.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A session under way.
pub struct Session {
    /// Ended with its group when this is dropped.
    agent: GroupLeader,
    relay: Relay,
    from: Option<IpAddr>,
    memory_bytes: u64,
    until: Instant,
}

/// What becomes of a session after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// It goes on.
    On,
    /// It is over, and all of it was told.
    Informed,
    /// The connection has ended.
    Lost,
    /// It is ended for this.
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

    /// How long it may go on.
    pub fn wait(&self, now: Instant) -> Duration {
        self.until.saturating_duration_since(now)
    }

    /// Carries what there is.
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

    /// From where it is.
    pub fn from(&self) -> Option<IpAddr> {
        self.from
    }

    /// Memory that it may fill.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Its agent, whose input is closed by that as by the end of its link, and the connection.
    pub fn end(self, now: Instant) -> (Leftover, TcpStream) {
        (Leftover { agent: self.agent, memory_bytes: self.memory_bytes, until: now + GRACE }, self.relay.into_socket())
    }
}

impl Leftover {
    /// Whether it is still to be looked after; one that has ended, or has had its time, is gone with its group when this is dropped.
    pub fn stays(&self, now: Instant) -> bool {
        now < self.until && !self.agent.has_ended().unwrap_or(true)
    }

    /// Memory that it may still have filled.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// When to look again.
    pub const fn wait(&self) -> Duration {
        BETWEEN_LOOKS
    }
}
