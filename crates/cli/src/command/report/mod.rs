//! `hostmark report RUN…`: runs that were measured before, in any format.

mod reestimate;
mod share;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use hostmark_analysis::redact::redact;
use hostmark_launch::transport::TCP;
use hostmark_model::{Exit, Lang, PrintedUnit, Run};
use hostmark_present::{RenderOptions, export};

use super::compare::references;
use super::far::on;
use super::far::target::Target;
use super::hand_over;
use super::measure::inputs;
use super::runs::{chosen, load, series, several};
use crate::language::{refuse, said};
use crate::{output, store};

/// The names of all formats.
pub fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(export::FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Runs to show: files, names, last, last-1 … [default: last]
    ///
    /// Several at once: a,b,c, a quoted pattern such as 'before-*.json', a directory, or a series of `hostmark watch`. NAME=RUN shows a run under
    /// NAME; --format overhead pools runs of one NAME. html, markdown, lmbench and overhead show several runs.
    /// What is no run is a filter (see "Filters" below): only these cases are shown.
    #[arg(value_name = "RUN | FILTER")]
    names: Vec<String>,
    /// Print the value of this case alone, for a script
    ///
    /// Six significant digits, a space and the base unit (ns, B/s, ops/s …), as in '152.381 ns'; with --unit the number alone in that unit. Of
    /// a probe, that of its default case. One line a run.
    #[arg(long, value_name = "CASE", conflicts_with_all = ["format", "full", "base", "verbose"])]
    get: Option<String>,
    /// Unit of that number, e.g. us, MB/s or ops/s
    ///
    /// One of ns, us, ms, s, min, B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, kbit/s, Mbit/s, Gbit/s, ops/s, kops/s, Mops/s, count.
    #[arg(long, value_name = "UNIT", value_parser = inputs::unit, requires = "get", hide_short_help = true)]
    unit: Option<String>,
    /// Output format [default: answer; for several runs hosts]
    ///
    /// A run of few cases prints their table.
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    /// Show runs of one host over time: how steady it is
    ///
    /// Slow episodes and what came together with them, changes for good, bursts that are used up, and a heat map of the
    /// hours. A series of `hostmark watch` is always shown so. Formats: table, markdown, html and json.
    #[arg(long, conflicts_with_all = ["get", "full", "base", "on", "reestimate"])]
    over_time: bool,
    /// Print every case, as --format table does
    #[arg(long, conflicts_with = "format")]
    full: bool,
    /// With --format overhead: the reference case
    ///
    /// A case of the first environment; all others are shown relative to it.
    #[arg(long, value_name = "CASE")]
    base: Option<String>,
    /// Show runs stored on another machine, e.g. 'ssh db-17'
    ///
    /// hostmark copies itself there and removes itself afterwards.
    #[arg(long, value_name = "COMMAND", conflicts_with = "reestimate")]
    on: Option<String>,
    /// Recompute estimates from the recorded rounds
    ///
    /// Uses the rules of this version; RUN may be a journal too. What cannot be recomputed stays unchanged and is listed.
    #[arg(long)]
    reestimate: bool,
    /// Replace names of hosts, people and paths
    ///
    /// Replaces host names, users, paths, addresses, the boot id, measured commands, and kernel arguments that explain no
    /// value, in every format: host-1, path-2. Read the result before you publish it.
    #[arg(long)]
    redact: bool,
    /// Write a redacted run file and a card, and print a line to paste
    ///
    /// In the current directory, or as --out FILE.json names it; the card is beside it. hostmark reference check FILE tells whether the
    /// run can become a reference.
    #[arg(long, conflicts_with_all = ["get", "format", "full", "base", "over_time", "verbose"])]
    share: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print every interval, sample count and note
    #[arg(long, short)]
    verbose: bool,
}

pub fn report(arguments: &ReportArguments, lang: Lang) -> Result<Exit> {
    output::refuse_flood(arguments.format.as_deref().unwrap_or_default(), arguments.out.as_deref(), "--out FILE")?;
    let place = arguments.on.as_deref().map(kept_at).transpose()?;
    let load_all = |typed: &str| match &place {
        Some(place) => Ok(vec![on::kept_run(place, typed)?]),
        // A run that was cut short has a journal alone.
        None if arguments.reestimate && !several::is_meant(typed) => Ok(vec![reestimate::load(typed, lang)?]),
        None => {
            let of = |file: &PathBuf| match arguments.reestimate {
                true => reestimate::load(&file.to_string_lossy(), lang),
                false => load::checked(file, lang),
            };
            several::files(typed)?.iter().map(of).collect()
        }
    };
    let (mut names, chosen) = chosen::parted(&arguments.names);
    if names.is_empty() {
        names.push("last".to_owned());
    }
    if place.is_none() && series::is_meant(&names, arguments.over_time) {
        let format = arguments.format.as_deref().unwrap_or("table");
        let options = output::options_for(arguments.out.as_deref(), lang, arguments.verbose);
        let text = series::render(&series::report(&names, &chosen, arguments.redact)?, format, &options)?;
        hand_over(&text, arguments.out.as_deref())?;
        return Ok(Exit::Fine);
    }
    let mut runs = Vec::new();
    for typed in &names {
        runs.extend(named(typed, &load_all)?);
    }
    chosen.narrow(runs.iter_mut())?;
    if arguments.share {
        share::share(runs, arguments.out.as_deref(), lang)?;
        return Ok(Exit::Fine);
    }
    if arguments.redact {
        runs = redact(runs);
    }
    if let Some(case) = &arguments.get {
        let unit = arguments.unit.as_deref().and_then(PrintedUnit::of_name);
        let numbers = runs.iter().map(|run| Ok(format!("{}\n", chosen::number(run, case, unit.as_ref())?)));
        hand_over(&numbers.collect::<Result<String>>()?, arguments.out.as_deref())?;
        return Ok(Exit::Fine);
    }
    let usual = match runs.len() {
        _ if arguments.full => "table",
        0 | 1 => "answer",
        _ => "hosts",
    };
    let format = arguments.format.as_deref().unwrap_or(usual);
    let options = output::options_for(arguments.out.as_deref(), lang, arguments.verbose);
    let lacks =
        export::format_named(format).and_then(|format| format.lacks(&runs)).filter(|_| arguments.base.is_none());
    if let Some(table) = lacks {
        refuse!(
            "there is nothing for --format {format} in what was measured; measure it by hostmark run --table {table}"
        );
    }
    let text = match &arguments.base {
        None => render_with(&runs, format, &options)?,
        Some(base) if format == "overhead" => {
            export::overhead_over(&runs, Some(base), &options).map_err(anyhow::Error::msg)?
        }
        Some(_) => refuse!("--base belongs to --format overhead; add it, or leave --base out"),
    };
    hand_over(&text, arguments.out.as_deref())?;
    Ok(Exit::Fine)
}

/// The place that keeps runs.
fn kept_at(typed: &str) -> Result<Target> {
    if typed.trim_start().starts_with(TCP) {
        refuse!("hostmark serve gives no runs that are kept there; log in there, as by --on 'ssh HOST'");
    }
    Target::named(typed, "--on", None)
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
    if ["answer", "markdown"].contains(&format) {
        references::bring();
    }
    let text = export::format_named(format).and_then(|format| format.render(runs, options));
    text.with_context(|| {
        said!("--format {format} shows one run; give one, or --format hosts, html, markdown, lmbench or overhead for several")
    })
}
