//! `hostmark run --resume`: goes on with a run that was cut short, from its journal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hostmark_engine::clock::{self, Calibration};
use hostmark_engine::{Header, Journal, PastRound, Wall};
use hostmark_model::{HostFacts, PathBytes, Run, Text};

use super::inputs::scratch;
use super::ready::{Ready, binary, planned_before};
use crate::store::{self, JOURNAL, Place};

/// Everything for the rest of the run that a person named.
pub fn ready(named: &str, host: HostFacts, within: &[String]) -> Result<(Ready, Calibration)> {
    let path = store::find_journal(named)?;
    let shown = path.display();
    let (journal, header, past) = Journal::resume::<Run>(&path).map_err(|error| anyhow::anyhow!("{shown} {error}"))?;
    match (header.run.settings.inputs.within.as_slice(), within) {
        (before, now) if before == now => {}
        ([], _) => bail!("{shown} was begun outside of all layers; leave out --within"),
        (before, _) => bail!("{shown} was begun within layers; add --within {}", before.join(",")),
    }
    check(&header, &host, &path).map_err(|error| anyhow::anyhow!("{shown} {error}"))?;
    let plan = planned_before(&header.run)
        .with_context(|| format!("{shown} has a plan that this host no longer has; measure anew"))?;
    let ids: Vec<String> = plan.cases.iter().map(|case| case.id.to_string()).collect();
    if ids != header.cases {
        bail!("{shown} has another plan than its settings give; measure anew");
    }
    let usable = host.usable_cpus();
    let mut cpus = plan.cases.iter().filter(|case| case.skip.is_none()).flat_map(|case| &case.cpus);
    if let Some(cpu) = cpus.find(|cpu| !usable.contains(cpu)) {
        bail!("{shown} needs CPU {cpu}, which cannot be used any more; allow it, or measure anew");
    }
    let calibration = clock::choose(&host);
    let (before, now) = (&header.run.settings.clock.source, calibration.facts().source);
    if *before != now {
        bail!("{shown} was timed by {before}, and this host now has {now}; measure anew");
    }
    let mut run = header.run;
    // Planned for the host as it was, and careful with the memory that it has now.
    let host = HostFacts { memory: host.memory, limits: host.limits, ..run.host.clone() };
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    run.disturbances.push(Text {
        en: format!("the run was cut short after {} rounds and went on at {at}", past.len()),
        zh: format!("本次运行在 {} 轮之后中断，于 {at} 继续", past.len()),
    });
    let path_of = |bytes: &PathBytes| PathBuf::from(OsStr::from_bytes(&bytes.0));
    let place = Place::of_journal(&path, &path_of(&header.origin.file), &run.name);
    let scratch = scratch(&run.settings.inputs);
    Ok((Ready { plan, run, host, place: Some(place), journal: Some(journal), past, scratch }, calibration))
}

/// Fragments that fit after the journal's name.
fn check(header: &Header<Run>, host: &HostFacts, journal: &Path) -> Result<(), &'static str> {
    if header.origin.binary != binary() {
        return Err("was begun by another build of hostmark; go on with that one, or measure anew");
    }
    if header.run.host.boot_id != host.boot_id {
        return Err("was begun before this host was started anew; measure anew");
    }
    // The run's file lies beside its journal under the same name, and is no other.
    let file = Path::new(OsStr::from_bytes(&header.origin.file.0));
    let mut beside = file.file_stem().unwrap_or_default().to_owned();
    beside.push(JOURNAL);
    if file.file_name() != Some(file.as_os_str()) || journal.file_name() != Some(&beside) {
        return Err("names no run file; measure anew");
    }
    Ok(())
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
