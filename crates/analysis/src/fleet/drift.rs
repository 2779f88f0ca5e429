//! Drift of a host's runs with time.

use std::collections::BTreeMap;

use hostmark_model::Better;
use hostmark_stats::descriptive::{mean, median};
use hostmark_stats::selection::discoveries;
use hostmark_stats::trend::{Trend, trend};

use super::data::Drift;
use super::gathering::Gathering;
use super::host::Host;
use crate::difference::FALSE_DISCOVERIES;

/// Least number of runs: of fewer no order is unlikely enough.
const LEAST_RUNS: usize = 6;
/// Less is no drift that anybody minds.
const LEAST_CHANGE: f64 = 0.01;

/// The hosts and groups that rise or fall, what changed most first.
pub(super) fn drifts(gathering: &Gathering, hosts: &[Host]) -> Vec<Drift> {
    let mut found: Vec<(Drift, f64)> = Vec::new();
    for host in hosts.iter().filter(|host| host.runs.len() >= LEAST_RUNS) {
        for (group, values) in series(gathering, host) {
            let Some(Trend { p, change }) = trend(&values) else { continue };
            let at = |index: Option<&usize>| index.map_or(String::new(), |run| gathering.runs[*run].started.clone());
            let time = (at(host.runs.first()), at(host.runs.last()));
            let drift = Drift { host: host.name.clone(), group, runs: values.len(), time, change: change.exp_m1(), p };
            found.push((drift, change));
        }
    }
    let p: Vec<f64> = found.iter().map(|(drift, _)| drift.p).collect();
    let mut drifts: Vec<Drift> = discoveries(&p, FALSE_DISCOVERIES)
        .into_iter()
        .filter(|index| found[*index].1.abs() >= LEAST_CHANGE)
        .map(|index| found[index].0.clone())
        .collect();
    drifts.sort_by(|one, other| other.change.abs().total_cmp(&one.change.abs()));
    drifts
}

/// Logarithms of each group in each run beside the host's own median, in the order of time. Runs that lack the group are left out.
fn series(gathering: &Gathering, host: &Host) -> BTreeMap<String, Vec<f64>> {
    let mut of_case: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for (order, run) in host.runs.iter().enumerate() {
        for value in &gathering.runs[*run].values {
            of_case.entry(value.case).or_default().push((order, value.logarithm));
        }
    }
    let mut of_group: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    // A case that some runs lack would move the group where it comes or goes.
    for (case, values) in of_case.into_iter().filter(|(_, values)| values.len() == host.runs.len()) {
        let info = &gathering.cases[case as usize];
        let sign = if info.better == Better::Lower { -1.0 } else { 1.0 };
        let Some(own) = median(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>()) else { continue };
        let group = crate::repetition::group_of(&info.probe).to_owned();
        let runs = of_group.entry(group).or_insert_with(|| vec![Vec::new(); host.runs.len()]);
        values.iter().for_each(|(order, value)| runs[*order].push(sign * (value - own)));
    }
    of_group.into_iter().map(|(group, runs)| (group, runs.iter().filter_map(|run| mean(run)).collect())).collect()
}
