//! Evidence of rules: cases at a point, credible values, and the ends of their intervals.

use hostmark_model::{CaseRecord, Estimate, FlagKind, Measured, Run};

/// The first case of `probe`, with both ends on one machine, that has these values of its axes; on the others it stands as a
/// run file orders them, at the default.
pub(super) fn case_at<'a>(run: &'a Run, probe: &str, at: &[(&str, &str)]) -> Option<&'a CaseRecord> {
    let is_there = |case: &&CaseRecord| at.iter().all(|(axis, value)| case.params.get(axis) == Some(value));
    run.cases.iter().filter(|case| case.probe == probe && case.peer().is_none()).find(is_there)
}

/// A measurement that nothing speaks against.
pub(super) fn believed(case: &CaseRecord) -> Option<&Measured> {
    let is_doubted =
        |kind: FlagKind| matches!(kind, FlagKind::Implausible | FlagKind::UnderResolution | FlagKind::FromCache);
    case.measured().filter(|measured| measured.flags.iter().all(|flag| !is_doubted(flag.kind)))
}

/// A value above zero with both ends of its interval: without them nothing is proven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proven {
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
}

impl Proven {
    pub(super) fn of(estimate: &Estimate) -> Option<Proven> {
        let stated = estimate.stated();
        let ((low, high), value) = (stated.interval()?, stated.value);
        (low > 0.0 && value >= low && high >= value && high.is_finite()).then_some(Proven { low, value, high })
    }

    pub(super) fn of_case(case: &CaseRecord) -> Option<Proven> {
        Proven::of(&believed(case)?.estimate)
    }

    /// A further quantity of a case.
    pub(super) fn also(case: &CaseRecord, name: &str) -> Option<Proven> {
        Proven::of(&*believed(case)?.companion(name)?)
    }

    /// The value of the first case at a point.
    pub(super) fn at(run: &Run, probe: &str, at: &[(&str, &str)]) -> Option<Proven> {
        Proven::of_case(case_at(run, probe, at)?)
    }
}

/// The share of its time that something loses which takes `actual` and would take `possible`.
pub(super) fn lost(actual: f64, possible: f64) -> f64 {
    1.0 - possible / actual
}
