//! The parent's end of a session in a guest, a process of its own as the way to any other place is: knocks until the guest answers,
//! then carries what an agent there is told and says.

use std::io;
use std::time::{Duration, Instant};

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::monitor::{Monitor, Stopped};
use crate::program::nonce;
use crate::supervise::{left, now};
use crate::timing::timing;

/// The word that starts it; no command for people.
pub const SESSION: &str = "guest-session";
/// The time between two knocks.
pub const TURN: Duration = Duration::from_millis(500);
/// Bytes that come before the answer to a knock at most.
pub const MOST_BEFORE: usize = 64 << 10;
/// Bytes that an agent before may have left on their way at most: what sockets and ports hold is less.
const MOST_LEFT: usize = 4 << 20;
/// Bytes that are carried at once.
const PART: usize = 1 << 14;
/// Bytes that may be written without a wait to a pipe that has room.
const LEAST_ROOM: usize = rustix::pipe::PIPE_BUF;
/// The time between two looks while what the agent will be told has to wait.
const LOOK: Duration = Duration::from_millis(10);
/// Exit status of an agent that has done its task.
const FINE: &str = "exit status: 0";

/// Reason why a session is over before its time. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    Silent(Vec<String>),
    Floods(Vec<String>),
    Stopped {
        how: Message,
        lines: Vec<String>,
    },
    Agent {
        how: Message,
        lines: Vec<String>,
    },
    /// A stream here has failed.
    Io(#[from] io::Error),
}

impl From<&SessionError> for Message {
    fn from(error: &SessionError) -> Message {
        match error {
            SessionError::Silent(value) => say!(
                "the guest answers no knock in {boot} s{value}; boot it anew",
                boot = timing().boot.as_secs(),
                value = console(value)
            ),
            SessionError::Floods(value) => {
                say!("the guest floods its channel{value}; look at what writes there", value = console(value))
            }
            SessionError::Stopped { how, lines } => {
                say!("the guest has stopped: {how}{lines}; boot it anew", lines = console(lines))
            }
            SessionError::Agent { how, lines } => say!(
                "the agent in the guest ended by {how}{lines}; give the guest more memory, or look at its console",
                lines = console(lines)
            ),
            SessionError::Io(value) => say!("the guest's channel fails ({value}); boot it anew"),
        }
    }
}

displays_its_message!(SessionError);

/// The end of a console as a part of a sentence.
pub fn console(lines: &[String]) -> Message {
    match lines {
        [] => say!("; its console is empty"),
        lines => say!("; its console ends with: {lines}", lines = lines.join(" | ")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Knocking { since: Instant, last: Option<Instant> },
    Carrying,
    Ending { since: Instant },
    Over,
}

struct Session {
    nonce: String,
    channel: OwnedFd,
    monitor: Monitor,
    input: OwnedFd,
    /// None once nobody reads it.
    output: Option<OwnedFd>,
    phase: Phase,
    sieve: Sieve,
    /// Bytes that came before the answer.
    before: usize,
    /// Data not sent yet, and data not passed on yet.
    unsent: Vec<u8>,
    unwritten: Vec<u8>,
    /// True where the last data sent has ended a line.
    at_line_start: bool,
    how: String,
}

/// Carries a session; returns when the agent has ended.
pub fn carry(channel: OwnedFd, monitor: Monitor, input: OwnedFd, output: OwnedFd) -> Result<(), SessionError> {
    let mut left = 0;
    while left <= MOST_LEFT {
        match rustix::net::recv(&channel, &mut [0; PART][..], RecvFlags::DONTWAIT) {
            Ok((length, _)) if length > 0 => left += length,
            _ => break,
        }
    }
    let phase = Phase::Knocking { since: now(), last: None };
    let (unsent, unwritten, how) = (Vec::new(), Vec::new(), String::new());
    let (nonce, sieve) = (nonce()?, Sieve::default());
    let mut session = Session {
        nonce,
        channel,
        monitor,
        input,
        output: Some(output),
        phase,
        sieve,
        before: 0,
        unsent,
        unwritten,
        at_line_start: true,
        how,
    };
    while session.phase != Phase::Over || !session.unwritten.is_empty() {
        session.turn()?;
    }
    match session.how.as_str() {
        FINE => Ok(()),
        _ => Err(SessionError::Agent {
            how: crate::transport_error::shown(&session.how).into(),
            lines: session.monitor.last_lines(),
        }),
    }
}

impl Session {
    fn turn(&mut self) -> Result<(), SessionError> {
        let at_most = match self.phase {
            Phase::Knocking { since, last } => {
                if since.elapsed() > timing().boot {
                    return Err(SessionError::Silent(self.monitor.last_lines()));
                }
                if last.is_none_or(|last| last.elapsed() >= TURN) && self.unsent.is_empty() {
                    self.unsent = line(KNOCK, &self.nonce).into_bytes();
                    self.phase = Phase::Knocking { since, last: Some(now()) };
                }
                Some(TURN)
            }
            Phase::Ending { since } => {
                let at_most = timing().guest_end;
                let left = left(since.checked_add(at_most)).unwrap_or(at_most);
                if left.is_zero() {
                    return Err(SessionError::Silent(self.monitor.last_lines()));
                }
                Some(left)
            }
            // During a round nobody says anything, and nobody wakes up.
            Phase::Carrying | Phase::Over => None,
        };
        let [has_room, has_come, monitor, input, output] = self.wait(at_most)?;
        if has_room {
            self.send()?;
        }
        if output {
            self.pass_on();
        }
        if input {
            self.take_in()?;
        }
        if has_come && self.unwritten.is_empty() {
            self.read_channel()?;
        }
        if monitor && let Some(stopped) = self.monitor.stopped() {
            // A guest that has gone takes its last lines with it, unless QEMU is still there.
            return Err(SessionError::Stopped { how: stopped.text(), lines: self.monitor.last_lines() });
        }
        Ok(())
    }

    /// Waits until something can be done: with the channel, the monitor, the input, the output.
    fn wait(&self, at_most: Option<Duration>) -> io::Result<[bool; 5]> {
        let mut wanted = PollFlags::empty();
        // No more is taken in than can be passed on.
        wanted.set(PollFlags::IN, self.unwritten.is_empty());
        wanted.set(PollFlags::OUT, !self.unsent.is_empty());
        let listens = matches!(self.phase, Phase::Knocking { .. } | Phase::Carrying) && self.unsent.is_empty();
        let mut watched = vec![PollFd::new(&self.channel, wanted), PollFd::new(&self.monitor, PollFlags::IN)];
        let input = listens.then(|| {
            watched.push(PollFd::new(&self.input, PollFlags::IN));
            watched.len() - 1
        });
        let output = self.output.as_ref().map(|output| {
            // One that nobody reads any more is noticed in any case.
            let room = if self.unwritten.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            watched.push(PollFd::new(output, room));
            watched.len() - 1
        });
        let time = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(&mut watched, time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let came = |index: usize| watched[index].revents();
        let has_come = |index: Option<usize>| index.is_some_and(|index| !came(index).is_empty());
        Ok([
            came(0).contains(PollFlags::OUT) && !self.unsent.is_empty(),
            came(0).intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR),
            !came(1).is_empty(),
            has_come(input),
            has_come(output),
        ])
    }

    fn send(&mut self) -> Result<(), SessionError> {
        match rustix::net::send(&self.channel, &self.unsent, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(sent) => drop(self.unsent.drain(..sent)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Err(self.stopped()),
        }
        Ok(())
    }

    /// Takes in what the agent is told.
    fn take_in(&mut self) -> Result<(), SessionError> {
        // An agent that nobody asked for is told nothing; its parent may be gone all the same.
        if matches!(self.phase, Phase::Knocking { .. }) {
            let mut end = [PollFd::new(&self.input, PollFlags::empty())];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            if matches!(poll(&mut end, Some(&at_once)), Ok(1)) {
                self.has_been_left();
            } else {
                std::thread::sleep(LOOK);
            }
            return Ok(());
        }
        let mut part = vec![0; PART];
        match rustix::io::read(&self.input, &mut part) {
            Ok(0) => self.end(),
            Ok(length) => {
                self.at_line_start = part[length - 1] == b'\n';
                self.unsent.extend_from_slice(&part[..length]);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        Ok(())
    }

    /// Tells the guest that this was all.
    fn end(&mut self) {
        if self.phase != Phase::Carrying {
            return;
        }
        if !self.at_line_start {
            self.unsent.push(b'\n');
        }
        self.unsent.extend(line(END, &self.nonce).into_bytes());
        self.phase = Phase::Ending { since: now() };
    }

    /// Ends the session, for which nobody waits any more.
    fn has_been_left(&mut self) {
        (self.phase, self.how) = (Phase::Over, FINE.to_owned());
        self.unwritten.clear();
    }

    fn read_channel(&mut self) -> Result<(), SessionError> {
        let mut part = vec![0; PART];
        let length = match rustix::net::recv(&self.channel, &mut part[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(self.stopped()),
            Ok((length, _)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(_) => return Err(self.stopped()),
        };
        if matches!(self.phase, Phase::Knocking { .. }) {
            self.before += length;
        }
        for piece in self.sieve.take(&part[..length]) {
            match (piece, self.phase) {
                (ChannelPart::Word(word, nonce, _), Phase::Knocking { .. }) if word == READY && nonce == self.nonce => {
                    self.unsent.extend(line(BEGIN, &self.nonce).into_bytes());
                    self.phase = Phase::Carrying;
                }
                (ChannelPart::Word(word, nonce, how), Phase::Carrying | Phase::Ending { .. })
                    if word == OVER && nonce == self.nonce =>
                {
                    (self.phase, self.how) = (Phase::Over, how);
                }
                (ChannelPart::Carried(bytes), Phase::Carrying | Phase::Ending { .. }) if self.output.is_some() => {
                    self.unwritten.extend(bytes);
                }
                // Of a session before, or what the kernel has written there.
                _ => {}
            }
        }
        match self.phase {
            Phase::Knocking { .. } if self.before > MOST_BEFORE => Err(SessionError::Floods(self.monitor.last_lines())),
            _ => Ok(()),
        }
    }

    /// Passes a part on that has come. Who takes no more is told no more.
    fn pass_on(&mut self) {
        let part = self.unwritten.len().min(LEAST_ROOM);
        let written = match &self.output {
            Some(output) => rustix::io::write(output, &self.unwritten[..part]),
            None => Ok(part),
        };
        match written {
            Ok(written) => drop(self.unwritten.drain(..written)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => {
                self.output = None;
                self.unwritten.clear();
                self.end();
            }
        }
    }

    /// Reason why the channel has ended.
    fn stopped(&mut self) -> SessionError {
        let how = self.monitor.stopped().unwrap_or(Stopped::Gone).text();
        SessionError::Stopped { how, lines: self.monitor.last_lines() }
    }
}

/// Asks whether anybody is there. Asked again and again, since what comes before the guest listens is lost.
pub const KNOCK: &str = "hostmark-knock";
pub const READY: &str = "hostmark-ready";
/// Asks for an agent, to whom all that follows goes.
pub const BEGIN: &str = "hostmark-begin";
/// Says that this was all for the agent.
pub const END: &str = "hostmark-end";
/// Says that the agent has ended, and how.
pub const OVER: &str = "hostmark-over";
/// Prefix of each of these, with which no line of an agent begins: those are JSON.
const OURS: &[u8] = b"hostmark-";
/// Bytes of a word with all that belongs to it, at most.
const LONGEST_WORD: usize = 200;

/// A word of a session: the nonce tells it from those of the sessions before.
pub fn line(word: &str, nonce: &str) -> String {
    format!("{word} {nonce}\n")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelPart {
    /// Data to pass on, whatever it is.
    Carried(Vec<u8>),
    /// One of our words, its nonce, and what else stands behind them.
    Word(String, String, String),
}

/// Tells our words from what is carried, in a stream that comes in parts.
#[derive(Debug, Default)]
pub struct Sieve {
    /// Possible beginning of a word; it began a line.
    held: Vec<u8>,
    /// True where the current line is passed on.
    is_carrying: bool,
}

impl Sieve {
    pub fn take(&mut self, part: &[u8]) -> Vec<ChannelPart> {
        let (mut pieces, mut carried) = (Vec::new(), Vec::new());
        for &byte in part {
            if self.is_carrying {
                carried.push(byte);
                self.is_carrying = byte != b'\n';
                continue;
            }
            self.held.push(byte);
            let begins = self.held.len().min(OURS.len());
            if self.held[..begins] != OURS[..begins] || self.held.len() > LONGEST_WORD {
                self.is_carrying = byte != b'\n';
                carried.append(&mut self.held);
            } else if byte == b'\n' {
                match word_of(&self.held) {
                    Some(word) => {
                        if !carried.is_empty() {
                            pieces.push(ChannelPart::Carried(std::mem::take(&mut carried)));
                        }
                        pieces.push(word);
                        self.held.clear();
                    }
                    None => carried.append(&mut self.held),
                }
            }
        }
        if !carried.is_empty() {
            pieces.push(ChannelPart::Carried(carried));
        }
        pieces
    }
}

fn word_of(line: &[u8]) -> Option<ChannelPart> {
    let text = std::str::from_utf8(line).ok()?.trim_end();
    let (word, rest) = text.split_once(' ')?;
    let (nonce, more) = rest.split_once(' ').unwrap_or((rest, ""));
    [KNOCK, READY, BEGIN, END, OVER]
        .contains(&word)
        .then(|| ChannelPart::Word(word.to_owned(), nonce.to_owned(), more.to_owned()))
}

#[cfg(test)]
#[path = "guest_session_tests.rs"]
mod tests;
