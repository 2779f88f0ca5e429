//! Assumed deviations between runs where a host has too few of its own: those of recorded runs of other hosts.

use hostmark_model::CaseRecord;

/// The standard deviation between runs, of a value's logarithm, beyond what a run's own interval tells: of a kind of cases, 95 % of
/// the recorded runs lay within twice that. It is half as much again, as hosts differ. `docs/study` has the recordings and the program
/// that makes the table again.
const OF_KINDS: &[(&str, f64)] = &[
    (CORE, 0.004),
    (QUIET, 0.08),
    ("memory", 0.045),
    ("cpu", 0.02),
    ("clock", 0.005),
    ("syscall", 0.02),
    ("signal", 0.01),
    ("process", 0.02),
    ("paging", 0.012),
    ("file", 0.045),
    ("disk", 0.03),
    ("sched", 0.03),
    ("ipc", 0.015),
    ("net", 0.02),
    ("virt", 0.015),
];
/// The standard deviation between runs of the mean of all cases of a group, on the logarithms, from the same recordings and with the
/// same half as much again.
const OF_GROUPS: &[(&str, f64)] = &[
    ("memory", 0.013),
    ("cpu", 0.004),
    ("clock", 0.0075),
    ("syscall", 0.002),
    ("signal", 0.019),
    ("process", 0.009),
    ("paging", 0.024),
    ("file", 0.033),
    ("disk", 0.037),
    ("sched", 0.027),
    ("ipc", 0.008),
    ("net", 0.022),
    ("virt", 0.017),
];
/// Values limited by the core alone, reported at a clock.
const CORE: &str = "core";
const QUIET: &str = "quiet";
/// Deviation of a kind without recorded runs.
const OF_OTHERS: f64 = 0.05;

/// Assumed deviation between runs that all cases of a group share.
pub(crate) fn assumed_shift(group: &str) -> f64 {
    OF_GROUPS.iter().find(|(known, _)| *known == group).map_or(OF_OTHERS, |(_, sd)| *sd)
}

/// Assumed standard deviation between runs, on logarithms: of the undisturbed values of a case, or of its typical ones.
pub(crate) fn assumed_deviation(case: &CaseRecord, is_quiet: bool) -> f64 {
    let quiet = case.measured().filter(|_| is_quiet).and_then(|measured| measured.estimate.leading_quiet());
    let kind = match quiet {
        Some(quiet) if quiet.at_hz.is_some() => CORE,
        Some(_) => QUIET,
        None => super::group_of(&case.probe),
    };
    OF_KINDS.iter().find(|(known, _)| *known == kind).map_or(OF_OTHERS, |(_, sd)| *sd)
}
