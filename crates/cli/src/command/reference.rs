//! `hostmark reference check FILE`: whether a run that somebody sends in can be a reference.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use hostmark_analysis::{submitted, trust};
use hostmark_model::{Exit, Lang, Run};
use hostmark_present::render::markdown;

use crate::language::said;
use crate::{output, store};

#[derive(Debug, Args)]
pub struct ReferenceArguments {
    #[command(subcommand)]
    command: ReferenceCommand,
}

#[derive(Debug, Subcommand)]
enum ReferenceCommand {
    /// Check whether a run can become a reference
    Check(CheckArguments),
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// File that `hostmark report --share` wrote
    ///
    /// It must be redacted, agree with its own samples, stand on five runs and a passed self-check, and have TRUST B or better.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn reference(arguments: &ReferenceArguments, lang: Lang) -> Result<Exit> {
    let ReferenceCommand::Check(CheckArguments { file }) = &arguments.command;
    let run = store::load(file)?;
    let shown = file.display();
    let (text, exit) = match submitted::refusal(&run) {
        Some(why) => (said!("refused: {shown}: {why}"), Exit::Found),
        None => (said!("accepted: {shown}: {run}", run = accepted(&run, lang)), Exit::Fine),
    };
    output::print(&format!("{text}\n"));
    Ok(exit)
}

/// The machine, how much was measured, and how far it is to be trusted.
fn accepted(run: &Run, lang: Lang) -> String {
    let count = run.cases.iter().filter(|case| case.measured().is_some()).count();
    let trust = run.trust.as_ref().map(|known| trust::line(known).get(lang).to_owned()).unwrap_or_default();
    let machine = markdown::machine(run, lang);
    said!("{machine}; {count:value}; {trust}")
}
