//! Verdict from runs: hosts of each kind are scored, outliers chosen, their deviations named, and drifts of a host told from its series.

use std::collections::{BTreeMap, BTreeSet};

use hostmark_model::Better;
use hostmark_stats::compare::benjamini_hochberg;
use hostmark_stats::descriptive::{mean, median, quantile_sorted};
use hostmark_stats::outlier::{between, within};
use hostmark_stats::scale::qn;
use hostmark_stats::selection::{discoveries, level_inside};
use hostmark_stats::trend::{Trend, trend};

use super::HostClass;
use super::data::{
    CaseSpread, Deviation, Drift, Fleet, GroupSpread, HostResult, KindOfHosts, OddCase, OtherEstimate, SCHEMA, WithinBy,
};
use super::gathering::of_kind;
use super::gathering::{CaseInfo, Gathering, RunRow, RunValue};
use super::score::{LEAST_HOSTS, ScoreColumn, Scores, scores};
use super::why::{Judged, causes, reasons};
use crate::difference::FALSE_DISCOVERIES;
use crate::format::are_apart;

/// Cases of an odd host that are listed.
const MOST_CASES: usize = 40;

/// A kind on its way to a verdict.
struct Pending<'a> {
    hosts: Vec<&'a Host>,
    cases: Vec<u32>,
    columns: Vec<ScoreColumn>,
    /// Each host's value of each case, as it stands in its files.
    logarithms: Vec<Vec<Option<f64>>>,
    /// The same by the other estimator, and their median.
    others: Vec<(Vec<Option<f64>>, f64)>,
    /// The median of those in the files, and what makes less worse.
    centres: Vec<(f64, f64)>,
    within: Vec<Option<(f64, WithinBy)>>,
    groups: Vec<String>,
    group_of_case: Vec<usize>,
    scores: Option<Scores>,
}

impl Fleet {
    /// Assembles the verdict from the runs that were read.
    pub fn of(gathering: &Gathering) -> Fleet {
        let hosts = hosts(gathering);
        let mut of_kind: BTreeMap<_, Vec<&Host>> = BTreeMap::new();
        for host in &hosts {
            of_kind.entry(&host.kind).or_default().push(host);
        }
        let mut pending: Vec<Pending> = of_kind.into_values().map(|hosts| Pending::of(gathering, hosts)).collect();
        pending.sort_by_key(|kind| std::cmp::Reverse(kind.hosts.len()));
        // All hosts of the fleet are one family of tests.
        let tested: Vec<(usize, usize, f64)> = pending
            .iter()
            .enumerate()
            .flat_map(|(kind, pending)| {
                let p = pending.scores.iter().flat_map(|scores| scores.hosts.iter().enumerate());
                p.filter_map(move |(host, p)| Some((kind, host, (*p)?)))
            })
            .collect();
        let q = benjamini_hochberg(&tested.iter().map(|(_, _, p)| *p).collect::<Vec<f64>>());
        let adjusted: BTreeMap<(usize, usize), f64> =
            tested.iter().zip(q).map(|((kind, host, _), q)| ((*kind, *host), q)).collect();
        let is_odd = |kind: usize, host: usize| adjusted.get(&(kind, host)).is_some_and(|q| *q <= FALSE_DISCOVERIES);
        let chosen = adjusted.values().filter(|q| **q <= FALSE_DISCOVERIES).count();
        let level = level_inside(FALSE_DISCOVERIES, chosen, tested.len());
        let mut all_judged = Vec::new();
        let mut kinds = Vec::with_capacity(pending.len());
        for (number, kind) in pending.iter().enumerate() {
            let judged: Vec<Judged> = (0..kind.hosts.len())
                .map(|host| Judged { kind: number, is_odd: is_odd(number, host), run: latest(kind.hosts[host]) })
                .collect();
            let mut why = reasons(gathering, &judged);
            let mut results: Vec<HostResult> = (0..kind.hosts.len())
                .map(|host| {
                    let mut result = kind.result(gathering, host, adjusted.get(&(number, host)).copied());
                    if judged[host].is_odd {
                        result.is_odd = true;
                        kind.stands_out(gathering, host, level, &mut result);
                        result.reasons = why.remove(&host).unwrap_or_default();
                    }
                    result
                })
                .collect();
            results.sort_by(|one, other| {
                let p = one.p.unwrap_or(1.0).total_cmp(&other.p.unwrap_or(1.0));
                p.then_with(|| one.name.cmp(&other.name))
            });
            if kind.scores.is_some() {
                all_judged.extend(judged);
            }
            kinds.push(kind.shown(gathering, results));
        }
        Fleet {
            schema: SCHEMA,
            runs: gathering.runs.len(),
            judged: tested.len(),
            kinds,
            causes: causes(gathering, &all_judged),
            drifts: drifts(gathering, &hosts),
            between: Some(&gathering.between).filter(|between| between.measured + between.failed.len() > 0).cloned(),
            unread: gathering.unread.clone(),
        }
    }
}

fn latest(host: &Host) -> usize {
    host.runs.last().copied().unwrap_or(0)
}

fn group_of(case: &CaseInfo) -> &str {
    crate::repetition::group_of(&case.probe)
}

fn sign(case: &CaseInfo) -> f64 {
    if case.better == Better::Lower { -1.0 } else { 1.0 }
}

impl<'a> Pending<'a> {
    fn of(gathering: &Gathering, hosts: Vec<&'a Host>) -> Pending<'a> {
        let mut values: BTreeMap<u32, Vec<(usize, &RunValue)>> = BTreeMap::new();
        for (index, host) in hosts.iter().enumerate() {
            for run in &host.runs {
                for value in &gathering.runs[*run].values {
                    values.entry(value.case).or_default().push((index, value));
                }
            }
        }
        // Numbers follow the first file; a report does not.
        let mut cases: Vec<u32> = values.keys().copied().collect();
        cases.sort_by_key(|case| {
            let info = &gathering.cases[*case as usize];
            (group_of(info), &info.probe, *case)
        });
        let info = |case: u32| &gathering.cases[case as usize];
        let groups: BTreeSet<&str> = cases.iter().map(|case| group_of(info(*case))).collect();
        let groups: Vec<String> = groups.into_iter().map(str::to_owned).collect();
        let probes: BTreeSet<&str> = cases.iter().map(|case| info(*case).probe.as_str()).collect();
        let probes: Vec<&str> = probes.into_iter().collect();
        let group_number = |name: &str| groups.binary_search_by(|group| group.as_str().cmp(name)).unwrap_or(0);
        let mut pending = Pending {
            group_of_case: cases.iter().map(|case| group_number(group_of(info(*case)))).collect(),
            columns: Vec::with_capacity(cases.len()),
            logarithms: Vec::with_capacity(cases.len()),
            others: Vec::with_capacity(cases.len()),
            centres: Vec::with_capacity(cases.len()),
            within: Vec::with_capacity(cases.len()),
            scores: None,
            groups: groups.clone(),
            hosts,
            cases,
        };
        for case in pending.cases.clone() {
            let probe = probes.binary_search(&info(case).probe.as_str()).unwrap_or(0);
            pending.add(probe, sign(info(case)), values.remove(&case).unwrap_or_default());
        }
        if pending.hosts.len() >= LEAST_HOSTS {
            let of_probe: Vec<usize> =
                probes.iter().map(|probe| group_number(probe.split('.').next().unwrap_or_default())).collect();
            pending.scores = Some(scores(pending.hosts.len(), &pending.columns, &of_probe, pending.groups.len()));
        }
        pending
    }

    /// A case: one value a host, and what its runs scatter by.
    fn add(&mut self, probe: usize, sign: f64, values: Vec<(usize, &RunValue)>) {
        let mut of_host: Vec<Vec<f64>> = vec![Vec::new(); self.hosts.len()];
        let mut others = of_host.clone();
        for (host, value) in &values {
            of_host[*host].push(value.logarithm);
            others[*host].extend(Some(value.logarithm + f64::from(value.other)).filter(|other| other.is_finite()));
        }
        let others: Vec<Option<f64>> = others.iter().map(|runs| median(runs)).collect();
        let known: Vec<f64> = others.iter().flatten().copied().collect();
        self.others.push((others, median(&known).unwrap_or(0.0)));
        let errors: Vec<f64> =
            values.iter().map(|(_, value)| f64::from(value.error)).filter(|error| error.is_finite()).collect();
        let of_runs = within(&of_host).map(|deviation| (deviation, WithinBy::Runs));
        let inside = of_runs.or_else(|| median(&errors).map(|error| (error, WithinBy::Rounds)));
        let logarithms: Vec<Option<f64>> = of_host.iter().map(|runs| median(runs)).collect();
        let counts: Vec<f64> = of_host.iter().filter(|runs| !runs.is_empty()).map(|runs| runs.len() as f64).collect();
        let usual = 1.0 / median(&counts).unwrap_or(1.0).max(1.0);
        // A host with fewer runs than others is known less well.
        let own = |runs: &Vec<f64>| match inside {
            Some((deviation, WithinBy::Runs)) if !runs.is_empty() => {
                deviation * deviation * (1.0 / runs.len() as f64 - usual).max(0.0)
            }
            _ => 0.0,
        };
        self.columns.push(ScoreColumn {
            probe,
            values: logarithms.iter().map(|value| value.map(|value| sign * value)).collect(),
            own: of_host.iter().map(own).collect(),
        });
        let known: Vec<f64> = logarithms.iter().flatten().copied().collect();
        self.centres.push((median(&known).unwrap_or(0.0), sign));
        self.logarithms.push(logarithms);
        self.within.push(inside);
    }

    fn beside(&self, gathering: &Gathering, case: usize, host: usize) -> Option<OtherEstimate> {
        let (others, centre) = &self.others[case];
        let (led, other) = (self.logarithms[case][host]?, others[host]?);
        are_apart(led.exp(), other.exp()).then(|| OtherEstimate {
            estimator: gathering.cases[self.cases[case] as usize].estimator.other(),
            value: other.exp(),
            change: (self.centres[case].1 * (other - centre)).exp_m1(),
        })
    }

    fn result(&self, gathering: &Gathering, host: usize, q: Option<f64>) -> HostResult {
        let run = &gathering.runs[latest(self.hosts[host])];
        let place = |(change, distance): (f64, f64)| Deviation { change: change.exp_m1(), distance };
        let of_group = |group: usize| {
            let unit = &self.scores.as_ref()?.groups[group];
            Some(place((unit.shown[host]?, unit.apart[host]?.distance())))
        };
        let lacks = |column: &&ScoreColumn| {
            column.values[host].is_none() && 2 * column.values.iter().flatten().count() > self.hosts.len()
        };
        let place_of = |case: usize| {
            let (centre, sign) = self.centres[case];
            Some((sign * (self.logarithms[case][host]? - centre)) as f32)
        };
        HostResult {
            name: self.hosts[host].name.clone(),
            shares_name: self.hosts[host].shares_name,
            runs: self.hosts[host].runs.len(),
            file: run.file.clone(),
            started: run.started.clone(),
            is_odd: false,
            p: self.scores.as_ref().and_then(|scores| scores.hosts[host]),
            q,
            groups: (0..self.groups.len()).map(of_group).collect(),
            odd_groups: Vec::new(),
            odd_cases: Vec::new(),
            reasons: Vec::new(),
            usual: run.usual.clone(),
            failed: run.failed,
            missing: self.columns.iter().filter(lacks).count(),
            places: (0..self.cases.len()).map(place_of).collect(),
            besides: (0..self.cases.len())
                .filter_map(|case| Some((case, self.beside(gathering, case, host)?)))
                .collect(),
        }
    }

    /// Adds the deviations of a chosen host: tested at the level that the choice leaves.
    fn stands_out(&self, gathering: &Gathering, host: usize, level: f64, result: &mut HostResult) {
        let Some(scores) = &self.scores else { return };
        let p = |units: &[super::score::Unit]| -> Vec<f64> {
            units.iter().map(|unit| unit.p[host].unwrap_or(1.0)).collect()
        };
        result.odd_groups = discoveries(&p(&scores.groups), level);
        if result.odd_groups.is_empty() {
            // A host that is odd by the sum of many groups, or by one probe: the farthest is named.
            let p = p(&scores.groups);
            result.odd_groups.extend((0..p.len()).min_by(|one, other| p[*one].total_cmp(&p[*other])));
        }
        let mut cases = discoveries(&p(&scores.cases), level);
        cases.truncate(MOST_CASES);
        for case in cases {
            let (unit, info) = (&scores.cases[case], &gathering.cases[self.cases[case] as usize]);
            let (Some(apart), Some(logarithm)) = (unit.apart[host], self.logarithms[case][host]) else { continue };
            result.odd_cases.push(OddCase {
                case,
                id: info.id.clone(),
                estimator: info.estimator,
                value: logarithm.exp(),
                change: apart.by.exp_m1(),
                distance: apart.distance(),
                beside: result.besides.get(&case).copied(),
            });
        }
    }

    fn shown(&self, gathering: &Gathering, hosts: Vec<HostResult>) -> KindOfHosts {
        let cases: Vec<CaseSpread> = (0..self.cases.len()).filter_map(|case| self.spread(gathering, case)).collect();
        let group = |(number, name): (usize, &String)| {
            let own: Vec<&CaseSpread> = cases.iter().filter(|case| case.group == number).collect();
            let of = |part: &dyn Fn(&CaseSpread) -> Option<f64>| {
                median(&own.iter().filter_map(|case| part(case)).collect::<Vec<f64>>())
            };
            let is_known = |case: &CaseSpread| case.hosts >= LEAST_HOSTS;
            GroupSpread {
                name: name.clone(),
                cases: own.len(),
                between: of(&|case| is_known(case).then_some(case.between)),
                within: of(&|case| case.within),
            }
        };
        KindOfHosts {
            kind: self.hosts[0].kind.clone(),
            title: self.hosts[0].kind.words(),
            is_judged: self.scores.is_some(),
            groups: self.groups.iter().enumerate().map(group).collect(),
            cases,
            usual: of_kind(hosts.iter().map(|host| (host.name.as_str(), host.usual.as_slice()))),
            hosts,
        }
    }

    fn spread(&self, gathering: &Gathering, case: usize) -> Option<CaseSpread> {
        let info = &gathering.cases[self.cases[case] as usize];
        let mut sorted: Vec<f64> = self.logarithms[case].iter().flatten().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let centre = quantile_sorted(&sorted, 0.5)?;
        let runs = self.hosts.iter().map(|host| host.runs.len() as f64).collect::<Vec<f64>>();
        let (inside, of_value) = match self.within[case] {
            Some((deviation, WithinBy::Runs)) => (deviation, deviation / median(&runs).unwrap_or(1.0).sqrt()),
            Some((deviation, WithinBy::Rounds)) => (deviation, deviation),
            None => (0.0, 0.0),
        };
        let mut quantiles = [0.0, 0.05, 0.25, 0.75, 0.95, 1.0]
            .map(|share| sign(info) * (quantile_sorted(&sorted, share).unwrap_or(centre) - centre));
        quantiles.sort_unstable_by(f64::total_cmp);
        Some(CaseSpread {
            id: info.id.clone(),
            title: info.title.clone(),
            unit: info.unit,
            better: info.better,
            estimator: info.estimator,
            group: self.group_of_case[case],
            hosts: sorted.len(),
            median: centre.exp(),
            between: between(qn(&sorted).unwrap_or(0.0), of_value).exp_m1(),
            within: self.within[case].map(|_| inside.exp_m1()),
            within_by: self.within[case].map(|(_, by)| by),
            quantiles,
        })
    }
}

/// A host with its runs, by their number, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Host {
    /// Name, made unique among hosts of the same name.
    pub(super) name: String,
    /// True where another host has the same name.
    pub(super) shares_name: bool,
    pub(super) runs: Vec<usize>,
    pub(super) kind: HostClass,
}

/// Names that machines have before somebody gives them one: they say nothing.
const NO_NAMES: [&str; 4] = ["", "localhost", "localhost.localdomain", "(none)"];

pub(super) fn hosts(gathering: &Gathering) -> Vec<Host> {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, run) in gathering.runs.iter().enumerate() {
        named.entry(&run.hostname).or_default().push(index);
    }
    let mut hosts = Vec::new();
    for (name, runs) in named {
        let mut parts: BTreeMap<(&HostClass, &str), Vec<usize>> = BTreeMap::new();
        let mut of_kind: BTreeMap<&HostClass, Vec<usize>> = BTreeMap::new();
        for run in runs {
            of_kind.entry(&gathering.runs[run].kind).or_default().push(run);
        }
        let kinds = of_kind.len();
        for (kind, runs) in of_kind {
            let by_boot = NO_NAMES.contains(&name) || are_at_once(&runs, &gathering.runs);
            for run in runs {
                let boot = gathering.runs[run].boot.as_deref().filter(|_| by_boot).unwrap_or_default();
                parts.entry((kind, boot)).or_default().push(run);
            }
        }
        let boots_of = |kind: &HostClass| parts.keys().filter(|(other, _)| *other == kind).count();
        let counts: Vec<usize> = parts.keys().map(|(kind, _)| boots_of(kind)).collect();
        let shares_name = parts.len() > 1;
        for (((kind, boot), mut runs), boots) in parts.into_iter().zip(counts) {
            runs.sort_by(|one, other| gathering.runs[*one].started.cmp(&gathering.runs[*other].started));
            let mut details = Vec::new();
            if kinds > 1 {
                details.push(kind.words().en);
            }
            if boots > 1 {
                details.push(format!("boot {}", boot.chars().take(8).collect::<String>()));
            }
            let shown = if name.is_empty() { "?" } else { name };
            let name = if details.is_empty() { shown.to_owned() } else { format!("{shown} ({})", details.join(", ")) };
            hosts.push(Host { name, shares_name, runs, kind: kind.clone() });
        }
    }
    hosts
}

/// Tells whether two of the boots ran at the same time, or by turns: then they are two machines, not one that was rebooted.
fn are_at_once(runs: &[usize], all: &[RunRow]) -> bool {
    let mut boots: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for run in runs.iter().map(|run| &all[*run]) {
        let Some(boot) = run.boot.as_deref() else { continue };
        let time = boots.entry(boot).or_insert((&run.started, &run.finished));
        *time = (time.0.min(&run.started), time.1.max(&run.finished));
    }
    let mut times: Vec<(&str, &str)> = boots.into_values().collect();
    times.sort_unstable();
    times.windows(2).any(|two| two[1].0 <= two[0].1)
}

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
