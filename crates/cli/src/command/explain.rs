//! `hostmark explain [ID…]`: the pages of probes, and of all of them the contents.

use anyhow::Result;
use clap::Args;
use hostmark_engine::plan;
use hostmark_model::{Exit, Lang, ProbeInfo};
use hostmark_probes::CATALOGUE;
use hostmark_report::render::handbook;

use crate::output;

#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Probes, groups or lmbench names; without any, the handbook's contents
    ids: Vec<String>,
}

pub fn explain(arguments: &ExplainArguments, lang: Lang) -> Result<Exit> {
    let options = output::options(lang, false);
    let picked: Vec<ProbeInfo> = plan::pick(CATALOGUE, &arguments.ids)?.iter().map(|entry| entry.info()).collect();
    output::print(&match arguments.ids.as_slice() {
        [] => handbook::contents(&picked, &options),
        _ => handbook::pages(&picked, &options),
    });
    Ok(Exit::Fine)
}
