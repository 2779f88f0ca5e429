//! Verdict of a change.

use hostmark_model::Better;

use super::{Aspect, FALSE_DISCOVERIES, Test, Verdict};

/// The verdict on the value that leads, by its test, and by those of the typical value and of percentiles where there are such.
///
/// A difference is shown where the adjusted p value is no chance; the lack of one where both one-sided tests of "it changed by no
/// more than so much" are none, adjusted by themselves. What is neither is undecided.
pub(super) fn verdict(leading: &Test, others: &[Aspect], better: Better) -> Verdict {
    if leading.is_shown() {
        return match (better, leading.ratio > 1.0) {
            (Better::Neither, _) => Verdict::Changed,
            (Better::Lower, true) | (Better::Higher, false) => Verdict::Slower,
            (Better::Lower, false) | (Better::Higher, true) => Verdict::Faster,
        };
    }
    if others.iter().any(Aspect::is_a_change) {
        return Verdict::ChangedShape;
    }
    if leading.same_p_value <= FALSE_DISCOVERIES { Verdict::Same } else { Verdict::Inconclusive }
}

#[cfg(test)]
mod tests {
    use super::super::Evidence;
    use super::*;

    fn test(ratio: f64, p: f64, same_p: f64) -> Test {
        Test {
            ratio,
            low: ratio * 0.99,
            high: ratio * 1.01,
            p_value: p,
            adjusted_p_value: p,
            same_p_value: same_p,
            within: 0.02,
            visible: 0.03,
            deviation: 0.01,
            runs: 0,
        }
    }

    #[test]
    fn the_probe_says_which_direction_is_good() {
        let judged = |ratio: f64, better: Better| verdict(&test(ratio, 0.001, 1.0), &[], better);
        assert_eq!(judged(1.1, Better::Lower), Verdict::Slower);
        assert_eq!(judged(1.1, Better::Higher), Verdict::Faster);
        assert_eq!(judged(0.9, Better::Lower), Verdict::Faster);
        assert_eq!(judged(0.9, Better::Higher), Verdict::Slower);
        assert_eq!(judged(0.9, Better::Neither), Verdict::Changed);
    }

    #[test]
    fn what_is_not_shown_to_differ_is_the_same_or_undecided() {
        let judged = |p: f64, same_p: f64| verdict(&test(1.02, p, same_p), &[], Better::Lower);
        assert_eq!(judged(0.06, 0.01), Verdict::Same);
        assert_eq!(judged(0.06, 0.06), Verdict::Inconclusive);
        // A small change that is certain is a change, however small.
        assert_eq!(judged(0.01, 0.01), Verdict::Slower);
    }

    #[test]
    fn where_the_typical_value_alone_moved_the_shape_changed() {
        let of = |quiet: f64, typical: f64, evidence: Evidence| {
            let other = Aspect { name: "typical".into(), test: test(1.3, typical, 1.0), evidence };
            verdict(&test(1.001, quiet, 0.001), &[other], Better::Lower)
        };
        let judged = |quiet: f64, typical: f64| of(quiet, typical, Evidence::Repeats);
        assert_eq!(judged(0.5, 0.001), Verdict::ChangedShape);
        assert_eq!(judged(0.001, 0.001), Verdict::Slower);
        assert_eq!(judged(0.5, 0.5), Verdict::Same);
        // Where something disturbed it, or it happened once, it says nothing of the case.
        assert_eq!(of(0.5, 0.001, Evidence::Disturbed), Verdict::Same);
        assert_eq!(of(0.5, 0.001, Evidence::Once), Verdict::Same);
    }
}
