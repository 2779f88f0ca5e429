//! `hostmark run`: measures, shows and stores.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use hostmark_engine::clock::Calibration;
use hostmark_engine::far::OpenService;
use hostmark_engine::plan::{self, Plan, Request};
use hostmark_engine::{Journal, KernelMeters, Origin, Setting, outcomes};
use hostmark_host::{NoiseSnapshot, Root};
use hostmark_model::{
    Environment, Exit, HostFacts, Job, Lang, Outcome, PROTOCOL, PathBytes, Profile, Run, SCHEMA, Settings, Tool,
};
use hostmark_report::escape::visible;
use hostmark_report::findings;

use super::disturbed::{disturbances, emulated};
use super::inputs::{self, InputArguments};
use super::janitor::Janitor;
use super::processes::Processes;
use super::quiet::{self, Look};
use super::ready::{self, Ready};
use super::{dry_run, lost, remedy, report, resume, tables, unsaved, unwritten};
use crate::output;
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store::{self, Place, timestamp};
use crate::wall::SinceStart;
use crate::within;

/// The tmpfs that every distribution mounts, and every user may write to.
const MEMORY_FILES: &str = "/dev/shm";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileName {
    /// At most 60 seconds
    Quick,
    /// At most 5 minutes
    Standard,
    /// At most 30 minutes
    Thorough,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Profile {
        match name {
            ProfileName::Quick => Profile::Quick,
            ProfileName::Standard => Profile::Standard,
            ProfileName::Thorough => Profile::Thorough,
        }
    }
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// What to measure: group, group.probe, group.probe@axis=value, or an lmbench name; everything by default
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// How much time it may take; a hard limit
    #[arg(long, value_enum, default_value = "quick")]
    profile: ProfileName,
    /// Where the run goes; by default it is kept with the others and called last
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Measure the cells of this table and nothing else, and show them in its form: memory-bandwidth, size-stride, pipe,
    /// stream, lmbench, overhead or data-path
    #[arg(long, value_name = "NAME", conflicts_with_all = ["filters", "command"])]
    table: Option<String>,
    /// How to show it; by default as the table that --table names, else as table
    #[arg(long, value_parser = report::formats())]
    format: Option<String>,
    /// Seed of all random sequences, decimal or 0x…; by default a new one, which is recorded
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Measure these points of an axis in the place of its own, in all selected probes or in those named: size=4K,1M
    #[arg(long, value_name = "[PROBE:]AXIS=V1,V2")]
    set: Vec<String>,
    #[command(flatten)]
    inputs: InputArguments,
    /// Show what would be measured, and measure nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on with a run that was cut short: its name or its journal, by default the newest one
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["filters", "profile", "out", "seed", "set", "cpu", "scratch", "command", "table", "dry_run"])]
    resume: Option<String>,
    /// Show every interval, sample count and note
    #[arg(long, short)]
    verbose: bool,
}

/// A seed as a person types it, or pastes it from a run's table.
pub(super) fn seed(typed: &str) -> Result<u64, String> {
    let number = match typed.strip_prefix("0x").or_else(|| typed.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => typed.parse(),
    };
    number.map_err(|error| format!("{error}; give a number below 2^64, in decimal or in hexadecimal as 0x7f3a"))
}

pub fn run(arguments: &RunArguments, lang: Lang, wall: &SinceStart) -> Result<Exit> {
    // Before all else: what is read, started and measured from here on is read, started and measured within.
    let mut outside = within::enter(&arguments.inputs.layers())?;
    let root = Root::here();
    let look = Look::begin(&root);
    let mut host = hostmark_host::read_with_scratch(&root, arguments.inputs.scratch.as_deref());
    outside.correct(&mut host);
    if arguments.dry_run {
        let plan = planned(arguments, host, uuid::Uuid::now_v7())?.0;
        let format = arguments.format.as_deref().unwrap_or("table");
        return dry_run::show(&plan, arguments.table.as_deref(), format, lang);
    }
    let stop = StopRequest::catch(outside.heard()).map_err(|error| {
        lost(format!(
            "signals cannot be caught (pipe2, fcntl or sigaction: {error}); raise the limit of open files (ulimit -n)"
        ))
    })?;
    let before = NoiseSnapshot::read_with_processes(&root);
    let resumed = arguments.resume.as_deref();
    let (ready, calibration) = match resumed {
        Some(named) => resume::ready(named, host, &arguments.inputs.given().within)?,
        None => {
            if arguments.inputs.cpu.is_none() {
                look.end(&root, &mut host);
            }
            fresh(arguments, host)?
        }
    };
    let Ready { plan, mut run, host, place, mut journal, past, scratch } = ready;
    let wall = resume::GoesOn::after(&past, wall);
    let program = std::env::current_exe()
        .map_err(|error| lost(format!("the program's own file cannot be found ({error}); mount /proc")));
    let measured = program.and_then(|program| {
        let mut janitor = Janitor::start(&program).map_err(lost)?;
        outside.told().into_iter().for_each(|told| janitor.tells(told));
        let environment = Environment {
            protocol: PROTOCOL,
            parent: std::process::id(),
            clock: calibration.clock.clone(),
            scratch: janitor.directory(&scratch),
            memory_scratch: janitor.directory(Path::new(MEMORY_FILES)),
            inputs: plan.request.inputs.clone(),
        };
        let processes = Processes::of(&program, janitor, &stop);
        let open_service: &OpenService = &|job| processes.service(job);
        let setting = Setting { plan: &plan, host: &host, environment, past, open_service, meters: &KernelMeters };
        let mut bar = Bar::new();
        let mut open = |job: &Job| processes.worker(job);
        let results = hostmark_engine::run(&setting, &mut open, &wall, &mut bar, journal.as_mut());
        bar.finish();
        Ok(results)
    });
    let results = match measured {
        Ok(results) => results,
        Err(error) => {
            if resumed.is_none() {
                // Nothing was measured, so the journal holds nothing.
                let _ = journal.map(Journal::remove);
            }
            return Err(error);
        }
    };
    let after = NoiseSnapshot::read_with_processes(&root);

    run.settings.clock = calibration.facts();
    run.disturbances.extend(emulated(run.host.virtualization.hypervisor.as_deref()));
    run.disturbances.extend(disturbances(&before, &after, &plan));
    run.interrupted = results.interrupted.then(|| "stopped by a signal".into());
    run.finished = Some(timestamp(jiff::Timestamp::now()));
    let made = outcomes::of(&results.record);
    (run.cases, run.lost_rounds) = (made.cases, made.lost_rounds);
    run.time = Some(results.time);
    run.findings = findings(&run);

    let place = place.filter(|_| journal.is_some());
    let saved = place.as_ref().map(|place| save(&run, place));
    if matches!(saved, Some(Ok(())))
        && let Some(journal) = journal
    {
        // Left behind it would only be a copy.
        let _ = journal.remove();
    }
    let asked = arguments.format.as_deref();
    let format = asked.or(run.settings.table.as_deref()).unwrap_or("table");
    output::print(&report::render(std::slice::from_ref(&run), format, lang, arguments.verbose)?);
    if asked.is_none_or(|format| format == "table")
        && let (Some(place), Some(Ok(()))) = (&place, &saved)
    {
        output::print(&closing(place, is_last(place), lang));
    }
    if let Some(Err(error)) = saved {
        let file = place.map(|place| place.file.display().to_string()).unwrap_or_default();
        return Err(unsaved(&file, &error));
    }
    if let Some(error) = results.journal_lost {
        let remedy = remedy(&error).unwrap_or("name another file by --out");
        return Err(lost(format!("the journal could not be written to its end ({error}); {remedy}")));
    }
    Ok(exit_of(&run, stop.signal()))
}

/// The plan of what was asked, and the host as the run may use it.
fn planned(arguments: &RunArguments, mut host: HostFacts, id: uuid::Uuid) -> Result<(Plan, HostFacts)> {
    if let Some(list) = &arguments.inputs.cpu {
        plan::keep_to_cpus(&mut host, list)?;
    }
    let request = Request {
        filters: arguments.filters.clone(),
        profile: arguments.profile.into(),
        seed: arguments.seed.unwrap_or(id.as_u64_pair().1 & 0xffff_ffff),
        set: arguments.set.clone(),
        inputs: arguments.inputs.given(),
    };
    let table = arguments.table.as_deref().map(tables::named).transpose()?;
    if let Some(table) = table {
        tables::check_set(table, &request.set)?;
    }
    let plan = ready::fitted(&host, request, table)?;
    Ok((plan, host))
}

/// A run that nobody has begun.
fn fresh(arguments: &RunArguments, host: HostFacts) -> Result<(Ready, Calibration)> {
    let id = uuid::Uuid::now_v7();
    let (plan, host) = planned(arguments, host, id)?;
    let started = jiff::Timestamp::now();
    let place = match &arguments.out {
        Some(path) => Some(Place::named(path)?),
        None => keep(started, &host),
    };
    let calibration = hostmark_engine::clock::choose(&host);
    let mut run = begin(&plan, host.clone(), &calibration, started, id, place.as_ref());
    run.settings.table.clone_from(&arguments.table);
    run.disturbances.extend(quiet::chosen(&host, plan.cpu));
    let journal = match &place {
        Some(place) => open_journal(place, arguments.out.is_some(), &run, &plan)?,
        None => None,
    };
    let scratch = inputs::scratch(&plan.request.inputs);
    Ok((Ready { plan, run, host, place, journal, past: Vec::new(), scratch }, calibration))
}

/// Whether `last` finds the run.
fn is_last(place: &Place) -> bool {
    crate::store::find("last").is_ok_and(|last| last == place.file)
}

/// Where the run is kept, when nobody named a file. Without such a place the run is measured all the same.
fn keep(started: jiff::Timestamp, host: &HostFacts) -> Option<Place> {
    let stamp = started.strftime("%Y%m%dT%H%M%SZ").to_string();
    // Part of a second in 1/65536, so that runs of the same second are in order as well.
    let unique = format!("{:04x}", (i64::from(started.subsec_nanosecond()) << 16) / 1_000_000_000);
    match Place::fresh(&stamp, &host.hostname, &unique) {
        Ok(place) => Some(place),
        Err(reason) => {
            output::complain(&format!("the run cannot be kept ({reason}); name a file by --out"));
            None
        }
    }
}

/// The run's journal. One that cannot be made is an error where a person named the file, and else only said.
fn open_journal(place: &Place, is_named: bool, run: &Run, plan: &Plan) -> Result<Option<Journal>> {
    let bytes = |path: &OsStr| PathBytes(path.as_bytes().to_vec());
    let file = bytes(place.file.file_name().unwrap_or_default());
    let origin = Origin { binary: ready::binary(), file };
    let error = match Journal::create(&place.journal, run, plan, &origin) {
        Ok(journal) => return Ok(Some(journal)),
        Err(error) => error,
    };
    let path = place.journal.display();
    if !is_named {
        output::complain(&format!("the run cannot be kept ({path}: {error}); name a file by --out"));
        return Ok(None);
    }
    Err(match error.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow::anyhow!(
                "{path} is the journal of a run under way or cut short; remove it, or name another file by --out"
            )
        }
        _ => unwritten(&error, &format!("the journal {path} cannot be written"), "name another file by --out"),
    })
}

/// The run before anything is measured.
fn begin(
    plan: &Plan,
    host: HostFacts,
    calibration: &Calibration,
    started: jiff::Timestamp,
    id: uuid::Uuid,
    place: Option<&Place>,
) -> Run {
    let request = &plan.request;
    let limits = plan.profile_limits();
    let environment = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    Run {
        schema: SCHEMA.into(),
        id: id.to_string(),
        name: place.map_or_else(|| id.to_string(), |place| place.name.clone()),
        started: timestamp(started),
        finished: None,
        interrupted: None,
        imported: None,
        tool: Tool {
            version: env!("CARGO_PKG_VERSION").into(),
            target: format!("{}-unknown-linux-{environment}", std::env::consts::ARCH),
            libc: if cfg!(target_env = "musl") { "musl" } else { "glibc" }.into(),
            is_static: cfg!(target_feature = "crt-static"),
        },
        settings: Settings {
            profile: request.profile,
            seed: request.seed,
            filters: request.filters.clone(),
            table: None,
            rounds: limits.rounds,
            limit_s: if request.inputs.command.is_empty() { limits.limit.as_secs_f64() } else { 0.0 },
            clock: calibration.facts(),
            cpu: plan.cpu,
            set: inputs::settings_set(request),
            inputs: request.inputs.clone(),
        },
        host,
        disturbances: Vec::new(),
        probes: plan.probes(),
        cases: Vec::new(),
        lost_rounds: Vec::new(),
        time: None,
        findings: Vec::new(),
        peers: Vec::new(),
        again: None,
    }
}

fn save(run: &Run, place: &Place) -> io::Result<()> {
    place.save(&store::text_of(run))
}

fn closing(place: &Place, is_kept: bool, lang: Lang) -> String {
    let file = visible(&place.file.display().to_string());
    let name = if is_kept { "last" } else { &file };
    let text = match lang {
        Lang::En => format!(
            "saved as {file}\nmore: hostmark report {name} --verbose    explain: hostmark explain memory.latency\n"
        ),
        Lang::Zh => {
            format!("已存为 {file}\n更多：hostmark report {name} --verbose    讲解：hostmark explain memory.latency\n")
        }
    };
    format!("\n{text}")
}

fn exit_of(run: &Run, signal: Option<u8>) -> Exit {
    let has_failed = run.cases.iter().any(|case| matches!(case.outcome, Outcome::Failed { .. }));
    let measured = if has_failed { Exit::CaseFailed } else { Exit::Fine };
    measured.or(signal.map_or(Exit::Fine, Exit::Signal))
}
