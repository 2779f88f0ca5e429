//! Compares two lists of round medians: the ratio with a Welch interval, p values corrected for many cases, and how far
//! apart two sides lie by chance when each is one of many that scatter alike.

use crate::{descriptive, interval};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How much greater the second side is than the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Geometric mean of `new` over the geometric mean of `base`; 1 means no change. No unit.
    pub ratio: f64,
    /// Lower end of the 95 % interval of the ratio.
    pub low: f64,
    /// Upper end of the 95 % interval of the ratio.
    pub high: f64,
    /// Two-sided p value of "the ratio is 1", in 0 ..= 1.
    pub p_value: f64,
}

/// Compares two sides by Welch's t test on the logarithms of their round medians, so that the effect is a ratio
/// (Welch, "The generalization of Student's problem when several different population variances are involved",
/// Biometrika 1947; degrees of freedom after Satterthwaite, 1946).
///
/// Both sides are in the same unit. `None` below two values a side, or when a value is not positive and finite.
/// When no side varies at all the interval is the ratio itself, and the p value is 1 for equal sides, else 0.
pub fn welch(base: &[f64], new: &[f64]) -> Option<Comparison> {
    let base = logarithms(base)?;
    let new = logarithms(new)?;
    let difference = descriptive::mean(&new)? - descriptive::mean(&base)?;
    let base_part = descriptive::stddev(&base)?.powi(2) / base.len() as f64;
    let new_part = descriptive::stddev(&new)?.powi(2) / new.len() as f64;
    let variance = base_part + new_part;
    let ratio = difference.exp();
    if variance <= 0.0 {
        let p_value = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some(Comparison { ratio, low: ratio, high: ratio, p_value });
    }
    let freedom = variance * variance
        / (base_part * base_part / (base.len() - 1) as f64 + new_part * new_part / (new.len() - 1) as f64);
    let law = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let error = variance.sqrt();
    let half_width = law.inverse_cdf(0.5 + interval::CONFIDENCE / 2.0) * error;
    Some(Comparison {
        ratio,
        low: (difference - half_width).exp(),
        high: (difference + half_width).exp(),
        p_value: 2.0 * law.cdf(-(difference / error).abs()),
    })
}

/// Adjusts p values for the number of cases, so that a threshold on the answer bounds the false discovery rate
/// (Benjamini & Hochberg, "Controlling the false discovery rate", JRSS B 1995).
///
/// The answer has the order of `p_values`, each in 0 ..= 1; a case is a discovery at rate q when its value is ≤ q.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut ranked: Vec<usize> = (0..p_values.len()).collect();
    ranked.sort_unstable_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 1.0_f64;
    for (index, &case) in ranked.iter().enumerate().rev() {
        least = least.min(p_values[case] * p_values.len() as f64 / (index + 1) as f64);
        adjusted[case] = least;
    }
    adjusted
}

/// How much values scatter around the mean of their group, on the logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The pooled standard deviation of the logarithms. No unit.
    pub deviation: f64,
    /// Its degrees of freedom: values less groups.
    pub freedom: usize,
}

impl Spread {
    /// The spread of several groups together, each around its own mean. Groups of one value tell nothing and do not count;
    /// `None` when no other is left, or when a value is not positive and finite.
    pub fn pooled<Group: AsRef<[f64]>>(groups: &[Group]) -> Option<Spread> {
        let (mut squares, mut freedom) = (0.0, 0);
        for group in groups.iter().map(AsRef::as_ref).filter(|group| group.len() > 1) {
            squares += descriptive::stddev(&logarithms(group)?)?.powi(2) * (group.len() - 1) as f64;
            freedom += group.len() - 1;
        }
        (freedom > 0).then(|| Spread { deviation: (squares / freedom as f64).sqrt(), freedom })
    }

    /// The ratio, less 1, that the geometric means of `base` and of `new` values exceed by chance in 5 % of all cases, in
    /// either direction, when all values scatter like this (Student's two-sample t). `None` where a side has no value.
    pub fn reach(self, base: usize, new: usize) -> Option<f64> {
        if base == 0 || new == 0 {
            return None;
        }
        let law = StudentsT::new(0.0, 1.0, self.freedom as f64).ok()?;
        let error = self.deviation * (1.0 / base as f64 + 1.0 / new as f64).sqrt();
        let reach = (law.inverse_cdf(0.5 + interval::CONFIDENCE / 2.0) * error).exp_m1();
        reach.is_finite().then_some(reach)
    }
}

/// The logarithms of positive, finite values; `None` when one is neither.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|&value| (value > 0.0 && value.is_finite()).then(|| value.ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn too_little_or_impossible_data_gives_no_comparison() {
        assert_eq!(welch(&[], &[]), None);
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[1.0, 0.0], &[1.0, 2.0]), None);
        assert!(benjamini_hochberg(&[]).is_empty());
    }

    #[test]
    fn sides_that_never_vary_are_compared_exactly() {
        let same = welch(&[2.0; 3], &[2.0; 3]).unwrap();
        assert_eq!((same.ratio, same.p_value), (1.0, 1.0));
        assert_eq!(welch(&[2.0; 3], &[4.0; 3]).unwrap().p_value, 0.0);
    }

    #[test]
    fn a_spread_is_that_around_each_groups_own_mean() {
        let near = [1.0, 1.1, 1.2];
        let far = near.map(|value| value * 50.0);
        let (one, both) = (Spread::pooled(&[near]).unwrap(), Spread::pooled(&[near, far]).unwrap());
        assert_eq!((one.freedom, both.freedom), (2, 4));
        assert!((one.deviation - both.deviation).abs() < 1e-12);
        assert!(both.reach(1, 1) < one.reach(1, 1) && both.reach(5, 5) < both.reach(1, 1));
        assert_eq!(Spread::pooled(&[[1.0], [2.0]]), None);
        assert_eq!(Spread::pooled(&[[1.0, 0.0]]), None);
        assert_eq!(one.reach(0, 1), None);
    }

    proptest! {
        #[test]
        fn swapping_the_sides_inverts_the_ratio(base in prop::collection::vec(0.1..10.0f64, 2..12),
                                                new in prop::collection::vec(0.1..10.0f64, 2..12)) {
            let there = welch(&base, &new).unwrap();
            let back = welch(&new, &base).unwrap();
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            prop_assert!((there.low * back.high - 1.0).abs() < 1e-6);
            prop_assert!((there.p_value - back.p_value).abs() < 1e-9);
            prop_assert!(there.low <= there.ratio && there.ratio <= there.high);
        }
    }
}
