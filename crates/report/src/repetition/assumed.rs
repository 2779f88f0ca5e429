//! What runs are assumed to differ by where a host has too few of its own: what recorded runs of other hosts differed by.

use hostmark_model::{CaseRecord, Estimate};

/// The standard deviation between runs, of a value's logarithm, beyond what a run's own interval tells: of a kind of cases, 95 % of
/// the recorded runs lay within twice that. `docs/study` has the recordings and the program that makes this table again.
const OF_KINDS: &[(&str, f64)] = &[
    (CORE, 0.004),
    (QUIET, 0.04),
    ("memory", 0.06),
    ("cpu", 0.05),
    ("clock", 0.03),
    ("syscall", 0.05),
    ("process", 0.05),
    ("paging", 0.06),
    ("file", 0.08),
    ("disk", 0.2),
    ("sched", 0.08),
    ("ipc", 0.06),
    ("net", 0.08),
    ("virt", 0.08),
];
/// What the core does by itself, told at the clock that it held.
const CORE: &str = "core";
/// Other quiet values.
const QUIET: &str = "quiet";
/// Of a kind of which no runs were recorded.
const OF_OTHERS: f64 = 0.1;

/// Which kind a value is of.
pub(super) fn kind<'a>(case: &'a CaseRecord, estimate: &Estimate) -> &'a str {
    match estimate.leading_quiet() {
        Some(quiet) if quiet.at_hz.is_some() => CORE,
        Some(_) => QUIET,
        None => case.probe.split('.').next().unwrap_or(""),
    }
}

/// What is assumed of it.
pub(super) fn deviation(case: &CaseRecord, estimate: &Estimate) -> f64 {
    let kind = kind(case, estimate);
    OF_KINDS.iter().find(|(known, _)| *known == kind).map_or(OF_OTHERS, |(_, sd)| *sd)
}
