//! `hostmark run --resume`: goes on with a run that was cut short, from its journal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::words;
use hostmark_engine::{Header, Journal, PastRound, Wall};
use hostmark_model::{BegunRun, Elsewhere, HostFacts, Inputs, Run, RunRequest};
use hostmark_say::say;

use super::disturbed::damaged;
use super::inputs::{check_command, scratch};
use super::machine::MeasuredMachine;
use super::ready::{Ready, binary, planned_before};
use crate::command::runs::kept::RunDestination;
use crate::command::runs::retyped;
use crate::language::refuse;
use crate::store::{self, JOURNAL, RunFiles};

/// A journal that a run goes on with.
pub struct Begun {
    /// Where the run goes.
    pub kept: RunDestination,
    /// What it says of the run.
    pub header: Header<Run>,
    /// What was measured.
    pub past: Vec<PastRound>,
    /// The journal as it was named, for sentences.
    shown: String,
}

impl Begun {
    /// Opens the journal that a person named; the run goes to `out`, else to the file that it was begun for.
    pub fn open(named: &str, out: Option<RunFiles>) -> Result<Begun> {
        let path = store::find_journal(named)?;
        let shown = path.display().to_string();
        let (journal, mut header, past) = Journal::resume::<Run>(&path)
            .map_err(|error| anyhow::anyhow!("{shown} {}", crate::language::spoken(&error.message())))?;
        header.run.disturbances.extend(damaged(header.damaged));
        if !lies_beside(&header, &path) {
            refuse!("{shown} names no run file; measure anew");
        }
        let file = PathBuf::from(OsStr::from_bytes(&header.origin.file.0));
        let resume = retyped::line(&path, &header.run.settings.inputs, header.origin.elsewhere.as_ref());
        let place = match out {
            Some(mut out) => {
                header.run.name.clone_from(&out.name);
                out.journal = path;
                out
            }
            None => RunFiles::of_journal(&path, &file, &header.run)?,
        };
        Ok(Begun { kept: RunDestination { place: Some(place), journal: Some(journal), resume }, header, past, shown })
    }

    /// Where else the run is measured; none: on this machine.
    pub fn elsewhere(&self) -> Option<&Elsewhere> {
        self.header.origin.elsewhere.as_ref()
    }

    /// Refuses unless the person has typed what the journal would have executed and written to.
    pub fn check_typed(&self, on: Option<&str>, inputs: &Inputs) -> Result<()> {
        let Header { run, origin, .. } = &self.header;
        retyped::check(
            &self.shown,
            (&run.settings.inputs, origin.elsewhere.as_ref()),
            on,
            inputs,
            self.kept.resume.as_deref(),
        )
    }

    /// What is asked for where it is measured elsewhere.
    pub fn request(&self) -> RunRequest {
        let Header { run, cases, .. } = &self.header;
        let begun = BegunRun { run: run.clone(), cases: cases.clone(), rounds: self.past.len() };
        let settings = &run.settings;
        RunRequest {
            filters: settings.filters.clone(),
            profile: settings.profile,
            seed: Some(settings.seed),
            set: Vec::new(),
            table: settings.table.clone(),
            inputs: settings.inputs.clone(),
            via: Vec::new(),
            begun: Some(Box::new(begun)),
        }
    }

    /// Everything for the rest of the run, on this machine.
    pub fn ready(
        self,
        host: HostFacts,
        within: &[String],
        machine: &MeasuredMachine,
    ) -> Result<(Ready, RunDestination)> {
        let Begun { kept, header, past, shown } = self;
        match (header.run.settings.inputs.isolate.as_slice(), within) {
            (before, now) if before == now => {}
            ([], _) => refuse!("{shown} was begun outside of all layers; leave out --isolate"),
            (before, _) => {
                refuse!("{shown} was begun within layers; add --isolate {before}", before = before.join(","))
            }
        }
        if header.origin.binary != binary() {
            refuse!("{shown} was begun by another build of hostmark; go on with that one, or measure anew");
        }
        Ok((go_on(header.run, &header.cases, past, host, &shown, machine)?, kept))
    }
}

/// What the rest of a run needs, on the machine where it began. `shown` is what a person knows it by.
pub fn go_on(
    mut run: Run,
    cases: &[String],
    past: Vec<PastRound>,
    host: HostFacts,
    shown: &str,
    machine: &MeasuredMachine,
) -> Result<Ready> {
    if run.host.boot_id != host.boot_id {
        refuse!("{shown} was begun before this host was started anew; measure anew");
    }
    let Ok(plan) = planned_before(&run) else {
        refuse!("{shown} has a plan that this host no longer has; measure anew");
    };
    if plan.cases.len() != cases.len() || !plan.cases.iter().zip(cases).all(|(case, id)| case.id.to_string() == *id) {
        refuse!("{shown} has another plan than its settings give; measure anew");
    }
    check_command(&run.settings.inputs)?;
    let usable = host.usable_cpus();
    let mut cpus = plan.cases.iter().filter(|case| case.skip.is_none()).flat_map(|case| &case.cpus);
    if let Some(cpu) = cpus.find(|cpu| !usable.contains(cpu)) {
        refuse!("{shown} needs CPU {cpu}, which cannot be used any more; allow it, or measure anew");
    }
    let calibration = machine.clock(&host);
    let (before, now) = (&run.settings.clock.source, calibration.facts().source);
    if *before != now {
        refuse!("{shown} was timed by {before}, and this host now has {now}; measure anew");
    }
    // Planned for the host as it was, and careful with the memory that it has now.
    let host = HostFacts { memory: host.memory, limits: host.limits, ..run.host.clone() };
    let at = store::now();
    run.disturbances
        .push(words(say!("the run was cut short after {past:round} and went on at {at}", past = past.len())));
    let scratch = scratch(&run.settings.inputs);
    Ok(Ready { plan, run, host, calibration, past, scratch })
}

/// Whether the run's file lies beside its journal under the same name, and is no other.
fn lies_beside(header: &Header<Run>, journal: &Path) -> bool {
    let file = Path::new(OsStr::from_bytes(&header.origin.file.0));
    let mut beside = file.file_stem().unwrap_or_default().to_owned();
    beside.push(JOURNAL);
    file.file_name() == Some(file.as_os_str()) && journal.file_name() == Some(&beside)
}

/// The time of a run, from where it was cut short: what was used is gone from its limit.
pub struct GoesOn<'a> {
    used: Duration,
    wall: &'a dyn Wall,
}

impl GoesOn<'_> {
    /// Goes on after these rounds.
    pub fn after<'a>(past: &[PastRound], wall: &'a dyn Wall) -> GoesOn<'a> {
        GoesOn { used: past.last().map_or(Duration::ZERO, |past| past.took.until), wall }
    }
}

impl Wall for GoesOn<'_> {
    fn elapsed(&self) -> Duration {
        self.used + self.wall.elapsed()
    }
}
