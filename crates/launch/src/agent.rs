//! The parent's end of an agent: this program at another place, which measures there, and what it says, heard within its lease.
//!
//! A far host may be anybody's: what comes from there is data, bounded in length and in what it makes of memory.

use std::io;
use std::time::{Duration, Instant};

use hostmark_model::{
    AGENT_PROTOCOL, AgentAnswer, AgentRequest, JsonLine, LONGEST_AGENT_LINE, Message, displays_its_message,
};
use hostmark_say::say;

use crate::program::Programs;
use crate::supervise::{ReadOutcome, Supervised, Terms, WriteOutcome, left, now};
use crate::timing::{LEASES, SLOWEST_LINK, timing};
use crate::transport::{Transport, TransportError};

/// The word that starts an agent.
pub const AGENT: &str = "agent";
/// The word behind it for an agent of a server: who asks that has no login, and may have facts and measurements alone. The next
/// words are the address to which the server is bound, and how many bytes of memory this session may fill.
pub const SERVED: &str = "--served";
/// An agent may ask for no longer lease: that of a command of which nobody knows how long it takes.
const LONGEST_LEASE: Duration = Duration::from_secs(8 * 24 * 3600);
/// Remedy where a program that is not static does not start.
fn static_remedy() -> Message {
    say!(
        "put a static program beside this one: hostmark-x86_64-linux-musl, made by cargo build --release --target \
         x86_64-unknown-linux-musl, or the same for aarch64"
    )
}
/// Largest number of these bytes in a line, far more than a run has of each but the numbers. A few bytes of JSON become dozens in memory:
/// all together no more than 400 MB, of which a line of numbers alone makes 300.
const MOST_OF: [(u8, usize); 4] = [(b',', 8 << 20), (b'"', 4 << 20), (b'[', 1 << 19), (b'{', 1 << 19)];
/// Bytes of all that one says at most: as much as a journal may have to be read again.
const MOST_RECEIVED: u64 = 256 << 20;
/// Prefix of each of our messages on standard error.
pub(crate) const OURS: &str = "hostmark: ";
/// Characters that are shown of what an agent said.
const LONGEST_QUOTE: usize = 1000;

/// Reason why nothing more can be received. A sentence that ends with what to do, but for [`AgentError::Stopped`].
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The program did not come to run there.
    Transport(TransportError),
    /// Agent has ended, or the link to it has.
    Ended {
        name: String,
        how: Message,
    },
    /// Agent has ended before any output.
    NotBegun {
        name: String,
        how: Message,
        remedy: Message,
    },
    /// Server let nobody in, or could not be dialled.
    NotLetIn {
        name: String,
        /// Reason, which ends with what to do.
        how: Message,
    },
    /// Agent has been silent for too long.
    Silent {
        name: String,
        seconds: u64,
    },
    Endless {
        name: String,
        seconds: u64,
    },
    /// Output that no agent writes.
    Garbled {
        name: String,
        what: Message,
    },
    Version {
        name: String,
        theirs: u32,
    },
    /// Program other than the one that was sent.
    DigestDiffers {
        name: String,
    },
    /// Error reported by the agent itself.
    Reported {
        name: String,
        why: Message,
        /// The exit code that it gave.
        exit: u8,
    },
    /// The person asked to stop.
    Stopped,
    Io {
        name: String,
        error: io::Error,
    },
}

impl From<&AgentError> for Message {
    fn from(error: &AgentError) -> Message {
        match error {
            AgentError::Transport(value) => value.into(),
            AgentError::Ended { name, how } => {
                say!("'{name}' broke off ({how}); look at that host and at the way there")
            }
            AgentError::NotBegun { name, how, remedy } => {
                say!("'{name}' took the program and could not start it ({how}); {remedy}")
            }
            AgentError::NotLetIn { name, how } => say!("'{name}' gives no agent: {how}"),
            AgentError::Silent { name, seconds } => say!(
                "'{name}' has said nothing for {seconds} s, longer than it may; look at that host and at the way there"
            ),
            AgentError::Endless { name, seconds } => {
                say!("'{name}' has not ended after {seconds} s; look at that host")
            }
            AgentError::Garbled { name, what } => {
                say!("'{name}' said what no hostmark says ({what}); look at what runs there")
            }
            AgentError::Version { name, theirs } => say!(
                "the hostmark behind '{name}' speaks version {theirs} of the protocol, this one {AGENT_PROTOCOL}; take the same version of both"
            ),
            AgentError::DigestDiffers { name } => say!(
                "the program behind '{name}' has another digest than the one that was sent; send it anew, and look at the way there"
            ),
            AgentError::Reported { name, why, .. } => say!("'{name}': {why}"),
            AgentError::Stopped => say!("stopped"),
            AgentError::Io { name, error } => say!("'{name}' cannot be heard or told ({error}); try again"),
        }
    }
}

displays_its_message!(AgentError);

/// An agent that has said what it is.
#[derive(Debug)]
pub struct AgentLink {
    process: Supervised,
    name: String,
    digest: String,
    lease: Duration,
    /// Deadline, and the time until it from the start; none where there is no end.
    until: Option<(Instant, Duration)>,
    /// Bytes that it has said.
    taken: u64,
    /// Lines since its plan; none before it.
    lines_taken: Option<u64>,
}

impl From<TransportError> for AgentError {
    fn from(error: TransportError) -> AgentError {
        match error {
            TransportError::Stopped => AgentError::Stopped,
            other => AgentError::Transport(other),
        }
    }
}

impl AgentLink {
    /// Starts one at this place, which is called this in sentences. `started` is told its process here as soon as there is one.
    pub fn open(
        place: &Transport,
        name: &str,
        programs: &Programs,
        terms: Terms,
        started: impl FnOnce(u32),
    ) -> Result<AgentLink, AgentError> {
        let begun = place.start_notifying(programs, &[AGENT], terms, timing().login, started)?;
        let mut link = AgentLink {
            process: begun.process,
            name: name.to_owned(),
            digest: begun.digest.clone().unwrap_or_default(),
            lease: timing().lease,
            until: None,
            taken: 0,
            lines_taken: None,
        };
        link.ask(&AgentRequest::Hello { protocol: AGENT_PROTOCOL })?;
        let is_served = matches!(place, Transport::Tcp(_));
        let hello = link.receive().map_err(|error| match error {
            AgentError::Ended { name, how } if is_served => {
                AgentError::NotLetIn { name, how: link.last_word().unwrap_or(how) }
            }
            AgentError::Ended { name, how } => {
                let remedy = match begun.is_static {
                    true => say!("look at that host's limits of processes and memory"),
                    false => static_remedy(),
                };
                AgentError::NotBegun { name, how, remedy }
            }
            other => other,
        })?;
        match hello {
            AgentAnswer::Hello { protocol, .. } if protocol != AGENT_PROTOCOL => {
                Err(AgentError::Version { name: link.name.clone(), theirs: protocol })
            }
            // The server's own program, of whatever build: what it is goes into the run.
            AgentAnswer::Hello { digest, .. } if is_served => match digest.filter(|digest| is_digest(digest)) {
                Some(digest) => Ok(AgentLink { digest, ..link }),
                None => Err(link.garbled(say!("it does not say which program it is"))),
            },
            AgentAnswer::Hello { digest: Some(digest), .. } if digest != link.digest => {
                Err(AgentError::DigestDiffers { name: link.name.clone() })
            }
            AgentAnswer::Hello { .. } => Ok(link),
            _ => Err(link.garbled(say!("it does not begin with a greeting"))),
        }
    }

    /// SHA-256 of its program, hexadecimal.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Id of its process here, which leads there.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Asks it for something. One that has ended says so when it is heard.
    pub fn ask(&mut self, request: &AgentRequest) -> Result<(), AgentError> {
        let io = |error: io::Error| AgentError::Io { name: self.name.clone(), error };
        let line = request.to_line().map_err(|error| io(error.into()))?;
        match self.process.send_within(&line, self.patience()).map_err(io)? {
            WriteOutcome::All | WriteOutcome::Closed => Ok(()),
            WriteOutcome::TimedOut => Err(self.silent()),
            WriteOutcome::Stopped => Err(AgentError::Stopped),
        }
    }

    /// All has to be over in this time, whatever lease it asks for.
    pub fn ends_within(&mut self, at_most: Duration) {
        self.until = now().checked_add(at_most).map(|until| (until, at_most));
    }

    /// The same, and from now on a person's request to stop ends no wait.
    pub fn stops_within(&mut self, at_most: Duration) {
        self.process.forget_stop();
        self.ends_within(at_most);
    }

    /// Receives its next answer. Counted answers are acknowledged, and leases are kept.
    pub fn receive(&mut self) -> Result<AgentAnswer, AgentError> {
        loop {
            // Whoever is never silent ends no wait below.
            if self.is_over() {
                return Err(self.silent());
            }
            let (begun, patience) = (self.process.buffered_bytes(), self.patience());
            let read = self.process.read_long_line(LONGEST_AGENT_LINE, patience);
            let line = match read.map_err(|error| AgentError::Io { name: self.name.clone(), error })? {
                ReadOutcome::Line(line) => line,
                ReadOutcome::Closed => return Err(self.ended()),
                // A long line on a slow link is no silence.
                ReadOutcome::TimedOut if self.has_come(begun, patience) => continue,
                ReadOutcome::TimedOut => return Err(self.silent()),
                ReadOutcome::TooLong => return Err(self.garbled(say!("a line without an end"))),
                ReadOutcome::Stopped => return Err(AgentError::Stopped),
            };
            self.taken += line.len() as u64 + 1;
            if self.taken > MOST_RECEIVED {
                return Err(self.garbled(say!("more than a run has")));
            }
            let answer = parse(&line).map_err(|what| self.garbled(what))?;
            if let Some(answer) = self.take(answer)? {
                return Ok(answer);
            }
        }
    }

    /// Longest silence from now on.
    fn patience(&self) -> Duration {
        let at_most = self.lease * LEASES;
        self.until.and_then(|(until, _)| left(Some(until))).map_or(at_most, |left| left.min(at_most))
    }

    /// Tells whether more of a line has come in this time than the slowest link carries.
    fn has_come(&self, before: usize, during: Duration) -> bool {
        let more = self.process.buffered_bytes().saturating_sub(before);
        more > 0 && more as u128 * 1000 >= during.as_millis() * SLOWEST_LINK as u128
    }

    fn is_over(&self) -> bool {
        self.until.and_then(|(until, _)| left(Some(until))).is_some_and(|left| left.is_zero())
    }

    /// Reason why it is awaited no longer.
    fn silent(&self) -> AgentError {
        let name = self.name.clone();
        match self.until {
            Some((_, given)) if self.is_over() => AgentError::Endless { name, seconds: given.as_secs() },
            _ => AgentError::Silent { name, seconds: (self.lease * LEASES).as_secs() },
        }
    }

    /// Counts and acknowledges an answer; none where it is for this end alone.
    fn take(&mut self, answer: AgentAnswer) -> Result<Option<AgentAnswer>, AgentError> {
        match (&answer, self.lines_taken) {
            (AgentAnswer::Plan { .. }, Some(_)) => return Err(self.garbled(say!("a second plan"))),
            (AgentAnswer::Plan { .. }, None) => self.lines_taken = Some(0),
            (
                AgentAnswer::Silent { .. }
                | AgentAnswer::Step { .. }
                | AgentAnswer::Value { .. }
                | AgentAnswer::Round(_),
                None,
            ) => {
                return Err(self.garbled(say!("what follows a plan, and no plan")));
            }
            (AgentAnswer::Error(refusal), _) => {
                let (name, why) = (self.name.clone(), harmless(refusal.into()));
                return Err(AgentError::Reported { name, why, exit: refusal.exit });
            }
            _ => {}
        }
        if let Some(lines_taken) = &mut self.lines_taken {
            *lines_taken += 1;
            let lines = *lines_taken;
            match self.ask(&AgentRequest::Acknowledge { lines }) {
                // What was said counts all the same; the next wait ends by the same request.
                Ok(()) | Err(AgentError::Stopped) => {}
                Err(error) => return Err(error),
            }
        }
        if let AgentAnswer::Silent { ms } = answer {
            self.lease = Duration::from_millis(ms).clamp(timing().lease, LONGEST_LEASE);
            return Ok(None);
        }
        Ok(Some(answer))
    }

    /// Says that this is all, and waits for its end; one that does not end is killed. Whether it is gone: another user's cannot be
    /// killed.
    pub fn finish(mut self) -> bool {
        let _ = self.ask(&AgentRequest::Bye);
        self.abandon()
    }

    /// The same without a word: its input ends, and it may put its place in order.
    pub fn abandon(mut self) -> bool {
        self.process.leave(timing().end);
        self.process.kill().is_ok()
    }

    fn garbled(&self, what: Message) -> AgentError {
        AgentError::Garbled { name: self.name.clone(), what }
    }

    fn ended(&mut self) -> AgentError {
        // Its last word may still be under way.
        self.process.ends_within(timing().end);
        let how = self.process.kill().map_or_else(Message::from, Message::from);
        AgentError::Ended { name: self.name.clone(), how: how.with_last_word(self.last_word()) }
    }

    /// The last words of its process here; those of `hostmark dial` are a message.
    fn last_word(&mut self) -> Option<Message> {
        let word = self.process.last_word()?;
        let word = word.trim_start_matches(OURS);
        Some(harmless(Message::from_line(word).unwrap_or_else(|_| word.into())))
    }
}

/// An answer, if the line is one and makes no more of memory than it may.
pub fn parse(line: &str) -> Result<AgentAnswer, Message> {
    bounded(line)?;
    AgentAnswer::from_line(line)
        .map_err(|error| quoted(&format!("{error}: {}", line.chars().take(80).collect::<String>())).into())
}

/// Tells whether a text is a SHA-256 as programs write it.
fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A request, if the line is one and makes no more of memory than it may.
pub fn parse_request(line: &str) -> Result<AgentRequest, Message> {
    bounded(line)?;
    AgentRequest::from_line(line).map_err(Message::plain)
}

fn bounded(line: &str) -> Result<(), Message> {
    let mut counts = [0_usize; 256];
    line.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    match MOST_OF.iter().any(|&(byte, most)| counts[usize::from(byte)] > most) {
        true => Err(say!("a line of more values than a run has")),
        false => Ok(()),
    }
}

/// A message whose texts are parts of a sentence here.
fn harmless(mut message: Message) -> Message {
    message.each_text(&mut |text| *text = quoted(text));
    message
}

/// Text of the other end, as a part of a sentence here.
fn quoted(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(LONGEST_QUOTE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::rc::Rc;

    use crate::garbled::garbled;
    use crate::mutated::{Mutator, trials};
    use crate::supervise::{Ending, Errors, Membership};

    const SOON: Duration = Duration::from_secs(120);

    /// A link to what this script says; `said` lines are counted as heard before.
    fn link(script: &str, lines_taken: Option<u64>, stop: Option<Rc<rustix::fd::OwnedFd>>) -> AgentLink {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (group, errors, ending) = (Membership::Own, Errors::Captured, Ending::Killed);
        let process = Supervised::start(command, Terms { group, has_input: true, errors, ending, stop }).unwrap();
        let (name, digest) = ("there".to_owned(), String::new());
        AgentLink { process, name, digest, lease: timing().lease, until: None, taken: 0, lines_taken }
    }

    fn step() -> String {
        let step = AgentAnswer::Step { case: "clock.loop".into(), done: 1, all: u64::MAX, left_ms: u64::MAX };
        step.to_line().unwrap().trim_end().to_owned()
    }

    #[test]
    fn who_speaks_for_ever_is_ended_by_the_time_that_a_run_has() {
        for line in [step(), r#"{"silent":{"ms":18446744073709551615}}"#.to_owned()] {
            let mut link = link(&format!("yes '{line}' & exec cat > /dev/null"), Some(0), None);
            link.ends_within(Duration::from_millis(300));
            let begin = now();
            let error = loop {
                match link.receive() {
                    Ok(_) => assert!(begin.elapsed() < SOON),
                    Err(error) => break error,
                }
            };
            assert!(matches!(error, AgentError::Endless { .. }), "{error}");
            // What it says is taken no faster than it is heard.
            assert!(link.process.buffered_bytes() < 1 << 20);
        }
    }

    #[test]
    fn who_asks_for_a_long_lease_has_no_longer_than_a_run() {
        let mut link = link(r#"echo '{"silent":{"ms":18446744073709551615}}'; exec sleep 1000"#, Some(0), None);
        link.ends_within(Duration::from_millis(300));
        assert!(matches!(link.receive(), Err(AgentError::Endless { .. })));
    }

    #[test]
    fn what_was_said_before_a_request_to_stop_is_received() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut link = link("exec sleep 1000", Some(0), Some(Rc::new(read)));
        link.process.put_back(format!("{}\n", step()).into_bytes());
        rustix::io::write(&write, b"x").unwrap();
        assert!(matches!(link.receive(), Ok(AgentAnswer::Step { .. })));
        assert!(matches!(link.receive(), Err(AgentError::Stopped)));
    }

    #[test]
    fn a_long_line_on_a_slow_link_is_no_silence() {
        let mut link = link("exec sleep 1000", Some(0), None);
        assert!(!link.has_come(0, Duration::from_secs(40)));
        link.process.put_back(vec![b' '; 40 * SLOWEST_LINK]);
        assert!(link.has_come(0, Duration::from_secs(40)));
        assert!(!link.has_come(1, Duration::from_secs(40)));
    }

    #[test]
    #[cfg_attr(not(feature = "system"), ignore = "takes long")]
    fn a_long_line_is_waited_for_while_it_comes_and_no_longer() {
        let part = "head -c 200000 /dev/zero | tr '\\0' ' '; sleep 0.4";
        let whole = format!("for part in 1 2 3 4 5 6 7 8; do {part}; done; echo '{}'; exec sleep 1000", step());
        for (script, comes) in [(whole, true), (format!("{part}; exec sleep 1000"), false)] {
            let mut link = link(&script, Some(0), None);
            link.lease = Duration::from_secs(1);
            match link.receive() {
                Ok(AgentAnswer::Step { .. }) => assert!(comes),
                other => assert!(!comes && matches!(other, Err(AgentError::Silent { .. })), "{other:?}"),
            }
        }
    }

    #[test]
    fn more_than_a_run_has_is_not_received() {
        let mut link = link(&format!("yes '{}' & exec cat > /dev/null", step()), Some(0), None);
        assert!(link.receive().is_ok());
        link.taken = MOST_RECEIVED;
        let error = link.receive().unwrap_err().to_string();
        assert!(error.contains("more than a run has"), "{error}");
    }

    #[test]
    fn nothing_is_counted_before_a_plan() {
        let mut link = link(r#"echo '{"silent":{"ms":1}}'; exec sleep 1000"#, None, None);
        let error = link.receive().unwrap_err().to_string();
        assert!(error.contains("'there' said what no hostmark says (what follows a plan"), "{error}");
    }

    /// Lines as both sides say them.
    fn lines() -> (Vec<String>, Vec<String>) {
        let round = r#"{"case":"clock.loop","round":0,"cpus":[0],"until_ns":5,"spent_ns":4,"granted_ns":3,"events":[{"event":"hello","protocol":9,"pid":3},{"event":"note","key":"a","value":"b"},{"event":"samples","ns":[1.5,2.5],"iterations":[10,10],"amount":0,"taints":[0,1]},{"event":"histogram","values":[1,2],"counts":[3,4]},{"event":"also","name":"p99","values":[1.0]},{"event":"failed","reason":"r"}]}"#;
        let run = r#"{"filters":["clock"],"profile":"quick","seed":7,"set":["size=4K"],"table":null,"inputs":{"cpus":"0","command":["a"],"isolate":[]},"via":[],"begun":null}"#;
        let requests = [
            r#"{"hello":{"protocol":3}}"#.to_owned(),
            r#""facts""#.into(),
            r#"{"kept":{"run":"last"}}"#.into(),
            format!(r#"{{"run":{run}}}"#),
            format!(r#"{{"past":{round}}}"#),
            r#"{"heard":{"lines":3}}"#.into(),
            r#""stop""#.into(),
            r#""bye""#.into(),
        ];
        let answers = [
            r#"{"hello":{"protocol":2,"version":"1","target":"x","digest":"00"}}"#.to_owned(),
            r#"{"silent":{"ms":20000}}"#.into(),
            step(),
            format!(r#"{{"round":{round}}}"#),
            r#"{"error":{"sentence":"no; do","exit":2}}"#.into(),
        ];
        (requests.to_vec(), answers.to_vec())
    }

    #[test]
    fn whatever_comes_on_a_line_is_read_or_refused_with_a_short_sentence() {
        let (requests, answers) = lines();
        for line in &requests {
            assert!(parse_request(line).is_ok(), "{line}: {:?}", parse_request(line));
        }
        for line in &answers {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
        }
        let mut draw = Mutator::new(0x11fe);
        let mut read = [0; 2];
        for _ in 0..trials(2000) {
            let line = garbled(&mut draw, &requests);
            read[0] += usize::from(parse_request(&String::from_utf8_lossy(&line)).is_ok());
            let line = garbled(&mut draw, &answers);
            match parse(&String::from_utf8_lossy(&line)) {
                Ok(_) => read[1] += 1,
                Err(what) => assert!(what.to_string().chars().count() <= LONGEST_QUOTE),
            }
        }
        assert!(read.iter().all(|&read| read > trials(2000) / 20), "{read:?}");
    }

    #[test]
    fn whatever_a_session_is_it_ends_with_a_sentence() {
        let (_, answers) = lines();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("said");
        let mut draw = Mutator::new(0xa9e7);
        for trial in 0..trials(2000) / 20 {
            let count = 1 + draw.below(20);
            let said: Vec<Vec<u8>> =
                (0..count).map(|_| [garbled(&mut draw, &answers), b"\n".to_vec()].concat()).collect();
            std::fs::write(&file, said.concat()).unwrap();
            let mut link = link(&format!("exec cat {}", file.display()), Some(0), None);
            let mut taken = 0;
            let error = loop {
                match link.receive() {
                    Ok(_) => taken += 1,
                    Err(error) => break error.to_string(),
                }
            };
            assert!(taken <= count, "{trial}");
            assert!(!error.contains('\n') && error.chars().count() < 2 * LONGEST_QUOTE, "{trial} {error}");
        }
    }

    #[test]
    fn a_line_makes_no_more_of_memory_than_a_run_does() {
        for (byte, most) in MOST_OF {
            let line = |count| char::from(byte).to_string().repeat(count);
            assert!(!parse(&line(most)).unwrap_err().to_string().contains("more values than a run has"));
            assert!(parse(&line(most + 1)).unwrap_err().to_string().contains("more values than a run has"));
        }
        // What is not passed over is nested no deeper than a stack bears.
        let nested = r#"{"round":{"events":[{"event":"measuring","x":"#.to_owned() + &"[".repeat(1 << 18);
        assert!(parse(&nested).unwrap_err().to_string().contains("recursion limit"));
    }
}
