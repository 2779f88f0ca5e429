//! `hostmark report RUN…`: runs that were measured before, in any format.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use hostmark_analysis::escape::visible;
use hostmark_analysis::redact::redact;
use hostmark_analysis::trust::{trust, with_self_check};
use hostmark_analysis::{findings, repetition, submitted, trust};
use hostmark_engine::Journal;
use hostmark_engine::estimate::outcomes;
use hostmark_engine::estimate::outcomes::Outcomes;
use hostmark_launch::transport::TCP;
use hostmark_model::{Again, Exit, Gap, Lang, PrintedUnit, Run, Trust};
use hostmark_present::render::markdown;
use hostmark_present::{RenderOptions, export};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use super::compare::verdict;
use super::far::{Target, on};
use super::measure::{damaged, inputs, ready};
use super::runs::{chosen, kept};
use super::{hand_over, runs};
use crate::language::{refuse, said};
use crate::store::JOURNAL;
use crate::{output, store};

pub fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(export::FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Runs to show: files, names, last, last-1 … [default: last]
    #[arg(value_name = "RUN | FILTER")]
    names: Vec<String>,
    /// Print the value of this case alone, for a script
    #[arg(long, value_name = "CASE", conflicts_with_all = ["format", "full", "base", "verbose"])]
    get: Option<String>,
    /// Unit of that number, e.g. us, MB/s or ops/s
    #[arg(long, value_name = "UNIT", value_parser = inputs::unit, requires = "get", hide_short_help = true)]
    unit: Option<String>,
    /// Output format [default: answer; for several runs hosts]
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    /// Show runs of one host over time: how steady it is
    #[arg(long, conflicts_with_all = ["get", "full", "base", "on", "reestimate"])]
    over_time: bool,
    /// Print every case, as --format table does
    #[arg(long, conflicts_with = "format")]
    full: bool,
    /// With --format overhead: the reference case
    #[arg(long, value_name = "CASE")]
    base: Option<String>,
    /// Show runs stored on another machine, e.g. 'ssh db-17'
    #[arg(long, value_name = "COMMAND", conflicts_with = "reestimate")]
    on: Option<String>,
    /// Recompute estimates from the recorded rounds
    #[arg(long)]
    reestimate: bool,
    /// Replace names of hosts, people and paths
    #[arg(long)]
    redact: bool,
    /// Write a redacted run file and a card, and print a line to paste
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
        None if arguments.reestimate && !chosen::is_meant(typed) => Ok(vec![load(typed, lang)?]),
        None => {
            let of = |file: &PathBuf| match arguments.reestimate {
                true => load(&file.to_string_lossy(), lang),
                false => kept::checked(file, lang),
            };
            chosen::files(typed)?.iter().map(of).collect()
        }
    };
    let (mut names, chosen) = chosen::parted(&arguments.names);
    if names.is_empty() {
        names.push("last".to_owned());
    }
    if place.is_none() && runs::is_meant(&names, arguments.over_time) {
        let format = arguments.format.as_deref().unwrap_or("table");
        let options = output::options_for(arguments.out.as_deref(), lang, arguments.verbose);
        let text = runs::render(&runs::report(&names, &chosen, arguments.redact)?, format, &options)?;
        hand_over(&text, arguments.out.as_deref())?;
        return Ok(Exit::Fine);
    }
    let mut runs = Vec::new();
    for typed in &names {
        runs.extend(named(typed, &load_all)?);
    }
    chosen.narrow(runs.iter_mut())?;
    if arguments.share {
        share(runs, arguments.out.as_deref(), lang)?;
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
        verdict::bring();
    }
    let text = export::format_named(format).and_then(|format| format.render(runs, options));
    text.with_context(|| {
        said!("--format {format} shows one run; give one, or --format hosts, html, markdown, lmbench or overhead for several")
    })
}

/// The run that a person means, estimated again: one that is kept, a file, or a journal.
pub fn load(argument: &str, lang: Lang) -> Result<Run> {
    match store::find(argument) {
        Ok(path) if !path.to_string_lossy().ends_with(JOURNAL) => of_file(&path, lang),
        Ok(path) => of_journal(&path),
        // A run that was cut short has a journal and no file.
        Err(error) => match store::find_journal(argument) {
            Ok(path) if !argument.is_empty() => of_journal(&path),
            _ => Err(error),
        },
    }
}

fn of_file(path: &Path, lang: Lang) -> Result<Run> {
    let run = kept::checked(path, lang)?;
    let (outcomes, gaps) = outcomes::of_run(CATALOGUE, &run);
    Ok(with(run, outcomes, gaps))
}

fn of_journal(path: &Path) -> Result<Run> {
    let (header, rounds, is_under_way) = Journal::read::<Run>(path)
        .map_err(|error| anyhow!("{} {}", path.display(), crate::language::spoken(&error.message())))?;
    let mut run = header.run;
    run.disturbances.extend(damaged(header.damaged));
    let plan = ready::planned_before(&run).ok();
    let skip = |id: &str| plan.iter().flat_map(|plan| &plan.cases).find(|case| case.id.to_string() == id)?.skip.clone();
    let (outcomes, gaps) = outcomes::of_journal(CATALOGUE, &run, &header.cases, rounds, skip);
    run.interrupted = (!is_under_way).then(|| say!("only its journal is left").to_string());
    Ok(with(run, outcomes, gaps))
}

fn with(run: Run, outcomes: Outcomes, gaps: Vec<Gap>) -> Run {
    let again = Some(Again { version: env!("CARGO_PKG_VERSION").into(), gaps });
    let stored = run.clone();
    let mut run = Run { cases: outcomes.cases, lost_rounds: outcomes.lost_rounds, again, ..run };
    if outcomes.core_shared.is_some() {
        run.neighbours.get_or_insert_default().core_shared = outcomes.core_shared;
    }
    // What runs of the host differed by was known when it was measured, and is in its file alone.
    repetition::keep(&mut run, &stored);
    run.trust = stored.trust.and_then(|stored| {
        Some(Trust { left_out: stored.left_out, ..with_self_check(trust(&run)?, stored.self_check) })
    });
    run.findings = findings(&run);
    run
}

/// Writes both files, the run into `out` and the card beside it, and prints the line.
pub fn share(runs: Vec<Run>, out: Option<&Path>, lang: Lang) -> Result<()> {
    let [run] = &redact(runs)[..] else { refuse!("--share takes one run; give one") };
    let file = out.map_or_else(|| named_after(run), Path::to_owned);
    let card = file.with_extension("svg");
    if card == file {
        refuse!("--out names the run file, and the card gets .svg; end it in .json");
    }
    hand_over(&store::text_of(run), Some(&file))?;
    hand_over(&render(std::slice::from_ref(run), "card", lang, false)?, Some(&card))?;
    output::remark(&said!(
        "wrote {file} and {card}, without names of hosts, people and paths; read them before you publish them",
        file = file.display(),
        card = card.display()
    ));
    output::print(&format!("{}\n", visible(&markdown::line(run, lang))));
    Ok(())
}

/// Default name by the day and the end of the id: the same run has the same files.
fn named_after(run: &Run) -> PathBuf {
    let day = run.started.split('T').next().unwrap_or_default();
    let id: String = run.id.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{}.json", store::file_part(&format!("hostmark-{day}-{id}"))).into()
}

#[derive(Debug, Args)]
pub struct ReferenceArguments {
    #[command(subcommand)]
    command: ReferenceCommand,
}

#[derive(Debug, Subcommand)]
enum ReferenceCommand {
    /// Check whether a run can become a reference
    Check(CheckArguments),
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// File that `hostmark report --share` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn reference(arguments: &ReferenceArguments, lang: Lang) -> Result<Exit> {
    let ReferenceCommand::Check(CheckArguments { file }) = &arguments.command;
    let run = store::load(file)?;
    let shown = file.display();
    let (text, exit) = match submitted::refusal(&run) {
        Some(why) => (said!("refused: {shown}: {why}"), Exit::Found),
        None => (said!("accepted: {shown}: {run}", run = accepted(&run, lang)), Exit::Fine),
    };
    output::print(&format!("{text}\n"));
    Ok(exit)
}

/// The machine, how much was measured, and how far it is to be trusted.
fn accepted(run: &Run, lang: Lang) -> String {
    let count = run.cases.iter().filter(|case| case.measured().is_some()).count();
    let trust = run.trust.as_ref().map(|known| trust::line(known).get(lang).to_owned()).unwrap_or_default();
    let machine = markdown::machine(run, lang);
    said!("{machine}; {count:value}; {trust}")
}
