//! The program `hostmark`: a command for a person, or one of the processes that a command starts.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

use hostmark::commands;
use hostmark::world::World;

fn main() -> ExitCode {
    // The hard limit of a run counts from here.
    let mut world = World::real();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    commands::serve(&words).unwrap_or_else(|| ExitCode::from(commands::run(&words, &mut world).code()))
}
