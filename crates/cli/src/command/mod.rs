//! The commands, and what all of them share.

pub mod compare;
pub mod completions;
pub mod explain;
pub mod far;
pub mod fleet;
pub mod guest;
pub mod host;
pub mod import;
mod measure;
pub mod processes;
pub mod report;
pub mod run;
pub mod runs;
pub mod self_check;
mod trial;
pub mod tuning;
pub mod vm;
pub mod watch;

#[cfg(test)]
#[path = "../../../../tests/support/garbled.rs"]
mod garbled;
#[cfg(test)]
#[path = "../../../../tests/support/mutated.rs"]
mod mutated;

/// Plans a run as the command line does.
pub use measure::ready::fitted;
use std::io;
use std::path::Path;

use clap::{Parser, Subcommand};
use hostmark_analysis::lmbench::programs;
use hostmark_engine::plan::PlanError;
use hostmark_model::{Exit, Message};
use hostmark_say::say;

pub use crate::language::EndsWith;
use crate::language::{Language, of_launch, said};
use crate::{output, store};

/// Measures what a Linux server really delivers, with an error bar on every number.
#[derive(Debug, Parser)]
#[command(name = "hostmark", version, max_term_width = 100)]
pub struct Arguments {
    /// Language of everything printed [default: the locale's]
    #[arg(long, global = true, value_enum, hide_short_help = true)]
    pub lang: Option<Language>,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto", hide_short_help = true)]
    pub color: output::Color,
    /// Print results and errors only
    #[arg(long, short, global = true, hide_short_help = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure this machine
    Run(run::RunArguments),
    /// List every probe with its unit and axes
    List(explain::ListArguments),
    /// Explain a probe: what it executes, why it matters, how to read it
    Explain(explain::ExplainArguments),
    /// Show this machine and what would disturb a measurement
    Host(host::HostArguments),
    /// Check hostmark on this machine against known values
    SelfCheck(self_check::SelfCheckArguments),
    /// Measure again and again, to see how steady this machine is
    Watch(watch::WatchArguments),
    /// Show earlier runs
    Report(report::ReportArguments),
    /// Compare runs: a verdict for every case
    Compare(compare::CompareArguments),
    /// Try a setting: measure without and with it in turn
    Try(tuning::TryArguments),
    /// Measure a fleet, and find the hosts that are not like the others
    Fleet(fleet::FleetArguments),
    /// Import another tool's results
    Import(import::ImportArguments),
    /// List the stored runs
    Runs(runs::RunsArguments),
    /// Check a run that is sent in as a reference
    #[command(hide = true)]
    Reference(report::ReferenceArguments),
    /// Measure what a virtual machine costs
    Vm(vm::VmArguments),
    /// Let other hosts measure on this machine, with a token
    Serve(far::ServeArguments),
    /// Print a shell's completion script
    #[command(hide = true)]
    Completions(completions::CompletionsArguments),
    /// Print the man pages
    #[command(hide = true)]
    Man(completions::ManArguments),
}

/// An error of a resource that was lost midway.
pub fn lost(sentence: impl Into<Message>) -> anyhow::Error {
    EndsWith(Exit::ResourceLost, sentence.into()).into()
}

/// A file that could not be written: a full disk or a limit is a lost resource, anything else is a bad name for a file, for
/// which `otherwise` tells what to do.
pub fn unwritten(error: &io::Error, what: &str, otherwise: &str) -> anyhow::Error {
    let (exit, remedy) = match remedy(error) {
        Some(remedy) => (Exit::ResourceLost, remedy),
        None => (Exit::BadInput, otherwise.to_owned()),
    };
    let error = of_launch(error);
    EndsWith(exit, say!("{what} ({error}); {remedy}")).into()
}

/// Prints a text, or writes it to the file that a person named.
pub fn hand_over(text: &str, out: Option<&Path>) -> anyhow::Result<()> {
    let Some(path) = out else {
        output::print(text);
        return Ok(());
    };
    store::write(path, text).map_err(|error| {
        let what = said!("{display} cannot be written", display = path.display());
        unwritten(&error, &what, &said!("give another file"))
    })
}

/// A run that was measured or read, and could not be kept.
pub fn unsaved(file: &str, error: &io::Error) -> anyhow::Error {
    let remedy = remedy_or_another_file(error);
    lost(said!("the run could not be saved to {file} ({error}); {remedy}"))
}

/// Remedy where there is no more room for a file; none for other errors.
pub fn remedy(error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some(said!("make room, or name another file by --out"))
        }
        _ => output::remedy_of_size(error),
    }
}

/// The same; for other errors to name another file.
pub fn remedy_or_another_file(error: &io::Error) -> String {
    remedy(error).unwrap_or_else(|| said!("name another file by --out"))
}

/// An error as a sentence that ends with what to do.
pub fn sentence(error: &anyhow::Error) -> String {
    of_launch(message(error))
}

/// The message of an error, for any language.
pub fn message(error: &anyhow::Error) -> Message {
    match (error.downcast_ref(), error.downcast_ref()) {
        // The nearest name would be another program's.
        (Some(PlanError::UnknownProbe(name, _)), _) if programs().any(|known| known == name) => say!(
            "no probe takes the place of lmbench's {name}; docs/coming-from-lmbench.md tells what to use (hostmark list \
             shows all)"
        ),
        (Some(refused), _) => refused.into(),
        (_, Some(EndsWith(_, message))) => message.clone(),
        _ => Message::finished(error),
    }
}

/// The exit code of an error.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(PlanError::UnknownProbe(..)) = error.downcast_ref() {
        // A well-formed name that this version's catalogue lacks: a script can tell that from a bad command line.
        return Exit::NothingSelected;
    }
    error.downcast_ref::<EndsWith>().map_or(Exit::BadInput, |ends| ends.0)
}
