//! What a single run must assume of how far runs lie apart: fitted on all machines but one, and held against that one.

use std::collections::BTreeMap;
use std::path::Path;

use hostmark_analysis::trust::within;
use hostmark_stats::descriptive::{mean, median, quantile};
use hostmark_stats::repetition::{CALIBRATED, Calibration, Deviation, HalfWidths};

use crate::recorded::{self, Case, Recorded};

const MACHINES: &[(&str, &[&str])] =
    &[("A", &["a"]), ("B", &["b", "c", "d"]), ("E", &["e"]), ("F", &["f"]), ("G", &["g"]), ("H", &["h"])];
/// What is tried of each number.
const OF_CORE: &[f64] = &[0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7];
const OF_OTHERS: &[f64] = &[0.005, 0.01, 0.015, 0.02];
const SHARES: &[f64] = &[0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
/// The coverage that the machines of a fit have on average at least, of core-bound values and of others.
const LEAST_COVERAGE: f64 = 0.93;
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
    /// The same of the interval of repetition that stood in its file.
    recorded: Option<(f64, f64)>,
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
    values: Vec<Value>,
}

/// How often intervals hold another run's value, over how many pairs, and the median of their half-widths.
#[derive(Clone, Copy)]
struct Coverage {
    share: f64,
    pairs: usize,
    width: f64,
}

pub fn text(studies: &Path) -> Result<String, String> {
    let mut machines: Vec<(&str, Vec<Folder>)> = Vec::new();
    for &(machine, folders) in MACHINES {
        let of_folder = |&name: &&'static str| Ok(folder(name, &recorded::of_directory(&studies.join(name))?));
        machines.push((machine, folders.iter().map(of_folder).collect::<Result<_, String>>()?));
    }
    let mut out = "each machine by what the others say; of single runs, %: held of other runs' values, the least of a group, median half-width\n".to_owned();
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
    rows(&mut out, "-", &all, CALIBRATED);
    out += "\nby group, in use: held and half-width, %; in brackets as the files had it\n";
    for folder in all {
        by_group(&mut out, folder);
    }
    Ok(out)
}

fn rows(out: &mut String, left_out: &str, folders: &[&Folder], with: Calibration) {
    let Calibration { share_of_core, least_of_others, share } = with;
    *out += &format!("  left out {left_out:4}  core {share_of_core} others {least_of_others} share {share}\n");
    for folder in folders {
        let now = folder.coverage(&folder.halves(with));
        let before = folder.coverage(&folder.recorded());
        let shown = |by: &BTreeMap<String, Coverage>| {
            all_of(by).map_or("-".to_owned(), |all| {
                format!("{:5.1} {:5.1} {:5.1}", 100.0 * all.share, 100.0 * least_of_groups(by), 100.0 * all.width)
            })
        };
        let [core, others] = [true, false].map(|is_core| {
            let part = folder.part(is_core);
            let (now, kept) = (part.coverage(&part.halves(with)), part.kept(with));
            format!("{}, promise kept in {} of {}", shown(&now), kept.0, kept.1)
        });
        *out +=
            &format!("    {}  {}   [{}]   core {core}   others {others}\n", folder.name, shown(&now), shown(&before));
        for stored in [3, 8] {
            let [core, others] = [true, false].map(|is_core| shown(&folder.part(is_core).stored(stored, with)));
            *out += &format!("       with {stored} runs stored   core {core}   others {others}\n");
        }
    }
}

fn by_group(out: &mut String, folder: &Folder) {
    let (now, before) = (folder.coverage(&folder.halves(CALIBRATED)), folder.coverage(&folder.recorded()));
    for (group, Coverage { share, pairs, width }) in now {
        let shown = |coverage: &Coverage| format!("[{:5.1} {:5.1}]", 100.0 * coverage.share, 100.0 * coverage.width);
        let before = before.get(&group).map_or("[-]".to_owned(), shown);
        let (share, width) = (100.0 * share, 100.0 * width);
        *out += &format!("  {} {group:8} {share:5.1} {width:5.1}  {before}  of {pairs}\n", folder.name);
    }
}

/// What holds enough of all these with the narrowest intervals.
fn fitted(folders: &[&Folder]) -> Option<Calibration> {
    let mut best: Option<(f64, Calibration)> = None;
    for &share_of_core in OF_CORE {
        for &least_of_others in OF_OTHERS {
            for &share in SHARES {
                let tried = Calibration { share_of_core, least_of_others, share };
                let coverage: Vec<_> = folders.iter().map(|folder| folder.coverage(&folder.halves(tried))).collect();
                let is_enough = |is_core: bool| {
                    let part = folders.iter().map(|folder| folder.part(is_core));
                    let shares = part.filter_map(|part| Some(all_of(&part.coverage(&part.halves(tried)))?.share));
                    mean(&shares.collect::<Vec<_>>()).is_some_and(|share| share >= LEAST_COVERAGE)
                };
                let widths: Vec<f64> = coverage.iter().filter_map(|by| Some(all_of(by)?.width.ln())).collect();
                let width = mean(&widths).unwrap_or(f64::INFINITY);
                if is_enough(true) && is_enough(false) && best.is_none_or(|(least, _)| width < least) {
                    best = Some((width, tried));
                }
            }
        }
    }
    best.map(|(_, fit)| fit)
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
    fn halves(&self, with: Calibration) -> Vec<Option<(f64, f64)>> {
        let of = |(value, deviation): (&Value, f64)| {
            let deviation = Deviation::assumed(deviation);
            Some((deviation.half_width(value.sides.0), deviation.half_width(value.sides.1)))
        };
        self.values.iter().zip(self.deviations(with)).map(of).collect()
    }

    fn deviations(&self, with: Calibration) -> Vec<f64> {
        let mut runs: BTreeMap<usize, HalfWidths> = BTreeMap::new();
        for value in &self.values {
            runs.entry(value.run).or_default().add(&value.group, value.is_core, value.half());
        }
        let of = |value: &Value| runs[&value.run].deviation(&value.group, value.is_core, value.half(), with);
        self.values.iter().map(of).collect()
    }

    fn recorded(&self) -> Vec<Option<(f64, f64)>> {
        self.values.iter().map(|value| value.recorded).collect()
    }

    /// What such intervals hold, by group and of all.
    fn coverage(&self, intervals: &[Option<(f64, f64)>]) -> BTreeMap<String, Coverage> {
        let mut counts: BTreeMap<&str, (usize, usize, Vec<f64>)> = BTreeMap::new();
        for (value, ends) in self.values.iter().zip(intervals) {
            let Some((down, up)) = *ends else { continue };
            let coverage = value.apart.iter().filter(|(_, apart)| -down <= *apart && *apart <= up).count();
            for group in [value.group.as_str(), ALL] {
                let (all_held, all, widths) = counts.entry(group).or_default();
                *all_held += coverage;
                *all += value.apart.len();
                widths.push((up.exp() - (-down).exp()) / 2.0);
            }
        }
        let shown = |(group, (coverage, pairs, widths)): (&str, (usize, usize, Vec<f64>))| {
            let share = coverage as f64 / pairs.max(1) as f64;
            (group.to_owned(), Coverage { share, pairs, width: median(&widths).unwrap_or(0.0) })
        };
        counts.into_iter().map(shown).collect()
    }

    /// The values of the core alone, or all others.
    fn part(&self, is_core: bool) -> Folder {
        let values = self.values.iter().filter(|value| value.is_core == is_core).cloned().collect();
        Folder { name: self.name, values }
    }

    /// The number of runs whose promise nine of ten values of the others kept, and of all runs.
    fn kept(&self, with: Calibration) -> (usize, usize) {
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
    fn stored(&self, stored: usize, with: Calibration) -> BTreeMap<String, Coverage> {
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
        Folder { name: self.name, values }.coverage(&intervals)
    }
}

/// The values of a folder that have an interval, of cases that three runs have or more.
fn folder(name: &'static str, runs: &[Recorded]) -> Folder {
    let mut by_id: BTreeMap<&str, Vec<(usize, &Case)>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for case in run.cases.iter().filter(|case| case.value > 0.0) {
            by_id.entry(&case.id).or_default().push((number, case));
        }
    }
    let mut values = Vec::new();
    for (id, cases) in by_id.iter().filter(|(_, cases)| cases.len() >= 3) {
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
                recorded: case.repetition.map(|(low, high, _)| logarithms((low, high))),
                apart: cases
                    .iter()
                    .filter(|(other, _)| other != run)
                    .map(|(other, it)| (*other, (it.value / case.value).ln()))
                    .collect(),
            });
        }
    }
    Folder { name, values }
}
