//! Where a program is started: here, behind a command that leads elsewhere, to which it is copied first, by a server that is
//! dialled, or in a guest.

mod guest;
mod tcp;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Duration;

use crate::copy_in::RemoteShell;
pub use crate::copy_in::Started;
use crate::program::{Programs, command};
use crate::supervise::{Supervised, Terms};
use crate::timing::timing;
pub use crate::transport_error::{Name, TransportError};
pub use guest::GuestPlace;
pub use tcp::{TCP, Tcp};

/// The descriptor by which a program is executed behind a command: the script says it too.
const DESCRIPTOR: i32 = 9;

/// Where a program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// As a process of this machine, from its own file.
    Here,
    /// Behind these words, which lead to a shell when `sh` stands after them, and give it pipes: `ssh host`, `docker exec -i
    /// name`, `ip netns exec name`.
    Command(Vec<OsString>),
    /// Behind a server, which starts an agent of its own program.
    Tcp(Tcp),
    /// In a guest that this program has booted, where an agent is started, whatever the arguments are.
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
