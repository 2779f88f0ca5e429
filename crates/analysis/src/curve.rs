//! A probe's values along one axis of numbers, all else being at its default.

use hostmark_model::{CaseRecord, Estimate, Params, Run};

use crate::labels::ProbeLabels;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint<'a> {
    pub at: u64,
    pub case: &'a CaseRecord,
    pub estimate: &'a Estimate,
}

impl CurvePoint<'_> {
    /// Tells whether this value is over `by` times another and their intervals do not overlap. Values without an interval prove nothing.
    pub fn is_above(&self, other: &CurvePoint, by: f64) -> bool {
        let is_apart = matches!((self.estimate.interval(), other.estimate.interval()), (Some((low, _)), Some((_, high))) if low > high);
        is_apart && self.estimate.value() > by * other.estimate.value()
    }
}

/// The measured points of `probe` along `axis`, ascending, with the other axes at their defaults or as `but` sets them.
pub fn curve<'a>(run: &'a Run, probe: &str, axis: &str, but: &[(&str, &str)]) -> Vec<CurvePoint<'a>> {
    let info = run.probes.iter().find(|info| info.id == probe);
    let first = run.cases.iter().find(|case| case.probe == probe).map(|case| &case.params);
    let labels = ProbeLabels::new(probe, info, first);
    let wanted = |other: &str| {
        let set = but.iter().find(|(name, _)| *name == other).map(|(_, value)| *value);
        set.or_else(|| labels.default_of(other))
    };
    let is_on = |params: &Params| params.0.iter().all(|(name, value)| name == axis || wanted(name) == Some(value));
    let point = |case: &'a CaseRecord| {
        let estimate = &case.measured()?.estimate;
        let at = case.params.get(axis)?.parse().ok()?;
        (estimate.value() > 0.0).then_some(CurvePoint { at, case, estimate })
    };
    let cases = run.cases.iter().filter(|case| case.probe == probe && is_on(&case.params));
    let mut points: Vec<CurvePoint> = cases.filter_map(point).collect();
    points.sort_by_key(|point| point.at);
    points
}
