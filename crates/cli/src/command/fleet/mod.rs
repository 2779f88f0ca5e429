//! `hostmark fleet …`: many hosts beside each other.

mod report;
mod run;

use anyhow::Result;
use clap::{Args, Subcommand};
use hostmark_model::{Exit, Lang};

#[derive(Debug, Args)]
pub struct FleetArguments {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Measure many hosts: of a list, a Slurm allocation or a Kubernetes cluster
    Run(Box<run::RunArguments>),
    /// Find the hosts that differ from others of their kind, and what sets them apart
    Report(report::ReportArguments),
}

pub fn fleet(arguments: &FleetArguments, lang: Lang) -> Result<Exit> {
    match &arguments.command {
        FleetCommand::Run(run) => run::run(run, lang),
        FleetCommand::Report(report) => report::report(report, lang),
    }
}
