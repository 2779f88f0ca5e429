//! What recorded runs say: how far estimators repeat, what intervals hold, and what grades promised.

use std::collections::{BTreeMap, HashMap};

use hostmark_stats::descriptive::{median, quantile};

use crate::estimators::ALL;
use crate::recorded::{Case, Recorded};

/// All tables of these runs, which are in the order in which they were measured.
pub fn text(runs: &[Recorded]) -> String {
    let out = &mut String::new();
    *out += &(format!("{} runs\n\nsuccessive runs apart, %: median, 75th, 90th percentile", runs.len()) + "\n");
    for is_core in [true, false] {
        *out += if is_core { "cpu, clock, syscall, memory up to 2 MiB\n" } else { "all other cases\n" };
        for (index, (name, _)) in ALL.iter().enumerate().filter(|(_, (name, _))| is_core || !name.ends_with("cycles")) {
            row(out, name, &apart(runs, is_core, |case| case.estimates[index]));
        }
        row(out, "as the runs led", &apart(runs, is_core, |case| Some(case.value)));
    }
    quietest(out, runs);
    kinds(out, runs);
    intervals(out, runs);
    grades(out, runs);
    std::mem::take(out)
}

fn row(out: &mut String, name: &str, apart: &[f64]) {
    let at = |p: f64| quantile(apart, p).map_or("-".to_owned(), |value| format!("{:.2}", value * 100.0));
    *out += &(format!("  {name:36} {:>7} {:>7} {:>7}   of {}", at(0.5), at(0.75), at(0.9), apart.len()) + "\n");
}

fn by_id(run: &Recorded) -> HashMap<&str, &Case> {
    run.cases.iter().map(|case| (case.id.as_str(), case)).collect()
}

fn apart(runs: &[Recorded], is_core: bool, of: impl Fn(&Case) -> Option<f64>) -> Vec<f64> {
    let mut all = Vec::new();
    for pair in runs.windows(2) {
        let before = by_id(&pair[0]);
        for case in pair[1].cases.iter().filter(|case| case.is_core == is_core) {
            let values = before.get(case.id.as_str()).and_then(|known| Some((of(known)?, of(case)?)));
            all.extend(
                values.filter(|(one, other)| *one > 0.0 && *other > 0.0).map(|(one, other)| (other / one).ln().abs()),
            );
        }
    }
    all
}

/// How far estimators of all rounds lie from those of the third of rounds with the least marks.
fn quietest(out: &mut String, runs: &[Recorded]) {
    *out += "\nfrom the third of rounds with the least marks, %: median, 75th, 90th percentile (core alone)\n";
    for (index, (name, _)) in ALL.iter().enumerate() {
        let cases = runs.iter().flat_map(|run| &run.cases).filter(|case| case.is_core);
        let values = cases.filter_map(|case| case.estimates[index].zip(case.quietest));
        let apart =
            values.filter(|(one, other)| *one > 0.0 && *other > 0.0).map(|(one, other)| (one / other).ln().abs());
        row(out, name, &apart.collect::<Vec<f64>>());
    }
}

/// What runs differ by beyond what each knows, by kind: the table of analysis/src/repetition/assumed.rs.
fn kinds(out: &mut String, runs: &[Recorded]) {
    let mut kinds: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (id, values) in values(runs) {
        let Some(usual) = median(&values.iter().map(|case| case.value.ln()).collect::<Vec<_>>()) else { continue };
        for case in values {
            let Some((low, high)) = case.ends.filter(|(low, _)| *low > 0.0) else { continue };
            let group = id.split('.').next().unwrap_or("");
            let kind = if case.is_core && !matches!(group, "clock") { "core" } else { group };
            let own = if case.value.ln() > usual { case.value / low } else { high / case.value };
            kinds.entry(kind.to_owned()).or_default().push(((case.value.ln() - usual).abs(), own.ln()));
        }
    }
    *out += "\ndeviation between runs beyond their own intervals (95 % within twice it), by kind\n";
    for (kind, all) in kinds {
        let held =
            |sd: f64| all.iter().filter(|(apart, own)| *apart <= own.hypot(2.0 * sd)).count() as f64 / all.len() as f64;
        let enough = (0..2000).map(|step| f64::from(step) * 5e-4).find(|sd| held(*sd) >= 0.95);
        *out += &(format!("  {kind:12} {:.4}   of {}", enough.unwrap_or(1.0), all.len()) + "\n");
    }
}

/// Of each case, its measurements over the runs.
fn values(runs: &[Recorded]) -> BTreeMap<&str, Vec<&Case>> {
    let mut all: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in runs.iter().flat_map(|run| &run.cases).filter(|case| case.value > 0.0) {
        all.entry(&case.id).or_default().push(case);
    }
    all.retain(|_, of| of.len() >= 3);
    all
}

/// How often intervals hold the median of the other runs.
fn intervals(out: &mut String, runs: &[Recorded]) {
    let (mut this, mut next, mut by_runs) = ((0, 0), (0, 0), (0, 0));
    for cases in values(runs).values().filter(|cases| cases.len() > runs.len() / 2) {
        for (index, case) in cases.iter().enumerate() {
            let others: Vec<f64> =
                cases.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, case)| case.value).collect();
            let Some(usual) = median(&others) else { continue };
            let count = |counts: &mut (usize, usize), ends: (f64, f64)| {
                counts.0 += usize::from(ends.0 <= usual && usual <= ends.1);
                counts.1 += 1;
            };
            case.ends.into_iter().for_each(|ends| count(&mut this, ends));
            if let Some((low, high, runs)) = case.repetition {
                count(if runs > 0 { &mut by_runs } else { &mut next }, (low, high));
            }
        }
    }
    *out += "\nhold the median of the other runs\n";
    for (name, (held, all)) in
        [("of this run", this), ("of repetition, assumed", next), ("of repetition, told by runs", by_runs)]
    {
        *out += &(format!(
            "  {name:30} {:5.1} % of {all}",
            100.0 * held as f64 / f64::from(u32::try_from(all.max(1)).unwrap_or(1))
        ) + "\n");
    }
}

/// What grades promised, and what came.
fn grades(out: &mut String, runs: &[Recorded]) {
    *out += "\ngrade, promised for nine of ten values of another run, and what the next run showed\n";
    for pair in runs.windows(2) {
        let Some((grade, within)) = &pair[0].trust else { continue };
        let before = by_id(&pair[0]);
        let same = pair[1].cases.iter().filter_map(|case| {
            let known = before.get(case.id.as_str()).filter(|known| known.repetition.is_some())?;
            Some((case.value / known.value - 1.0).abs())
        });
        let came = quantile(&same.collect::<Vec<_>>(), 0.9).unwrap_or(0.0);
        let earned = if came <= 0.05 {
            "A"
        } else if came <= 0.15 {
            "B"
        } else {
            "C"
        };
        *out += &(format!("  {grade}  {:5.1} %   {earned}  {:5.1} %", within * 100.0, came * 100.0) + "\n");
    }
}
