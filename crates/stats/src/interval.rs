//! Gives the estimate of a case, the median of its round medians, its interval.
//!
//! The interval lies between order statistics of the round medians, interpolated so that it holds the population's median in
//! 95 % of all runs whatever the shape of the distribution (Hettmansperger & Sheather, "Confidence intervals based on
//! interpolated order statistics", Statistics & Probability Letters 1986). `tests/main.rs` simulates how often it does.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use crate::descriptive;

/// The confidence of every interval but that of [`LEAST_ROUNDS`]. No unit.
pub const CONFIDENCE: f64 = 0.95;
/// Two order statistics that are so much of the way from the outer one to the median apart have a gap between them.
const GAP: f64 = 0.9;
/// Fewer rounds than this give no interval: no order statistics of theirs hold the median often enough.
pub const LEAST_ROUNDS: usize = 5;

/// An interval of the median of round medians, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that it holds the population's median: [`CONFIDENCE`], or 0.9375 of [`LEAST_ROUNDS`].
    pub confidence: f64,
}

impl Interval {
    /// Widens the interval until it reaches `resolution` (same unit) to both sides of `estimate`, which it then
    /// holds: what the clock cannot tell apart is not known better.
    pub fn floored(self, estimate: f64, resolution: f64) -> Interval {
        let reach = resolution.max(0.0);
        Interval { low: self.low.min(estimate - reach), high: self.high.max(estimate + reach), ..self }
    }
}

/// Returns the interval of a case from its round medians, floored by `resolution` (same unit). But for that floor no end lies outside of
/// the medians. With [`LEAST_ROUNDS`] it reaches from the smallest to the largest, which holds the median in 93.75 % of all runs.
///
/// `None` below [`LEAST_ROUNDS`], or when a value is not finite.
pub fn of_medians(round_medians: &[f64], resolution: f64) -> Option<Interval> {
    if round_medians.len() < LEAST_ROUNDS || round_medians.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let estimate = descriptive::median(round_medians)?;
    let mut sorted = round_medians.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let IntervalEnds { depth, inwards, confidence } = ends(sorted.len())?;
    let last = sorted.len() - 1;
    // Where one step makes nearly all of the way to the median, rounds are of two kinds, and between these lay none.
    let between = |outer: f64, inner: f64| {
        let is_gap = (inner - outer).abs() > GAP * (estimate - outer).abs();
        if is_gap { outer } else { outer + inwards * (inner - outer) }
    };
    let low = between(sorted[depth], *sorted.get(depth + 1)?);
    let high = between(sorted[last - depth], *sorted.get(last.checked_sub(depth + 1)?)?);
    Some(Interval { low, high, confidence }.floored(estimate, resolution))
}

/// Positions of the ends among the sorted medians.
struct IntervalEnds {
    /// Number of medians outside of the outer order statistic, to either side.
    depth: usize,
    /// Position from that one to the next inner one, 0 to 1.
    inwards: f64,
    confidence: f64,
}

/// The ends of `count` medians. Between the order statistics of depths d and d + 1, of confidences γ and γ', the share that gives
/// 1 − α is (n − d) I / (d + (n − 2d) I) with I = (γ − (1 − α)) / (γ − γ').
fn ends(count: usize) -> Option<IntervalEnds> {
    let n = u64::try_from(count).ok()?;
    let law = Binomial::new(0.5, n).ok()?;
    // Of the d-th smallest and the d-th largest.
    let confidence = |d: u64| 1.0 - 2.0 * law.cdf(d - 1);
    if confidence(1) <= CONFIDENCE {
        return Some(IntervalEnds { depth: 0, inwards: 0.0, confidence: confidence(1) });
    }
    let deepest = (1..=n / 2).take_while(|&d| confidence(d) >= CONFIDENCE).last()?;
    let (outer, inner) = (confidence(deepest), confidence(deepest + 1));
    let share = (outer - CONFIDENCE) / (outer - inner);
    let (n, d) = (n as f64, deepest as f64);
    let inwards = (n - d) * share / (d + (n - 2.0 * d) * share);
    Some(IntervalEnds { depth: deepest as usize - 1, inwards, confidence: CONFIDENCE })
}

/// Fewer values than this give no t interval.
const LEAST_VALUES: usize = 3;

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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_medians_give_an_interval_of_no_width() {
        for value in [64.0, 8.0, 0.1, 3e9, 1e-300, 0.0, -7.0] {
            let interval = of_medians(&[value; 5], 0.0).unwrap();
            assert_eq!((interval.low, interval.high), (value, value));
        }
    }

    #[test]
    fn fewer_than_five_rounds_give_no_interval() {
        assert_eq!(of_medians(&[], 0.0), None);
        assert_eq!(of_medians(&[1.0, 2.0, 3.0, 4.0], 0.0), None);
        assert_eq!(of_medians(&[1.0, 2.0, 3.0, 4.0, f64::NAN], 0.0), None);
    }

    #[test]
    fn five_rounds_reach_from_the_smallest_to_the_largest() {
        let interval = of_medians(&[3.0, 1.0, 9.0, 2.0, 4.0], 0.0).unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 9.0));
        assert!((interval.confidence - 0.9375).abs() < 1e-12);
    }

    #[test]
    fn more_rounds_are_interpolated_between_order_statistics() {
        // Of ten the second from either end holds the median in 97.85 %, the third in 89.06 %: the textbook's example.
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = of_medians(&ten, 0.0).unwrap();
        let share = (0.978_515_625 - 0.95) / (0.978_515_625 - 0.890_625);
        let inwards = 8.0 * share / (2.0 + 6.0 * share);
        assert!((interval.low - (2.0 + inwards)).abs() < 1e-12 && (interval.high - (9.0 - inwards)).abs() < 1e-12);
        assert_eq!(interval.confidence, 0.95);
        // Of seven the outermost hold it in 98.4 %.
        let seven = of_medians(&ten[..7], 0.0).unwrap();
        assert!(1.0 < seven.low && seven.low < 2.0 && 6.0 < seven.high && seven.high < 7.0, "{seven:?}");
    }

    #[test]
    fn equal_rounds_are_known_to_the_resolution() {
        let interval = of_medians(&[5.0; 6], 0.25).unwrap();
        assert_eq!((interval.low, interval.high), (4.75, 5.25));
    }

    proptest! {
        #[test]
        fn it_holds_the_estimate_and_the_resolution_and_no_more_than_the_rounds(
            medians in prop::collection::vec(-1e6..1e6f64, 5..200), resolution in 0.0..10.0f64,
        ) {
            let estimate = descriptive::median(&medians).unwrap();
            let interval = of_medians(&medians, resolution).unwrap();
            prop_assert!(interval.low <= estimate - resolution && estimate + resolution <= interval.high);
            let (least, most) = (descriptive::min(&medians).unwrap(), descriptive::max(&medians).unwrap());
            prop_assert!(interval.low >= least.min(estimate - resolution));
            prop_assert!(interval.high <= most.max(estimate + resolution));
        }

        #[test]
        fn the_unit_does_not_matter(medians in prop::collection::vec(1.0..1e3f64, 5..30)) {
            let scaled: Vec<f64> = medians.iter().map(|value| value * 1024.0).collect();
            let (here, there) = (of_medians(&medians, 0.0).unwrap(), of_medians(&scaled, 0.0).unwrap());
            prop_assert!((there.low / here.low / 1024.0 - 1.0).abs() < 1e-9);
            prop_assert!((there.high / here.high / 1024.0 - 1.0).abs() < 1e-9);
        }
    }

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
