//! Command line: parses, calls, prints, and ends with a documented exit code.
#![forbid(unsafe_code)]

/// The texts of the help and of the settings that can be tried, made of the Markdown files beside them, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

mod command;
pub mod commands;
mod help;
mod isolate;
mod language;
mod output;
mod progress;
mod signals;
mod store;
pub mod world;

/// The plan of a run, which tests look at on other machines.
pub use command::fitted;
/// Checks against known values, which tests make too.
pub use command::self_check;
