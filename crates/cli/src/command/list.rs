//! `hostmark list`: every probe, without touching the machine.

use anyhow::Result;
use clap::{Args, ValueEnum};
use hostmark_engine::plan::{self, PlanError};
use hostmark_engine::probe;
use hostmark_model::{Exit, Lang, ProbeInfo};
use hostmark_present::render::{handbook, references};
use hostmark_probes::CATALOGUE;

use super::compare::verdict as own;
use super::search::{self, Topic};
use crate::output;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Groups, probes or lmbench names, or words to search for [default: all]
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
    let options = output::options(lang, false);
    let (mut filters, mut searched) = (Vec::new(), Vec::new());
    for filter in &arguments.filters {
        match plan::pick(CATALOGUE, std::slice::from_ref(filter)) {
            Err(PlanError::UnknownProbe { .. }) => searched.push((filter, search::found(filter)?)),
            _ => filters.push(filter.clone()),
        }
    }
    if arguments.format == ListFormat::Table && !searched.is_empty() {
        let texts: Vec<String> = searched.iter().map(|(typed, found)| search::list(typed, found, &options)).collect();
        output::print(&texts.join("\n"));
        if filters.is_empty() {
            return Ok(Exit::Fine);
        }
    }
    let mut probes: Vec<ProbeInfo> = Vec::new();
    if arguments.filters.is_empty() || !filters.is_empty() {
        probes.extend(plan::pick(CATALOGUE, &filters)?.iter().map(|entry| entry.info()));
    }
    let found = searched.into_iter().flat_map(|(_, found)| found).filter(|entry| entry.topic == Topic::Probe);
    if arguments.format == ListFormat::Json {
        probes.extend(found.filter_map(|entry| Some(probe::find(CATALOGUE, &entry.id)?.info())));
    }
    let text = match arguments.format {
        ListFormat::Json => output::json(&serde_json::to_string_pretty(&probes)?),
        ListFormat::Table => handbook::contents(&probes, &options),
    };
    output::print(&text);
    Ok(Exit::Fine)
}
