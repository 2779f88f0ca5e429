//! Estimator of a value, named wherever a reader compares it with one of the other; and the unit in which it comes first.

use std::borrow::Cow;

use hostmark_analysis::format::{amount, estimator, other_value};
use hostmark_model::{AxisInfo, AxisKind, CaseRecord, Estimate, Leading, Measured, Message, Run, Unit};
use hostmark_say::say;

/// A case's value as a row of its own begins with it: in cycles where the core alone decides, since these repeat where its clock does
/// not; the same in nanoseconds follows.
pub(crate) fn first(measured: &Measured, unit: Unit) -> (Cow<'_, Estimate>, Unit) {
    let as_it_is = || (Cow::Borrowed(&measured.estimate), unit);
    measured.in_cycles().map_or_else(as_it_is, |cycles| (cycles, Unit::CoreCycles))
}

/// Addition to a value: the other estimator's where the two differ, and always where the same on more or fewer CPUs, or the base of its
/// scaling, leads with the other one. A single value is there called the value of its estimator, never by a name that a number would have
/// to follow.
pub(crate) fn other_estimator(run: &Run, case: &CaseRecord, estimate: &Estimate, unit: Unit) -> Option<Message> {
    let (by, other) = (estimate.estimator(), estimate.estimator().other());
    if !is_compared_with(run, case, other) {
        return other_value(estimate, unit);
    }
    Some(match estimate.by(other) {
        Some(stated) => Message::joined([estimator(other).into(), amount(stated.value, unit)], " "),
        None => say!("the {estimator} value", estimator = estimator(by)),
    })
}

/// The value, and what stands beside it: `1.36 k/s (typical 1.37 k/s)`.
pub(crate) fn both(run: &Run, case: &CaseRecord, estimate: &Estimate, unit: Unit) -> Message {
    let shown = amount(estimate.value(), unit);
    match other_estimator(run, case, estimate, unit) {
        Some(other) => say!("{shown} ({other})"),
        None => shown,
    }
}

/// Tells whether a case that is read beside this one leads with this estimator.
fn is_compared_with(run: &Run, case: &CaseRecord, by: Leading) -> bool {
    let info = run.probes.iter().find(|info| info.id == case.probe);
    let of_cpus = |axis: &&AxisInfo| matches!(axis.kind, AxisKind::Threads | AxisKind::Copies);
    let of_cpus: Vec<&str> = info.iter().flat_map(|info| &info.axes).filter(of_cpus).map(|axis| &*axis.name).collect();
    let is_probe = |at: &&str| run.probes.iter().any(|info| info.id == *at);
    let scales: Vec<&str> = case.params.0.iter().map(|(_, at)| at.as_str()).filter(is_probe).collect();
    // Thousands of pairs of CPUs are read beside none of each other.
    if of_cpus.is_empty() && scales.is_empty() {
        return false;
    }
    let is_same = |other: &CaseRecord| {
        let mut pairs = case.params.0.iter().zip(&other.params.0);
        other.probe == case.probe && pairs.all(|(one, at)| one == at || one.0 == at.0 && of_cpus.contains(&&*one.0))
    };
    let is_scaled = |other: &CaseRecord| scales.contains(&&*other.probe);
    // What is quickly told comes first: most runs of thousands of cases have one estimator.
    let leads = |other: &&CaseRecord| other.measured().is_some_and(|of| of.estimate.estimator() == by);
    run.cases.iter().filter(leads).any(|other| is_same(other) || is_scaled(other))
}
