//! `hostmark dial`: the way to a server, started by a run for one agent.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use hostmark_launch::token::Token;
use hostmark_model::Exit;

use crate::output;

/// The word that starts it; no command for people.
pub const NAME: &str = hostmark_launch::dial::DIAL;

/// Carries standard input to the server at the address that the first word names, and back, with the token in the file that the
/// second one names: what stands in arguments, everybody on this machine can read.
pub fn dial(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(address), Some(file), None) = (words.next(), words.next(), words.next()) else {
        return complain("a server is dialled by a run, not by hand; use hostmark run --on tcp:HOST", Exit::BadInput);
    };
    let token = match Token::read(Path::new(&file)) {
        Ok(token) => token,
        Err(error) => return complain(&error.to_string(), Exit::BadInput),
    };
    let streams = rustix::io::dup(io::stdin()).and_then(|input| Ok((input, rustix::io::dup(io::stdout())?)));
    let (input, output) = match streams {
        Ok((input, output)) => (File::from(input), File::from(output)),
        Err(error) => return complain(&format!("a stream is closed ({error}); open it"), Exit::BadInput),
    };
    match hostmark_launch::dial::dial(&address.to_string_lossy(), &token, input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string(), Exit::ResourceLost),
    }
}

fn complain(sentence: &str, exit: Exit) -> ExitCode {
    output::complain(sentence);
    ExitCode::from(exit.code())
}
