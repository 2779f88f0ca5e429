//! `hostmark dial`: the way to a server, started by a run for one agent.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use hostmark_launch::channel::Token;
use hostmark_model::{Exit, JsonLine, Message};
use hostmark_say::say;

use crate::output;

/// The word that starts it; no command for people.
pub const NAME: &str = hostmark_launch::relay::DIAL;

/// Carries standard input to the server at the address that the first word names, and back, with the token in the file that the
/// second one names: what stands in arguments, everybody on this machine can read. The run that started this speaks a language.
pub fn dial(words: impl Iterator<Item = OsString>) -> ExitCode {
    let Err((why, exit)) = carry(words) else { return ExitCode::SUCCESS };
    output::complain(why.to_line().unwrap_or_default().trim_end());
    ExitCode::from(exit.code())
}

fn carry(mut words: impl Iterator<Item = OsString>) -> Result<(), (Message, Exit)> {
    let (Some(address), Some(file), None) = (words.next(), words.next(), words.next()) else {
        let why = say!("a server is dialled by a run, not by hand; use hostmark run --on tcp:HOST");
        return Err((why, Exit::BadInput));
    };
    let token = Token::read(Path::new(&file)).map_err(|error| (error.into(), Exit::BadInput))?;
    let streams = rustix::io::dup(io::stdin()).and_then(|input| Ok((input, rustix::io::dup(io::stdout())?)));
    let (input, output) = streams.map_err(|error| {
        (say!("a stream is closed ({error}); open it", error = io::Error::from(error)), Exit::BadInput)
    })?;
    let done = hostmark_launch::relay::dial(&address.to_string_lossy(), &token, input.into(), output.into());
    done.map_err(|error| (error.into(), Exit::ResourceLost))
}
