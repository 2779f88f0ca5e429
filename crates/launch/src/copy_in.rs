//! A program is copied to where a command leads: what the script there says is heard, and answered.

use std::io;
use std::time::Duration;

use hostmark_model::Message;
use hostmark_say::say;

use crate::link_speed::on_the_way;
use crate::program::{Program, Programs, nonce};
use crate::supervise::{ReadOutcome, Supervised, WriteOutcome, left, now};
use crate::transport_error::{Name, TransportError, shown};

/// What a shell there is told to do.
const SCRIPT: &str = include_str!("copy_in.sh");
/// How long a shell may take to put its place in order, when no program comes.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes that come before our own first line at most: greetings, the messages of the day.
const MOST_BANNERS: usize = 64 << 10;
/// Directories of which a place may say why they do not do, at most: it tries fewer.
const MOST_TRIED: usize = 16;
/// Bytes after which it is looked whether all of them take too long.
const PART: usize = 64 << 10;

/// A program that runs at its place.
#[derive(Debug)]
pub struct Started {
    /// Its process, or that of the command that leads to it.
    pub process: Supervised,
    /// The SHA-256 of the program that runs there, hexadecimal; none where that is another one's choice.
    pub digest: Option<String>,
    /// Whether it was copied there; else it was there already.
    pub has_copied: bool,
    /// Whether it needs no loader and libraries there; else these may be why it does not begin.
    pub is_static: bool,
}

/// A shell that is about to become the program.
pub(crate) struct RemoteShell {
    name: Name,
    nonce: String,
    process: Supervised,
    patience: Duration,
    /// What is under way, for errors.
    step: Message,
    /// The last line that was not for us: some commands complain there.
    noise: String,
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl RemoteShell {
    pub(crate) fn new(name: Name, process: Supervised, patience: Duration) -> io::Result<RemoteShell> {
        let step = say!("before its shell had begun");
        Ok(RemoteShell { name, nonce: nonce()?, process, patience, step, noise: String::new() })
    }

    /// Has the shell become the program; whatever fails, nothing of it is left.
    pub(crate) fn copy_in(mut self, programs: &Programs, arguments: &[&str]) -> Result<Started, TransportError> {
        match self.try_copy_in(programs, arguments) {
            Ok((Program { digest, is_static, .. }, has_copied)) => {
                Ok(Started { process: self.process, digest: Some(digest), has_copied, is_static })
            }
            Err(error) => {
                self.process.leave(GRACE);
                // Whatever the terms say of one that works: this one has nothing to put in order any more.
                let _ = self.process.kill();
                Err(error)
            }
        }
    }

    /// The program, and whether it was copied.
    fn try_copy_in(&mut self, programs: &Programs, arguments: &[&str]) -> Result<(Program, bool), TransportError> {
        let words: String = arguments.iter().map(|word| format!(" {}", quoted(word))).collect();
        // Enclosed, so that the shell has read all of it before it does any of it, and nothing of what comes then.
        let script = format!("{{ n={}\nset --{words}\n{SCRIPT}}}\n", self.nonce);
        self.feed(script.as_bytes())?;
        let answer = self.answer(self.patience)?;
        let (machine, installed) = match answer.split_once(' ') {
            Some(("ready", rest)) => rest.rsplit_once(' ').unwrap_or((rest, "")),
            _ => return Err(self.strange(&answer)),
        };
        // A banner is no word of the program, which has not begun yet.
        self.process.forget_words();
        let program = programs.for_place(machine.trim(), &self.name)?;
        if installed == program.digest {
            self.step = say!("before it started the program that is installed there");
            self.feed(b"use\n")?;
            return Ok((program, false));
        }
        self.step = say!("while it looked for a directory");
        let size = program.bytes.len();
        self.feed(format!("take {size} {}\n", program.digest).as_bytes())?;
        self.find_room()?;
        self.step = say!("while the program was copied");
        self.feed(&program.bytes)?;
        let answer = self.answer(self.patience + on_the_way(size))?;
        let place = self.name.clone();
        match answer.split_once(' ') {
            Some(("copied", there)) if there == "-" || there == program.digest => Ok((program, true)),
            Some(("copied" | "differs", there)) => {
                Err(TransportError::DigestDiffers { place, here: program.digest, there: shown(there) })
            }
            Some(("short", rest)) => {
                let (taken, why) = rest.split_once(' ').unwrap_or((rest, ""));
                Err(TransportError::Short { place, taken: shown(taken), size, why: after(": ", why) })
            }
            _ => Err(self.strange(&answer)),
        }
    }

    /// Hears which directories do not do, until one does.
    fn find_room(&mut self) -> Result<(), TransportError> {
        let mut tried = Vec::new();
        loop {
            let answer = self.answer(self.patience)?;
            let place = self.name.clone();
            match answer.split_once(' ').unwrap_or((&answer, "")) {
                ("tried", what) if tried.len() < MOST_TRIED => tried.push(shown(what)),
                ("room", _) => return Ok(()),
                ("nowhere", _) => return Err(TransportError::Nowhere { place, tried }),
                ("lacks", what) => return Err(TransportError::Lacks { place, what: shown(what) }),
                _ => return Err(self.strange(&answer)),
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        let patience = self.patience + on_the_way(bytes.len());
        let until = now().checked_add(patience);
        for part in bytes.chunks(PART) {
            match self.process.feed(part, Some(&self.nonce), self.patience)? {
                WriteOutcome::All if left(until).is_none_or(|left| !left.is_zero()) => {}
                WriteOutcome::All | WriteOutcome::TimedOut => return Err(self.silent(patience)),
                // Who does not take all of it says why.
                WriteOutcome::Closed => return Ok(()),
                WriteOutcome::Stopped => return Err(TransportError::Stopped),
            }
        }
        Ok(())
    }

    /// What its next line in our own words says; whatever else comes before is dropped.
    fn answer(&mut self, patience: Duration) -> Result<String, TransportError> {
        // Of the whole wait, so that noise now and then makes it no longer.
        let until = now().checked_add(patience);
        let mut dropped = 0;
        while dropped <= MOST_BANNERS {
            let line = match self.process.read_long_line(MOST_BANNERS, left(until).unwrap_or(Duration::MAX))? {
                ReadOutcome::Line(line) => line,
                ReadOutcome::TooLong => break,
                ReadOutcome::Closed => return Err(self.ended()),
                ReadOutcome::TimedOut => return Err(self.silent(patience)),
                ReadOutcome::Stopped => return Err(TransportError::Stopped),
            };
            if let Some(answer) = line.strip_prefix(&format!("hostmark {} ", self.nonce)) {
                return Ok(answer.trim_end().to_owned());
            }
            if line.contains(&self.nonce) {
                return Err(TransportError::Terminal { place: self.name.clone() });
            }
            dropped += line.len() + 1;
            if !line.trim().is_empty() {
                self.noise = line;
            }
        }
        Err(TransportError::Banner { place: self.name.clone() })
    }

    /// Its last word on standard error, or else the last thing that it said.
    fn last_word(&mut self) -> String {
        shown(&self.process.last_word().unwrap_or_else(|| std::mem::take(&mut self.noise)))
    }

    fn silent(&mut self, patience: Duration) -> TransportError {
        let unended = self.process.take_buffered();
        if !unended.is_empty() {
            // A question ends without a line.
            self.noise = String::from_utf8_lossy(&unended).into_owned();
        }
        let (seconds, word) = (patience.as_secs(), self.last_word());
        let word = if word.is_empty() { Message::plain("") } else { say!(": {word}") };
        TransportError::Silent { place: self.name.clone(), seconds, step: self.step.clone(), word }
    }

    fn ended(&mut self) -> TransportError {
        // It is about to end by itself, and to say why.
        let has_ended = self.process.ends_within(GRACE);
        let status = self.process.kill();
        let has_no_shell = status.as_ref().is_ok_and(|status| matches!(status.code(), Some(126 | 127)));
        let how = match status {
            Ok(status) if has_ended => status.into(),
            Ok(_) => say!("its output was closed"),
            Err(error) => error.into(),
        };
        let how = how.with_last_word(Some(self.last_word()).filter(|word| !word.is_empty()));
        let place = self.name.clone();
        match has_no_shell {
            true => TransportError::NoShell { place, how },
            false => TransportError::Ended { place, step: self.step.clone(), how },
        }
    }

    fn strange(&self, answer: &str) -> TransportError {
        TransportError::Strange { place: self.name.clone(), step: self.step.clone(), answer: shown(answer) }
    }
}

/// A part of a sentence, after its separator; nothing if it is empty.
fn after(separator: &str, text: &str) -> String {
    let text = shown(text);
    if text.is_empty() { text } else { format!("{separator}{text}") }
}
