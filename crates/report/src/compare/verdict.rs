//! From an effect to a verdict.

use hostmark_model::Better;

use super::{Effect, FALSE_DISCOVERIES, Test, Verdict};

/// The verdict on an effect with a test; `medians` is the ratio of the values that a reader sees.
///
/// A difference needs three things: the adjusted p value says that it is no chance, the interval excludes 1 and the
/// effect exceeds the noise floor; and the medians, which one stray round does not move, must tell the same.
pub(super) fn verdict(effect: &Effect, test: &Test, medians: f64, better: Better) -> Verdict {
    let size = effect.ratio.ln();
    let floor = test.floor.fraction.ln_1p();
    let excludes_one = test.low > 1.0 || test.high < 1.0;
    let is_seen = medians.ln() * size > 0.0 && medians.ln().abs() > floor.min(size.abs() / 2.0);
    if test.adjusted_p_value > FALSE_DISCOVERIES || !excludes_one || size.abs() <= floor || !is_seen {
        return Verdict::NoDifference;
    }
    match (better, effect.ratio > 1.0) {
        (Better::Neither, _) => Verdict::Changed,
        (Better::Lower, true) | (Better::Higher, false) => Verdict::Slower,
        (Better::Lower, false) | (Better::Higher, true) => Verdict::Faster,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Floor, FloorSource, Level};
    use super::*;

    fn judged(ratio: f64, half: f64, p: f64, floor: f64, better: Better) -> Verdict {
        let test = Test {
            low: ratio * (1.0 - half),
            high: ratio * (1.0 + half),
            p_value: p,
            adjusted_p_value: p,
            level: Level::Round,
            floor: Floor { fraction: floor, source: FloorSource::Rounds, runs: None },
        };
        verdict(&Effect { ratio, test: None }, &test, ratio, better)
    }

    #[test]
    fn the_probe_says_which_direction_is_good() {
        assert_eq!(judged(1.1, 0.01, 0.001, 0.02, Better::Lower), Verdict::Slower);
        assert_eq!(judged(1.1, 0.01, 0.001, 0.02, Better::Higher), Verdict::Faster);
        assert_eq!(judged(0.9, 0.01, 0.001, 0.02, Better::Lower), Verdict::Faster);
        assert_eq!(judged(0.9, 0.01, 0.001, 0.02, Better::Higher), Verdict::Slower);
        assert_eq!(judged(0.9, 0.01, 0.001, 0.02, Better::Neither), Verdict::Changed);
    }

    #[test]
    fn each_condition_alone_is_not_enough() {
        assert_eq!(judged(1.1, 0.01, 0.06, 0.02, Better::Lower), Verdict::NoDifference, "it may be chance");
        assert_eq!(judged(1.1, 0.2, 0.001, 0.02, Better::Lower), Verdict::NoDifference, "the interval holds 1");
        assert_eq!(judged(1.1, 0.01, 0.001, 0.11, Better::Lower), Verdict::NoDifference, "it is under the floor");
        // The floor reaches as far down as up: 1/1.11 is 0.901.
        assert_eq!(judged(0.91, 0.01, 0.001, 0.11, Better::Lower), Verdict::NoDifference, "it is under the floor");
    }

    #[test]
    fn medians_that_tell_another_story_are_heard() {
        let test = Test {
            low: 1.05,
            high: 1.15,
            p_value: 0.001,
            adjusted_p_value: 0.001,
            level: Level::Round,
            floor: Floor { fraction: 0.02, source: FloorSource::Rounds, runs: None },
        };
        let effect = Effect { ratio: 1.1, test: None };
        assert_eq!(verdict(&effect, &test, 1.0, Better::Lower), Verdict::NoDifference);
        assert_eq!(verdict(&effect, &test, 0.99, Better::Lower), Verdict::NoDifference);
        assert_eq!(verdict(&effect, &test, 1.1, Better::Lower), Verdict::Slower);
    }
}
