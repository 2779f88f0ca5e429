//! Difference of two sides, given the errors of both: p values of "no change" and of "no more than so much", and the
//! change that would have been seen; and p values of many cases together.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::interval::CONFIDENCE;

/// A change counts as one that would have been seen where it is found so often. No unit.
pub const POWER: f64 = 0.8;
/// Confidence of the interval that both one-sided tests of "no more than so much" at 5 % are. No unit.
const WITHIN: f64 = 0.9;
/// The least level of a test for which quantiles can be told from 1 in floating point. No unit.
const LEAST_LEVEL: f64 = 1e-12;

/// The difference of two sides' logarithms, and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Logarithm of new over base.
    pub logarithm: f64,
    /// Standard error.
    pub error: f64,
    /// Degrees of freedom of the error; infinite where it is known beforehand.
    pub freedom: f64,
}

/// The law of a difference over its error.
enum Law {
    Student(StudentsT),
    Normal(Normal),
}

impl Law {
    /// Returns the law, with at least one degree of freedom: below that there is no error to speak of.
    fn of(freedom: f64) -> Option<Law> {
        match freedom.is_finite() {
            true => StudentsT::new(0.0, 1.0, freedom.max(1.0)).ok().map(Law::Student),
            false => Normal::new(0.0, 1.0).ok().map(Law::Normal),
        }
    }

    fn cdf(&self, x: f64) -> f64 {
        match self {
            Law::Student(law) => law.cdf(x),
            Law::Normal(law) => law.cdf(x),
        }
    }

    fn quantile(&self, p: f64) -> f64 {
        match self {
            Law::Student(law) => law.inverse_cdf(p),
            Law::Normal(law) => law.inverse_cdf(p),
        }
    }
}

impl Difference {
    /// The probability of a value so far below zero or farther, in errors; at an error of zero there is no doubt.
    fn below(&self, logarithm: f64) -> f64 {
        match Law::of(self.freedom) {
            Some(law) if self.error > 0.0 => law.cdf(logarithm / self.error),
            _ if logarithm < 0.0 => 0.0,
            _ => 1.0,
        }
    }

    fn half_width(&self, confidence: f64) -> f64 {
        Law::of(self.freedom).map_or(0.0, |law| law.quantile(0.5 + confidence / 2.0) * self.error)
    }

    /// New over base; 1 is no change.
    pub fn ratio(&self) -> f64 {
        self.logarithm.exp()
    }

    /// The ends of the ratio's 95 % interval.
    pub fn interval(&self) -> (f64, f64) {
        self.interval_at(1.0 - CONFIDENCE)
    }

    /// The ends of the ratio's interval that holds 1 exactly where a two-sided test at `level` finds no change.
    pub fn interval_at(&self, level: f64) -> (f64, f64) {
        let half = self.half_width(1.0 - level.clamp(LEAST_LEVEL, 1.0));
        ((self.logarithm - half).exp(), (self.logarithm + half).exp())
    }

    /// Two-sided p value of "there is no change", in 0 ..= 1.
    pub fn p_changed(&self) -> f64 {
        (2.0 * self.below(-self.logarithm.abs())).min(1.0)
    }

    /// The p value of "it changed by `fraction` or more", either way: the greater of two one-sided tests (Schuirmann, "A comparison
    /// of the two one-sided tests procedure and the power approach for assessing the equivalence of average bioavailability",
    /// Journal of Pharmacokinetics and Biopharmaceutics 1987). `fraction`: 0.05 is 5 %, to both sides on the logarithms.
    pub fn p_within(&self, fraction: f64) -> f64 {
        self.below(self.logarithm.abs() - fraction.max(0.0).ln_1p())
    }

    /// The least fraction that both tests at 5 % leave: so much it changed at most.
    pub fn within(&self) -> f64 {
        (self.logarithm.abs() + self.half_width(WITHIN)).exp_m1()
    }

    /// The change, as a fraction, that a two-sided test at `level` would have found four times of five.
    pub fn visible(&self, level: f64) -> f64 {
        let Some(law) = Law::of(self.freedom) else { return f64::INFINITY };
        let errors = law.quantile(1.0 - level.clamp(f64::MIN_POSITIVE, 1.0) / 2.0) + law.quantile(POWER);
        (errors * self.error).exp_m1()
    }
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn of(logarithm: f64, error: f64, freedom: f64) -> Difference {
        Difference { logarithm, error, freedom }
    }

    #[test]
    fn p_values_and_intervals_are_those_of_the_tables() {
        // t of 10 degrees of freedom: 2.228 leaves 5 % on both sides, 1.812 leaves 10 %; of the normal law 1.960 and 1.645.
        for (freedom, both, one) in [(10.0, 2.228_14, 1.812_46), (f64::INFINITY, 1.959_96, 1.644_85)] {
            let found = of(0.01 * both, 0.01, freedom);
            assert!((found.p_changed() - 0.05).abs() < 1e-5);
            let (low, high) = found.interval();
            assert!(low.ln().abs() < 1e-6 && (high.ln() - 0.02 * both).abs() < 1e-6);
            // The 90 % interval ends where the tests of "no more" do.
            let same = of(0.002, 0.01, freedom);
            assert!((same.within().ln_1p() - (0.002 + 0.01 * one)).abs() < 1e-6);
            assert!((same.p_within(same.within()) - 0.05).abs() < 1e-6);
        }
    }

    #[test]
    fn what_would_be_seen_is_found_four_times_of_five() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(3);
        let mut normal = || crate::made_up::normal(&mut random);
        for level in [0.05, 0.001] {
            let effect = of(0.0, 0.02, f64::INFINITY).visible(level).ln_1p();
            let found =
                (0..4000).filter(|_| of(effect + 0.02 * normal(), 0.02, f64::INFINITY).p_changed() <= level).count();
            assert!((3080..3320).contains(&found), "{found} of 4000 at {level}");
        }
    }

    #[test]
    fn what_never_varies_is_known_exactly() {
        assert_eq!((of(0.0, 0.0, 8.0).p_changed(), of(0.1, 0.0, 8.0).p_changed()), (1.0, 0.0));
        assert_eq!((of(0.0, 0.0, 8.0).within(), of(0.0, 0.0, 8.0).visible(0.01)), (0.0, 0.0));
        assert_eq!(of(0.0, 0.0, 8.0).p_within(0.01), 0.0);
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
