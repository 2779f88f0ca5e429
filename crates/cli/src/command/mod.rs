//! The commands, and what all of them share.

mod again;
pub mod agent;
mod closing;
pub mod compare;
pub mod completions;
pub mod dial;
mod disturbed;
pub mod dry_run;
pub mod explain;
mod far;
pub mod guest;
mod history;
pub mod host;
pub mod import;
mod inputs;
pub mod janitor;
mod kept;
pub mod list;
mod load;
mod measure;
mod on;
mod peers;
mod place;
mod processes;
mod quiet;
mod ready;
pub mod report;
pub mod resume;
pub mod run;
pub mod runs;
pub mod serve;
pub mod service;
mod several;
mod tables;
mod turns;
pub mod vm;
pub mod worker;

#[cfg(test)]
#[path = "../../../../tests/support/garbled.rs"]
mod garbled;
#[cfg(test)]
#[path = "../../../../tests/support/mutated.rs"]
mod mutated;

use std::io;

use clap::{Parser, Subcommand};
use hostmark_engine::plan::PlanError;
use hostmark_model::Exit;
use hostmark_report::lmbench::PROGRAMS;

use crate::language::Language;
use crate::output;

/// Tells what a Linux server really delivers: bandwidth and latency, with an error bar on every number.
#[derive(Debug, Parser)]
#[command(name = "hostmark", version, max_term_width = 100)]
pub struct Arguments {
    /// Language of titles, texts and findings; the locale's by default
    #[arg(long, global = true, value_enum)]
    pub lang: Option<Language>,
    /// When to colour what is printed
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: output::Color,
    /// Print results and errors only: no progress, no closing lines, no remarks
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure this machine
    Run(run::RunArguments),
    /// List every probe: id, title, unit, axes, needs
    List(list::ListArguments),
    /// Teach a probe: what is executed, why it matters, how to read it
    Explain(explain::ExplainArguments),
    /// Show this machine, and what would disturb a measurement on it
    Host(host::HostArguments),
    /// Show runs that were measured before
    Report(report::ReportArguments),
    /// Tell whether something became slower: a verdict for every case of two runs or more
    Compare(compare::CompareArguments),
    /// Make a run of what another tool measured
    Import(import::ImportArguments),
    /// List the runs that are kept on this machine
    Runs(runs::RunsArguments),
    /// Tell what a guest costs: measure natively and in a virtual machine, in turns
    Vm(vm::VmArguments),
    /// Let those measure on this machine who have a token
    Serve(serve::ServeArguments),
    /// Print the completion script of a shell
    #[command(hide = true)]
    Completions(completions::CompletionsArguments),
    /// Print the man page
    #[command(hide = true)]
    Man,
}

/// An error that ends with another code than bad input.
#[derive(Debug)]
pub struct EndsWith(pub Exit, pub String);

impl std::fmt::Display for EndsWith {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.1)
    }
}

impl std::error::Error for EndsWith {}

/// An error of a resource that was lost midway.
pub fn lost(sentence: String) -> anyhow::Error {
    EndsWith(Exit::ResourceLost, sentence).into()
}

/// A file that could not be written: a full disk or a limit is a lost resource, anything else is a bad name for a file, for
/// which `otherwise` tells what to do.
pub fn unwritten(error: &io::Error, what: &str, otherwise: &str) -> anyhow::Error {
    let (exit, remedy) = match remedy(error) {
        Some(remedy) => (Exit::ResourceLost, remedy),
        None => (Exit::BadInput, otherwise),
    };
    EndsWith(exit, format!("{what} ({error}); {remedy}")).into()
}

/// A run that was measured or read, and could not be kept.
pub fn unsaved(file: &str, error: &io::Error) -> anyhow::Error {
    let remedy = remedy(error).unwrap_or("name another file by --out");
    lost(format!("the run could not be saved to {file} ({error}); {remedy}"))
}

/// What to do where there is no more room for a file; none for other errors.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some("make room, or name another file by --out"),
        _ => output::remedy_of_size(error),
    }
}

/// An error as a sentence that ends with what to do.
pub fn sentence(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        // The nearest name would be another program's.
        Some(PlanError::UnknownProbe { name, .. }) if PROGRAMS.contains(&name.as_str()) => format!(
            "no probe takes the place of lmbench's {name}; docs/coming-from-lmbench.md tells what to use (hostmark list \
             shows all)"
        ),
        _ => error.to_string(),
    }
}

/// The exit code of an error.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(PlanError::UnknownProbe { .. }) = error.downcast_ref() {
        // A well-formed name that this version's catalogue lacks: a script can tell that from a bad command line.
        return Exit::NothingSelected;
    }
    error.downcast_ref::<EndsWith>().map_or(Exit::BadInput, |ends| ends.0)
}
