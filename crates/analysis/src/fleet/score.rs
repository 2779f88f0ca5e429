//! Distance of each host of one kind from the others, case by case, probe by probe and group by group, and one p value a host.

use hostmark_stats::descriptive::{mean, median};
use hostmark_stats::outlier::{Apart, Prior, Tails, Variances, combined, distances, freedom};
use hostmark_stats::random_effects::common;
use hostmark_stats::scale::qn;
use hostmark_stats::selection::discoveries;

use crate::difference::FALSE_DISCOVERIES;

/// Fewer hosts of a kind than this tell nothing of what is usual.
pub const LEAST_HOSTS: usize = 5;
/// Least scatter between hosts, on logarithms: half a percent matters to nobody, and without it any difference would be endless.
pub(super) const LEAST_SCATTER: f64 = 0.005;
/// Most deviations of a value in its probe's mean from the host's others, and of a probe in its group's: but a host may be off in all.
const FARTHEST: f64 = 4.0;
/// Number of times that tails are estimated anew without the outliers found: outliers hide each other by looking like tails.
const PASSES: usize = 3;
/// Largest weight, in values, of the scatter of other cases, probes or groups, as they are not independent.
const MOST_PRIOR: f64 = 4.0;
/// Tails are taken for heavy until the hosts show otherwise: degrees of freedom of few hosts, and hosts for each further one.
const TAILS: (f64, f64) = (4.0, 8.0);
/// Quantiles between which tails are estimated, of few hosts and of more: as far out as a few outliers allow.
const FEW: (f64, f64) = (0.5, 0.9);
const SOME: (f64, f64) = (0.8, 0.975);
const MANY: (f64, f64) = (0.9, 0.99);
/// Tails of single probes stay heavy: the effect of one boot in a thousand on one probe shows in no quantile of a hundred hosts.
const PROBE_TAILS: f64 = 6.0;
/// A host whose median distance is larger is off in everything.
const OFF_IN_ALL: f64 = 3.0;

/// A case of a kind: the logarithm of each host's value, worse being less.
pub(super) struct ScoreColumn {
    /// Number of the probe; probes are numbered within their groups.
    pub(super) probe: usize,
    /// Value of each host; none where it has none.
    pub(super) values: Vec<Option<f64>>,
    /// The variance that each host's value has beyond what all have.
    pub(super) own: Vec<f64>,
}

/// A case, a probe or a group, and where each host stands in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    /// Distance of each host from the others, on logarithms, worse being negative.
    pub(super) apart: Vec<Option<Apart>>,
    /// Value to show: of a group the mean of its cases, however far out they are.
    pub(super) shown: Vec<Option<f64>>,
    /// Probability of a distance that is no less.
    pub(super) p: Vec<Option<f64>>,
    /// The degrees of freedom that other units add.
    prior_freedom: f64,
}

pub(super) struct Scores {
    pub(super) cases: Vec<Unit>,
    pub(super) probes: Vec<Unit>,
    pub(super) groups: Vec<Unit>,
    /// One for each host; none of a host without any value.
    pub(super) hosts: Vec<Option<f64>>,
}

/// Scores the hosts of a kind. `group_of_probe` says which group each probe is of.
pub(super) fn scores(hosts: usize, columns: &[ScoreColumn], group_of_probe: &[usize], groups: usize) -> Scores {
    let values: Vec<Vec<Option<f64>>> = columns.iter().map(|column| column.values.clone()).collect();
    let own: Vec<&[f64]> = columns.iter().map(|column| column.own.as_slice()).collect();
    let cases = level(hosts, &values, &own);
    let members = |number: usize| (0..columns.len()).filter(|index| columns[*index].probe == number).collect();
    let of_cases: Vec<Vec<usize>> = (0..group_of_probe.len()).map(members).collect();
    let probes = level(hosts, &means(hosts, &cases, &of_cases), &[]);
    let members = |number: usize| (0..group_of_probe.len()).filter(|index| group_of_probe[*index] == number).collect();
    let of_probes: Vec<Vec<usize>> = (0..groups).map(members).collect();
    let mut by_group = level(hosts, &means(hosts, &probes, &of_probes), &[]);
    let all = &cases;
    for (group, members) in by_group.iter_mut().zip(&of_probes) {
        for host in 0..hosts {
            let cases = members.iter().flat_map(|probe| &of_cases[*probe]);
            let whole: Vec<f64> = cases.filter_map(|case| all[*case].shown[host]).collect();
            group.shown[host] = group.apart[host].and(mean(&whole));
        }
    }
    let mut scores = Scores { cases, probes, groups: by_group, hosts: Vec::new() };
    let mut is_odd = vec![false; hosts];
    for _ in 0..PASSES {
        judge(&mut scores.cases, &is_odd, f64::INFINITY);
        judge(&mut scores.probes, &is_odd, PROBE_TAILS);
        judge(&mut scores.groups, &is_odd, f64::INFINITY);
        scores.hosts = (0..hosts).map(|host| p_of_host(host, &scores.groups, &scores.probes)).collect();
        let p: Vec<f64> = scores.hosts.iter().map(|p| p.unwrap_or(1.0)).collect();
        let mut found = vec![false; hosts];
        discoveries(&p, FALSE_DISCOVERIES).into_iter().for_each(|host| found[host] = true);
        if found == is_odd {
            break;
        }
        is_odd = found;
    }
    scores
}

/// Half of what counts is groups, which have little noise, half single probes, which a mean of many would hide.
fn p_of_host(host: usize, groups: &[Unit], probes: &[Unit]) -> Option<f64> {
    let of = |units: &[Unit]| -> Vec<(f64, f64)> {
        let p: Vec<f64> = units.iter().filter_map(|unit| unit.p[host]).collect();
        p.iter().map(|one| (*one, 0.5 / p.len() as f64)).collect()
    };
    let mut all = of(groups);
    all.extend(of(probes));
    combined(&all)
}

/// The mean of each host's members of each unit, weighted by little scatter. None where the host lacks over half of them.
fn means(hosts: usize, members: &[Unit], of: &[Vec<usize>]) -> Vec<Vec<Option<f64>>> {
    let of_host = |own: &Vec<usize>, host: usize| {
        let known: Vec<Apart> = own.iter().filter_map(|index| members[*index].apart[host]).collect();
        let distances: Vec<f64> = known.iter().map(Apart::distance).collect();
        let middle = median(&distances)?;
        let sum: f64 = distances.iter().map(|one| one.clamp(middle - FARTHEST, middle + FARTHEST)).sum();
        let total: f64 = known.iter().map(|apart| 1.0 / apart.scale).sum();
        (2 * known.len() >= own.len()).then(|| sum / total)
    };
    of.iter().map(|own| (0..hosts).map(|host| of_host(own, host)).collect()).collect()
}

/// The units of one level, each beside what all of them tell.
fn level(hosts: usize, values: &[Vec<Option<f64>>], own: &[&[f64]]) -> Vec<Unit> {
    let enough: Vec<bool> = values.iter().map(|unit| unit.iter().flatten().count() >= LEAST_HOSTS).collect();
    let variances: Vec<f64> = values
        .iter()
        .zip(&enough)
        .filter(|(_, enough)| **enough)
        .filter_map(|(unit, _)| qn(&unit.iter().flatten().copied().collect::<Vec<f64>>()))
        .map(|scatter| scatter.powi(2).max(LEAST_SCATTER.powi(2)))
        .collect();
    let prior = common(&variances, freedom(hosts))
        .map(|(variance, freedom)| Prior { variance, freedom: freedom.min(MOST_PRIOR) });
    let mut units: Vec<Unit> = Vec::with_capacity(values.len());
    for (index, unit) in values.iter().enumerate() {
        let own = own.get(index).copied().unwrap_or_default();
        let apart = match enough[index] {
            true => distances(unit, &Variances { own, floor: LEAST_SCATTER, prior }),
            false => vec![None; hosts],
        };
        let shown = apart.iter().map(|apart| apart.map(|apart| apart.by)).collect();
        let prior_freedom = prior.map_or(0.0, |prior| prior.freedom);
        units.push(Unit { apart, shown, p: Vec::new(), prior_freedom });
    }
    units
}

/// Says how likely each distance is, by a law whose tails are those of the hosts that are not known to be odd.
fn judge(units: &mut [Unit], is_odd: &[bool], most: f64) {
    let usual: Vec<bool> = is_odd.iter().enumerate().map(|(host, odd)| !odd && !is_off_in_all(units, host)).collect();
    let of_unit = |unit: &Unit| -> Vec<f64> {
        let hosts = unit.apart.iter().zip(&usual).filter(|(_, usual)| **usual);
        hosts.filter_map(|(apart, _)| Some(apart.as_ref()?.distance())).collect()
    };
    let all: Vec<f64> = units.iter().flat_map(of_unit).collect();
    let prior = units.iter().map(|unit| unit.prior_freedom).fold(0.0, f64::max);
    let most = (freedom(is_odd.len()) + prior).min(TAILS.0 + is_odd.len() as f64 / TAILS.1).min(most);
    let reach = match is_odd.len() {
        0..30 => FEW,
        30..100 => SOME,
        _ => MANY,
    };
    let law = Tails::of(&all, reach, most);
    for unit in units {
        unit.p = unit.apart.iter().map(|apart| apart.map(|apart| law.p(apart.distance()))).collect();
    }
}

/// Tells whether the median of a host's distances is far out: that is no tail of single units.
fn is_off_in_all(units: &[Unit], host: usize) -> bool {
    let distances: Vec<f64> = units.iter().filter_map(|unit| Some(unit.apart[host]?.distance())).collect();
    median(&distances).is_some_and(|middle| middle.abs() > OFF_IN_ALL)
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
