//! A session: an agent of its own for somebody who has been let in, and the relay between the two.

use std::fs::File;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::PollFd;

use super::door::Guest;
use super::refusals::Refusal;
use crate::agent::{AGENT, SERVED};
use crate::group::Group;
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
    agent: Group,
    relay: Relay,
    from: Option<IpAddr>,
    until: Instant,
}

/// What becomes of a session after a turn.
pub enum Turned {
    /// It goes on.
    On(Session),
    /// It is over: its agent, which may end by itself, and the connection where all of it was told.
    Over(Leftover, Option<(TcpStream, Option<IpAddr>)>),
    /// It was ended for this.
    Refused(Leftover, Refusal, Option<IpAddr>),
}

/// An agent whose session is over.
pub struct Leftover {
    agent: Group,
    until: Instant,
}

impl Session {
    /// Starts an agent of this program.
    pub fn begin(guest: Guest, program: &Path, now: Instant) -> io::Result<Session> {
        let Guest { socket, from, channel } = guest;
        let mut command = Command::new(program);
        command.args([AGENT, SERVED]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut agent = Group::spawn(&mut command)?;
        let (stdin, stdout) = (agent.streams().stdin.take(), agent.streams().stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let (output, input) = (File::from(OwnedFd::from(stdin)), File::from(OwnedFd::from(stdout)));
        let relay = Relay::new(socket, *channel, input, output);
        Ok(Session { agent, relay, from, until: now + LONGEST })
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
    pub fn turn(mut self, now: Instant) -> Turned {
        let carried = self.relay.turn();
        let refusal = match carried {
            Carried::Altered => Some(Refusal::Altered),
            _ if self.relay.bytes() > MOST_BYTES => Some(Refusal::Bytes),
            _ if now >= self.until => Some(Refusal::Time),
            _ => None,
        };
        let (is_told, leftover) = (self.relay.has_said_all(), Leftover { agent: self.agent, until: now + GRACE });
        match (refusal, carried) {
            (Some(refusal), _) => Turned::Refused(leftover, refusal, self.from),
            // Its input is closed by that, which an agent takes for the end of its link.
            (None, Carried::Lost) => Turned::Over(leftover, None),
            (None, _) if is_told => Turned::Over(leftover, Some((self.relay.into_socket(), self.from))),
            (None, _) => {
                Turned::On(Session { agent: leftover.agent, relay: self.relay, from: self.from, until: self.until })
            }
        }
    }
}

impl Leftover {
    /// Whether it is still to be looked after; one that has ended, or has had its time, is gone with its group when this is dropped.
    pub fn stays(&self, now: Instant) -> bool {
        now < self.until && !self.agent.has_ended().unwrap_or(true)
    }

    /// When to look again.
    pub const fn wait(&self) -> Duration {
        BETWEEN_LOOKS
    }
}
