//! `hostmark report RUN…`: runs that were measured before, in any format.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use hostmark_launch::place::TCP;
use hostmark_model::{Exit, Lang, Run};
use hostmark_report::{RenderOptions, export};

use super::place::Place;
use super::{again, load, on, several, unwritten};
use crate::{output, store};

/// The names of all formats.
pub fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(export::FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Files, names of runs that are kept, last, last-1 …, or several: a,b,c, a quoted pattern as 'before-*.json', or a directory.
    /// NAME=RUN shows them under this name, and overhead takes runs of one name for one environment; html, markdown, lmbench and
    /// overhead show several
    #[arg(value_name = "RUN", default_value = "last")]
    runs: Vec<String>,
    /// How to show it; by default as answer, which of few cases is their table, and several runs as hosts
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    /// Show every case, as --format table does
    #[arg(long, conflicts_with = "format")]
    full: bool,
    /// With overhead: the case of the first environment that all is held against
    #[arg(long, value_name = "CASE")]
    base: Option<String>,
    /// Show runs that are kept where this command leads, as 'ssh db-17'; hostmark is copied there by itself, and gone
    /// afterwards
    #[arg(long, value_name = "COMMAND", conflicts_with = "again")]
    on: Option<String>,
    /// Estimate again from the recorded rounds, by this version's rules; RUN may be a journal too. Values for which an older
    /// file lacks the data stay, and are named
    #[arg(long)]
    again: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show every interval, sample count and note
    #[arg(long, short)]
    verbose: bool,
}

pub fn report(arguments: &ReportArguments, lang: Lang) -> Result<Exit> {
    let place = arguments.on.as_deref().map(kept_at).transpose()?;
    let load_all = |typed: &str| match &place {
        Some(place) => Ok(vec![on::kept_run(place, typed)?]),
        // A run that was cut short has a journal alone.
        None if arguments.again && !several::is_meant(typed) => Ok(vec![again::load(typed, lang)?]),
        None => {
            let of = |file: &PathBuf| match arguments.again {
                true => again::load(&file.to_string_lossy(), lang),
                false => load::checked(file, lang),
            };
            several::files(typed)?.iter().map(of).collect()
        }
    };
    let mut runs = Vec::new();
    for typed in &arguments.runs {
        runs.extend(named(typed, &load_all)?);
    }
    let usual = match runs.len() {
        _ if arguments.full => "table",
        0 | 1 => "answer",
        _ => "hosts",
    };
    let format = arguments.format.as_deref().unwrap_or(usual);
    let options = match &arguments.out {
        Some(_) => output::options_of_file(lang, arguments.verbose),
        None => output::options(lang, arguments.verbose),
    };
    let lacks =
        export::format_named(format).and_then(|format| format.lacks(&runs)).filter(|_| arguments.base.is_none());
    if let Some(table) = lacks {
        bail!(
            "there is nothing for --format {format} in what was measured; measure it by hostmark run --table {table}"
        );
    }
    let text = match &arguments.base {
        None => render_with(&runs, format, &options)?,
        Some(base) if format == "overhead" => {
            export::overhead_over(&runs, Some(base), &options).map_err(anyhow::Error::msg)?
        }
        Some(_) => bail!("--base belongs to --format overhead; add it, or leave --base out"),
    };
    match &arguments.out {
        Some(path) => store::write(path, &text).map_err(|error| {
            unwritten(&error, &format!("{} cannot be written", path.display()), "give another file")
        })?,
        None => output::print(&text),
    }
    Ok(Exit::Fine)
}

/// The place that keeps runs.
fn kept_at(typed: &str) -> Result<Place> {
    if typed.trim_start().starts_with(TCP) {
        bail!("hostmark serve gives no runs that are kept there; log in there, as by --on 'ssh HOST'");
    }
    Place::named(typed, "--on", None)
}

/// The runs that an argument means, under the name that it gives. A file or a kept run whose own name has an equals sign in
/// it is meant as it stands.
fn named(argument: &str, load: &dyn Fn(&str) -> Result<Vec<Run>>) -> Result<Vec<Run>> {
    let is_name = |name: &str| !name.is_empty() && !name.contains('/');
    let named = argument.split_once('=').filter(|(name, _)| is_name(name) && store::find(argument).is_err());
    let Some((name, runs)) = named else { return load(argument) };
    Ok(load(runs)?.into_iter().map(|run| Run { name: name.to_owned(), ..run }).collect())
}

/// Runs in the format of this name, which the command line has checked.
pub fn render(runs: &[Run], format: &str, lang: Lang, verbose: bool) -> Result<String> {
    render_with(runs, format, &output::options(lang, verbose))
}

fn render_with(runs: &[Run], format: &str, options: &RenderOptions) -> Result<String> {
    let text = export::format_named(format).and_then(|format| format.render(runs, options));
    text.with_context(|| {
        format!(
            "--format {format} shows one run; give one, or --format hosts, html, markdown, lmbench or overhead for several"
        )
    })
}
