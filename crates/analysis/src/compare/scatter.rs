//! Scatter of a value between runs of an unchanged system.

use std::collections::{BTreeMap, HashMap, HashSet};

use hostmark_model::{CaseRecord, ProbeInfo, Run};
use hostmark_stats::repetition::Deviation;

use super::differs::is_circumstance;
use super::facts::{Fact, facts};
use super::side::{By, RunCase, cycles_scale, is_implausible};
use crate::difference::estimated_deviation;

/// Values of earlier runs, by environment: the spread between runs when nothing was changed.
#[derive(Debug, Clone, Default)]
pub struct History {
    by_environment: BTreeMap<String, Vec<RunValues>>,
}

#[derive(Debug, Clone)]
struct RunValues {
    id: String,
    values: HashMap<String, Of>,
}

/// Values of a case in a run.
#[derive(Debug, Clone)]
struct Of {
    revision: u32,
    typical: f64,
    /// Undisturbed value, where it leads.
    quiet: Option<f64>,
    percentiles: Vec<(&'static str, f64)>,
    /// Factor that turns these into the work of one cycle, where the core alone decides.
    cycles: Option<f64>,
}

impl Of {
    /// The value that leads, in cycles where it is the core's.
    fn leading(&self) -> f64 {
        self.quiet.unwrap_or(self.typical) * self.cycles.unwrap_or(1.0)
    }
}

impl History {
    /// Adds a run; a run that is there already is not added again.
    pub fn add(&mut self, run: &Run) {
        if run.imported.is_some() {
            return;
        }
        let kept = kept(run);
        let runs = self.by_environment.entry(environment(run)).or_default();
        if !runs.iter().any(|known| known.id == kept.id) {
            runs.push(kept);
        }
    }

    /// Collects the runs of the environments of these runs, to tell how much they differ among themselves.
    pub(super) fn of<'a>(&'a self, base: &[Run], new: &[Run]) -> Scatters<'a> {
        let compared: HashSet<&str> = base.iter().chain(new).map(|run| run.id.as_str()).collect();
        let environments: HashSet<String> = base.iter().chain(new).map(environment).collect();
        let groups = self.by_environment.iter().filter(|(key, _)| environments.contains(*key));
        let others = |runs: &'a Vec<RunValues>| runs.iter().filter(|run| !compared.contains(run.id.as_str())).collect();
        let sides = [base, new].map(|runs| runs.iter().map(kept).collect());
        Scatters { groups: groups.map(|(_, runs)| others(runs)).collect(), sides }
    }
}

/// Values of each case of a run.
fn kept(run: &Run) -> RunValues {
    let probes: HashMap<&str, &ProbeInfo> = run.probes.iter().map(|probe| (probe.id.as_str(), probe)).collect();
    let value = |case: &CaseRecord| {
        let measured = case.measured().filter(|measured| !is_implausible(measured))?;
        let probe = *probes.get(case.probe.as_str())?;
        let of = Of {
            revision: probe.revision,
            typical: measured.estimate.typical,
            quiet: By::Quiet.as_measured(measured),
            percentiles: By::percentiles().filter_map(|by| Some((by.name(), by.as_measured(measured)?))).collect(),
            cycles: cycles_scale(measured, probe.unit),
        };
        Some((case.id.clone(), of))
    };
    RunValues { id: run.id.clone(), values: run.cases.iter().filter_map(value).collect() }
}

/// Mean of each run's cases of `ids`, in multiples of the runs' geometric mean, over the cases that all have; none of fewer than two runs.
fn shifts(ids: &HashSet<String>, runs: &[&RunValues]) -> Vec<f64> {
    let Some(first) = runs.first() else { return Vec::new() };
    let in_all = first.values.iter().filter(|(id, first)| {
        let is_alike = |of: &Of| of.leading() > 0.0 && of.cycles.is_some() == first.cycles.is_some();
        ids.contains(*id) && runs.iter().all(|run| run.values.get(*id).is_some_and(is_alike))
    });
    let of_case = |id: &String| -> Vec<f64> {
        let all: Vec<f64> = runs.iter().map(|run| run.values[id].leading().ln()).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        all.iter().map(|one| one - mean).collect()
    };
    let cases: Vec<Vec<f64>> = in_all.map(|(id, _)| of_case(id)).collect();
    if cases.is_empty() || runs.len() < 2 {
        return Vec::new();
    }
    (0..runs.len()).map(|run| (cases.iter().map(|case| case[run]).sum::<f64>() / cases.len() as f64).exp()).collect()
}

/// Facts beside the host's that must be equal for two runs to differ by noise alone.
const SETTINGS: [&str; 5] = ["tool.version", "tool.target", "tool.libc", "settings.profile", "settings.cpu"];

/// Key of everything that must be equal for two runs to differ by noise alone.
fn environment(run: &Run) -> String {
    let is_key = |fact: &Fact| is_circumstance(fact) || SETTINGS.contains(&fact.key.as_str());
    let part = |fact: Fact| format!("{}={}", fact.key, fact.value.unwrap_or_default());
    facts(run).into_iter().filter(is_key).map(part).collect::<Vec<_>>().join("\u{1f}")
}

/// Spread between runs, for one comparison.
pub(super) struct Scatters<'a> {
    /// Earlier runs, a group for each environment.
    groups: Vec<Vec<&'a RunValues>>,
    sides: [Vec<RunValues>; 2],
}

impl Scatters<'_> {
    /// Deviation between runs of a case: of earlier runs and of a side that has several, drawn towards `prior`. None where these are too
    /// few.
    pub(super) fn of(
        &self,
        id: &str,
        by: By,
        base: &[RunCase],
        new: &[RunCase],
        prior: Deviation,
    ) -> Option<Deviation> {
        let is_in_cycles = base.iter().chain(new).any(|found| found.scale != 1.0);
        let revision = base.iter().chain(new).find_map(|found| found.probe).map(|probe: &ProbeInfo| probe.revision)?;
        let kept = |run: &&RunValues| {
            let value = run.values.get(id).filter(|value| value.revision == revision)?;
            let scale = if is_in_cycles { value.cycles? } else { 1.0 };
            let of_run = match by {
                By::Quiet => value.quiet,
                By::Typical => Some(value.typical),
                By::Percentile(name) => {
                    value.percentiles.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
                }
            };
            of_run.map(|of_run| of_run * scale)
        };
        let mut groups: Vec<Vec<f64>> = self.groups.iter().map(|runs| runs.iter().filter_map(kept).collect()).collect();
        groups.extend([base, new].map(|side| side.iter().filter_map(|found| by.value(found)).collect()));
        estimated_deviation(&groups, prior)
    }

    /// Deviation between runs that some cases share: of a run's mean from that of the others.
    pub(super) fn of_cases(&self, ids: &HashSet<String>, assumed_sd: f64) -> Option<Deviation> {
        let sides = self.sides.iter().map(|runs| runs.iter().collect());
        let groups: Vec<Vec<f64>> =
            self.groups.iter().cloned().chain(sides).map(|runs: Vec<&RunValues>| shifts(ids, &runs)).collect();
        estimated_deviation(&groups, Deviation::assumed(assumed_sd))
    }
}
