//! Where a program is started: here, or behind a command that leads elsewhere, to which it is copied first.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::supervise::{Heard, Supervised, Terms, Told};

/// What a shell there is told to do.
const SCRIPT: &str = include_str!("copy_in.sh");
/// A login, and each step of the copying, takes less.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a shell may take to put its place in order, when no program comes.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes that come before our own first line at most: greetings, the messages of the day.
const MOST_BANNERS: usize = 64 << 10;

/// Where a program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// As a process of this machine, from its own file.
    Here,
    /// Behind these words, which lead to a shell when `sh` stands after them, and give it pipes: `ssh host`, `docker exec -i
    /// name`, `ip netns exec name`.
    Command(Vec<OsString>),
}

impl Place {
    /// Starts the program there with these arguments. Elsewhere it is a copy that no file system has a name for: it must need
    /// no file that is not there, and what it reads first is what it is told first. What is wrong there is a sentence;
    /// otherwise an error of starting has the system's number.
    pub fn start(&self, program: &Path, arguments: &[&str], terms: Terms) -> io::Result<Supervised> {
        match self {
            Place::Here => {
                let mut command = Command::new(program);
                command.args(arguments);
                Supervised::start(command, terms)
            }
            Place::Command(prefix) => {
                let copied = std::fs::read(program)?;
                let mut words = prefix.iter().map(OsString::as_os_str).chain([OsStr::new("sh")]);
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words);
                let has_input = terms.has_input;
                let process = Supervised::start(command, Terms { has_input: true, ..terms })?;
                let name = prefix.join(OsStr::new(" ")).to_string_lossy().into_owned();
                let mut far = Far { name, nonce: nonce()?, process };
                if let Err(error) = far.copy_in(&copied, arguments) {
                    far.process.leave(GRACE);
                    return Err(error);
                }
                if !has_input {
                    far.process.tell_no_more();
                }
                Ok(far.process)
            }
        }
    }
}

/// What no banner has in it.
fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A shell that is about to become the program.
struct Far {
    name: String,
    nonce: String,
    process: Supervised,
}

impl Far {
    fn copy_in(&mut self, program: &[u8], arguments: &[&str]) -> io::Result<()> {
        let words: String = arguments.iter().map(|word| format!(" {}", quoted(word))).collect();
        let (nonce, size) = (&self.nonce, program.len());
        // Enclosed, so that the shell has read all of it before it does any of it, and nothing of what comes then.
        let script = format!("{{ n={nonce} size={size}\nset --{words}\n{SCRIPT}}}\n");
        self.feed(script.as_bytes())?;
        match self.answer()?.split_once(' ') {
            Some(("ready", machine)) if machine == std::env::consts::ARCH => {}
            Some(("ready", machine)) => {
                let ours = std::env::consts::ARCH;
                return Err(self.sentence(format!("leads to a machine of {machine}; this program is for {ours}")));
            }
            _ => {
                let what = "leads to where no directory takes a program that can be executed; set TMPDIR there to one \
                            whose file system is not mounted noexec, and mount /proc";
                return Err(self.sentence(what));
            }
        }
        self.feed(program)?;
        let answer = self.answer()?;
        if answer != "copied" {
            return Err(self.sentence(format!("took only a part of the program ({answer}); make room there")));
        }
        Ok(())
    }

    fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.process.feed(bytes, Some(&self.nonce), PATIENCE)? {
            // Who does not take all of it says why.
            Told::All | Told::Closed => Ok(()),
            Told::TimedOut => Err(self.stood_still()),
            Told::Stopped => Err(io::ErrorKind::Interrupted.into()),
        }
    }

    /// What its next line in our own words says; whatever else comes before is dropped.
    fn answer(&mut self) -> io::Result<String> {
        let mut dropped = 0;
        while dropped <= MOST_BANNERS {
            let line = match self.process.hear_line_of(MOST_BANNERS, PATIENCE)? {
                Heard::Line(line) => line,
                Heard::TooLong => break,
                Heard::Closed => return Err(self.ended()),
                Heard::TimedOut => return Err(self.stood_still()),
                Heard::Stopped => return Err(io::ErrorKind::Interrupted.into()),
            };
            if let Some(answer) = line.strip_prefix(&format!("hostmark {} ", self.nonce)) {
                return Ok(answer.to_owned());
            }
            if line.contains(&self.nonce) {
                return Err(self.sentence("gives a terminal, which repeats what it is told; leave out -t"));
            }
            dropped += line.len() + 1;
        }
        Err(self.sentence("says over 64 KiB before its shell does; it must start a shell without a greeting"))
    }

    fn stood_still(&self) -> io::Error {
        let seconds = PATIENCE.as_secs();
        self.sentence(format!("said nothing for {seconds} s; it must start a shell without asking for anything"))
    }

    fn ended(&mut self) -> io::Error {
        let status = self.process.kill().map_or_else(|error| error.to_string(), |status| status.to_string());
        let word = self.process.last_word().map(|word| format!(": {word}")).unwrap_or_default();
        self.sentence(format!("ended before its shell had begun ({status}{word}); it must lead to where there is sh"))
    }

    fn sentence(&self, what: impl std::fmt::Display) -> io::Error {
        io::Error::other(format!("'{}' {what}", self.name))
    }
}
