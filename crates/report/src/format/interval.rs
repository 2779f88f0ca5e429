//! How sure a value is: its interval as ± or as low … high.

use hostmark_model::{Estimate, Lang, Profile, Unit};

use super::scale::{in_scale, scale_for, with_digits};
use super::{DIGITS, number};

/// Half an interval's width, as a fraction of the value, that a profile aims at. A table leaves out what is within it,
/// and says so: quick 2 %, standard 1 %, thorough 0.5 %.
pub const fn interval_target(profile: Profile) -> f64 {
    match profile {
        Profile::Quick => 0.02,
        Profile::Standard => 0.01,
        Profile::Thorough => 0.005,
    }
}

/// A fraction as a percentage: `0.3 %`, `17 %`; what would round to nothing is `<0.1 %`.
pub fn percent(fraction: f64) -> String {
    format!("{} %", percent_number(fraction))
}

/// The number of [`percent`] without its sign.
pub(crate) fn percent_number(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        size if !size.is_finite() => "?".to_owned(),
        0.0 => "0".to_owned(),
        size if size < 0.05 => "<0.1".to_owned(),
        size if size < 9.95 => format!("{percent:.1}").replacen('-', "−", 1),
        size if size < 1e6 => format!("{percent:.0}").replacen('-', "−", 1),
        _ => number(percent),
    }
}

/// The interval as `±2.1 %` of the value; none without an interval.
pub fn plus_minus(estimate: &Estimate) -> Option<String> {
    estimate.relative_half_width().map(|half| format!("±{}", percent(half)))
}

/// The interval as `87.9 … 88.4`, in the scale in which the value itself is shown; none without an interval.
pub fn low_high(estimate: &Estimate, unit: Unit) -> Option<String> {
    let (low, high) = (estimate.ci_low?, estimate.ci_high?);
    let scale = scale_for(estimate.median, unit);
    let (mut from, mut to) = (in_scale(low, scale), in_scale(high, scale));
    if from == to && low != high {
        (from, to) = (with_digits(low / scale.size, DIGITS + 1), with_digits(high / scale.size, DIGITS + 1));
    }
    Some(format!("{from} … {to}"))
}

/// How many rounds of a voted value agree: `3 of 3 rounds`; none of a value that was not voted on.
pub fn agreement(estimate: &Estimate, lang: Lang) -> Option<String> {
    let share = estimate.agreement?;
    // Rounds that abstained are in the share alone.
    Some(match lang {
        Lang::En => format!("{} of rounds agree", percent(share)),
        Lang::Zh => format!("{} 的轮次一致", percent(share)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostmark_model::IntervalMethod;

    fn estimate(median: f64, low: Option<f64>, high: Option<f64>) -> Estimate {
        Estimate {
            median,
            ci_low: low,
            ci_high: high,
            confidence: 0.95,
            method: IntervalMethod::LogT,
            min: median,
            max: median,
            mean: median,
            stddev: 0.0,
            mad: 0.0,
            best_round: median,
            n: 120,
            rounds: 3,
            range: None,
            quiet: None,
            leading: Default::default(),
            repetition: None,
            agreement: None,
        }
    }

    #[test]
    fn an_interval_stands_in_the_scale_of_its_value() {
        let fork = estimate(68_200.0, Some(66_000.0), Some(70_900.0));
        assert_eq!(low_high(&fork, Unit::Nanoseconds).unwrap(), "66.0 … 70.9");
        assert_eq!(plus_minus(&fork).unwrap(), "±3.6 %");
        let narrow = estimate(88.1, Some(88.11), Some(88.14));
        assert_eq!(low_high(&narrow, Unit::Nanoseconds).unwrap(), "88.11 … 88.14");
        assert_eq!(plus_minus(&narrow).unwrap(), "±<0.1 %");
    }

    #[test]
    fn no_interval_is_made_up() {
        assert_eq!(low_high(&estimate(1.0, None, Some(2.0)), Unit::Ratio), None);
        assert_eq!(plus_minus(&estimate(0.0, Some(0.0), Some(1.0))), None);
    }
}
