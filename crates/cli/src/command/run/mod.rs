//! `hostmark run`: measures, shows and stores.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use hostmark_analysis::escape::visible;
use hostmark_analysis::findings::findings_and_kept;
use hostmark_engine::plan::{Plan, profile_limits};
use hostmark_engine::{PlanLine, RoundSink, probe};
use hostmark_launch::transport::TCP;
use hostmark_model::{CaseRecord, Exit, HostFacts, Inputs, Lang, Outcome, Run, RunRequest};
use hostmark_present::render::console;
use hostmark_probes::CATALOGUE;

use super::compare::side;
use super::compare::verdict::{Expected, USUAL, reference};
use super::far::peers;
use super::far::peers::{Direct, FarPeers};
use super::measure::inputs::{InputArguments, ProfileName, check_command, scratch, seed};
use super::measure::ready::{Begun, Ready};
use super::measure::{Means, Measured, MeasuredMachine, ready};
use super::runs::kept;
use super::runs::kept::{Author, RunDestination};
use super::{far, lost, measure, remedy, remedy_or_another_file, report, unsaved};
use crate::command::runs::chosen;
use crate::language::{refuse, refused, said};
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store::RunFiles;
use crate::world::World;
use crate::{language, output, store};

pub mod dry_run;

#[derive(Debug, Args)]
pub struct RunArguments {
    /// Groups, probes or cases [default: all]
    #[arg(help_heading = "What to measure", value_name = "FILTER")]
    filters: Vec<String>,
    /// Time limit
    #[arg(help_heading = "What to measure", long, value_enum, default_value = "quick")]
    profile: ProfileName,
    /// Measure on another machine, e.g. 'ssh db-17'
    #[arg(help_heading = "Where", long, value_name = "COMMAND")]
    on: Option<String>,
    /// Measure the network to this machine too, e.g. 'ssh db-17'
    #[arg(help_heading = "Where", long, value_name = "PLACE")]
    peer: Vec<String>,
    /// Reach the peer by this address
    #[arg(help_heading = "Where", long, value_name = "ADDRESS", requires = "peer", hide_short_help = true)]
    via: Vec<std::net::IpAddr>,
    /// Read the token for tcp:HOST from this file
    #[arg(help_heading = "Where", long, value_name = "FILE", hide_short_help = true)]
    token_file: Option<PathBuf>,
    /// Write the run file here [default: the run store]
    #[arg(help_heading = "Result", long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Store the run under this name, e.g. before-bios
    #[arg(help_heading = "Result", long, value_name = "NAME", value_parser = run_name, conflicts_with_all = ["out", "resume"])]
    name: Option<String>,
    /// Keep this text with the run, e.g. 'BIOS 2.1, SMT off'
    #[arg(help_heading = "Result", long, value_name = "TEXT", value_parser = note, conflicts_with = "resume", hide_short_help = true)]
    note: Option<String>,
    /// Compare with this run, and exit 1 if a case is slower
    #[arg(help_heading = "Result", long, value_name = "RUN", conflicts_with = "format")]
    expect: Option<String>,
    /// Print a reference's values beside the run's, e.g. x220
    #[arg(help_heading = "Result", long, value_name = "REFERENCE", conflicts_with_all = ["format", "expect"], hide_short_help = true)]
    against: Option<String>,
    /// Measure and print only the cells of this table
    #[arg(help_heading = "What to measure", long, value_name = "NAME", conflicts_with_all = ["filters", "command"], hide_short_help = true)]
    table: Option<String>,
    /// Output format [default: answer, or that of --table]
    #[arg(help_heading = "Result", long, value_parser = report::formats())]
    format: Option<String>,
    /// Print every case, as --format table does
    #[arg(help_heading = "Result", long, conflicts_with = "format")]
    full: bool,
    /// Seed of all random sequences, decimal or 0x…
    #[arg(help_heading = "How", long, value_name = "N", value_parser = seed, hide_short_help = true)]
    seed: Option<u64>,
    /// Override an axis's values, e.g. size=4K,1M
    #[arg(help_heading = "What to measure", long, value_name = "[PROBE:]AXIS=V1,V2", hide_short_help = true)]
    set: Vec<String>,
    #[command(flatten)]
    inputs: InputArguments,
    /// Measure only if `hostmark self-check` has passed here since the host started
    #[arg(help_heading = "How", long, conflicts_with = "on", hide_short_help = true)]
    strict: bool,
    /// Show what would be measured
    #[arg(help_heading = "What to measure", long)]
    pub(super) dry_run: bool,
    /// Continue an interrupted run [default: the newest]
    #[arg(help_heading = "How", hide_short_help = true, long, value_name = "RUN", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["filters", "profile", "seed", "set", "cpu", "bytes", "value", "unit", "table", "dry_run"])]
    pub(super) resume: Option<String>,
    /// Print every interval, sample count and note
    #[arg(help_heading = "Result", hide_short_help = true, long, short)]
    verbose: bool,
}

impl RunArguments {
    /// Request, wherever it is measured.
    pub(super) fn request(&self) -> Result<RunRequest> {
        let inputs = self.inputs()?;
        Ok(RunRequest {
            filters: self.filters.clone(),
            profile: self.profile.into(),
            seed: self.seed,
            set: self.set.clone(),
            table: self.table.clone(),
            inputs: Inputs { peers: peers::names(&self.peers()?), ..inputs },
            via: self.via.clone(),
            begun: None,
        })
    }

    /// Inputs: those of another machine as they were typed.
    fn inputs(&self) -> Result<Inputs> {
        if self.on.is_some() { Ok(self.inputs.as_typed()) } else { self.inputs.given() }
    }

    /// Places of the run's peers.
    fn peers(&self) -> Result<Vec<far::Target>> {
        if self.token_file.is_some() && !self.peer.iter().chain(&self.on).any(|typed| is_served(typed)) {
            refuse!("--token-file belongs to a place as tcp:HOST, and there is none; leave it out");
        }
        self.peer.iter().map(|typed| far::Target::named(typed, "--peer", self.token_of(typed))).collect()
    }

    /// File of the token for a place.
    fn token_of(&self, typed: &str) -> Option<&Path> {
        self.token_file.as_deref().filter(|_| is_served(typed))
    }

    /// The file that a person named, or a new one of the name that they gave.
    fn named_file(&self) -> Result<Option<RunFiles>> {
        let Some(name) = &self.name else { return self.out.as_deref().map(RunFiles::named).transpose() };
        RunFiles::begun_now(name).map(Some).map_err(|why| unnamed(name, &why))
    }

    /// Refuses a file or a name that [`RunArguments::named_file`] or the run's begin would refuse, and makes nothing.
    fn check_place(&self) -> Result<()> {
        let Some(name) = &self.name else {
            return self.out.as_deref().map_or(Ok(()), |file| kept::check(&RunFiles::named(file)?));
        };
        let Some(runs) = store::directory() else { return self.named_file().map(drop) };
        let why = |error| format!("{} cannot be made: {error}", runs.display());
        store::check_new(&runs).map_err(|error| unnamed(name, &why(error)))
    }

    /// Expectation that the run is compared with.
    fn expected(&self, lang: Lang) -> Result<Option<Expected>> {
        let of = |name: &str| match name {
            USUAL => Ok(Expected::Usual),
            name => side(name, lang).map(Expected::Runs),
        };
        match &self.against {
            Some(name) if name == USUAL => Ok(Some(Expected::BesideUsual)),
            Some(name) => reference(name).map(|reference| Some(Expected::Beside(Box::new(reference)))),
            None => self.expect.as_deref().map(of).transpose(),
        }
    }
}

/// Error that a run cannot be kept under a name.
fn unnamed(name: &str, why: &dyn std::fmt::Display) -> anyhow::Error {
    refused!("the run cannot be kept as {name} ({why}); name a file by --out")
}

/// Tells whether a place is a server's.
fn is_served(typed: &str) -> bool {
    typed.trim_start().starts_with(TCP)
}

fn note(typed: &str) -> Result<String, String> {
    match typed.trim() {
        text if (1..=200).contains(&text.chars().count()) => Ok(text.to_owned()),
        _ => Err(said!("give a text of 1 to 200 characters")),
    }
}

/// A name of runs that are kept.
pub(super) fn run_name(typed: &str) -> Result<String, String> {
    match store::file_part(typed) == typed && typed != "last" && !typed.starts_with("last-") {
        true => Ok(typed.to_owned()),
        false => Err(said!("it is no name; give up to 40 letters, digits, - and _, and not last")),
    }
}

pub fn run(arguments: &RunArguments, lang: Lang, world: &mut World) -> Result<Exit> {
    if let Some(format) = arguments.format.as_deref().filter(|_| !arguments.dry_run) {
        // --out is the run's file, whatever is printed.
        output::refuse_flood(format, None, &format!("hostmark run --format {format} > FILE"))?;
    }
    let expected = arguments.expected(lang)?;
    // Read once: what it says is done is what its owner has been checked for.
    let begun = arguments.resume.as_deref().map(|named| Begun::open(named, arguments.named_file()?)).transpose()?;
    let place = match (&arguments.on, begun.as_ref().and_then(Begun::elsewhere)) {
        (typed, Some(elsewhere)) => Some(far::Target::of_journal(elsewhere, typed.as_deref())?),
        (Some(place), None) => Some(far::Target::named(place, "--on", arguments.token_of(place))?),
        (None, None) => None,
    };
    if let Some(begun) = &begun {
        begun.check_typed(arguments.on.as_deref(), &arguments.inputs()?)?;
    }
    match place {
        Some(place) => dry_run::run(arguments, begun, &place, expected, lang),
        None => here(arguments, begun, expected, lang, world),
    }
}

/// Measures on this machine.
fn here(
    arguments: &RunArguments,
    begun: Option<Begun>,
    expected: Option<Expected>,
    lang: Lang,
    world: &mut World,
) -> Result<Exit> {
    let is_fresh = begun.is_none();
    let machine = match &mut world.mock_machine {
        Some(mock_machine) => MeasuredMachine::Mock(mock_machine),
        // Before all else about this machine: what is read, started and measured from here on is read, started and measured
        // within.
        None => MeasuredMachine::local(None, &arguments.inputs.layers())?,
    };
    let request = arguments.request()?;
    let host = machine.facts(&request.inputs);
    expected.as_ref().map_or(Ok(()), |expected| expected.check(&host))?;
    if arguments.strict && !kept::of(&host, ready::own_digest().as_deref()).is_some_and(|it| it.has_passed()) {
        refuse!(
            "no self-check of this program has passed on this host since it started; run hostmark self-check first, or leave out --strict"
        );
    }
    let named = match (arguments.dry_run, is_fresh) {
        (true, _) => {
            check_command(&request.inputs)?;
            arguments.check_place()?;
            None
        }
        (false, true) => arguments.named_file()?,
        (false, false) => None,
    };
    let stop = machine.catch()?;
    let places = arguments.peers()?;
    let names = peers::names_of(&places, begun.as_ref())?;
    // A run that goes on has the time of its own profile.
    let profile = begun.as_ref().map_or(request.profile, |begun| begun.header.run.settings.profile);
    let direct = Direct::open(&places, &stop, profile_limits(profile).limit)?;
    let peers = FarPeers::settle(direct, names, &request.via)?;
    let described = peers.described()?;
    if arguments.dry_run {
        peers.finish();
        remark_scratch(&request.inputs);
        let planned = ready::planned_here(&request, host, &machine, uuid::Uuid::now_v7())?;
        return show_plan(arguments, &request, &planned, lang);
    }
    let (mut ready, mut kept) = match begun {
        Some(begun) => begun.ready(host, &request.inputs.isolate, &machine)?,
        None => {
            let mut ready = Ready::fresh(&request, host, &machine, &*world.wall)?;
            ready.run.note.clone_from(&arguments.note);
            let author = Author { binary: ready::binary(), elsewhere: None };
            let kept = RunDestination::begin(&mut ready.run, named.as_ref(), &PlanLine::of(&ready.plan), author)?;
            (ready, kept)
        }
    };
    ready.run.peers = peers::typed(described, &places);
    let mut bar = Bar::new();
    let means = Means { machine, stop: &stop, wall: &*world.wall, peers: &peers };
    let sink = kept.journal.as_mut().map(|journal| journal as &mut dyn RoundSink);
    let measured = measure::measure(ready, means, &mut bar, sink);
    bar.finish();
    peers.finish();
    match measured {
        Ok(mut measured) => {
            let added = match places.len() > 1 && stop.signal().is_none() {
                true => add_pairs(&mut measured.run, arguments, &places, &stop),
                false => Ok(()),
            };
            // What was measured is saved all the same.
            let exit = finish(arguments, measured, kept, expected, stop.signal(), lang)?;
            added.map(|()| exit)
        }
        Err(error) => {
            if is_fresh {
                // Nothing was measured, so the journal holds nothing.
                kept.forget();
            }
            Err(error)
        }
    }
}

/// Measures between all hosts of a run with several peers, and adds it.
fn add_pairs(run: &mut Run, arguments: &RunArguments, places: &[far::Target], stop: &StopRequest) -> Result<()> {
    let names = run.settings.inputs.peers.clone();
    let mut bar = Bar::new();
    let measured = dry_run::Hosts { places, names: &names, token_file: arguments.token_file.as_deref() }.measure(
        run.settings.seed,
        stop,
        &mut bar,
    );
    bar.finish();
    run.pairs = measured?;
    Ok(())
}

fn show_plan(arguments: &RunArguments, request: &RunRequest, planned: &(Plan, HostFacts), lang: Lang) -> Result<Exit> {
    dry_run::show(planned, request.table.as_deref(), arguments.format.as_deref().unwrap_or("table"), lang)
}

/// Says of a plan that the cases with files would be skipped, where the usual directory for these cannot be had.
fn remark_scratch(inputs: &Inputs) {
    let directory = scratch(inputs);
    if let Err(error) = store::check(&directory) {
        let directory = directory.display();
        output::remark(&said!(
            "nothing can be made in {directory} ({error}), so cases with files would be skipped; name another directory by --scratch"
        ));
    }
}

/// Saves and shows what was measured, wherever that was.
fn finish(
    arguments: &RunArguments,
    measured: Measured,
    kept: RunDestination,
    expected: Option<Expected>,
    signal: Option<u8>,
    lang: Lang,
) -> Result<Exit> {
    let Measured { mut run, sink_lost } = measured;
    kept::judge(&mut run);
    let (what_to_do, goes_on) = (kept.what_to_do(), kept.goes_on(&run).map(str::to_owned));
    let nothing = measure::error(&run);
    let unkept = if kept.is_lost { Exit::ResourceLost } else { Exit::Fine };
    let saved = match nothing.is_some() && arguments.out.is_none() {
        // Among the runs it would stand for a machine of which it knows nothing.
        true => {
            kept.forget();
            None
        }
        false => kept.save(&run),
    };
    let asked = arguments.format.as_deref();
    let usual = if arguments.full { "table" } else { "answer" };
    let format = asked.or(run.settings.table.as_deref()).unwrap_or(usual);
    output::print(&report::render(std::slice::from_ref(&run), format, lang, arguments.verbose)?);
    let (place, left) = match saved {
        Some((place, Err(error))) => return Err(unsaved_with_journal(&place, what_to_do.as_deref(), &error)),
        Some((place, Ok(left))) => (Some(place), left),
        None => (None, None),
    };
    match place {
        Some(place) if asked.is_none_or(|format| ["table", "answer"].contains(&format)) && !output::is_quiet() => {
            let shown = match format {
                _ if arguments.verbose => ShownAmount::All,
                "table" => ShownAmount::Cases,
                "answer" if !console::is_answered(&run) => ShownAmount::Cases,
                _ => ShownAmount::Part,
            };
            output::print(&lines(&run, &place.file, goes_on.as_deref(), shown, lang));
        }
        _ => {}
    }
    // Of a run that is whole and saved nothing is lost.
    if let Some(error) = sink_lost.filter(|_| goes_on.is_some()) {
        let remedy = remedy_or_another_file(&error);
        return Err(lost(said!("the journal could not be written to its end ({error}); {remedy}")));
    }
    if let Some(left) = left {
        return Err(lost(left));
    }
    if let Some(nothing) = nothing {
        return Err(nothing);
    }
    let exit = exit_of(&run, signal);
    let exit = match expected {
        // A reference decides nothing, and stands beside whatever was measured.
        Some(expected) if exit == Exit::Fine || !expected.decides() => expected.verdict(run, lang).or(exit),
        _ => exit,
    };
    Ok(exit.or(unkept))
}

fn unsaved_with_journal(place: &RunFiles, what_to_do: Option<&str>, error: &std::io::Error) -> anyhow::Error {
    let file = place.file.display();
    let Some(what_to_do) = what_to_do.filter(|_| place.journal.exists()) else {
        return unsaved(&file.to_string(), error);
    };
    let make = remedy(error).map_or_else(String::new, |_| said!("make room and "));
    lost(said!(
        "the run could not be saved to {file} ({error}); what was measured is in its journal: {make}save it by \
         {what_to_do}, with --out for another file"
    ))
}

pub(super) fn exit_of(run: &Run, signal: Option<u8>) -> Exit {
    let has_failed = run.cases.iter().any(|case| matches!(case.outcome, Outcome::Failed { .. }));
    let measured = if has_failed { Exit::CaseFailed } else { Exit::Fine };
    measured.or(signal.map_or(Exit::Fine, Exit::Signal))
}

/// Amount of a run that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownAmount {
    /// One screen, or one table of it.
    Part,
    Cases,
    All,
}

/// The lines behind a run that is kept in `file`, and that was stopped where a line goes on with it.
pub fn lines(run: &Run, file: &Path, goes_on: Option<&str>, shown: ShownAmount, lang: Lang) -> String {
    let width = output::options(lang, false).width;
    // A path is not parted: it is to be copied whole.
    let mut text = format!("{}{}\n", term!("saved as ").say(lang), visible(&file.display().to_string()));
    let more = match shown {
        ShownAmount::Part => Some("--full"),
        ShownAmount::Cases => Some("--verbose"),
        ShownAmount::All => None,
    };
    // The command alone in its line can be copied as it is.
    text.extend(goes_on.map(|line| format!("{}{line}\n", term!("continue: ").say(lang))));
    let mut commands = Vec::new();
    if let (Some(name), Some(more)) = (name(run, file), more) {
        commands.push(format!("{}hostmark report {name}{more}", term!("more: ").say(lang)));
    }
    if let Some(probe) = probe_to_explain(run) {
        commands.push(format!("{}hostmark explain {probe}", term!("explain: ").say(lang)));
    }
    let is_wider = |commands: &[String]| unicode_width::UnicodeWidthStr::width(commands.join("    ").as_str()) > width;
    // What explains more is the first to go, so that it stays one screen with the answer before it.
    if shown == ShownAmount::Part && commands.len() > 1 && is_wider(&commands) {
        commands.pop();
    }
    let is_narrow = is_wider(&commands);
    // A command that is broken by a line's end cannot be pasted: a terminal wraps it, and gives it back whole.
    text += &commands.join(if is_narrow { "\n" } else { "    " });
    // With the answer before it, it is a screen.
    let before = if shown == ShownAmount::Part { "" } else { "\n" };
    format!("{before}{}\n", text.trim_end())
}

/// Name of this run on the command line, with a space behind it; empty where it is the last one. None for a file that cannot be typed.
fn name(run: &Run, file: &Path) -> Option<String> {
    if store::find("last").is_ok_and(|last| last == file) {
        return Some(String::new());
    }
    let means = |typed: &str| !chosen::is_meant(typed) && store::find(typed).is_ok_and(|found| found == file);
    let path = file.to_str().filter(|path| means(path));
    let before = if path.is_some_and(|path| path.starts_with('-')) { "./" } else { "" };
    let typed = if means(&run.name) { run.name.clone() } else { format!("{before}{}", path?) };
    Some(language::quoted(&typed)? + " ")
}

/// The probe of what costs most; else the first that was measured.
fn probe_to_explain(run: &Run) -> Option<&str> {
    let has_page = |probe: &&str| probe::find(CATALOGUE, probe).is_some();
    let findings = findings_and_kept(run);
    let most_expensive = findings.iter().filter(|finding| finding.cost > 0.0).flat_map(|finding| &finding.cases);
    let of_finding = most_expensive.filter_map(|id| run.cases.iter().find(|case| case.id == *id));
    let measured = run.cases.iter().filter(|case| CaseRecord::measured(case).is_some());
    of_finding.chain(measured).map(|case| case.probe.as_str()).find(has_page)
}
