//! Gives the estimate of a case, the median of its round medians, its 95 % interval.
//!
//! Below [`BOOTSTRAP_ROUNDS`] rounds a t interval over logarithms ([`log_t`]), from there on a two-level bootstrap
//! ([`bootstrap`]). `tests/coverage.rs` simulates how often each holds the truth.

mod bootstrap;

pub use bootstrap::bootstrap;

use crate::descriptive;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence of every interval. No unit.
pub const CONFIDENCE: f64 = 0.95;
/// Fewer rounds than this give no interval.
pub const LEAST_ROUNDS: usize = 3;
/// From this number of rounds on the bootstrap replaces the t interval: fewer hold too few distinct medians.
pub const BOOTSTRAP_ROUNDS: usize = 10;

/// How an interval was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// t interval over the logarithms of the round medians.
    LogT,
    /// t interval over the round medians as they are, because one of them is zero or negative.
    LinearT,
    /// Two-level (round, sample) bootstrap.
    Bootstrap,
}

impl Method {
    /// The name for run files.
    pub fn name(self) -> &'static str {
        match self {
            Method::LogT => "log_t",
            Method::LinearT => "linear_t",
            Method::Bootstrap => "bootstrap",
        }
    }
}

/// A 95 % interval of the median of round medians, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How it was made.
    pub method: Method,
}

impl Interval {
    /// Widens the interval until it reaches `resolution` (same unit) to both sides of `estimate`, which it then
    /// holds: what the clock cannot tell apart is not known better.
    pub fn floored(self, estimate: f64, resolution: f64) -> Interval {
        let reach = resolution.max(0.0);
        Interval { low: self.low.min(estimate - reach), high: self.high.max(estimate + reach), ..self }
    }
}

/// The interval of a case from the samples of its rounds: [`log_t`] or, from [`BOOTSTRAP_ROUNDS`] rounds on,
/// [`bootstrap`], both floored by `resolution` (same unit as the samples). `seed` is to be recorded.
///
/// Rounds without samples do not count. `None` below [`LEAST_ROUNDS`], or when a value is not finite.
pub fn of_rounds<Round: AsRef<[f64]>>(rounds: &[Round], resolution: f64, seed: u64) -> Option<Interval> {
    let medians = descriptive::round_medians(rounds);
    if medians.len() < BOOTSTRAP_ROUNDS {
        return log_t(&medians, resolution);
    }
    Some(bootstrap(rounds, seed)?.floored(descriptive::median(&medians)?, resolution))
}

/// The t interval over the logarithms of the round medians: it suits figures whose spread grows with them, as times
/// do (Olsson, "Confidence intervals for the mean of a log-normal distribution", Journal of Statistics Education
/// 2005, on the back-transformed interval: it covers the median, where values are lognormal exactly).
///
/// It is widened to hold the estimate (the median of `round_medians`) and to reach `resolution`, in the same unit,
/// to both sides of it. With a median that is zero or negative the same is done without logarithms. `None` below
/// [`LEAST_ROUNDS`], or when a value is not finite.
pub fn log_t(round_medians: &[f64], resolution: f64) -> Option<Interval> {
    if round_medians.len() < LEAST_ROUNDS || round_medians.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let estimate = descriptive::median(round_medians)?;
    let logarithmic = || {
        // Of multiples of the estimate, so that equal medians give their own value for both ends, to the last bit.
        let logarithms: Vec<f64> = round_medians.iter().map(|value| (value / estimate).ln()).collect();
        let (low, high) = t_interval(&logarithms)?;
        let (low, high) = (estimate * low.exp(), estimate * high.exp());
        // Logarithms of nothing, or a spread beyond the range of floating point.
        (low.is_finite() && high.is_finite()).then_some(Interval { low, high, method: Method::LogT })
    };
    let linear = || {
        let (low, high) = t_interval(round_medians)?;
        Some(Interval { low, high, method: Method::LinearT })
    };
    let interval =
        if round_medians.iter().all(|&value| value > 0.0) { logarithmic().or_else(linear) } else { linear() };
    Some(interval?.floored(estimate, resolution))
}

/// The t interval of the mean.
fn t_interval(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let law = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let half_width = law.inverse_cdf(0.5 + CONFIDENCE / 2.0) * descriptive::stddev(values)? / count.sqrt();
    let centre = descriptive::mean(values)?;
    Some((centre - half_width, centre + half_width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_medians_give_an_interval_of_no_width() {
        for value in [64.0, 8.0, 0.1, 3e9, 1e-300, 0.0, -7.0] {
            let interval = log_t(&[value; 5], 0.0).unwrap();
            assert_eq!((interval.low, interval.high), (value, value));
        }
    }

    #[test]
    fn too_few_rounds_give_no_interval() {
        assert_eq!(log_t(&[], 0.0), None);
        assert_eq!(log_t(&[1.0, 2.0], 0.0), None);
        assert_eq!(log_t(&[1.0, 2.0, f64::NAN], 0.0), None);
        assert_eq!(of_rounds::<Vec<f64>>(&[], 0.0, 1), None);
        assert_eq!(bootstrap(&vec![vec![1.0]; 9], 1), None);
        // Rounds without a sample are no rounds.
        assert_eq!(bootstrap(&[vec![vec![1.0]; 9], vec![vec![]; 5]].concat(), 1), None);
    }

    #[test]
    fn equal_rounds_are_known_to_the_resolution() {
        let interval = log_t(&[5.0; 3], 0.25).unwrap();
        assert_eq!((interval.low, interval.high), (4.75, 5.25));
        let interval = of_rounds(&vec![vec![5.0; 7]; 10], 0.25, 1).unwrap();
        assert_eq!((interval.low, interval.high, interval.method), (4.75, 5.25, Method::Bootstrap));
    }

    #[test]
    fn a_median_that_is_not_positive_makes_it_linear() {
        let interval = log_t(&[-1.0, 0.0, 1.0], 0.0).unwrap();
        assert_eq!(interval.method, Method::LinearT);
        assert!((interval.high - 4.302_652_729_911_275 / 3.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn the_number_of_rounds_chooses_the_method() {
        let rounds: Vec<Vec<f64>> = (0..10).map(|round| vec![100.0 + f64::from(round); 5]).collect();
        assert_eq!(of_rounds(&rounds[..9], 0.0, 1).unwrap().method, Method::LogT);
        assert_eq!(of_rounds(&rounds, 0.0, 1).unwrap().method, Method::Bootstrap);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_estimate_and_the_resolution(
            medians in prop::collection::vec(1e-3..1e6f64, 3..10), resolution in 0.0..10.0f64,
        ) {
            let estimate = descriptive::median(&medians).unwrap();
            let interval = log_t(&medians, resolution).unwrap();
            prop_assert!(interval.low <= estimate - resolution && estimate + resolution <= interval.high);
        }

        #[test]
        fn the_unit_does_not_matter(medians in prop::collection::vec(1.0..1e3f64, 3..10)) {
            let scaled: Vec<f64> = medians.iter().map(|value| value * 1024.0).collect();
            let (here, there) = (log_t(&medians, 0.0).unwrap(), log_t(&scaled, 0.0).unwrap());
            prop_assert!((there.low / here.low / 1024.0 - 1.0).abs() < 1e-9);
            prop_assert!((there.high / here.high / 1024.0 - 1.0).abs() < 1e-9);
        }

        #[test]
        fn the_bootstrap_repeats_itself_and_stays_near_the_data(
            rounds in prop::collection::vec(prop::collection::vec(1.0..1e3f64, 1..20), 10..15), seed: u64,
        ) {
            let interval = bootstrap(&rounds, seed).unwrap();
            prop_assert_eq!(Some(interval), bootstrap(&rounds, seed));
            let estimate = descriptive::median(&descriptive::round_medians(&rounds)).unwrap();
            prop_assert!(interval.low <= estimate && estimate <= interval.high);
            prop_assert!(interval.low.is_finite() && interval.high.is_finite());
        }
    }
}
