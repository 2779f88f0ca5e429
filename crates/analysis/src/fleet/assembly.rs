//! Verdict from runs: hosts of each kind are scored, outliers chosen, and their deviations named.

use std::collections::{BTreeMap, BTreeSet};

use hostmark_model::Better;
use hostmark_stats::compare::benjamini_hochberg;
use hostmark_stats::descriptive::{median, quantile_sorted};
use hostmark_stats::outlier::{between, within};
use hostmark_stats::scale::qn;
use hostmark_stats::selection::{discoveries, level_inside};

use super::data::{
    CaseSpread, Deviation, Fleet, GroupSpread, HostResult, KindOfHosts, OddCase, OtherEstimate, SCHEMA, WithinBy,
};
use super::drift::drifts;
use super::gathering::{CaseInfo, Gathering, RunValue};
use super::host::{Host, hosts};
use super::score::{LEAST_HOSTS, ScoreColumn, Scores, scores};
use super::usual::of_kind;
use super::why::{Judged, causes, reasons};
use crate::difference::FALSE_DISCOVERIES;
use crate::format::are_apart;

/// Cases of an odd host that are listed.
const MOST_CASES: usize = 40;

/// A kind on its way to a verdict.
struct Pending<'a> {
    hosts: Vec<&'a Host>,
    /// The cases by their number in the gathering.
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
