//! What a single run must assume of how far runs lie apart: fitted on all machines but one, and held against that one.

use std::collections::BTreeMap;
use std::path::Path;

use hostmark_analysis::trust::within;
use hostmark_stats::descriptive::{mean, median, quantile};
use hostmark_stats::repetition::{Deviation, HalfWidths, SHARE};

use crate::recorded::{self, Case, Recorded};

/// The machines, their folders, and by how much what the core does differs more there than of a core alone: as the part of the time in which
/// others used it has it (`SHARED` of `repetition.rs`), where README tells that.
const MACHINES: &[(&str, &[&str], f64)] = &[
    ("A", &["a"], 1.0),
    ("B", &["b", "c", "d"], 1.0),
    ("E", &["e"], 1.0),
    ("F", &["f"], 1.16),
    ("G", &["g"], 1.5),
    ("H", &["h"], 1.47),
];
/// Candidates for the share.
const SHARES: &[f64] = &[0.45, 0.48, 0.51, 0.54, 0.57, 0.6, 0.65];
/// The coverage that the machines of a fit have on average at least.
const LEAST_COVERAGE: f64 = 0.945;
/// Cost of an interval of 95 % for each part by which it misses (Gneiting & Raftery, JASA 2007).
const OF_A_MISS: f64 = 2.0 / 0.05;
/// The pairs of runs from which on a group's share is told.
const PAIRS: usize = 200;
/// What makes of a t interval of three rounds one that is as much wider than the error of their median (0.670 σ) as the range of
/// five is beside that of theirs (1.163 σ to either side of 0.536 σ): on average it reaches 4.303 · 0.886 σ / √3.
const OF_T_INTERVAL: f64 = 0.66;
/// A 95 % interval is so many standard deviations wide to either side.
const HALF_IN_DEVIATIONS: f64 = 1.96;

/// A value of a run, beside those that the other runs found.
#[derive(Clone)]
struct Value {
    run: usize,
    group: String,
    is_core: bool,
    /// How far the run's own interval reaches to either side, on logarithms.
    sides: (f64, f64),
    /// Half of the interval that would have held 95 % of all pairs of runs of its case.
    ideal: f64,
    /// The other runs, and how far their values lie from it.
    apart: Vec<(usize, f64)>,
}

impl Value {
    fn half(&self) -> f64 {
        (self.sides.0 + self.sides.1) / 2.0
    }
}

struct Folder {
    name: &'static str,
    shared: f64,
    values: Vec<Value>,
}

/// How often intervals hold another run's value, over how many pairs, the median of their half-widths, that over what would have held 95 % of
/// each case, and the mean interval score.
#[derive(Clone, Copy)]
struct Coverage {
    share: f64,
    pairs: usize,
    width: f64,
    beside_ideal: f64,
    score: f64,
}

pub fn text(studies: &Path) -> Result<String, String> {
    let mut machines: Vec<(&str, Vec<Folder>)> = Vec::new();
    for &(machine, folders, shared) in MACHINES {
        let of_folder = |&name: &&'static str| Ok(folder(name, shared, &recorded::of_directory(&studies.join(name))?));
        machines.push((machine, folders.iter().map(of_folder).collect::<Result<_, String>>()?));
    }
    let mut out = "each machine by what the others say; of single runs: held of other runs' values, the least of a group, median half-width, %; that over the ideal one; interval score, %\n".to_owned();
    for (left_out, folders) in &machines {
        let others: Vec<&Folder> =
            machines.iter().filter(|(name, _)| name != left_out).flat_map(|(_, folders)| folders).collect();
        match fitted(&others) {
            Some(fit) => rows(&mut out, left_out, &folders.iter().collect::<Vec<_>>(), fit),
            None => out += &format!("  {left_out}: nothing that was tried holds enough of the others\n"),
        }
    }
    let all: Vec<&Folder> = machines.iter().flat_map(|(_, folders)| folders).collect();
    if let Some(fit) = fitted(&all) {
        rows(&mut out, "none", &all, fit);
    }
    out += "\nin use\n";
    rows(&mut out, "-", &all, SHARE);
    out += "\nby group, in use: held and half-width, %\n";
    for folder in all {
        for (group, Coverage { share, pairs, width, .. }) in folder.coverage(&folder.halves(SHARE)) {
            let (share, width) = (100.0 * share, 100.0 * width);
            out += &format!("  {} {group:8} {share:5.1} {width:5.1}  of {pairs}\n", folder.name);
        }
    }
    Ok(out)
}

fn rows(out: &mut String, left_out: &str, folders: &[&Folder], with: f64) {
    *out += &format!("  left out {left_out:4}  share {with}\n");
    for folder in folders {
        let now = folder.coverage(&folder.halves(with));
        let shown = |by: &BTreeMap<String, Coverage>| {
            all_of(by).map_or("-".to_owned(), |all| {
                let Coverage { share, width, beside_ideal, score, .. } = all;
                let least = least_of_groups(by);
                let [share, least, width, score] = [share, least, width, score].map(|part| 100.0 * part);
                format!("{share:5.1} {least:5.1} {width:5.1} {beside_ideal:4.1} {score:6.1}")
            })
        };
        let [core, others] = [true, false].map(|is_core| {
            let part = folder.part(is_core);
            let (now, kept) = (part.coverage(&part.halves(with)), part.kept(with));
            format!("{}, promise kept in {} of {}", shown(&now), kept.0, kept.1)
        });
        *out += &format!("    {}  {}   core {core}   others {others}\n", folder.name, shown(&now));
        for stored in [3, 8] {
            let [core, others] = [true, false].map(|is_core| shown(&folder.part(is_core).stored(stored, with)));
            *out += &format!("       with {stored} runs stored   core {core}   others {others}\n");
        }
    }
}

/// The least share that holds enough of all these.
fn fitted(folders: &[&Folder]) -> Option<f64> {
    let is_enough = |share: &&f64| {
        let held = |folder: &&Folder| Some(all_of(&folder.coverage(&folder.halves(**share)))?.share);
        mean(&folders.iter().filter_map(held).collect::<Vec<_>>()).is_some_and(|held| held >= LEAST_COVERAGE)
    };
    SHARES.iter().find(is_enough).copied()
}

/// The name under which all groups stand together.
const ALL: &str = "all";

fn all_of(by: &BTreeMap<String, Coverage>) -> Option<Coverage> {
    by.get(ALL).copied()
}

fn least_of_groups(by: &BTreeMap<String, Coverage>) -> f64 {
    by.values().filter(|coverage| coverage.pairs >= PAIRS).map(|coverage| coverage.share).fold(1.0, f64::min)
}

impl Folder {
    /// How far each value's interval reaches.
    fn halves(&self, with: f64) -> Vec<Option<(f64, f64)>> {
        let of = |(value, deviation): (&Value, f64)| {
            let deviation = Deviation::assumed(deviation);
            Some((deviation.half_width(value.sides.0), deviation.half_width(value.sides.1)))
        };
        self.values.iter().zip(self.deviations(with)).map(of).collect()
    }

    fn deviations(&self, with: f64) -> Vec<f64> {
        let mut runs: BTreeMap<usize, HalfWidths> = BTreeMap::new();
        for value in &self.values {
            runs.entry(value.run).or_default().add(&value.group, value.is_core, value.half());
        }
        let of = |value: &Value| {
            let shared = if value.is_core { self.shared } else { 1.0 };
            shared * runs[&value.run].deviation(&value.group, value.is_core, value.half(), with)
        };
        self.values.iter().map(of).collect()
    }

    /// What such intervals hold, by group and of all.
    fn coverage(&self, intervals: &[Option<(f64, f64)>]) -> BTreeMap<String, Coverage> {
        #[derive(Default)]
        struct Counts {
            held: usize,
            widths: Vec<f64>,
            ideal: Vec<f64>,
            scores: Vec<f64>,
        }
        let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
        for (value, ends) in self.values.iter().zip(intervals) {
            let Some((down, up)) = *ends else { continue };
            let beyond = value.apart.iter().map(|(_, apart)| (-down - apart).max(apart - up).max(0.0));
            let beyond: Vec<f64> = beyond.collect();
            for group in [value.group.as_str(), ALL] {
                let counts = counts.entry(group).or_default();
                counts.held += beyond.iter().filter(|beyond| **beyond == 0.0).count();
                counts.widths.push((up.exp() - (-down).exp()) / 2.0);
                counts.ideal.push(value.ideal);
                counts.scores.extend(beyond.iter().map(|beyond| down + up + OF_A_MISS * beyond));
            }
        }
        let shown = |(group, Counts { held, widths, ideal, scores }): (&str, Counts)| {
            let (width, ideal) = (median(&widths).unwrap_or(0.0), median(&ideal).unwrap_or(0.0));
            let (share, score) = (held as f64 / scores.len().max(1) as f64, mean(&scores).unwrap_or(0.0));
            let coverage = Coverage { share, pairs: scores.len(), width, beside_ideal: width / ideal, score };
            (group.to_owned(), coverage)
        };
        counts.into_iter().map(shown).collect()
    }

    /// The values of the core alone, or all others.
    fn part(&self, is_core: bool) -> Folder {
        let values = self.values.iter().filter(|value| value.is_core == is_core).cloned().collect();
        Folder { name: self.name, shared: self.shared, values }
    }

    /// The number of runs whose promise nine of ten values of the others kept, and of all runs.
    fn kept(&self, with: f64) -> (usize, usize) {
        let mut runs: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for (value, half) in self.values.iter().zip(self.halves(with)) {
            let (differences, apart) = runs.entry(value.run).or_default();
            let (down, up) = half.unwrap_or_default();
            differences.push((down + up) / 2.0 / HALF_IN_DEVIATIONS);
            apart.extend(value.apart.iter().map(|(_, apart)| apart.exp_m1().abs()));
        }
        let is_kept = |(differences, apart): &&(Vec<f64>, Vec<f64>)| {
            let promised = within(differences, 0.9).unwrap_or(0.0);
            quantile(apart, 0.9).is_some_and(|came| came <= promised)
        };
        (runs.values().filter(is_kept).count(), runs.len())
    }

    /// The coverage of intervals that so many other runs tell beside this one: the next ones in a circle.
    fn stored(&self, stored: usize, with: f64) -> BTreeMap<String, Coverage> {
        let mut values = self.values.clone();
        let intervals: Vec<_> = values
            .iter_mut()
            .zip(self.deviations(with))
            .map(|(value, assumed)| {
                let first = value.apart.iter().position(|(run, _)| *run > value.run).unwrap_or(0);
                value.apart.rotate_left(first);
                if value.apart.len() <= stored {
                    return None;
                }
                let rest = value.apart.split_off(stored);
                let known = std::mem::replace(&mut value.apart, rest);
                let all: Vec<f64> = known.iter().map(|(_, apart)| apart.exp()).chain([1.0]).collect();
                let (low, high) = Deviation::of(&all, assumed)?.prediction(&all)?;
                Some((-low.ln().min(0.0), high.ln().max(0.0)))
            })
            .collect();
        Folder { name: self.name, shared: self.shared, values }.coverage(&intervals)
    }
}

/// The values of a folder that have an interval, of cases that three runs have or more.
fn folder(name: &'static str, shared: f64, runs: &[Recorded]) -> Folder {
    let mut by_id: BTreeMap<&str, Vec<(usize, &Case)>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for case in run.cases.iter().filter(|case| case.value > 0.0) {
            by_id.entry(&case.id).or_default().push((number, case));
        }
    }
    let mut values = Vec::new();
    for (id, cases) in by_id.iter().filter(|(_, cases)| cases.len() >= 3) {
        let logs: Vec<f64> = cases.iter().map(|(_, case)| case.value.ln()).collect();
        let pairs =
            logs.iter().enumerate().flat_map(|(at, one)| logs[at + 1..].iter().map(move |other| (other - one).abs()));
        let ideal = quantile(&pairs.collect::<Vec<f64>>(), 0.95).unwrap_or(0.0);
        for (run, case) in cases {
            let logarithms = |(low, high): (f64, f64)| ((case.value / low).ln(), (high / case.value).ln());
            let Some((down, up)) = case.ends.filter(|ends| ends.0 > 0.0).map(logarithms) else { continue };
            // Runs of an older program have no grade, and t intervals of three rounds.
            let by = if runs[*run].trust.is_none() { OF_T_INTERVAL } else { 1.0 };
            values.push(Value {
                run: *run,
                group: id.split('.').next().unwrap_or("").to_owned(),
                is_core: case.leads_quiet.unwrap_or(case.is_core),
                sides: (by * down.max(0.0), by * up.max(0.0)),
                ideal,
                apart: cases
                    .iter()
                    .filter(|(other, _)| other != run)
                    .map(|(other, it)| (*other, (it.value / case.value).ln()))
                    .collect(),
            });
        }
    }
    Folder { name, shared, values }
}
