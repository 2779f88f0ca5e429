//! Lasting steps of a host's values over its stored runs, and other changes at the same time.

use std::collections::{BTreeMap, HashMap};

use hostmark_model::{Better, Text, Unit};
use hostmark_stats::descriptive::median;
use hostmark_stats::scale::qn;
use hostmark_stats::steps::{LEAST_SIDE, Step, steps};
use serde::Serialize;

use super::gathering::{Gathering, RunRow};
use crate::difference::FALSE_DISCOVERIES;

/// Orders of the runs that a step is held against: enough for a p value of a tenth of the level.
const PERMUTATIONS: usize = 999;
/// The same history gives the same answer.
const SEED: u64 = 0x0068_6f73_746d_6172;
/// Less is no change that anybody minds.
const LEAST_CHANGE: f64 = 0.01;
/// Steps of cases that were found within so many runs of each other are told as of one: where noise hides the very run.
const NEAR: usize = 1;
/// The standard error of a median of normal values, in deviations over √n.
const MEDIAN_ERROR: f64 = 1.2533;
/// A 95 % interval reaches so many standard errors to either side.
const HALF_IN_ERRORS: f64 = 1.96;

/// A run from which on a host gives other values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostChange {
    pub host: String,
    /// The file of the first run that has them.
    pub run: String,
    pub started: String,
    /// Facts that this run has otherwise than the one before it.
    pub facts: Vec<Changed>,
    /// The cases, what changed most first.
    pub cases: Vec<CaseChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub label: Text<String>,
    /// Old value; empty where it was not known.
    pub from: String,
    /// New value; empty where it is not known.
    pub to: String,
}

/// Values of a case before and since.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseChange {
    pub case: String,
    pub title: Text<String>,
    pub unit: Unit,
    pub better: Better,
    /// The median of the runs up to the step, from the last one on where there are several.
    pub before: f64,
    /// The median of those from it on.
    pub since: f64,
    pub runs: [usize; 2],
    pub ratio: f64,
    /// 95 % interval.
    pub interval: [f64; 2],
    /// Probability of so clear a step in any case, if the order of the runs were random.
    pub p: f64,
}

impl CaseChange {
    /// Tells whether it is worse since; false for a case without a good direction.
    pub fn is_worse(&self) -> bool {
        match self.better {
            Better::Lower => self.ratio > 1.0,
            Better::Higher => self.ratio < 1.0,
            Better::Neither => false,
        }
    }
}

/// The changes of each host's runs, in the order of hosts and time. Of fewer than six runs nothing can be said.
pub fn changes(gathering: &Gathering) -> Vec<HostChange> {
    let mut by_host: BTreeMap<&str, Vec<&RunRow>> = BTreeMap::new();
    for run in &gathering.runs {
        by_host.entry(&run.hostname).or_default().push(run);
    }
    let mut all = Vec::new();
    for (host, mut runs) in by_host {
        runs.sort_by(|one, other| one.started.cmp(&other.started).then(one.file.cmp(&other.file)));
        if runs.len() >= 2 * LEAST_SIDE {
            all.extend(of_host(gathering, host, &runs));
        }
    }
    all
}

fn of_host(gathering: &Gathering, host: &str, runs: &[&RunRow]) -> Vec<HostChange> {
    let mut of_case: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for (order, run) in runs.iter().enumerate() {
        for value in &run.values {
            of_case.entry(value.case).or_default().push((order, value.logarithm));
        }
    }
    let (cases, series): (Vec<u32>, Vec<Vec<(usize, f64)>>) = of_case.into_iter().unzip();
    let found = steps(&series, PERMUTATIONS, FALSE_DISCOVERIES, SEED);
    let mut by_run: BTreeMap<usize, Vec<CaseChange>> = BTreeMap::new();
    for step in &found {
        let Some(change) = case_change(gathering, cases[step.series], &series[step.series], step, &found) else {
            continue;
        };
        by_run.entry(series[step.series][step.at].0).or_default().push(change);
    }
    merged(by_run).into_iter().map(|(order, cases)| whole(gathering, host, runs, order, cases)).collect()
}

/// A step in the case's own words; none of one that nobody minds.
fn case_change(
    gathering: &Gathering,
    case: u32,
    series: &[(usize, f64)],
    step: &Step,
    all: &[Step],
) -> Option<CaseChange> {
    let of_this = || all.iter().filter(|other| other.series == step.series).map(|other| other.at);
    let first = of_this().filter(|at| *at < step.at).max().unwrap_or(0);
    let end = of_this().filter(|at| *at > step.at).min().unwrap_or(series.len());
    let values = |part: &[(usize, f64)]| part.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let (before, since) = (values(&series[first..step.at]), values(&series[step.at..end]));
    let (low, high) = (median(&before)?, median(&since)?);
    let variance = |part: &[f64]| Some((MEDIAN_ERROR * qn(part)?).powi(2) / part.len() as f64);
    let error = (variance(&before)? + variance(&since)?).sqrt();
    let shift = high - low;
    let info = &gathering.cases[case as usize];
    let reach = HALF_IN_ERRORS * error;
    (shift.exp_m1().abs() >= LEAST_CHANGE).then(|| CaseChange {
        case: info.id.clone(),
        title: info.title.clone(),
        unit: info.unit,
        better: info.better,
        before: low.exp(),
        since: high.exp(),
        runs: [before.len(), since.len()],
        ratio: shift.exp(),
        interval: [(shift - reach).exp(), (shift + reach).exp()],
        p: step.p,
    })
}

/// Runs with their cases, those beside one with more cases told with it.
fn merged(by_run: BTreeMap<usize, Vec<CaseChange>>) -> Vec<(usize, Vec<CaseChange>)> {
    let counts: HashMap<usize, usize> = by_run.iter().map(|(run, cases)| (*run, cases.len())).collect();
    let mut all: BTreeMap<usize, Vec<CaseChange>> = BTreeMap::new();
    for (run, cases) in by_run {
        let near = (run.saturating_sub(NEAR)..=run + NEAR).filter_map(|other| Some((*counts.get(&other)?, other)));
        // Of two with as many cases the earlier.
        let most =
            near.max_by_key(|(count, other)| (*count, std::cmp::Reverse(*other))).map_or(run, |(_, other)| other);
        all.entry(most).or_default().extend(cases);
    }
    all.into_iter().collect()
}

fn whole(gathering: &Gathering, host: &str, runs: &[&RunRow], order: usize, mut cases: Vec<CaseChange>) -> HostChange {
    cases.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    let (run, before) = (runs[order], order.checked_sub(1).map(|before| runs[before]));
    HostChange {
        host: host.to_owned(),
        run: run.file.clone(),
        started: run.started.clone(),
        facts: before.map(|before| changed(gathering, before, run)).unwrap_or_default(),
        cases,
    }
}

/// Facts that two runs have otherwise; what each measured of its machine is told by the cases.
fn changed(gathering: &Gathering, before: &RunRow, now: &RunRow) -> Vec<Changed> {
    let of = |run: &RunRow| run.facts.iter().copied().collect::<BTreeMap<u32, u32>>();
    let (before, now) = (of(before), of(now));
    let mut keys: Vec<u32> = before.keys().chain(now.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let text = |value: Option<&u32>| value.map_or(String::new(), |value| gathering.texts.name(*value).to_owned());
    let differs = |key: &u32| before.get(key) != now.get(key);
    let is_shown = |key: &u32| {
        let key = gathering.key(*key);
        !["case.", "noise.", "disturbances", "neighbours."].iter().any(|kind| key.starts_with(kind))
    };
    let fact = |key: u32| Changed {
        label: gathering.labels[key as usize].clone(),
        from: text(before.get(&key)),
        to: text(now.get(&key)),
    };
    keys.into_iter().filter(differs).filter(is_shown).map(fact).collect()
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
