//! The noise floor: how much a value changes although nothing was changed.

use std::collections::{BTreeMap, HashMap, HashSet};

use hostmark_model::{ProbeInfo, Run};
use hostmark_stats::compare::Spread;

use super::side::{Found, is_implausible, round_medians, run_value};
use super::{Floor, FloorSource, Level};
use crate::format::interval_target;

/// Fewer degrees of freedom than this, three runs of one environment, say nothing of how much runs differ.
const LEAST_FREEDOM: usize = 2;

/// A change under this is none, however alike all values are: the clock itself is calibrated to 200 parts in a million.
const LEAST_FLOOR: f64 = 0.001;

/// What earlier runs came to, by environment: how much runs differ when nothing was changed.
#[derive(Debug, Clone, Default)]
pub struct History {
    by_environment: BTreeMap<String, Vec<Kept>>,
}

/// The values of one run.
#[derive(Debug, Clone)]
struct Kept {
    id: String,
    values: HashMap<String, (u32, f64)>,
}

impl History {
    /// Adds a run; a run that is there already is not added again.
    pub fn add(&mut self, run: &Run) {
        if run.imported.is_some() {
            return;
        }
        let revisions: HashMap<&str, u32> =
            run.probes.iter().map(|probe| (probe.id.as_str(), probe.revision)).collect();
        let value = |case: &hostmark_model::CaseRecord| {
            let measured = case.measured().filter(|measured| !is_implausible(measured))?;
            let revision = *revisions.get(case.probe.as_str())?;
            Some((case.id.clone(), (revision, run_value(measured))))
        };
        let kept = Kept { id: run.id.clone(), values: run.cases.iter().filter_map(value).collect() };
        let runs = self.by_environment.entry(environment(run)).or_default();
        if !runs.iter().any(|known| known.id == kept.id) {
            runs.push(kept);
        }
    }

    /// What it knows of the environments of these runs, and of how much they differ among themselves.
    pub(super) fn of<'a>(&'a self, base: &[Run], new: &[Run]) -> Floors<'a> {
        let compared: HashSet<&str> = base.iter().chain(new).map(|run| run.id.as_str()).collect();
        let environments: HashSet<String> = base.iter().chain(new).map(environment).collect();
        let groups = self.by_environment.iter().filter(|(key, _)| environments.contains(*key));
        let others = |runs: &'a Vec<Kept>| runs.iter().filter(|run| !compared.contains(run.id.as_str())).collect();
        Floors { groups: groups.map(|(_, runs)| others(runs)).collect() }
    }
}

/// What must be alike for two runs to differ by noise alone, as a key.
fn environment(run: &Run) -> String {
    let (host, tool) = (&run.host, &run.tool);
    let parts: [&dyn std::fmt::Debug; 17] = [
        &host.hostname,
        &host.cpu.model,
        &host.cpu.microcode,
        &host.cpu.governor,
        &host.cpu.smt_active,
        &host.usable_cpus().len(),
        &host.memory.transparent_huge_pages,
        &host.kernel.release,
        &host.kernel.version,
        &host.kernel.command_line,
        &host.kernel.clock_source,
        &host.virtualization.hypervisor,
        &host.virtualization.container,
        &tool.version,
        &(&tool.target, &tool.libc),
        &run.settings.profile,
        &run.settings.cpu,
    ];
    parts.map(|part| format!("{part:?}")).join("\u{1f}")
}

/// The noise floors of one comparison.
pub(super) struct Floors<'a> {
    /// Earlier runs, a group for each environment.
    groups: Vec<Vec<&'a Kept>>,
}

impl Floors<'_> {
    /// The noise floor of a case that is compared at this level.
    pub(super) fn floor(&self, id: &str, level: Level, base: &[Found], new: &[Found]) -> Floor {
        match level {
            Level::Run => Floor { fraction: LEAST_FLOOR, source: FloorSource::Runs, runs: None },
            Level::Round => self.of_runs(id, base, new).unwrap_or_else(|| of_rounds(base, new)),
        }
    }

    /// By how much runs differ: those that were kept earlier, and those of a side that has several.
    fn of_runs(&self, id: &str, base: &[Found], new: &[Found]) -> Option<Floor> {
        let revision = base.iter().find_map(|found| found.probe).map(|probe: &ProbeInfo| probe.revision)?;
        let kept = |run: &&Kept| run.values.get(id).filter(|(known, _)| *known == revision).map(|(_, value)| *value);
        let mut groups: Vec<Vec<f64>> = self.groups.iter().map(|runs| runs.iter().filter_map(kept).collect()).collect();
        let side = |found: &[Found]| found.iter().filter_map(Found::measured).map(run_value).collect::<Vec<f64>>();
        let (base, new) = (side(base), side(new));
        let (base_runs, new_runs) = (base.len(), new.len());
        groups.extend([base, new]);
        groups.retain(|group| group.len() > 1);
        let spread = Spread::pooled(&groups).filter(|spread| spread.freedom >= LEAST_FREEDOM)?;
        let runs = groups.iter().map(Vec::len).sum();
        let fraction = spread.reach(base_runs, new_runs)?.max(LEAST_FLOOR);
        Some(Floor { fraction, source: FloorSource::History, runs: Some(runs) })
    }
}

/// Where nothing is known of how much runs differ: as much as two rounds do, and no less than the interval that the
/// profile aims at.
fn of_rounds(base: &[Found], new: &[Found]) -> Floor {
    let groups: Vec<Vec<f64>> = base.iter().chain(new).filter_map(Found::measured).map(round_medians).collect();
    let reach = Spread::pooled(&groups).and_then(|spread| spread.reach(1, 1)).unwrap_or(0.0);
    let target = base.iter().chain(new).map(|found| interval_target(found.run.settings.profile)).fold(0.0, f64::max);
    Floor { fraction: reach.max(target), source: FloorSource::Rounds, runs: None }
}
