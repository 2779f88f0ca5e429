//! `hostmark explain [ID…]`: the pages of probes, and of all of them the contents.

use anyhow::Result;
use clap::Args;
use hostmark_engine::plan;
use hostmark_model::{Exit, Lang, ProbeInfo};
use hostmark_probes::CATALOGUE;
use hostmark_report::lmbench;
use hostmark_report::render::handbook;

use crate::output;

#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Probes, groups or lmbench names [default: the contents]
    ///
    /// Columns of lmbench's summary work too, as "null call".
    ids: Vec<String>,
}

pub fn explain(arguments: &ExplainArguments, lang: Lang) -> Result<Exit> {
    let wanted: Vec<String> = arguments.ids.iter().flat_map(|id| of_column(id)).collect();
    let options = output::options(lang, false);
    let picked: Vec<ProbeInfo> = plan::pick(CATALOGUE, &wanted)?.iter().map(|entry| entry.info()).collect();
    output::print(&match arguments.ids.as_slice() {
        [] => handbook::contents(&picked, &options),
        _ => handbook::pages(&picked, &options),
    });
    Ok(Exit::Fine)
}

/// The probes behind a column of lmbench's summary, or the name as it is.
fn of_column(name: &str) -> Vec<String> {
    let probes = lmbench::probes_of_column(name);
    if probes.is_empty() { vec![name.to_owned()] } else { probes.into_iter().map(str::to_owned).collect() }
}
