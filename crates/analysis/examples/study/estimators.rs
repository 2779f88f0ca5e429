//! The estimators that are compared, each over the rounds of a case.

use hostmark_stats::descriptive::{max, mean, median, min, quantile};

use crate::recorded::Round;

/// What one makes of the rounds, of rates (true) or times, at the clock that the core held nine tenths of the run.
pub type Estimate = fn(&[Round], bool, f64) -> Option<f64>;
/// A name, and that.
pub type Estimator = (&'static str, Estimate);

pub const ALL: &[Estimator] = &[
    ("median of round medians", |rounds, _, _| median(&medians(rounds))),
    ("trimmed mean", |rounds, _, _| mean(&each(rounds, |round| mean(middle(&round.values))))),
    ("0.25-quantile, median over rounds", |rounds, rate, _| {
        median(&each(rounds, |round| good(&round.values, 0.25, rate)))
    }),
    ("0.1-quantile, median over rounds", |rounds, rate, _| {
        median(&each(rounds, |round| good(&round.values, 0.1, rate)))
    }),
    ("0.05-quantile, median over rounds", |rounds, rate, _| {
        median(&each(rounds, |round| good(&round.values, 0.05, rate)))
    }),
    ("half-sample mode", |rounds, _, _| half_sample_mode(all(rounds))),
    ("best round", |rounds, rate, _| if rate { max(&medians(rounds)) } else { min(&medians(rounds)) }),
    ("0.1-quantile of all", |rounds, rate, _| good(&all(rounds), 0.1, rate)),
    ("0.1-quantile of all, in cycles", |rounds, rate, sustained_hz| {
        let cycles: Vec<f64> = rounds.iter().flat_map(|round| round.cycles.iter().copied()).collect();
        let value = good(&cycles, 0.1, rate)?;
        Some(if rate { value * sustained_hz / 1e9 } else { value / (sustained_hz / 1e9) })
    }),
];

fn medians(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.median).collect()
}

fn each(rounds: &[Round], of: impl Fn(&Round) -> Option<f64>) -> Vec<f64> {
    rounds.iter().filter_map(of).collect()
}

fn all(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().flat_map(|round| round.values.iter().copied()).collect()
}

fn good(values: &[f64], share: f64, is_rate: bool) -> Option<f64> {
    quantile(values, if is_rate { 1.0 - share } else { share })
}

/// Without the tenth at either end: these are quantiles in order.
fn middle(values: &[f64]) -> &[f64] {
    let cut = values.len() / 10;
    &values[cut..values.len() - cut]
}

/// The middle of the densest half, again and again (Bickel & Frühwirth, "On a fast, robust estimator of the mode", 2006).
fn half_sample_mode(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    while values.len() > 2 {
        let half = values.len().div_ceil(2);
        let start = (0..=values.len() - half).min_by(|one, other| {
            (values[one + half - 1] - values[*one]).total_cmp(&(values[other + half - 1] - values[*other]))
        })?;
        values = values[start..start + half].to_vec();
    }
    mean(&values)
}
