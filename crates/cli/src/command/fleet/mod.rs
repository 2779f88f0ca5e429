//! `hostmark fleet …`: many hosts beside each other.

mod run;

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use hostmark_analysis::fleet::{CaseBesideUsual, Fleet, Gathering};
use hostmark_analysis::reasons::in_both;
use hostmark_analysis::words;
use hostmark_model::{Exit, FLEET_RUN_FILE, FleetRun, HostState, Lang, Message, Text};
use hostmark_present::export::fleet;
use hostmark_say::say;

use super::{EndsWith, hand_over};
use crate::language::{refuse, refused, said};
use crate::store::JOURNAL;
use crate::{output, store};

#[derive(Debug, Args)]
pub struct FleetArguments {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Measure many hosts: of a list, a Slurm allocation or a Kubernetes cluster
    Run(Box<run::RunArguments>),
    /// Find the hosts that differ from others of their kind, and what sets them apart
    Report(ReportArguments),
}

pub fn fleet(arguments: &FleetArguments, lang: Lang) -> Result<Exit> {
    match &arguments.command {
        FleetCommand::Run(run) => run::run(run, lang),
        FleetCommand::Report(arguments) => report(arguments, lang),
    }
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(fleet::FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Directory with the hosts' run files (*.json), and its subdirectories
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Judge only by these groups, probes or cases, e.g. memory or memory.read
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Output format
    #[arg(long, default_value = "table", value_parser = formats())]
    format: String,
    /// Exit 1 if a host differs from others of its kind
    #[arg(long)]
    check: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show every odd host, case, reason and unread file
    #[arg(long, short)]
    verbose: bool,
}

pub fn report(arguments: &ReportArguments, lang: Lang) -> Result<Exit> {
    output::refuse_flood(&arguments.format, arguments.out.as_deref(), "--out FILE")?;
    let format = fleet::format_named(&arguments.format);
    let format = format.with_context(|| said!("there is no such format; hostmark fleet report --help names them"))?;
    let gathering = read(&arguments.directory, &arguments.filters)?;
    if gathering.runs() > 0 && !arguments.filters.is_empty() && !gathering.has_cases() {
        let named = arguments.filters.join(" ");
        let sentence = say!("no run there has a case of {named}; name groups, probes or cases as hostmark list does");
        return Err(EndsWith(Exit::NothingSelected, sentence).into());
    }
    let fleet = Fleet::of(&gathering);
    let options = output::options_for(arguments.out.as_deref(), lang, arguments.verbose);
    match &arguments.out {
        Some(path) => {
            let mut text = String::new();
            (format.write)(&fleet, &options, &mut |part| text += part);
            hand_over(&text, Some(path))?;
        }
        None => (format.write)(&fleet, &options, &mut output::print),
    }
    Ok(if arguments.check { checked(&fleet) } else { Exit::Fine })
}

/// Exit code of a fleet for a job that looks at that alone: a fleet without any verdict is not fine.
fn checked(fleet: &Fleet) -> Exit {
    let usual = || fleet.kinds.iter().flat_map(|kind| &kind.usual);
    match () {
        () if fleet.odd().next().is_some() || usual().any(CaseBesideUsual::is_slow_as_a_whole) => Exit::Found,
        () if fleet.judged == 0 && usual().all(|case| case.judged() == 0) => {
            output::complain(&said!(
                "nothing could be judged: no kind has enough hosts, and no value stands beside what is usual; measure more hosts"
            ));
            Exit::Undecided
        }
        () => Exit::Fine,
    }
}

/// Reads one file after the other: no more than one is in memory at a time.
fn read(directory: &Path, filters: &[String]) -> Result<Gathering> {
    let found = below(directory).map_err(|error| {
        refused!(
            "{directory} cannot be read ({error}); give a directory with run files",
            directory = directory.display()
        )
    })?;
    let shown = |path: &Path| path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned();
    let mut gathering = Gathering::new(filters);
    let mut fleets = Vec::new();
    for path in &found.files {
        let name = shown(path);
        match store::bytes(path) {
            Ok(Some(bytes)) => match fleet_of(path, &bytes) {
                Some(fleet) => {
                    refuse_missing(&fleet, &mut gathering);
                    fleets.push((path.parent().unwrap_or(directory).to_owned(), fleet));
                }
                None => gathering.read(&name, &bytes),
            },
            Ok(None) => gathering.refuse(&name, term!("is too large for a run").to_owned_text()),
            Err(error) => gathering.refuse(&name, cannot(&error)),
        }
    }
    for (below, fleet) in &fleets {
        gathering.pairs(fleet, |file| shown(&below.join(file)));
    }
    for path in &found.journals {
        let why = term!("was cut short; finish it: hostmark run --resume").to_owned_text();
        gathering.refuse(&shown(path), why);
    }
    for (path, error) in &found.unreadable {
        gathering.refuse(&shown(path), cannot(error));
    }
    if found.is_cut {
        let why = term!("has more entries than are read; give a smaller directory").to_owned_text();
        gathering.refuse(&directory.to_string_lossy(), why);
    }
    if gathering.runs() == 0 {
        let refused = found.files.len();
        match refused {
            0 => refuse!(
                "there is no run (*.json) in {directory}; give the directory with the runs",
                directory = directory.display()
            ),
            _ => refuse!(
                "none of the {refused} files in {directory} is a run that can be read (hostmark report FILE says why); give the \
                 directory with the runs",
                directory = directory.display()
            ),
        }
    }
    Ok(gathering)
}

/// Contents of the file that `hostmark fleet run` leaves beside the runs, if this is it.
fn fleet_of(path: &Path, bytes: &[u8]) -> Option<FleetRun> {
    let is_called_so = path.file_name().is_some_and(|name| name == FLEET_RUN_FILE);
    std::str::from_utf8(bytes).ok().filter(|_| is_called_so).and_then(FleetRun::load)
}

/// Hosts that were to be measured and have no run are told as files that cannot be read are.
fn refuse_missing(fleet: &FleetRun, gathering: &mut Gathering) {
    for host in fleet.hosts.iter().filter(|host| host.state != HostState::Measured) {
        let state = host.state.word();
        let reason = match host.reason.as_deref().unwrap_or_default() {
            "" => say!("has no run ({state}); hostmark fleet run --resume goes on"),
            why => say!(
                "has no run ({state}: {why}); hostmark fleet run --resume goes on",
                why = in_both(Message::finished(why))
            ),
        };
        gathering.refuse(&host.host, words(reason));
    }
}

fn cannot(error: &std::io::Error) -> Text<String> {
    words(say!("cannot be read: {error}"))
}

/// Directories below each other that are gone into.
const DEEPEST: usize = 8;
/// Entries that are looked at: a directory may be without end for all practical purposes.
const MOST_ENTRIES: usize = 2_000_000;

#[derive(Debug, Default)]
pub struct FoundFiles {
    pub files: Vec<PathBuf>,
    /// Runs that were cut short, as their journals tell.
    pub journals: Vec<PathBuf>,
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// True where there were more entries than the limit.
    pub is_cut: bool,
}

/// Everything below `directory` that is called like a run. Links are not followed into directories, so that nothing is read twice
/// or without end; hidden files are nobody's runs.
pub fn below(directory: &Path) -> io::Result<FoundFiles> {
    let mut found = FoundFiles::default();
    let mut entries = 0;
    let mut pending = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        let listed = match fs::read_dir(&directory) {
            Ok(listed) => listed,
            Err(error) if depth == 0 => return Err(error),
            Err(error) => {
                found.unreadable.push((directory, error));
                continue;
            }
        };
        for entry in listed {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    found.unreadable.push((directory.clone(), error));
                    break;
                }
            };
            entries += 1;
            if entries > MOST_ENTRIES {
                found.is_cut = true;
                pending.clear();
                break;
            }
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEEPEST {
                    pending.push((path, depth + 1));
                }
            } else if name.ends_with(JOURNAL) {
                found.journals.push(path);
            } else if store::stem(&name).is_some() {
                found.files.push(path);
            }
        }
    }
    store::only_runs(&mut found.files);
    // A journal beside its run is that of a run that ended while it was being removed.
    found.journals.retain(|journal| {
        let whole = PathBuf::from(journal.to_string_lossy().replace(JOURNAL, ".json"));
        found.files.binary_search(&whole).is_err()
    });
    found.journals.sort();
    Ok(found)
}
