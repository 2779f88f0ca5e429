//! `hostmark report RUN`: a run that was measured before, in any format.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use hostmark_model::{Exit, Lang};
use hostmark_report::export;

use super::unwritten;
use crate::{output, store};

/// The names of all formats.
pub fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(export::FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// A file, the name of a run that is kept, last, or last-1 …
    #[arg(default_value = "last")]
    run: String,
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
    let run = store::load(&store::find(&arguments.run)?)?;
    let text = render(&run, &arguments.format, lang, arguments.verbose);
    match &arguments.out {
        Some(path) => store::write(path, &text).map_err(|error| {
            unwritten(&error, format!("{} cannot be written ({error}); give another file", path.display()))
        })?,
        None => output::print(&text),
    }
    Ok(Exit::Fine)
}

/// A run in the format of this name, which the command line has checked.
pub fn render(run: &hostmark_model::Run, format: &str, lang: Lang, verbose: bool) -> String {
    let options = output::options(lang, verbose);
    let format = export::FORMATS.iter().find(|known| known.name == format);
    format.map(|format| (format.render)(run, &options)).unwrap_or_default()
}
