//! What is known of the change of a case before its verdict.

use hostmark_stats::compare::Difference;

use super::Test;

/// A difference, with the p values of "no change" and of "as much as the limit or more".
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) difference: Difference,
    pub(super) changed: f64,
    pub(super) same: f64,
    /// Whether runs tell how much runs differ, and it is not only assumed.
    pub(super) is_from_runs: bool,
}

impl Claim {
    /// What the test of a case says, with the adjusted p values and the change that would have been seen.
    pub(super) fn fill(&self, test: &mut Test, [changed, same, visible]: [f64; 3]) {
        (test.low, test.high) = self.difference.interval();
        (test.p_value, test.within) = (self.changed, self.difference.within());
        (test.adjusted_p_value, test.same_p_value, test.visible) = (changed, same, visible);
    }
}

/// What is known of the change of a case, of its leading value and of what else is compared.
#[derive(Default)]
pub(super) struct KnownChange {
    pub(super) leading: Option<Claim>,
    pub(super) others: Vec<Claim>,
    /// Of the leading value: the variance of one run's as its rounds tell it.
    pub(super) own: f64,
    /// What runs differ by, as a standard deviation.
    pub(super) deviation: f64,
    /// So many times the variance of one run has the difference of both sides.
    pub(super) sides: f64,
}
