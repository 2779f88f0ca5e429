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
use crate::timing::{pause, timing};

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
                pause(LOOK);
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
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread::{self, JoinHandle};

    use rustix::pipe::pipe;
    use serde_json::Value;

    use super::*;

    /// A session under way: what its agent is told and says here, the guest's end of its channel, and how it ends.
    struct Under {
        input: Option<OwnedFd>,
        output: OwnedFd,
        guest: BufReader<UnixStream>,
        monitor: JoinHandle<()>,
        ended: JoinHandle<Result<(), SessionError>>,
    }

    fn begin() -> Under {
        let (channel, guest) = UnixStream::pair().unwrap();
        let (monitor, qemu) = UnixStream::pair().unwrap();
        let ((its_input, input), (output, its_output)) = (pipe().unwrap(), pipe().unwrap());
        let ended = thread::spawn(move || carry(channel.into(), Monitor::of(monitor.into()), its_input, its_output));
        Under { input: Some(input), output, guest: BufReader::new(guest), monitor: console(qemu), ended }
    }

    /// Answers for the console until the session is over.
    fn console(qemu: UnixStream) -> JoinHandle<()> {
        thread::spawn(move || {
            let mut answers = qemu.try_clone().unwrap();
            for line in BufReader::new(qemu).lines().map_while(Result::ok) {
                let request: Value = serde_json::from_str(&line).unwrap();
                let answer = serde_json::json!({"return": "one\n\u{1b}[2Jtwo\n", "id": request["id"]});
                let _ = answers.write_all(format!("{answer}\n").as_bytes());
            }
        })
    }

    impl Under {
        fn next_line(&mut self) -> String {
            let mut line = String::new();
            self.guest.read_line(&mut line).unwrap();
            line
        }

        /// The guest says this; a session that is over hears nothing.
        fn says(&mut self, text: &str) {
            let _ = self.guest.get_mut().write_all(text.as_bytes());
        }

        /// The guest answers a knock, and is asked for an agent: the nonce.
        fn opens(&mut self) -> String {
            let knock = self.next_line();
            let nonce = knock.strip_prefix("hostmark-knock ").unwrap().trim().to_owned();
            self.says(&format!("hostmark-ready 00\nhostmark-ready {nonce}\n"));
            // Further knocks may have been sent meanwhile.
            while self.next_line() != format!("hostmark-begin {nonce}\n") {}
            nonce
        }

        fn ends(self) -> Result<(), SessionError> {
            let Under { input, output, guest, monitor, ended } = self;
            let result = ended.join().unwrap();
            drop((input, output, guest));
            monitor.join().unwrap();
            result
        }
    }

    #[test]
    fn what_comes_before_the_answer_is_dropped_and_all_that_follows_is_carried() {
        let mut session = begin();
        session.says("[    0.000000] Linux version\n{\"hello\":1}\nhostmark-over 00 exit status: 1\n");
        let nonce = session.opens();
        rustix::io::write(session.input.as_ref().unwrap(), b"{\"facts\"}\nhalf").unwrap();
        assert_eq!(session.next_line(), "{\"facts\"}\n");
        // That of a session before is none of this one.
        session.says("hostmark-over 00 exit status: 1\nanswer\n");
        session.input = None;
        assert_eq!(session.next_line(), "half\n");
        assert_eq!(session.next_line(), format!("hostmark-end {nonce}\n"));
        session.says(&format!("more\nhostmark-over {nonce} exit status: 0\n"));
        let mut received = [0; 12];
        std::fs::File::from(session.output.try_clone().unwrap()).read_exact(&mut received).unwrap();
        assert_eq!(&received, b"answer\nmore\n");
        session.ends().unwrap();
    }

    #[test]
    fn an_agent_that_fails_is_reported_with_the_console() {
        let mut session = begin();
        let nonce = session.opens();
        session.says(&format!("hostmark-over {nonce} signal: 9 (SIGKILL)\u{1b}\n"));
        let error = session.ends().unwrap_err().to_string();
        assert!(error.contains("ended by signal: 9 (SIGKILL)") && error.contains("ends with: one | two;"), "{error}");
        assert!(!error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn a_guest_that_floods_instead_of_answering_is_given_up() {
        let mut session = begin();
        // Until nobody hears it any more.
        while session.guest.get_mut().write_all("garbage\u{ff}\n".as_bytes()).is_ok() {}
        let error = session.ends().unwrap_err();
        assert!(matches!(error, SessionError::Floods(_)), "{error}");
    }

    #[test]
    fn a_channel_that_ends_is_no_end_of_an_agent() {
        let mut session = begin();
        session.opens();
        session.guest.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
        let error = session.ends().unwrap_err().to_string();
        assert!(
            error.contains("the guest has stopped: QEMU has ended; its console ends with: one | two; boot"),
            "{error}"
        );
    }

    #[test]
    fn who_is_left_before_the_guest_answers_goes_in_peace() {
        let mut session = begin();
        session.next_line();
        session.input = None;
        session.ends().unwrap();
    }

    fn carried(text: &str) -> ChannelPart {
        ChannelPart::Carried(text.as_bytes().to_vec())
    }

    fn word(word: &str, nonce: &str, more: &str) -> ChannelPart {
        ChannelPart::Word(word.into(), nonce.into(), more.into())
    }

    #[test]
    fn words_are_distinguished_from_what_is_carried_wherever_the_stream_is_cut() {
        let text =
            b"mark-knock 1\nhostmark-knock 12\n{\"a\":\"hostmark-end 12\"}\nhostmark-over 12 exit status: 0\nrest";
        let expected = [
            carried("mark-knock 1\n"),
            word(KNOCK, "12", ""),
            carried("{\"a\":\"hostmark-end 12\"}\n"),
            word(OVER, "12", "exit status: 0"),
            carried("rest"),
        ];
        for cut in 0..text.len() {
            let mut sieve = Sieve::default();
            let mut pieces: Vec<ChannelPart> = Vec::new();
            for piece in [&text[..cut], &text[cut..]].into_iter().flat_map(|part| sieve.take(part)) {
                match (pieces.last_mut(), piece) {
                    (Some(ChannelPart::Carried(before)), ChannelPart::Carried(more)) => before.extend(more),
                    (_, piece) => pieces.push(piece),
                }
            }
            assert_eq!(pieces, expected, "{cut}");
        }
    }

    #[test]
    fn what_only_begins_as_a_word_is_carried() {
        for text in ["hostmark-\n", "hostmark-sing 1\n", "hostmark-knock\n", "hostmark-\u{ff} 1\n", "hostmar\n", "\n"] {
            assert_eq!(Sieve::default().take(text.as_bytes()), [carried(text)], "{text:?}");
        }
        let long = format!("{KNOCK} {}\n", "1".repeat(LONGEST_WORD));
        let mut sieve = Sieve::default();
        assert_eq!(sieve.take(long.as_bytes()), [carried(&long)]);
        assert_eq!(sieve.take(b"hostmark-end 1\n"), [word(END, "1", "")]);
    }
}
