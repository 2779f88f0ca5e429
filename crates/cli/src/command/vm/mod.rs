//! `hostmark vm run`: the same program natively and in a guest, in turns, and what the guest costs.

mod made;
mod options;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use hostmark_analysis::escape::visible;
use hostmark_analysis::spoken;
use hostmark_engine::Observer;
use hostmark_engine::plan::{Plan, profile_limits};
use hostmark_engine::sys::place::Place;
use hostmark_host::Root;
use hostmark_launch::transport::TCP;
use hostmark_model::{Exit, HostFacts, Inputs, Lang, PathBytes, Profile, Run, RunRequest};
use hostmark_say::say;
use made::{Made, ResourceCap, Size, Watch, free};
use options::{FREE, GUEST, NATIVE, VmRunArguments};

use super::far::Target;
use super::far::on::report_of_host;
use super::far::peers::{Direct, names};
use super::measure::{MEMORY_FILES, catch, janitor, ready};
use super::run::{dry_run, exit_of};
use super::trial::{Rounds, Side, TakesTurns, Trial, Turn, measured_at};
use super::{EndsWith, measure, message, report, trial};
use crate::isolate::Outside;
use crate::language::{refuse, said};
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::{language, output, store};

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
        check(arguments, &peers, &stop)?;
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
    let sides = all(arguments, place, &held, &host, &stop)?;
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
    let quoted = language::quoted(&shown).unwrap_or_else(|| shown.clone());
    let of_side = |side: &VmSide| format!("{quoted}/{}-[0-9]*.json", side.name);
    let files = sides.iter().map(of_side).collect::<Vec<_>>().join(" ");
    let text = spoken(&say!("kept in {shown}\nmore: hostmark report {files} --format overhead --verbose\n"), lang);
    format!("\n{text}")
}

const USUAL: [&str; 4] = ["syscall", "process", "memory.stream", "file"];
/// Cases added where a kernel has the module: inside it, and the same in user space, bound alike.
const IN_KERNEL: [&str; 11] = [
    "cpu.kernel_sieve",
    "cpu.sieve@threads=1,copies=1,bind=none",
    "cpu.sieve@threads=1,copies=1,bind=0",
    "cpu.sieve@threads=1,copies=1,bind=last",
    "memory.kernel_random_access",
    "memory.random_access@op=read,within=all,page=base,bind=none",
    "memory.random_access@op=read,within=all,page=base,bind=0",
    "memory.random_access@op=read,within=all,page=base,bind=last",
    "memory.random_access@op=write,within=all,page=base,bind=none",
    "memory.random_access@op=write,within=all,page=base,bind=0",
    "memory.random_access@op=write,within=all,page=base,bind=last",
];
/// No turn has less time: less would leave most cases out.
const LEAST_TURN: Duration = Duration::from_secs(10);
/// STREAM's three arrays take a part of this size of the smallest side's memory at most, half of what a run may fill.
const STREAM_SHARE: u64 = 64;
/// Share where the guest is emulated, which fills memory slowly.
const EMULATED_STREAM_SHARE: u64 = 256;
/// The probe whose arrays follow from a machine's caches, which a guest's processor need not tell as they are.
const STREAM: &str = "memory.stream";

pub struct VmSide {
    pub name: String,
    pub place: Target,
    pub inputs: Inputs,
}

impl VmSide {
    fn new(name: &str, place: Target, inputs: Inputs) -> VmSide {
        VmSide { name: name.to_owned(), place, inputs }
    }

    /// Tells whether a side of this name is this machine, not a place that was typed.
    pub fn is_ours(name: &str) -> bool {
        name == NATIVE || name == FREE
    }
}

/// All sides: native first, as the base of all others, and the guest where there is one already.
pub fn all(
    arguments: &VmRunArguments,
    guest: Target,
    held: &ResourceCap,
    host: &HostFacts,
    stop: &StopRequest,
) -> Result<Vec<VmSide>> {
    let native = Inputs { scratch: scratch(arguments), ..Inputs::default() };
    let inputs = Inputs { cpus: held.cpus.clone(), ..native.clone() };
    let mut sides = vec![VmSide::new(NATIVE, Target::behind(held.words(), NATIVE), inputs)];
    sides.push(VmSide::new(GUEST, guest, Inputs::default()));
    for (name, typed) in &arguments.also {
        sides.push(also(name, typed, held, host, stop)?);
    }
    if held.holds() {
        sides.push(VmSide::new(FREE, Target::behind(free(), FREE), native));
    }
    Ok(sides)
}

/// Refuses further sides and peers that lead nowhere.
pub fn check(arguments: &VmRunArguments, peers: &[Target], stop: &StopRequest) -> Result<()> {
    for (_, typed) in &arguments.also {
        report_of_host(&Target::named(typed, "--also", None)?, stop)?;
    }
    Direct::open(peers, stop, turn_limit(arguments))?.finish();
    Ok(())
}

/// Directory of native runs' files: in memory if a guest made here has them there too.
fn scratch(arguments: &VmRunArguments) -> Option<PathBytes> {
    let is_in_memory = arguments.on.is_none() && arguments.guest.disk.is_none() && arguments.guest.image.is_none();
    (is_in_memory && Path::new(MEMORY_FILES).is_dir()).then(|| PathBytes(MEMORY_FILES.into()))
}

/// A further side: one of this very kernel is held as native runs are, as far as it lets itself be held from outside.
fn also(name: &str, typed: &str, held: &ResourceCap, host: &HostFacts, stop: &StopRequest) -> Result<VmSide> {
    let place = Target::named(typed, "--also", None)?;
    let there = report_of_host(&place, stop)?.host;
    let is_same = there.boot_id.is_some() && there.boot_id == host.boot_id;
    if !is_same {
        return Ok(VmSide::new(name, place, Inputs::default()));
    }
    let own = language::split(typed).unwrap_or_default().into_iter().map(Into::into);
    let words = held.words().into_iter().chain(own).collect();
    let inputs = Inputs { cpus: held.cpus.clone(), ..Inputs::default() };
    Ok(VmSide::new(name, Target::of(words, typed.trim().to_owned(), None), inputs))
}

/// Request for every side, without its inputs and its seed.
pub fn request(
    arguments: &VmRunArguments,
    peers: &[Target],
    size: &Size,
    host: &HostFacts,
    has_module: bool,
) -> Result<RunRequest> {
    let command = arguments.command.clone().map(Vec::from).unwrap_or_default();
    let is_glance = Profile::from(arguments.profile) == Profile::Glance;
    let filters: Vec<String> = match arguments.filters.is_empty() && command.is_empty() {
        true if !is_glance => {
            let has_disk = arguments.guest.disk.is_some();
            let asked = [(&IN_KERNEL[..], has_module), (&["disk"], has_disk), (&["net"], !peers.is_empty())];
            let asked = asked.into_iter().filter(|(_, is_asked)| *is_asked).flat_map(|(filters, _)| filters);
            USUAL.iter().chain(asked).map(|&filter| filter.to_owned()).collect()
        }
        _ => arguments.filters.clone(),
    };
    let limit_s = Some(turn_limit(arguments).as_secs());
    let mut request = RunRequest {
        filters,
        profile: arguments.profile.into(),
        set: arguments.set.clone(),
        inputs: Inputs { command, limit_s, peers: names(peers), ..Inputs::default() },
        via: arguments.via.clone(),
        ..RunRequest::default()
    };
    let plan = planned(&request, host)?;
    if plan.selected.iter().any(|entry| entry.id() == STREAM) && !is_set(&arguments.set) {
        let share = if arguments.is_emulated() { EMULATED_STREAM_SHARE } else { STREAM_SHARE };
        request.set.push(format!("{STREAM}:elements={}", elements(size, host, share)));
    }
    Ok(request)
}

pub fn planned(request: &RunRequest, host: &HostFacts) -> Result<Plan> {
    Ok(ready::planned(request, host.clone(), uuid::Uuid::now_v7())?.0)
}

/// Tells whether a person has set the length of STREAM's arrays.
fn is_set(set: &[String]) -> bool {
    set.iter().any(|typed| typed.rsplit(':').next().is_some_and(|axis| axis.starts_with("elements=")))
}

/// Elements of each array of STREAM, the same on all sides: those of this machine's caches, as far as the guest's memory holds
/// them.
fn elements(size: &Size, host: &HostFacts, share: u64) -> u64 {
    hostmark_probes::stream_elements(host).min((size.memory / share).max(1))
}

/// Longest turn: the profile's time is a side's, which its runs share.
pub fn turn_limit(arguments: &VmRunArguments) -> Duration {
    let whole = profile_limits(arguments.profile.into()).limit;
    (whole / arguments.runs()).max(LEAST_TURN)
}

/// The sides and what they have in common.
pub struct VmTurns<'a> {
    pub sides: Vec<VmSide>,
    /// Request for each side, without its own inputs and the seed.
    pub request: RunRequest,
    /// Places of the other ends of the network, which all sides measure to.
    pub peers: Vec<Target>,
    pub directory: PathBuf,
    /// The person's request.
    pub stop: &'a StopRequest,
    /// Watch on the guest, where it was made here.
    pub watch: Option<Watch>,
}

impl TakesTurns for VmTurns<'_> {
    type Run = Run;

    fn measure(&mut self, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, Run)>> {
        let VmSide { name, place, inputs } = &self.sides[turn.side];
        let Inputs { command, limit_s, peers, .. } = self.request.inputs.clone();
        let inputs = Inputs { command, limit_s, peers, ..inputs.clone() };
        let request = RunRequest { seed: Some(turn.seed.into()), inputs, ..self.request.clone() };
        if let Some(watch) = &mut self.watch {
            watch.begins();
        }
        let measured = measured_at(place, request, name, &self.peers, self.stop, observer);
        let Some(mut run) = measured.map_err(|error| failed(turn, name, &error, &self.directory))? else {
            return Ok(None);
        };
        match &mut self.watch {
            Some(watch) if name == GUEST => run.guest = Some(Box::new(watch.was_measured())),
            Some(watch) => watch.was_idle(),
            None => {}
        }
        if run.guest.is_some() || VmSide::is_ours(name) {
            // No command that a person typed leads there.
            run.place = None;
        }
        Ok(Some((store::text_of(&run), run)))
    }
}

fn failed(turn: &Turn, name: &str, error: &anyhow::Error, directory: &Path) -> anyhow::Error {
    let Turn { round, rounds, done, .. } = turn;
    let (round, directory) = (round + 1, directory.display());
    let kept = match done {
        0 => String::new(),
        _ => said!("; whole runs: {done}, in {directory}"),
    };
    let error_text = message(error);
    let text = say!("turn {round} of {rounds} of {name}: {error_text}{kept}");
    EndsWith(super::exit_of(error), text).into()
}

impl VmTurns<'_> {
    /// All runs, side by side. The guest's say what it took while it was idle, which is known only now.
    pub fn finish(&self, taken: Vec<Vec<Run>>) -> Result<Vec<Run>> {
        let idle_cpus = self.watch.as_ref().and_then(Watch::idle_cpus);
        let mut all = Vec::new();
        for (side, mut runs) in self.sides.iter().zip(taken) {
            for (round, run) in (0..).zip(&mut runs) {
                if let Some(guest) = &mut run.guest {
                    guest.idle_cpus = idle_cpus;
                    trial::keep(&self.directory, &trial::stem(&side.name, round), &store::text_of(run))?;
                }
            }
            all.append(&mut runs);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use hostmark_model::{CacheFact, CpuFact};

    use super::*;

    #[test]
    fn arrays_of_stream_follow_from_this_machines_caches_and_the_guests_memory() {
        let cpu = CpuFact { id: 0, online: true, allowed: true, ..CpuFact::default() };
        let cache = CacheFact { level: 3, size_bytes: 32 << 20, shared_cpus: vec![0], ..CacheFact::default() };
        let host = HostFacts { cpus: vec![cpu], caches: vec![cache], ..HostFacts::default() };
        let of = |memory| elements(&Size { cpus: 1, pinned: Vec::new(), memory }, &host, STREAM_SHARE);
        assert_eq!(of(64 << 30), 4 * (32 << 20) / 8);
        assert_eq!(of(512 << 20), 8 << 20);
        assert!(is_set(&["elements=5".into()]) && is_set(&["memory.stream:elements=5".into()]));
        assert!(!is_set(&["size=4K".into()]));
    }
}
