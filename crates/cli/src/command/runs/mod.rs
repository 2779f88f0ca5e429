//! `hostmark runs`: the runs that are kept on this machine.

mod changed;
pub mod chosen;
pub mod history;
pub mod kept;
pub mod load;
mod prune;
pub mod retyped;
pub mod self_checked;
pub mod series;
pub mod several;

use std::path::Path;

use anyhow::{Result, bail};
use clap::{ArgGroup, Args, ValueEnum};
use hostmark_analysis::escape::visible;
use hostmark_analysis::reasons::localized;
use hostmark_engine::Journal;
use hostmark_model::{Exit, Lang, Run, Text};
use hostmark_present::export::fleet;
use hostmark_present::render::columns::{TextColumn, columns};
use serde_json::{Value, json};

use self::prune::Unwanted;
use crate::language::said;
use crate::store::summary::{Summary, summaries};
use crate::{output, store};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunsFormat {
    Table,
    Json,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("unwanted").args(["keep", "older_than"]).multiple(true)))]
pub struct RunsArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table", conflicts_with = "prune")]
    format: RunsFormat,
    /// Show when values of the stored runs changed for good, and what else changed
    ///
    /// A change needs at least three runs before and after it.
    #[arg(long, conflicts_with = "prune")]
    changes: bool,
    /// With --changes: groups, probes or cases [default: all]
    #[arg(value_name = "FILTER", requires = "changes")]
    filters: Vec<String>,
    /// With --changes: show every case and fact
    #[arg(long, short, requires = "changes")]
    verbose: bool,
    /// Remove stored runs: those beyond --keep, and those of --older-than
    ///
    /// With both options, a run must match both. The newest run stays, and so does everything else: journals of other
    /// runs, other files, links.
    #[arg(long, requires = "unwanted")]
    prune: bool,
    /// Keep this many of the newest runs
    #[arg(long, value_name = "N", requires = "prune", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Remove runs that began this long ago, e.g. 90d, 12w or 1y
    #[arg(long, value_name = "TIME", value_parser = prune::days, requires = "prune")]
    older_than: Option<i64>,
    /// Show what --prune would remove, and remove nothing
    #[arg(long, requires = "prune")]
    dry_run: bool,
}

/// How far a run came.
enum RunState {
    /// To its end.
    Finished,
    /// It was stopped, and says why; whether it can go on.
    Interrupted(String, bool),
    /// Cut short: its journal is there, and it can go on.
    Partial,
    /// Its journal is being written.
    UnderWay,
}

/// A run that is kept, or a file that is none.
enum StoredRun {
    Run(Box<Summary>, RunState),
    Unreadable { name: String, reason: String },
}

pub fn runs(arguments: &RunsArguments, lang: Lang) -> Result<Exit> {
    let files = store::kept()?;
    if arguments.prune && !files.is_empty() {
        let RunsArguments { keep, older_than, dry_run: is_dry, .. } = *arguments;
        return prune::prune(&files, Unwanted { keep, older_than, is_dry }, store::now());
    }
    if arguments.changes && !files.is_empty() {
        let (all, runs) = changed::found(&files, &arguments.filters)?;
        output::print(&match arguments.format {
            RunsFormat::Json => output::json(&serde_json::to_string_pretty(&all)?),
            RunsFormat::Table => fleet::changes(&all, runs, &output::options(lang, arguments.verbose)),
        });
        return Ok(Exit::Fine);
    }
    let whole = files.iter().zip(summaries(&files)).map(|(path, summary)| finished(path, summary));
    let mut journals = store::journals()?;
    // That of a run that was stopped lies beside its file.
    journals.retain(|path| files.binary_search(&store::run_of(path)).is_err());
    let mut kept: Vec<(String, StoredRun)> = whole.chain(journals.iter().map(|path| begun(path))).collect();
    // Names begin with the time: the newest is the last.
    kept.sort_by(|(one, _), (other, _)| one.cmp(other));
    let kept: Vec<StoredRun> = kept.into_iter().map(|(_, kept)| kept).collect();
    let text = match arguments.format {
        RunsFormat::Json => output::json(&serde_json::to_string_pretty(&kept.iter().map(value).collect::<Vec<_>>())?),
        RunsFormat::Table if kept.is_empty() => all_series(),
        RunsFormat::Table => table(&kept, lang) + &all_series(),
    };
    output::print(&text);
    if kept.is_empty() && store::series_names().is_empty() {
        bail!("{}", NONE.get(lang));
    }
    Ok(Exit::Fine)
}

/// A line for each series of `hostmark watch`.
fn all_series() -> String {
    let line = |name: String| {
        let turns = store::turns(&name).map_or(0, |turns| turns.len());
        said!("series {name}: {turns} turns; hostmark report {name}\n")
    };
    store::series_names().into_iter().map(line).collect()
}

const NONE: Text = term!("no run is kept on this machine; hostmark run makes one");

fn name(path: &Path, ending: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(ending).unwrap_or(&name).to_owned()
}

/// A run file by its name, and what it holds.
fn finished(path: &Path, summary: Result<Summary>) -> (String, StoredRun) {
    let name = name(path, ".json");
    let kept = match summary {
        // It is named already.
        Err(error) => {
            let reason = error.to_string().replacen(&path.display().to_string(), "", 1).trim().to_owned();
            StoredRun::Unreadable { name: name.clone(), reason }
        }
        Ok(summary) => {
            let state = match &summary.interrupted {
                None => RunState::Finished,
                Some(why) => RunState::Interrupted(why.clone(), store::journal_of(path).is_file()),
            };
            StoredRun::Run(Box::new(summary), state)
        }
    };
    (name, kept)
}

/// A journal by its run's name, and how far that came.
fn begun(path: &Path) -> (String, StoredRun) {
    let name = name(path, store::JOURNAL);
    let kept = match Journal::read::<Run>(path) {
        Err(error) => StoredRun::Unreadable { name: name.clone(), reason: crate::language::spoken(&error.message()) },
        Ok((header, rounds, is_under_way)) => {
            let begun: std::collections::HashSet<&str> = rounds.iter().map(|past| past.case.as_str()).collect();
            let state = if is_under_way { RunState::UnderWay } else { RunState::Partial };
            StoredRun::Run(Box::new(Summary { measured: begun.len(), ..Summary::of(&header.run) }), state)
        }
    };
    (name, kept)
}

fn value(kept: &StoredRun) -> Value {
    match kept {
        StoredRun::Unreadable { name, reason } => json!({ "name": name, "unreadable": reason }),
        StoredRun::Run(run, state) => json!({
            "name": run.name,
            "note": run.note,
            "id": run.id,
            "started": run.started,
            "finished": run.finished,
            "host": run.host,
            "profile": run.profile,
            "imported": run.imported,
            "filters": run.filters,
            "measured": run.measured,
            "skipped": run.skipped,
            "failed": run.failed,
            "interrupted": run.interrupted,
            "state": match state {
                RunState::Finished => "finished",
                RunState::Interrupted(..) => "interrupted",
                RunState::Partial => "partial",
                RunState::UnderWay => "under_way",
            },
        }),
    }
}

fn table(kept: &[StoredRun], lang: Lang) -> String {
    let column = |head: &str, is_number: bool, may_go: bool| TextColumn { head: head.to_owned(), is_number, may_go };
    // What the name tells already, the moment and the host, goes first where there is little room.
    let heads = [
        column(term!("run").say(lang), false, false),
        column(term!("host").say(lang), false, true),
        column(term!("started").say(lang), false, true),
        column(term!("profile").say(lang), false, true),
        column(term!("measured").say(lang), true, false),
        column(term!("skipped").say(lang), true, false),
        column(term!("failed").say(lang), true, false),
        column("", false, false),
    ];
    let row = |kept: &StoredRun| match kept {
        StoredRun::Unreadable { name, reason } => vec![visible(name), format!("! {}", visible(reason))],
        StoredRun::Run(run, state) => {
            let profile = match &run.imported {
                Some(_) => term!("imported").say(lang).to_owned(),
                None => run.profile.name().to_owned(),
            };
            let state = match state {
                RunState::Finished => String::new(),
                RunState::Interrupted(reason, goes_on) => {
                    let more = if *goes_on { term!("; --resume goes on").say(lang) } else { "" };
                    format!("{}{}{more}", term!("interrupted: ").say(lang), localized(reason, lang))
                }
                RunState::Partial => term!("cut short; --resume goes on").say(lang).into(),
                RunState::UnderWay => term!("under way").say(lang).into(),
            };
            let counts = [run.measured, run.skipped, run.failed].map(|count| count.to_string());
            let texts = [run.name.clone(), run.host.clone(), run.started.clone(), profile];
            let state = run.note.clone().into_iter().chain(Some(state).filter(|state| !state.is_empty()));
            let state = state.collect::<Vec<_>>().join(" · ");
            texts.into_iter().chain(counts).chain([state]).map(|text| visible(&text)).collect()
        }
    };
    let rows: Vec<Vec<String>> = kept.iter().map(row).collect();
    columns(&heads, &rows, output::options(lang, false).width)
}
