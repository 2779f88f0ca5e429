//! Place where a program is started: here, behind a command that leads elsewhere, to which it is copied first, by a server that is dialled,
//! or in a guest.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;
use std::{fs, io};

use hostmark_model::Message;
use hostmark_say::say;
use rustix::fd::{AsRawFd, OwnedFd};

use crate::guest_session::SESSION;
use crate::program::{Program, Programs, command, nonce};
use crate::relay::DIAL;
use crate::supervise::{ReadOutcome, Supervised, Terms, WriteOutcome, left, now};
use crate::timing::{on_the_way, timing};
use crate::transport_error::shown;

pub use crate::transport_error::{Name, TransportError};

/// The descriptor by which a program is executed behind a command: the script says it too.
const DESCRIPTOR: i32 = 9;

/// Place where a program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Process of this machine, from its own file.
    Here,
    /// Place behind these words, which lead to a shell when `sh` stands after them, and give it pipes: `ssh host`, `docker exec -i
    /// name`, `ip netns exec name`.
    Command(Vec<OsString>),
    /// Place behind a server, which starts an agent of its own program.
    Tcp(Tcp),
    /// Guest that this program has booted, where an agent is started, whatever the arguments are.
    Guest(GuestPlace),
}

impl Transport {
    /// Starts the program there with these arguments. Elsewhere it is one of the same digest that is in PATH there, or a copy
    /// that no file system has a name for. What it reads first is what it is told first. A server starts an agent, whatever the
    /// arguments are.
    pub fn start(&self, programs: &Programs, arguments: &[&str], terms: Terms) -> Result<Started, TransportError> {
        self.start_within(programs, arguments, terms, timing().login)
    }

    /// The same, where no step may take longer than `patience`, beside the time that a slow link needs.
    pub fn start_within(
        &self,
        programs: &Programs,
        arguments: &[&str],
        terms: Terms,
        patience: Duration,
    ) -> Result<Started, TransportError> {
        self.start_notifying(programs, arguments, terms, patience, |_| {})
    }

    /// The same, where `notify` hears of the process of this machine that leads there as soon as it is started: a way may hang
    /// before its shell begins, and who watches over it has to know of it by then.
    pub(crate) fn start_notifying(
        &self,
        programs: &Programs,
        arguments: &[&str],
        terms: Terms,
        patience: Duration,
        notify: impl FnOnce(u32),
    ) -> Result<Started, TransportError> {
        let prefix = match self {
            Transport::Here => {
                let ours = programs.ours()?;
                let mut command = command(programs.own());
                command.args(arguments);
                let process = Supervised::start(command, terms)?;
                notify(process.id());
                return Ok(Started {
                    process,
                    digest: Some(ours.digest),
                    has_copied: false,
                    is_static: ours.is_static,
                });
            }
            Transport::Tcp(tcp) => return tcp.start(programs, terms).inspect(|started| notify(started.process.id())),
            Transport::Guest(guest) => {
                return guest.start(programs, terms).inspect(|started| notify(started.process.id()));
            }
            Transport::Command(prefix) => prefix,
        };
        let name = Name::of(&prefix.join(OsStr::new(" ")).to_string_lossy());
        let mut words = prefix.iter().map(OsString::as_os_str).chain([OsStr::new("sh")]);
        let word = words.next().unwrap_or_default();
        let mut command = Command::new(word);
        command.args(words);
        let has_input = terms.has_input;
        let process = Supervised::start(command, Terms { has_input: true, ..terms }).map_err(|error| {
            let word = Name::of(&word.to_string_lossy());
            TransportError::NotStarted { place: name.clone(), word, error }
        })?;
        notify(process.id());
        let mut started = RemoteShell::new(name, process, patience)?.copy_in(programs, arguments)?;
        if !has_input {
            started.process.close_stdin();
        }
        Ok(started)
    }
}

/// Closes the descriptor by which this program was executed, if a shell did: it cannot have it closed by that. To be called
/// before anything is opened or started; whoever was started otherwise closes nothing. Whether there was one.
pub fn close_own_descriptor() -> bool {
    let of = |path: &str| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    match (of(&format!("/proc/self/fd/{DESCRIPTOR}")), of("/proc/self/exe")) {
        (Ok(held), Ok(own)) if held == own => nix::unistd::close(DESCRIPTOR).is_ok(),
        _ => false,
    }
}

/// Prefix of a typed place of this kind.
pub const TCP: &str = "tcp:";

/// A server, and what lets us in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// HOST:PORT, of which HOST may be a name, an address of IPv4, or one of IPv6 in brackets.
    pub address: String,
    pub token_file: PathBuf,
}

impl Tcp {
    /// The address that was typed as `tcp:HOST:PORT` or `tcp:HOST`; none where it is no address.
    pub fn address(typed: &str, port: u16) -> Option<String> {
        let rest = typed.strip_prefix(TCP)?;
        let (host, ending) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (address, ending) = inner.split_once(']')?;
                address.parse::<std::net::Ipv6Addr>().ok()?;
                (format!("[{address}]"), ending)
            }
            None => {
                let (host, ending) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
                let is_named = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
                let is_host = !host.is_empty() && host.chars().all(is_named) && !host.starts_with(['-', '.']);
                (is_host.then(|| host.to_owned())?, ending)
            }
        };
        let port = match ending.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse::<u16>().ok()?,
            None if ending.is_empty() => port,
            _ => return None,
        };
        (port > 0).then(|| format!("{host}:{port}"))
    }

    /// Starts the process that leads there. The agent is the server's, and so is its program.
    pub(crate) fn start(&self, programs: &Programs, terms: Terms) -> Result<Started, TransportError> {
        let mut command = command(programs.own());
        command.arg(DIAL).arg(&self.address).arg(&self.token_file);
        let process = Supervised::start(command, terms)?;
        Ok(Started { process, digest: None, has_copied: false, is_static: false })
    }
}

/// A guest's channel, of which one agent at a time has the use, and QEMU's monitor beside it.
#[derive(Debug, Clone)]
pub struct GuestPlace {
    channel: Rc<OwnedFd>,
    monitor: Rc<OwnedFd>,
    digest: String,
}

impl GuestPlace {
    /// The one behind these, in which a program of this digest answers.
    pub(crate) fn new(channel: Rc<OwnedFd>, monitor: Rc<OwnedFd>, digest: String) -> GuestPlace {
        GuestPlace { channel, monitor, digest }
    }

    /// Starts the process that leads there.
    pub(crate) fn start(&self, programs: &Programs, terms: Terms) -> Result<Started, TransportError> {
        // Only these are inherited, and only by this process: nothing else is started while they are there.
        let of = |descriptor: &OwnedFd| rustix::io::dup(descriptor).map_err(std::io::Error::from);
        let (channel, monitor) = (of(&self.channel)?, of(&self.monitor)?);
        let mut command = command(programs.own());
        command.arg(SESSION);
        command.args([&channel, &monitor].map(|descriptor| descriptor.as_raw_fd().to_string()));
        let process = Supervised::start(command, terms)?;
        Ok(Started { process, digest: Some(self.digest.clone()), has_copied: true, is_static: true })
    }
}

impl PartialEq for GuestPlace {
    fn eq(&self, other: &GuestPlace) -> bool {
        Rc::ptr_eq(&self.channel, &other.channel)
    }
}

impl Eq for GuestPlace {}

/// Script for the shell there.
const SCRIPT: &str = include_str!("copy_in.sh");
/// Time for a shell to put its place in order, when no program comes.
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
    /// Process, or that of the command that leads to it.
    pub process: Supervised,
    /// The SHA-256 of the program that runs there, hexadecimal; none where that is another one's choice.
    pub digest: Option<String>,
    /// True where it was copied there; else it was there already.
    pub has_copied: bool,
    /// True where it needs no loader and libraries there; else these may be why it does not begin.
    pub is_static: bool,
}

/// A shell that is about to become the program.
struct RemoteShell {
    name: Name,
    nonce: String,
    process: Supervised,
    patience: Duration,
    /// Current step, for errors.
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
    fn copy_in(mut self, programs: &Programs, arguments: &[&str]) -> Result<Started, TransportError> {
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

    /// Value of its next line in our own words; whatever else comes before is dropped.
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

    /// Last word on standard error, or else the last output.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_people_write_it() {
        let of = |typed: &str| Tcp::address(typed, 7).unwrap_or_default();
        assert_eq!(of("tcp:db-17"), "db-17:7");
        assert_eq!(of("tcp:db-17:99"), "db-17:99");
        assert_eq!(of("tcp:10.0.0.1:99"), "10.0.0.1:99");
        assert_eq!(of("tcp:[::1]:99"), "[::1]:99");
        assert_eq!(of("tcp:[fe80::1]"), "[fe80::1]:7");
        for wrong in [
            "tcp:",
            "tcp::9",
            "db-17:9",
            "tcp:a:",
            "tcp:a:0",
            "tcp:a:65536",
            "tcp:a:+9",
            "tcp:::1",
            "tcp:[::1",
            "tcp:[x]:9",
            "tcp:[::1]9",
            "tcp:a b:9",
            "tcp:-a:9",
            "tcp:a:9:9",
            "tcp:../x:9",
            "tcp:ä:9",
        ] {
            assert_eq!(of(wrong), "", "{wrong}");
        }
    }
}
