//! A process that is started, fed, listened to and ended: every process of this program but those that are measured has one
//! of these, and nothing is left of it when that is dropped.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use crate::group::{GroupLeader, named, null};

/// The time between two looks whether one has ended.
const TURN: Duration = Duration::from_millis(2);
/// Bytes of a line at most: what has no end by then is no line, and must not fill the memory.
pub(crate) const LONGEST_LINE: usize = 64 << 20;
/// Bytes that may be written without a wait to a pipe that has room.
const LEAST_ROOM: usize = rustix::pipe::PIPE_BUF;
/// Bytes that are read at once.
const PART: usize = 1 << 16;
/// Bytes of its standard error that are kept, the last ones.
const MOST_TAIL: usize = PART;
/// Largest number of parts of the rest that are read at its end: a process that outlives it may write on for ever.
const LAST_PARTS: usize = 32;
/// Characters of a last word at most.
const LONGEST_WORD: usize = 1000;

#[derive(Debug, Clone)]
pub struct Terms {
    pub group: Membership,
    /// True where it has an input; else its standard input is empty.
    pub has_input: bool,
    pub errors: Errors,
    pub ending: Ending,
    /// Becomes readable when the person asks to stop: then nothing is waited for.
    pub stop: Option<Rc<OwnedFd>>,
}

/// Process group of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// Group of its own, which ends with it.
    Own,
    /// Group of this process, which is ended whole by another.
    Ours,
}

/// Treatment of standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    Dropped,
    /// Source of the last word. A process that writes more than is read meanwhile blocks.
    Captured,
    /// Source of the last word. A process that writes more than is read meanwhile does not block: the rest is lost.
    CapturedAtLeisure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Killed,
    /// Stop by SIGINT, or SIGTERM where it ignores that, and a kill when it has not ended in this time.
    Asked(Duration),
    /// End of its input, and a wait, however long that takes: it has to put things in order.
    Awaited,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOutcome {
    Line(String),
    Closed,
    /// Time is over, and more may come.
    TimedOut,
    /// More than may be heard at once.
    TooLong,
    /// The person asked to stop.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// Bytes were all taken, as far as a pipe can tell.
    All,
    /// Process has ended, or reads no more.
    Closed,
    TimedOut,
    /// The person asked to stop.
    Stopped,
}

/// A process in this one's charge, and what it has said that nobody has heard yet.
#[derive(Debug)]
pub struct Supervised {
    group: GroupLeader,
    input: Option<ChildStdin>,
    buffered: Vec<u8>,
    errors: Option<OwnedFd>,
    tail: Vec<u8>,
    ending: Ending,
    stop: Option<Rc<OwnedFd>>,
}

impl Supervised {
    /// Starts the command on these terms, which say what its streams are. An error of starting has the system's number.
    pub fn start(mut command: Command, terms: Terms) -> io::Result<Supervised> {
        let flags = match terms.errors {
            Errors::Dropped => None,
            Errors::Captured => Some(PipeFlags::CLOEXEC),
            Errors::CapturedAtLeisure => Some(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK),
        };
        // Without a pipe it has no last word.
        let (errors, stderr) = match flags.and_then(|flags| pipe_with(flags).ok()) {
            Some((errors, stderr)) => (Some(errors), Stdio::from(stderr)),
            None => (None, null()?),
        };
        let stdin = if terms.has_input { Stdio::piped() } else { null()? };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(stderr);
        let mut group = match terms.group {
            Membership::Own => GroupLeader::spawn(&mut command),
            Membership::Ours => GroupLeader::join(&mut command),
        }?;
        let input = group.streams().stdin.take();
        let (buffered, tail) = (Vec::new(), Vec::new());
        Ok(Supervised { group, input, buffered, errors, tail, ending: terms.ending, stop: terms.stop })
    }

    /// Process id, which is its group's too where it has one.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// Tells whether a process of its group waits for a CPU or a device, and has had less CPU time than `enough` so far.
    pub fn is_starved(&self, enough: Duration) -> bool {
        crate::group::is_starved(self.id(), enough)
    }

    /// Tells it a line. It may have ended, or read no more: then the pipe is broken.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(line.as_bytes()).map_err(|error| named("write", error)),
            None => Err(named("write", io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Tells it this and no more. One that has ended before it had read it is told of when its end is heard.
    pub fn send_last(&mut self, line: &str) -> io::Result<()> {
        let sent = self.send_unless_ended(line);
        self.input = None;
        sent
    }

    /// Tells it a line. One that has ended before it had read it is told of when its end is heard.
    pub fn send_unless_ended(&mut self, line: &str) -> io::Result<()> {
        let sent = self.send(line);
        sent.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
    }

    /// Tells it much, of which no part may stand still for longer than `at_most`. What it says meanwhile is taken in, and
    /// there to be heard, so that neither waits for the other.
    pub fn send_within(&mut self, text: &str, at_most: Duration) -> io::Result<WriteOutcome> {
        self.feed(text.as_bytes(), None, at_most)
    }

    /// The same, unless it says this word: then it is told no more, as one that reads no more is.
    pub(crate) fn feed(&mut self, bytes: &[u8], word: Option<&str>, at_most: Duration) -> io::Result<WriteOutcome> {
        let mut parts = bytes.chunks(LEAST_ROOM);
        let mut next = parts.next();
        let mut until = now().checked_add(at_most);
        while let Some(part) = next {
            // One that says much and reads nothing stands still, and must not fill the memory meanwhile.
            let listens = self.buffered.len() < LONGEST_LINE;
            let ready = self.wait(left(until), listens, true)?;
            if ready.has_errors {
                self.read_stderr();
            }
            if ready.has_stop {
                return Ok(WriteOutcome::Stopped);
            }
            // One that may be told at once is heard later: whoever answers each word with a flood fills no memory by that.
            if ready.has_output && (word.is_some() || !ready.has_room) {
                let before = self.buffered.len();
                if self.read_chunk()? == Some(0) || word.is_some_and(|word| self.has_said(word, before)) {
                    return Ok(WriteOutcome::Closed);
                }
            }
            match &mut self.input {
                Some(input) if ready.has_room => match input.write_all(part) {
                    Ok(()) => {
                        next = parts.next();
                        until = now().checked_add(at_most);
                    }
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(WriteOutcome::Closed),
                    Err(error) => return Err(named("write", error)),
                },
                None => return Ok(WriteOutcome::Closed),
                _ if left(until).is_some_and(|left| left.is_zero()) => return Ok(WriteOutcome::TimedOut),
                _ => {}
            }
        }
        Ok(WriteOutcome::All)
    }

    /// Tells whether it has written this word; up to `looked_at` its output has been searched before.
    fn has_said(&self, word: &str, looked_at: usize) -> bool {
        let from = looked_at.saturating_sub(word.len());
        self.buffered[from..].windows(word.len()).any(|words| words == word.as_bytes())
    }

    pub(crate) fn close_stdin(&mut self) {
        self.input = None;
    }

    /// Closes its input and output, and lets it end by itself in this time.
    pub(crate) fn leave(&mut self, grace: Duration) {
        self.input = None;
        self.streams().stdout = None;
        self.ends_within(grace);
    }

    /// The next line, or why there is none within `at_most`; of the longest time there is no end.
    pub fn read_line_within(&mut self, at_most: Duration) -> io::Result<ReadOutcome> {
        self.read_long_line(LONGEST_LINE, at_most)
    }

    /// The same, of a line of so many bytes at most.
    pub fn read_long_line(&mut self, most: usize, at_most: Duration) -> io::Result<ReadOutcome> {
        let until = now().checked_add(at_most);
        let (mut searched, mut is_first) = (0, true);
        loop {
            if let Some(end) = self.buffered[searched..].iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.buffered.drain(..=searched + end).collect();
                return Ok(ReadOutcome::Line(String::from_utf8_lossy(&line[..line.len() - 1]).into_owned()));
            }
            searched = self.buffered.len();
            if searched > most {
                return Ok(ReadOutcome::TooLong);
            }
            // From the start of the wait, so that half a line now and then makes it no longer.
            if !is_first && left(until).is_some_and(|left| left.is_zero()) {
                return Ok(ReadOutcome::TimedOut);
            }
            is_first = false;
            if let Some(other) = self.fill_buffer(until)? {
                return Ok(other);
            }
        }
    }

    /// Everything until its output ends, which [`Supervised::take_buffered`] then has, unless that is more than `most` bytes.
    pub fn drain(&mut self, at_most: Duration, most: usize) -> io::Result<ReadOutcome> {
        let until = now().checked_add(at_most);
        loop {
            if left(until).is_some_and(|left| left.is_zero()) {
                return Ok(ReadOutcome::TimedOut);
            }
            if let Some(other) = self.fill_buffer(until)? {
                return Ok(other);
            }
            if self.buffered.len() > most {
                return Ok(ReadOutcome::TooLong);
            }
        }
    }

    /// Takes its output since the last line.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffered)
    }

    /// Number of bytes of its output since the last line.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffered.len()
    }

    /// Puts bytes before its next output.
    #[cfg(test)]
    pub(crate) fn put_back(&mut self, bytes: Vec<u8>) {
        self.buffered.splice(..0, bytes);
    }

    /// Lets a person's request to stop end no wait from now on.
    pub(crate) fn forget_stop(&mut self) {
        self.stop = None;
    }

    /// Waits until it has said more, which is then there, or why that is not so.
    fn fill_buffer(&mut self, until: Option<Instant>) -> io::Result<Option<ReadOutcome>> {
        loop {
            let ready = self.wait(left(until), true, false)?;
            if ready.has_errors {
                self.read_stderr();
            }
            if ready.has_stop {
                return Ok(Some(ReadOutcome::Stopped));
            }
            if !ready.has_output {
                match ready.has_errors || ready.was_interrupted {
                    true if left(until).is_none_or(|left| !left.is_zero()) => continue,
                    _ => return Ok(Some(ReadOutcome::TimedOut)),
                }
            }
            match self.read_chunk()? {
                Some(0) => return Ok(Some(ReadOutcome::Closed)),
                Some(_) => return Ok(None),
                None => {}
            }
        }
    }

    /// Reads a part of what it says, which has to be there: its length, or none when a signal came first.
    fn read_chunk(&mut self) -> io::Result<Option<usize>> {
        let Some(stdout) = self.group.streams().stdout.as_mut() else { return Ok(Some(0)) };
        let mut part = [0; PART];
        match stdout.read(&mut part) {
            Ok(length) => {
                self.buffered.extend_from_slice(&part[..length]);
                Ok(Some(length))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(named("read", error)),
        }
    }

    /// Waits until it has said something, or may be told something, of which each is waited for where it is wanted.
    fn wait(&mut self, at_most: Option<Duration>, wants_output: bool, wants_room: bool) -> io::Result<Readiness> {
        let mut watched = Vec::with_capacity(4);
        let mut watch = |fd| {
            watched.push(fd);
            watched.len() - 1
        };
        let Some(stdout) = self.group.streams().stdout.as_ref() else {
            return Err(io::Error::other(say!("there is no standard output")));
        };
        let output = wants_output.then(|| watch(PollFd::new(stdout, PollFlags::IN)));
        let stop = self.stop.as_ref().map(|stop| watch(PollFd::new(&**stop, PollFlags::IN)));
        let errors = self.errors.as_ref().map(|errors| watch(PollFd::new(errors, PollFlags::IN)));
        let input = self.input.as_ref().filter(|_| wants_room);
        let room = input.map(|input| watch(PollFd::new(input, PollFlags::OUT)));
        match poll(&mut watched, at_most.map(timeout).as_ref()) {
            // A signal's handler has run, and its pipe tells at the next look.
            Err(rustix::io::Errno::INTR) => return Ok(Readiness { was_interrupted: true, ..Readiness::default() }),
            Err(error) => return Err(named("ppoll", error.into())),
            Ok(_) => {}
        }
        let is_ready = |index: Option<usize>| index.is_some_and(|index| !watched[index].revents().is_empty());
        Ok(Readiness {
            has_output: is_ready(output),
            has_stop: is_ready(stop),
            has_errors: is_ready(errors),
            has_room: is_ready(room),
            was_interrupted: false,
        })
    }

    /// Reads a part of its standard error, if there is one. Whether there was.
    fn read_stderr(&mut self) -> bool {
        let Some(errors) = &self.errors else { return false };
        // Who has the other end may not be at its end.
        if !matches!(poll(&mut [PollFd::new(errors, PollFlags::IN)], Some(&timeout(Duration::ZERO))), Ok(1)) {
            return false;
        }
        let mut part = [0; PART];
        match rustix::io::read(errors, &mut part) {
            Ok(0) | Err(_) => {
                self.errors = None;
                false
            }
            Ok(length) => {
                self.tail.extend_from_slice(&part[..length]);
                self.tail.drain(..self.tail.len().saturating_sub(MOST_TAIL));
                true
            }
        }
    }

    /// Tells whether it has ended, without reaping it.
    pub fn has_ended(&self) -> io::Result<bool> {
        self.group.has_ended()
    }

    /// Waits for its end by itself, but no longer than this. Whether it has ended; nobody has taken note of it yet.
    pub fn ends_within(&mut self, at_most: Duration) -> bool {
        let until = now().checked_add(at_most);
        loop {
            match self.group.has_ended() {
                Ok(false) if left(until).is_none_or(|left| !left.is_zero()) => {
                    // It may be waiting to say why.
                    self.read_stderr();
                    crate::timing::pause(TURN);
                }
                has_ended => return has_ended.unwrap_or(false),
            }
        }
    }

    /// Sends a signal to everybody in its group, and waits for nobody.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        self.group.signal(signal)
    }

    /// Kills it and everything in its group, whatever the terms say, and waits until it is gone: how it ended.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.group.end()
    }

    /// Ends it as the terms say, with everything that is left of its group, and waits until it is gone: how it ended.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        self.input = None;
        match self.ending {
            Ending::Killed => {}
            Ending::Asked(grace) => {
                // Nobody listens any more: what it still has to say must not hold it up.
                self.streams().stdout = None;
                if !self.group.has_ended().unwrap_or(true) {
                    // Whoever cannot be asked is not waited for.
                    let _ = self.group.ask_to_stop().map(|()| self.ends_within(grace));
                }
            }
            Ending::Awaited => {
                // One that was stopped would be waited for without an end.
                if !self.group.has_ended().unwrap_or(true) {
                    let _ = self.group.signal(Signal::CONT);
                }
                return self.group.wait();
            }
        }
        self.kill()
    }

    fn streams(&mut self) -> &mut Child {
        self.group.streams()
    }

    /// Discards its standard error so far, which is no last word of the process that began with it.
    pub(crate) fn forget_words(&mut self) {
        (0..LAST_PARTS).any(|_| !self.read_stderr());
        self.tail.clear();
    }

    /// The last line that it wrote to standard error: that of the loader, or of the language's start, which have no other
    /// way to say why a program cannot begin; or that of a program which has failed.
    pub fn last_word(&mut self) -> Option<String> {
        (0..LAST_PARTS).any(|_| !self.read_stderr());
        let text = String::from_utf8_lossy(&self.tail);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().filter(|character| !character.is_control()).take(LONGEST_WORD).collect())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[derive(Debug, Default)]
struct Readiness {
    has_output: bool,
    has_stop: bool,
    has_errors: bool,
    has_room: bool,
    was_interrupted: bool,
}

fn timeout(at_most: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(at_most.subsec_nanos()),
    }
}

/// The time until then; none where there is no end.
pub(crate) fn left(until: Option<Instant>) -> Option<Duration> {
    until.map(|until| until.saturating_duration_since(now()))
}

#[expect(clippy::disallowed_methods, reason = "bounds a wait; nothing is measured with it")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
#[path = "supervise_tests.rs"]
mod tests;
