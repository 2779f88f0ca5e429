//! `hostmark vm run`: the same program natively and in a guest, in turns, and what the guest costs.

mod made;
mod options;
mod sides;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use hostmark_analysis::escape::visible;
use hostmark_analysis::spoken;
use hostmark_engine::Observer;
use hostmark_engine::sys::place::Place;
use hostmark_host::Root;
use hostmark_launch::transport::TCP;
use hostmark_model::{Exit, HostFacts, Lang, Run};
use hostmark_say::say;

use self::made::Made;
use self::options::{FREE, GUEST, NATIVE, VmRunArguments};
use self::sides::{VmSide, planned, request, turn_limit};
use super::far::on::report_of_host;
use super::far::target::Target;
use super::measure::machine::{catch, janitor};
use super::run::{dry_run, exit_of};
use super::trial::{self, Rounds, Side, Trial};
use super::{measure, report};
use crate::isolate::Outside;
use crate::language::{refuse, said};
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::{output, store, words};
use made::Size;
use sides::VmTurns;

#[derive(Debug, Args)]
pub struct VmArguments {
    #[command(subcommand)]
    command: VmCommand,
}

#[derive(Debug, Subcommand)]
enum VmCommand {
    /// Measure this machine and a guest in turns, and show what the guest costs
    Run(Box<VmRunArguments>),
}

pub fn vm(arguments: &VmArguments, lang: Lang) -> Result<Exit> {
    match &arguments.command {
        VmCommand::Run(arguments) => run(arguments, lang),
    }
}

fn run(arguments: &VmRunArguments, lang: Lang) -> Result<Exit> {
    output::refuse_flood(&arguments.format, None, &format!("hostmark vm run --format {} > FILE", arguments.format))?;
    let host = hostmark_host::read(&Root::here());
    let stop = catch(&Outside::default())?;
    let existing = arguments.on.as_deref().map(|typed| existing(typed, &stop)).transpose()?;
    let (size, has_module) = match &existing {
        Some((_, there)) => (made::Size::of(there), there.kernel.module_version.is_some()),
        None => (asked(arguments), arguments.guest.module.is_some()),
    };
    let peers = arguments.peers()?;
    let request = request(arguments, &peers, &size, &host, has_module || host.kernel.module_version.is_some())?;
    let directory = directory(arguments, &host)?;
    let also = arguments.also.iter().map(|(name, _)| name.as_str());
    trial::check(&directory, also.chain([NATIVE, GUEST, FREE]))?;
    if arguments.dry_run {
        if existing.is_none() {
            Made::check(&arguments.guest, &stop)?;
        }
        sides::check(arguments, &peers, &stop)?;
        return show_plan(arguments, &size, &host, &request, lang);
    }
    let (made, place) = match existing {
        Some((place, _)) => (None, place),
        None => {
            let mut bar = Bar::new();
            bar.round(GUEST, 0, 1, arguments.guest.boot_timeout);
            let made = Made::boot(&arguments.guest, &stop);
            bar.finish();
            let made = made?;
            let place = made.place(GUEST);
            (Some(made), place)
        }
    };
    let mut janitor = janitor()?;
    let held = made::ResourceCap::to(&size, &host, &mut janitor);
    held.lacks.iter().for_each(|lack| output::complain(lack));
    let sides = sides::all(arguments, place, &held, &host, &stop)?;
    output::remark(&announced(arguments, sides.len(), lang));
    let is_new = !directory.exists();
    let described = made.as_ref().map(Made::described);
    let trial = Trial {
        sides: sides.iter().map(|side| Side { label: side.name.clone(), place: String::new() }).collect(),
        rounds: Rounds::Fixed(arguments.runs()),
        seed: arguments.seed,
        limit: turn_limit(arguments),
        keep: Some(&directory),
        stop: &stop,
    };
    let mut turns = VmTurns {
        sides,
        request,
        peers,
        directory: directory.clone(),
        stop: &stop,
        watch: described.map(|(process, described)| made::Watch::of(Root::here(), process, described)),
    };
    let taken = trial.run(&mut turns);
    let shown = taken.and_then(|taken| show(arguments, &turns, taken.runs, lang));
    if is_new {
        // Of turns of which none came to its end nothing is left; one that holds a run stays.
        let _ = Place::entry(&directory).and_then(|entry| entry.remove());
    }
    shown
}

/// The size of the guest that is to be made.
fn asked(arguments: &VmRunArguments) -> Size {
    let guest = &arguments.guest;
    let pinned = guest.pin.as_ref().map_or_else(Vec::new, |pins| pins.0.clone());
    Size { cpus: guest.smp as usize, pinned, memory: guest.memory }
}

/// The guest that is there already, and what it is.
fn existing(typed: &str, stop: &StopRequest) -> Result<(Target, HostFacts)> {
    if typed.trim_start().starts_with(TCP) {
        refuse!(
            "the guest has to run the same program as this machine, and hostmark serve has its own; log in, as by --on 'ssh vm1'"
        );
    }
    let place = Target::named(typed, "--on", None)?;
    let there = report_of_host(&place, stop)?.host;
    Ok((place, there))
}

fn directory(arguments: &VmRunArguments, host: &HostFacts) -> Result<PathBuf> {
    match &arguments.out {
        Some(directory) => Ok(directory.clone()),
        None => store::fresh_directory(&host.hostname),
    }
}

/// Shows what there is, where each side has a run: less can be shown as no comparison.
fn show(arguments: &VmRunArguments, turns: &VmTurns, taken: Vec<Vec<Run>>, lang: Lang) -> Result<Exit> {
    let (is_shown, directory) = (taken.iter().all(|runs| !runs.is_empty()), &turns.directory);
    let runs = turns.finish(taken)?;
    if is_shown {
        output::print(&report::render(&runs, &arguments.format, lang, arguments.verbose)?);
        if arguments.format == options::FORMATS[0] && !output::is_quiet() {
            output::print(&closing(directory, &turns.sides, lang));
        }
    } else if !runs.is_empty() {
        output::complain(&said!(
            "not every side has a run that could be shown; whole runs: {runs}, in {directory}",
            runs = runs.len(),
            directory = directory.display()
        ));
    }
    if let Some(nothing) = measure::of_all(runs.iter()) {
        return Err(nothing);
    }
    let stopped = turns.stop.signal().map_or(Exit::Fine, Exit::Signal);
    Ok(runs.iter().map(|run| exit_of(run, None)).fold(Exit::Fine, Exit::or).or(stopped))
}

/// Announcement before it begins: the longest time that it takes.
fn announced(arguments: &VmRunArguments, sides: usize, lang: Lang) -> String {
    let (runs, limit) = (arguments.runs(), turn_limit(arguments));
    let all = limit * runs * u32::try_from(sides).unwrap_or(u32::MAX);
    let sentence = match arguments.command {
        Some(_) => say!("{sides} sides take {runs:turn} each, for as long as the command takes"),
        None => say!(
            "{sides} sides take {runs:turn} each, {limit} s at most: {all} in all, and what it takes to start them",
            limit = limit.as_secs(),
            all = minutes(all, lang)
        ),
    };
    spoken(&sentence, lang)
}

/// A time that nothing takes longer than, in whole units.
fn minutes(time: Duration, lang: Lang) -> String {
    match time.as_secs() {
        whole @ ..=120 => format!("{whole} s"),
        whole => format!("{} {}", whole.div_ceil(60), term!("min").say(lang)),
    }
}

fn show_plan(
    arguments: &VmRunArguments,
    size: &Size,
    host: &HostFacts,
    request: &hostmark_model::RunRequest,
    lang: Lang,
) -> Result<Exit> {
    let mut host = host.clone();
    host.memory.available_bytes = host.memory.available_bytes.min(size.memory);
    let exit = dry_run::show(&(planned(request, &host)?, host), None, "table", lang)?;
    // Native, the guest, what was named, and perhaps this machine without being held.
    let sides = 3 + arguments.also.len();
    output::print(&format!("\n{}\n", announced(arguments, sides, lang)));
    Ok(exit)
}

fn closing(directory: &Path, sides: &[VmSide], lang: Lang) -> String {
    let shown = visible(&directory.display().to_string());
    // Of no side whose name begins so.
    let quoted = words::quoted(&shown).unwrap_or_else(|| shown.clone());
    let of_side = |side: &VmSide| format!("{quoted}/{}-[0-9]*.json", side.name);
    let files = sides.iter().map(of_side).collect::<Vec<_>>().join(" ");
    let text = spoken(&say!("kept in {shown}\nmore: hostmark report {files} --format overhead --verbose\n"), lang);
    format!("\n{text}")
}
