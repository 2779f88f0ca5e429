//! `hostmark host`: what this machine is, and what would disturb a measurement on it.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hostmark_model::{Exit, Lang};
use hostmark_present::render;

use super::far::{Target, on};
use super::measure::{catch, report_of_host};
use crate::isolate::Outside;
use crate::output;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HostFormat {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub struct HostArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: HostFormat,
    /// Inspect another machine, e.g. 'ssh db-17' or tcp:HOST
    #[arg(long, value_name = "COMMAND")]
    on: Option<String>,
    /// Read the token for tcp:HOST from this file
    #[arg(long, value_name = "FILE", requires = "on", hide_short_help = true)]
    token_file: Option<PathBuf>,
    /// Exit 1 if something would disturb a measurement
    #[arg(long)]
    check: bool,
}

pub fn host(arguments: &HostArguments, lang: Lang) -> Result<Exit> {
    let report = match &arguments.on {
        Some(place) => {
            let place = Target::named(place, "--on", arguments.token_file.as_deref())?;
            on::report_of_host(&place, &catch(&Outside::default())?)?
        }
        None => report_of_host(),
    };
    let text = match arguments.format {
        HostFormat::Json => output::json(&serde_json::to_string_pretty(&report)?),
        HostFormat::Table => render::host::host(&report, &output::options(lang, false)),
    };
    output::print(&text);
    Ok(if arguments.check && report.is_disturbed() { Exit::Found } else { Exit::Fine })
}
