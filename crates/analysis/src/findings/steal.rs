//! Time that the hypervisor gave to others while the run measured.

use hostmark_model::{CaseRecord, Lang, Run, Unit};

use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::duration::duration_s;
use crate::format::{percent, value};
use crate::texts::findings::steal as texts;

/// Steal is counted in ticks of 10 ms: ten of them are no chance.
const LEAST_NS: f64 = 100e6;
/// One lost time slice in a hundred is seen in tails, and soon in medians.
const NOTABLE: f64 = 0.01;
/// The cases that are named, those that lost most first.
const MOST_CASES: usize = 5;

pub(super) static RULE: Rule = Rule {
    id: "run.steal",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw,
};

/// Stolen time of a case per CPU that it used, ns.
pub fn stolen_ns(case: &CaseRecord) -> Option<f64> {
    let measured = case.measured()?;
    let cpus = measured.rounds.iter().map(|round| round.cpus.len()).max().unwrap_or(1).max(1);
    measured.noise.steal_ns.filter(|ns| ns.is_finite() && *ns > 0.0).map(|ns| ns / cpus as f64)
}

/// The share of a run's time that the hypervisor gave to others; none where that is too little to say so.
pub(crate) fn stolen_share(run: &Run) -> Option<f64> {
    let total_ns: f64 = run.cases.iter().filter_map(stolen_ns).sum();
    let whole_ns = duration_s(run).map(|seconds| seconds * 1e9).filter(|ns| *ns > 0.0)?;
    // More than there was is a broken counter.
    let share = Some(total_ns / whole_ns).filter(|share| *share <= 1.0)?;
    (total_ns >= LEAST_NS && share >= NOTABLE).then_some(share)
}

fn draw(run: &Run) -> Vec<Conclusion> {
    let Some(cost) = stolen_share(run) else { return Vec::new() };
    let mut stolen: Vec<(f64, &CaseRecord)> =
        run.cases.iter().filter_map(|case| Some((stolen_ns(case)?, case))).collect();
    let total_ns: f64 = stolen.iter().map(|(ns, _)| ns).sum();
    let whole_ns = duration_s(run).unwrap_or(0.0) * 1e9;
    stolen.sort_by(|one, other| other.0.total_cmp(&one.0));
    let cases = stolen.iter().take(MOST_CASES).map(|(_, case)| case.id.clone()).collect();
    let (share, [time, whole]) = (percent(cost), [total_ns, whole_ns].map(|ns| value(ns, Unit::Nanoseconds, Lang::En)));
    let text = texts::text!(time, whole, share);
    let short = short(texts::short!(share, time, whole));
    vec![Conclusion { short, text, cases, cost }]
}
