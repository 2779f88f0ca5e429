//! `hostmark explain ID`: the page of a probe.

use anyhow::Result;
use clap::Args;
use hostmark_engine::plan;
use hostmark_model::{Exit, Lang};
use hostmark_probes::CATALOGUE;
use hostmark_report::render::handbook;

use crate::output;

#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Probes, groups or lmbench names
    #[arg(required = true)]
    ids: Vec<String>,
}

pub fn explain(arguments: &ExplainArguments, lang: Lang) -> Result<Exit> {
    let options = output::options(lang, false);
    let picked = plan::pick(CATALOGUE, &arguments.ids)?;
    let pages: Vec<String> = picked.iter().map(|entry| handbook::page(&entry.info(), &options)).collect();
    output::print(&pages.join("\n"));
    Ok(Exit::Fine)
}
