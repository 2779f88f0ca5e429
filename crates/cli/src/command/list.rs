//! `hostmark list`: every probe, without touching the machine.

use anyhow::Result;
use clap::{Args, ValueEnum};
use hostmark_engine::plan;
use hostmark_model::{Exit, Lang, ProbeInfo};
use hostmark_present::render::{handbook, references};
use hostmark_probes::CATALOGUE;

use super::compare::references as own;
use crate::output;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Groups, probes or lmbench names [default: all]
    filters: Vec<String>,
    /// List the reference machines instead
    ///
    /// Compare a run with one: compare --against NAME. Show its values: explain NAME.
    #[arg(long, conflicts_with_all = ["filters", "format"])]
    references: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: ListFormat,
}

pub fn list(arguments: &ListArguments, lang: Lang) -> Result<Exit> {
    if arguments.references {
        own::bring();
        output::print(&references::list(&output::options(lang, false)));
        return Ok(Exit::Fine);
    }
    let probes: Vec<ProbeInfo> = plan::pick(CATALOGUE, &arguments.filters)?.iter().map(|entry| entry.info()).collect();
    let text = match arguments.format {
        ListFormat::Json => output::json(&serde_json::to_string_pretty(&probes)?),
        ListFormat::Table => handbook::contents(&probes, &output::options(lang, false)),
    };
    output::print(&text);
    Ok(Exit::Fine)
}
