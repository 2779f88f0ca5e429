//! Change of a case and its error, before its verdict.

use hostmark_stats::compare::Difference;

use super::{FALSE_DISCOVERIES, Test};

/// A difference, with the p values of "no change" and of "as much as the limit or more".
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) difference: Difference,
    /// Largest slowdown, on the logarithms, of the worse side by a neighbour on its core.
    pub(super) neighbour: f64,
    pub(super) changed: f64,
    pub(super) same: f64,
    /// True where the spread between runs was measured, not assumed.
    pub(super) is_from_runs: bool,
}

impl Claim {
    /// "No change" is that it changed by no more than a neighbour may cost: a bound, and no error that chance would have to exceed many
    /// times over.
    pub(super) fn of(difference: Difference, neighbour: f64, same_within: f64, is_from_runs: bool) -> Claim {
        let changed = beyond(difference, neighbour).p_changed();
        Claim { difference, neighbour, changed, same: difference.p_within(same_within), is_from_runs }
    }

    /// The same where pairs were made in turn and looked at several times: p values over all looks.
    pub(super) fn of_looks(difference: Difference, changed: f64, same: f64) -> Claim {
        Claim { difference, neighbour: 0.0, changed, same, is_from_runs: true }
    }

    /// Widens the errors by a factor.
    pub(super) fn widened(self, times: f64, same_within: f64) -> Claim {
        let difference = Difference { error: self.difference.error * times, ..self.difference };
        Claim::of(difference, self.neighbour, same_within, self.is_from_runs)
    }

    /// The ends of the ratio's interval at the level to which the adjustment for all cases came, see [`levels`]; less where the p value is
    /// over several looks. It holds 1 exactly where no change is shown.
    pub(super) fn interval(&self, level: f64) -> (f64, f64) {
        let own = beyond(self.difference, self.neighbour).p_changed();
        let level = if own < self.changed { level * own / self.changed } else { level };
        let ((low, high), cost) = (self.difference.interval_at(level), self.neighbour.exp());
        if self.difference.logarithm > 0.0 { (low / cost, high) } else { (low, high * cost) }
    }

    /// The change, as a fraction, that would have been seen at `level`.
    pub(super) fn visible(&self, level: f64) -> f64 {
        (1.0 + self.difference.visible(level)) * self.neighbour.exp() - 1.0
    }

    /// The test of a case, before the other cases are known; `deviation` between runs, and how many tell it.
    pub(super) fn test(&self, deviation: f64, runs: usize) -> Test {
        let (low, high) = self.interval(FALSE_DISCOVERIES);
        Test {
            ratio: self.difference.ratio(),
            low,
            high,
            p_value: self.changed,
            adjusted_p_value: 1.0,
            same_p_value: 1.0,
            within: self.difference.within(),
            visible: f64::INFINITY,
            deviation,
            runs,
        }
    }

    /// Fills in the test of a case, with the adjusted p values, the change that would have been seen, and the level of intervals.
    pub(super) fn fill(&self, test: &mut Test, [changed, same, visible, level]: [f64; 4]) {
        (test.low, test.high) = self.interval(level);
        (test.p_value, test.within) = (self.changed, self.difference.within());
        (test.adjusted_p_value, test.same_p_value, test.visible) = (changed, same, visible);
    }
}

/// Levels by the adjusted p values of "no change" of all cases: that of their intervals, which is that of the last that changed, so that the
/// false coverage rate of those is as bounded as their false discovery rate (Benjamini & Yekutieli, "False discovery rate-adjusted
/// multiple confidence intervals for selected parameters", JASA 2005); and that to which the next find would be held.
pub(super) fn levels(changed: &[f64]) -> [f64; 2] {
    let (found, all) = (changed.iter().filter(|p| **p <= FALSE_DISCOVERIES).count(), changed.len().max(1));
    [found, found + 1].map(|rank| FALSE_DISCOVERIES * rank.clamp(1, all) as f64 / all as f64)
}

/// The part of a difference that a neighbour on the core does not explain.
fn beyond(difference: Difference, neighbour: f64) -> Difference {
    Difference { logarithm: (difference.logarithm.abs() - neighbour).max(0.0), ..difference }
}

/// Change of a case's leading value and of whatever else is compared.
#[derive(Default)]
pub(super) struct KnownChange {
    pub(super) leading: Option<Claim>,
    pub(super) others: Vec<Claim>,
    /// Variance of one run's leading value by its rounds.
    pub(super) own: f64,
    /// Standard deviation between runs that the cases of its group share.
    pub(super) in_common: f64,
    /// Variance of the difference of both sides, in multiples of one run's.
    pub(super) sides: f64,
    /// Largest slowdown of each side by a neighbour on its core, on the logarithms.
    pub(super) neighbours: [f64; 2],
}
