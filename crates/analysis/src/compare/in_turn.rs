//! Tests of pairs of runs that were measured in turn and looked at several times.
//!
//! Each look is a t test on the logarithms of the pairs' ratios. A p value is the smallest so far times the number of looks that were
//! planned, so that all looks together err no more often than one (Bonferroni).

use hostmark_model::Run;
use hostmark_stats::compare::Difference;
use hostmark_stats::descriptive;

use super::side::{By, RunCase};

/// Numbers of pairs at which a comparison is tested, where pairs are made until enough is known.
pub const LOOKS: [usize; 5] = [5, 10, 20, 40, 80];

/// Result of the pairs of a case.
pub(super) struct InTurn {
    pub(super) difference: Difference,
    /// The p value of "no change", over all looks.
    pub(super) changed: f64,
    /// P value of "as much as that or more".
    pub(super) same: f64,
    pub(super) pairs: usize,
    /// Number of pairs at the last look, which the difference is of.
    seen: usize,
}

/// Tests the pairs that both sides have of the case, in order of measurement; also returns either side's values that the difference is of.
/// None before the first look.
pub(super) fn of(
    sides: (&[Run], &[Run]),
    (old, new): (&[RunCase], &[RunCase]),
    by: By,
    looks: &[usize],
    same_within: f64,
) -> Option<(InTurn, [Vec<f64>; 2])> {
    let value = |one: &RunCase| by.value(one).filter(|value| *value > 0.0);
    let both = |(before, after)| Some((value(before)?, value(after)?));
    let (before, after): (Vec<f64>, Vec<f64>) = pairs(sides, (old, new)).filter_map(both).unzip();
    let ratios: Vec<f64> = before.iter().zip(&after).map(|(before, after)| (after / before).ln()).collect();
    let outcome = of_ratios(&ratios, looks, same_within)?;
    let values = [before, after].map(|side| side[..outcome.seen].to_vec());
    Some((outcome, values))
}

/// Pairs in which both runs have the case, in order of measurement.
pub(super) fn pairs<'a>(
    (base, new): (&'a [Run], &'a [Run]),
    (old_found, new_found): (&'a [RunCase<'a>], &'a [RunCase<'a>]),
) -> impl Iterator<Item = (&'a RunCase<'a>, &'a RunCase<'a>)> {
    let of = |side: &'a [RunCase<'a>], run: &Run| {
        side.iter().find(|found| std::ptr::eq(found.run, run) && found.measured().is_some())
    };
    base.iter().zip(new).filter_map(move |(before, after)| Some((of(old_found, before)?, of(new_found, after)?)))
}

pub(super) fn of_ratios(ratios: &[f64], looks: &[usize], same_within: f64) -> Option<InTurn> {
    let (mut last, mut changed, mut same) = (None, 1.0_f64, 1.0_f64);
    for &look in looks.iter().filter(|look| **look <= ratios.len()) {
        let seen = &ratios[..look];
        let error = descriptive::stddev(seen)? / (look as f64).sqrt();
        let difference = Difference { logarithm: descriptive::mean(seen)?, error, freedom: (look - 1) as f64 };
        let of_all = looks.len() as f64;
        changed = changed.min(of_all * difference.p_changed());
        same = same.min(of_all * difference.p_within(same_within));
        last = Some((look, difference));
    }
    let (seen, difference) = last?;
    Some(InTurn { difference, changed, same, pairs: ratios.len(), seen })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// About normal numbers that are the same every time.
    struct Random(u64);

    impl Random {
        fn normal(&mut self) -> f64 {
            let mut uniform = || {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        }
    }

    /// Counts how many of a thousand trials of eighty pairs are called changed, and the same, at any look.
    fn called(change: f64, scatter: f64) -> (usize, usize) {
        let mut random = Random(7);
        let (mut changed, mut same) = (0, 0);
        for _ in 0..1000 {
            let ratios: Vec<f64> = (0..80).map(|_| change.ln_1p() + scatter * random.normal()).collect();
            let outcome = of_ratios(&ratios, &LOOKS, 0.03).unwrap();
            changed += usize::from(outcome.changed <= 0.05);
            same += usize::from(outcome.same <= 0.05);
        }
        (changed, same)
    }

    #[test]
    fn all_looks_together_err_in_five_of_a_hundred_at_most() {
        for scatter in [0.01, 0.05, 0.2] {
            assert!(called(0.0, scatter).0 <= 50);
            // As much as the limit is not called less.
            assert!(called(0.03, scatter).1 <= 50);
        }
        // A change of 5 % is found, and where nothing changed the case is called the same within 3 %.
        assert!(called(0.05, 0.03).0 > 990 && called(0.0, 0.03).1 > 990);
    }

    #[test]
    fn before_the_first_look_nothing_is_reported() {
        assert!(of_ratios(&[0.1; 4], &LOOKS, 0.05).is_none());
        assert_eq!(of_ratios(&[0.1; 7], &LOOKS, 0.05).unwrap().pairs, 7);
    }
}
