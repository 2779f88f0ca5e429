//! What a guest takes of this program beside its agent: who starts QEMU, who leads to an agent there, and the guest's first process.

mod channel;
mod init;
mod root;
mod sessions;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use hostmark_engine::sys::inherited;
use hostmark_engine::sys::process::die_with_parent;
use hostmark_launch::monitor::Monitor;
use hostmark_launch::{guest, guest_session};
use hostmark_model::Exit;

use crate::language::said;
use crate::output;
pub use init::{begin, is_first};
pub use root::{NAME as WITHIN, within};

/// The word that starts QEMU; no command for people.
pub const MACHINE: &str = guest::MACHINE;
/// The word that starts a session; no command for people.
pub const SESSION: &str = guest_session::SESSION;
/// The exit code by which a shell tells that there is no such program.
const NOT_FOUND: u8 = 127;

/// Becomes QEMU, whose words follow its parent's number: it ends when that does, however that ends.
pub fn machine(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = words.next().and_then(|word| word.to_str()?.parse::<u32>().ok());
    let (Some(parent), Some(program)) = (parent, words.next()) else {
        return complain(&said!("a guest is started by hostmark vm run, not by hand"), Exit::BadInput);
    };
    if !die_with_parent(parent) {
        return ExitCode::from(Exit::ResourceLost.code());
    }
    let error = Command::new(&program).args(words).exec();
    output::complain(&said!("cannot start {program}: {error}", program = program.to_string_lossy()));
    ExitCode::from(NOT_FOUND)
}

/// Carries standard input to an agent in a guest, and back, by the sockets whose numbers follow.
pub fn session(words: impl Iterator<Item = OsString>) -> ExitCode {
    let numbers: Option<Vec<i32>> = words.map(|word| word.to_str()?.parse().ok()).collect();
    let Some([channel, monitor]) = numbers.as_deref().and_then(|numbers| <[i32; 2]>::try_from(numbers).ok()) else {
        return complain(&said!("a session is started by hostmark vm run, not by hand"), Exit::BadInput);
    };
    let streams = || -> io::Result<_> {
        let (input, output) = (rustix::io::dup(io::stdin())?, rustix::io::dup(io::stdout())?);
        Ok((inherited::copy_of(channel)?, inherited::copy_of(monitor)?, input, output))
    };
    let (channel, monitor, input, output) = match streams() {
        Ok(streams) => streams,
        Err(error) => return complain(&format!("a stream is closed ({error}); open it"), Exit::BadInput),
    };
    match guest_session::carry(channel, Monitor::of(monitor), input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string(), Exit::ResourceLost),
    }
}

fn complain(sentence: &str, exit: Exit) -> ExitCode {
    output::complain(sentence);
    ExitCode::from(exit.code())
}
