//! Errors of starting a program at a place: the step that failed, and what to do.

use std::fmt;
use std::io;

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;

/// Characters at most of what is shown of a text that came from elsewhere.
const LONGEST: usize = 300;

/// Reason why a program cannot be started at a place. Text from there is bounded and has no control characters in it.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The first word of the place is no program that can be started here.
    NotStarted {
        place: Name,
        word: Name,
        #[source]
        error: io::Error,
    },
    /// Output is too much before its shell answers.
    Banner {
        place: Name,
    },
    NoShell {
        place: Name,
        /// Exit of the command, and its last word.
        how: Message,
    },
    /// Terminal that echoes its input.
    Terminal {
        place: Name,
    },
    Silent {
        place: Name,
        seconds: u64,
        step: Message,
        word: Message,
    },
    /// Command ended without a reason in our terms.
    Ended {
        place: Name,
        step: Message,
        /// Exit of the command, and its last word.
        how: Message,
    },
    /// A machine of another architecture, and its program is not here.
    WrongMachine {
        place: Name,
        machine: &'static str,
        /// File that would hold a program for it.
        file: String,
    },
    /// A machine of an architecture that this program is not made for.
    UnknownMachine {
        place: Name,
        /// Architecture by its own name.
        machine: String,
    },
    /// File in the program's place is none.
    WrongFile {
        file: String,
        machine: &'static str,
    },
    /// Place lacks something that the copying takes.
    Lacks {
        place: Name,
        what: String,
    },
    /// No directory takes a program that can be executed.
    Nowhere {
        place: Name,
        /// Each directory that was tried, and why it does not do.
        tried: Vec<String>,
    },
    /// Part of the program alone arrived.
    Short {
        place: Name,
        taken: String,
        size: usize,
        /// Reason in the system's words, or nothing.
        why: String,
    },
    /// Digest of the arrived data differs from ours.
    DigestDiffers {
        place: Name,
        here: String,
        there: String,
    },
    /// Answer that our script does not give.
    Strange {
        place: Name,
        step: Message,
        answer: String,
    },
    /// The person asked to stop.
    Stopped,
    /// A call of the system failed here.
    Io(#[from] io::Error),
}

impl From<&TransportError> for Message {
    fn from(error: &TransportError) -> Message {
        match error {
            TransportError::NotStarted { place, word, error } => {
                say!("cannot start {word} to reach {place}: {error}; install it or correct the place")
            }
            TransportError::Banner { place } => {
                say!("{place} prints more than 64 KiB before its shell starts; use an account that prints no greeting")
            }
            TransportError::NoShell { place, how } => {
                say!("{place} has no shell ({how}); it must lead to where there is sh")
            }
            TransportError::Terminal { place } => {
                say!("{place} opens a terminal, which repeats its input; leave out -t")
            }
            TransportError::Silent { place, seconds, step, word } => say!(
                "{place} was silent for {seconds} s {step}{word}; try `{words} sh` by hand: it must not ask for anything",
                words = format!("{place:#}")
            ),
            TransportError::Ended { place, step, how } => {
                say!("{place} ended {step} ({how}); try `{words} sh` by hand", words = format!("{place:#}"))
            }
            TransportError::WrongMachine { place, machine, file } => say!(
                "{place} is a {machine} machine, and there is no {file} here; build it by \
         `cargo build --release --target {machine}-unknown-linux-musl` and copy it to that name"
            ),
            TransportError::UnknownMachine { place, machine } => {
                say!("{place} is a machine of '{machine}'; hostmark runs on x86_64 and aarch64: choose one of these")
            }
            TransportError::WrongFile { file, machine } => say!(
                "{file} is no program for {machine}; build it by `cargo build --release --target {machine}-unknown-linux-musl`"
            ),
            TransportError::Lacks { place, what } => say!(
                "{place} lacks {what}, without which no program can be copied there; {remedy}",
                remedy = if what == "/proc" { say!("mount it") } else { say!("install it") }
            ),
            TransportError::Nowhere { place, tried } => say!(
                "{place} has no directory that takes a program and executes it; set TMPDIR there to one that has room, is not \
         mounted noexec, and in which and above which nobody else may rename files. Tried: {tried}",
                tried = if tried.is_empty() { "none".to_owned() } else { tried.join(", ") }
            ),
            TransportError::Short { place, taken, size, why } => {
                say!("{place} took {taken} of {size} bytes of the program{why}; free space there or set TMPDIR")
            }
            TransportError::DigestDiffers { place, here, there } => say!(
                "{place} received another program than was sent (SHA-256 {there}, sent {here}); the connection alters data: repair it"
            ),
            TransportError::Strange { place, step, answer } => {
                say!("{place} answers '{answer}' {step}; check that it leads to a shell of its own")
            }
            TransportError::Stopped => say!("stopped on request; start again when you like"),
            TransportError::Io(error) => say!(
                "no process can be started here, or heard ({error}); look at the limits of processes, files and memory (ulimit -a)"
            ),
        }
    }
}

displays_its_message!(TransportError);

/// A place as it is shown: in quotes, or bare as `{:#}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Name of a place of these words.
    pub fn of(words: &str) -> Name {
        Name(shown(words))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if f.alternate() { write!(f, "{}", self.0) } else { write!(f, "'{}'", self.0) }
    }
}

/// A text from elsewhere as it is shown: not too much of it, and nothing that steers a terminal.
pub fn shown(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let text = text.trim();
    let begin: String = text.chars().take(LONGEST).map(|c| if steers(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() { format!("{begin}…") } else { begin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_from_elsewhere_is_bounded_and_steers_no_terminal() {
        assert_eq!(shown(" a\u{1b}[2J\u{202e}b\n"), "a\u{fffd}[2J\u{fffd}b");
        assert_eq!(shown(&"字".repeat(5000)).chars().count(), LONGEST + 1);
        let name = Name::of("ssh h\u{7}");
        assert_eq!(format!("{name} {name:#}"), "'ssh h\u{fffd}' ssh h\u{fffd}");
    }
}
