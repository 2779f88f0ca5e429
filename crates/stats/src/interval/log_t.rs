//! The t interval over logarithms: of values of whole runs, of which there are too few for order statistics.

use super::CONFIDENCE;
use crate::descriptive;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewer values than this give no t interval.
pub const LEAST_VALUES: usize = 3;

/// The t interval over the logarithms of values: it suits figures whose spread grows with them, as times
/// do (Olsson, "Confidence intervals for the mean of a log-normal distribution", Journal of Statistics Education
/// 2005, on the back-transformed interval: it covers the median, where values are lognormal exactly).
///
/// It is widened to hold the median of `values` and to reach `resolution`, in the same unit,
/// to both sides of it. With a value that is zero or negative the same is done without logarithms. `None` below
/// [`LEAST_VALUES`], or when a value is not finite.
pub fn log_t(values: &[f64], resolution: f64) -> Option<(f64, f64)> {
    if values.len() < LEAST_VALUES || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let estimate = descriptive::median(values)?;
    let logarithmic = || {
        // Of multiples of the estimate, so that equal values give their own value for both ends, to the last bit.
        let logarithms: Vec<f64> = values.iter().map(|value| (value / estimate).ln()).collect();
        let (low, high) = t_interval(&logarithms)?;
        let ends = (estimate * low.exp(), estimate * high.exp());
        // Logarithms of nothing, or a spread beyond the range of floating point.
        (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
    };
    let linear = || t_interval(values);
    let (low, high) = if values.iter().all(|&value| value > 0.0) { logarithmic().or_else(linear) } else { linear() }?;
    let reach = resolution.max(0.0);
    Some((low.min(estimate - reach), high.max(estimate + reach)))
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
    fn equal_values_give_an_interval_of_no_width() {
        for value in [64.0, 8.0, 0.1, 3e9, 1e-300, 0.0, -7.0] {
            assert_eq!(log_t(&[value; 3], 0.0), Some((value, value)));
        }
        assert_eq!(log_t(&[5.0; 3], 0.25), Some((4.75, 5.25)));
    }

    #[test]
    fn too_few_values_give_none() {
        assert_eq!(log_t(&[1.0, 2.0], 0.0), None);
        assert_eq!(log_t(&[1.0, 2.0, f64::NAN], 0.0), None);
    }

    #[test]
    fn a_value_that_is_not_positive_makes_it_linear() {
        let (_, high) = log_t(&[-1.0, 0.0, 1.0], 0.0).unwrap();
        assert!((high - 4.302_652_729_911_275 / 3.0_f64.sqrt()).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn it_holds_the_median_and_the_resolution(
            values in prop::collection::vec(1e-3..1e6f64, 3..10), resolution in 0.0..10.0f64,
        ) {
            let estimate = descriptive::median(&values).unwrap();
            let (low, high) = log_t(&values, resolution).unwrap();
            prop_assert!(low <= estimate - resolution && estimate + resolution <= high);
        }
    }
}
