//! `hostmark report RUN…`: runs that were measured before, in any format.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use hostmark_model::{Exit, Lang, Run};
use hostmark_report::export;

use super::unwritten;
use crate::{output, store};

/// The names of all formats.
pub fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(export::FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Files, names of runs that are kept, last, last-1 …; lmbench and html show several beside each other
    #[arg(value_name = "RUN", default_value = "last")]
    runs: Vec<String>,
    /// How to show it
    #[arg(long, default_value = "table", value_parser = formats())]
    format: String,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show every interval, sample count and note
    #[arg(long, short)]
    verbose: bool,
}

pub fn report(arguments: &ReportArguments, lang: Lang) -> Result<Exit> {
    let runs = arguments.runs.iter().map(|run| store::load(&store::find(run)?)).collect::<Result<Vec<Run>>>()?;
    let text = render(&runs, &arguments.format, lang, arguments.verbose)?;
    match &arguments.out {
        Some(path) => store::write(path, &text).map_err(|error| {
            unwritten(&error, format!("{} cannot be written ({error}); give another file", path.display()))
        })?,
        None => output::print(&text),
    }
    Ok(Exit::Fine)
}

/// Runs in the format of this name, which the command line has checked.
pub fn render(runs: &[Run], format: &str, lang: Lang, verbose: bool) -> Result<String> {
    let options = output::options(lang, verbose);
    let text = export::format_named(format).and_then(|format| format.render(runs, &options));
    text.with_context(|| format!("--format {format} shows one run; give one, or --format html or lmbench for several"))
}
