//! `hostmark runs`: the runs that are kept on this machine.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{ArgGroup, Args, ValueEnum};
use hostmark_analysis::escape::visible;
use hostmark_analysis::fleet::{Gathering, HostChange, changes};
use hostmark_analysis::format::value;
use hostmark_analysis::over_time::{LEAST_TURNS, OverTime, SeriesComparison, Turn, compared, over_time};
use hostmark_analysis::reasons::localized;
use hostmark_analysis::redact::redact;
use hostmark_analysis::words;
use hostmark_engine::Journal;
use hostmark_engine::sys::place::{Kind, Place};
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Exit, Lang, Message, Run, Text, Unit};
use hostmark_present::export::fleet;
use hostmark_present::export::over_time::{FORMATS, format_named};
use hostmark_present::render::columns::{TextColumn, columns};
use hostmark_say::say;
use serde_json::{Value, json};

use crate::command::EndsWith;
use crate::language::{current, refuse, refused, said};
use crate::store::{Summary, summaries};
use crate::{output, store};
use chosen::Chosen;

pub mod chosen;
pub mod kept;

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
    #[arg(long, conflicts_with = "prune")]
    changes: bool,
    /// With --changes: groups, probes or cases [default: all]
    #[arg(value_name = "FILTER", requires = "changes")]
    filters: Vec<String>,
    /// With --changes: show every case and fact
    #[arg(long, short, requires = "changes")]
    verbose: bool,
    /// Remove stored runs: those beyond --keep, and those of --older-than
    #[arg(long, requires = "unwanted")]
    prune: bool,
    /// Keep this many of the newest runs
    #[arg(long, value_name = "N", requires = "prune", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Remove runs that began this long ago, e.g. 90d, 12w or 1y
    #[arg(long, value_name = "TIME", value_parser = days, requires = "prune")]
    older_than: Option<i64>,
    /// Show what --prune would remove, and remove nothing
    #[arg(long, requires = "prune")]
    dry_run: bool,
}

enum RunState {
    Finished,
    /// Run that was stopped, with the reason; true if it can be resumed.
    Interrupted(String, bool),
    /// Cut short: its journal is there, and it can go on.
    Partial,
    /// Journal is being written.
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
        return prune(&files, Unwanted { keep, older_than, is_dry }, store::now());
    }
    if arguments.changes && !files.is_empty() {
        let (all, runs) = found(&files, &arguments.filters)?;
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
    let sizes =
        files.iter().map(|path| size([path, &store::journal_of(path)])).chain(journals.iter().map(|path| size([path])));
    let whole = whole.chain(journals.iter().map(|path| begun(path)));
    let mut kept: Vec<(String, u64, StoredRun)> =
        whole.zip(sizes).map(|((name, run), size)| (name, size, run)).collect();
    // Names begin with the time: the newest is the last.
    kept.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let kept: Vec<(u64, StoredRun)> = kept.into_iter().map(|(_, bytes, kept)| (bytes, kept)).collect();
    let text = match arguments.format {
        RunsFormat::Json => {
            output::json(&serde_json::to_string_pretty(&kept.iter().map(value_of_run).collect::<Vec<_>>())?)
        }
        RunsFormat::Table if kept.is_empty() => all_series(),
        RunsFormat::Table => table(&kept, lang) + &whole_size(&kept, lang) + &all_series(),
    };
    output::print(&text);
    if kept.is_empty() && store::series_names().is_empty() {
        bail!("{}", term!("no run is kept on this machine; hostmark run makes one").get(lang));
    }
    Ok(Exit::Fine)
}

/// A line for each series of `hostmark watch`.
fn all_series() -> String {
    let line = |name: String| {
        let turns = store::turns(&name).unwrap_or_default();
        let [size, most] = [size(&turns), store::SERIES_BYTES].map(|bytes| value(bytes as f64, Unit::Bytes, current()));
        let turns = turns.len();
        said!("series {name}: {turns} turns, {size} (all series have {most} at most); hostmark report {name}\n")
    };
    store::series_names().into_iter().map(line).collect()
}

/// The bytes of these files, as far as they are there.
fn size<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> u64 {
    files.into_iter().filter_map(|file| Some(fs::symlink_metadata(file).ok()?.len())).sum()
}

/// Size of all runs, which nothing bounds.
fn whole_size(kept: &[(u64, StoredRun)], lang: Lang) -> String {
    let size = value(kept.iter().map(|(bytes, _)| bytes).sum::<u64>() as f64, Unit::Bytes, lang);
    said!("{count:run} of {size} in all; they stay until hostmark runs --prune removes them\n", count = kept.len())
}

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

fn value_of_run((bytes, kept): &(u64, StoredRun)) -> Value {
    match kept {
        StoredRun::Unreadable { name, reason } => json!({ "name": name, "unreadable": reason, "bytes": bytes }),
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
            "bytes": bytes,
            "state": match state {
                RunState::Finished => "finished",
                RunState::Interrupted(..) => "interrupted",
                RunState::Partial => "partial",
                RunState::UnderWay => "under_way",
            },
        }),
    }
}

fn table(kept: &[(u64, StoredRun)], lang: Lang) -> String {
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
        column(term!("size").say(lang), true, true),
        column("", false, false),
    ];
    let row = |(bytes, kept): &(u64, StoredRun)| match kept {
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
                    format!("{}{}{more}", term!("interrupted: ").say(lang), localized(Message::finished(reason), lang))
                }
                RunState::Partial => term!("cut short; --resume goes on").say(lang).into(),
                RunState::UnderWay => term!("under way").say(lang).into(),
            };
            let counts = [run.measured, run.skipped, run.failed].map(|count| count.to_string());
            let texts = [run.name.clone(), run.host.clone(), run.started.clone(), profile];
            let state = run.note.clone().into_iter().chain(Some(state).filter(|state| !state.is_empty()));
            let state = state.collect::<Vec<_>>().join(" · ");
            let size = value(*bytes as f64, Unit::Bytes, lang);
            texts.into_iter().chain(counts).chain([size, state]).map(|text| visible(&text)).collect()
        }
    };
    let rows: Vec<Vec<String>> = kept.iter().map(row).collect();
    columns(&heads, &rows, output::options(lang, false).width)
}

#[derive(Debug, Clone, Copy)]
pub struct Unwanted {
    /// All but so many of the newest.
    pub keep: Option<u32>,
    /// Least age of the runs, days.
    older_than: Option<i64>,
    is_dry: bool,
}

/// A run that goes: its file, what that is, and its size.
struct Candidate<'a> {
    path: &'a Path,
    inode: (u64, u64),
    bytes: u64,
}

/// Removes what is unwanted of these run files, oldest first, and says what: never the newest, and nothing that is no run of
/// hostmark's, as a link is none. A run that does not say when it began stays.
pub fn prune(files: &[PathBuf], unwanted: Unwanted, now: Timestamp) -> Result<Exit> {
    let dated = |(path, summary): (&'_ PathBuf, Result<Summary>)| {
        Some((Timestamp::parse(&summary.ok()?.started)?, path.clone()))
    };
    let mut runs: Vec<(Timestamp, PathBuf)> = files.iter().zip(summaries(files)).filter_map(dated).collect();
    runs.sort();
    let count = runs.len();
    let limit = unwanted.older_than.and_then(|days| now.days_before(days));
    let goes = |index: usize, began: Timestamp| {
        let newer = count - 1 - index;
        let is_beyond = unwanted.keep.is_none_or(|keep| newer >= keep as usize);
        let is_old = unwanted.older_than.is_none() || limit.is_some_and(|limit| began <= limit);
        newer > 0 && is_beyond && is_old
    };
    let chosen = runs.iter().enumerate().filter(|(index, (began, _))| goes(*index, *began));
    let candidates: Vec<Candidate> = chosen.filter_map(|(_, (_, path))| candidate(path)).collect();
    let mut freed = 0;
    let mut gone: usize = 0;
    for candidate in candidates {
        let shown = visible(&candidate.path.display().to_string());
        let size = value(candidate.bytes as f64, Unit::Bytes, current());
        if unwanted.is_dry {
            output::print(&said!("would remove {shown} ({size})\n"));
        } else if let Err(error) = remove(&candidate) {
            output::complain(&said!("{shown} cannot be removed ({error}); become its owner"));
            continue;
        } else {
            output::print(&said!("removed {shown} ({size})\n"));
        }
        (gone, freed) = (gone + 1, freed + candidate.bytes);
    }
    let (freed, left) = (value(freed as f64, Unit::Bytes, current()), count - gone);
    output::print(&match unwanted.is_dry {
        true => said!("{gone} of {count} runs would go, {freed}\n"),
        false => said!("{gone} of {count} runs are gone, {freed}; {left} are kept\n"),
    });
    Ok(Exit::Fine)
}

/// A regular file under this very name.
fn candidate(path: &Path) -> Option<Candidate<'_>> {
    let facts = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(Candidate { path, inode: (facts.dev(), facts.ino()), bytes: facts.len() })
}

/// Removes the file, unless its name is another's meanwhile.
fn remove(candidate: &Candidate) -> std::io::Result<()> {
    let facts = fs::symlink_metadata(candidate.path)?;
    if (facts.dev(), facts.ino()) != candidate.inode {
        return Err(std::io::Error::other(said!("another file has its name now")));
    }
    // First: without its run, the journal of one that was stopped would be a run that was cut short.
    let journal = Place::entry(&store::journal_of(candidate.path))?;
    if journal.kind() != Kind::Nothing {
        journal.remove()?;
    }
    Place::entry(candidate.path)?.remove()
}

/// Days as a person types them: `90d`, `12w`, `1y`.
pub fn days(typed: &str) -> Result<i64, String> {
    let (digits, times) = match typed.char_indices().last() {
        Some((at, 'd')) => (&typed[..at], 1),
        Some((at, 'w')) => (&typed[..at], 7),
        Some((at, 'y')) => (&typed[..at], 365),
        _ => ("", 0),
    };
    let is_number = !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse::<i64>().ok()).flatten();
    // No calendar has more.
    let days = number.map(|number| number * times).filter(|days| (1..=1_000_000).contains(days));
    days.ok_or_else(|| said!("it is no age; give one as 90d, 12w or 1y"))
}

/// Tells whether these runs are wanted over time: one series, or any where a person says so.
pub fn is_meant(names: &[String], is_asked: bool) -> bool {
    let is_series = |name: &String| !Path::new(name).exists() && store::series(name).is_some();
    is_asked || matches!(names, [name] if is_series(name))
}

/// Tells whether two series are compared.
pub fn are_two(names: &[String]) -> bool {
    names.len() == 2 && names.iter().all(|name| is_meant(std::slice::from_ref(name), false))
}

/// The turns of these runs of one host. One run is in memory at a time: a week of turns would take gigabytes.
fn turns(names: &[String], chosen: &Chosen, is_redacted: bool) -> Result<Vec<Turn>> {
    let files = names.iter().map(|name| chosen::files(name)).collect::<Result<Vec<Vec<PathBuf>>>>()?.concat();
    let mut turns: Vec<Turn> = Vec::new();
    let (mut unread, mut why) = (0, None);
    for file in &files {
        let run = store::load(file).and_then(|mut run| {
            chosen.narrow(std::iter::once(&mut run))?;
            Ok(if is_redacted { redact(vec![run]).pop() } else { Some(run) })
        });
        match run {
            Ok(run) => turns.extend(run.and_then(|run| Turn::of(&run))),
            Err(error) => (unread, why) = (unread + 1, Some(error)),
        }
    }
    if let Some(why) = why.filter(|_| turns.is_empty()) {
        return Err(why);
    }
    if unread > 0 {
        output::remark(&said!("{unread} of the runs could not be read, and are left out"));
    }
    if let Some(other) = turns.iter().find(|turn| turn.host != turns[0].host) {
        refuse!(
            "the runs are of several hosts ({host}, {host_2}); name those of one",
            host = turns[0].host,
            host_2 = other.host
        );
    }
    Ok(turns)
}

pub fn report(names: &[String], chosen: &Chosen, is_redacted: bool) -> Result<OverTime> {
    let turns = turns(names, chosen, is_redacted)?;
    let count = turns.len();
    over_time(turns)
        .ok_or_else(|| refused!("{count:turn} with values say too little over time; measure {LEAST_TURNS} or more"))
}

/// Two series beside each other.
pub fn compare(names: &[String], chosen: &Chosen) -> Result<SeriesComparison> {
    let [base, new] = names else { refuse!("give two series") };
    let of = |name: &String| turns(std::slice::from_ref(name), chosen, false);
    compared(of(base)?, of(new)?).ok_or_else(|| {
        refused!("{base} and {new} share too few values over too little time; measure longer series of the same cases")
    })
}

/// A series in the format of this name.
pub fn render(all: &OverTime, format: &str, options: &hostmark_present::RenderOptions) -> Result<String> {
    let Some(format) = format_named(format) else {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        refuse!("a series is not shown as --format {format}; choose from {names}", names = names.join(", "))
    };
    Ok((format.render)(all, options, output::shades()))
}

/// The changes of the cases that these filters name, of all where there is none, and of how many runs. One file is in memory at a time.
pub fn found(files: &[PathBuf], filters: &[String]) -> Result<(Vec<HostChange>, usize)> {
    let mut gathering = Gathering::new(filters);
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match store::bytes(path) {
            Ok(Some(bytes)) => gathering.read(&name, &bytes),
            Ok(None) => gathering.refuse(&name, term!("is too large for a run").to_owned_text()),
            Err(error) => gathering.refuse(&name, cannot(&error)),
        }
    }
    for unread in gathering.unread() {
        output::complain(&format!("{} {}", unread.file, unread.reason.get(current())));
    }
    if !filters.is_empty() && gathering.runs() > 0 && !gathering.has_cases() {
        let named = filters.join(" ");
        let sentence = say!("no kept run has a case of {named}; name groups, probes or cases as hostmark list does");
        return Err(EndsWith(Exit::NothingSelected, sentence).into());
    }
    Ok((changes(&gathering), gathering.runs()))
}

fn cannot(error: &std::io::Error) -> Text<String> {
    words(say!("cannot be read ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_number_and_a_unit() {
        assert_eq!(days("90d"), Ok(90));
        assert_eq!((days("2w"), days("1y")), (Ok(14), Ok(365)));
        for wrong in ["", "d", "90", "0d", "-1d", "1h", "9999999d", "1.5d", "١d", "99999y"] {
            assert!(days(wrong).is_err(), "{wrong}");
        }
    }
}
