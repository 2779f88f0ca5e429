//! What samples say, against simulations and against other libraries.

mod hierarchy;

use hostmark_stats::histogram::Percentile;
use hostmark_stats::repetition::Deviation;
use hostmark_stats::{compare, descriptive, interval};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

fn fixture(section: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("fixtures/scipy.json")).unwrap();
    all[section].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Equal to `digits` significant digits.
#[track_caller]
fn assert_close(ours: Option<f64>, theirs: &Value, digits: i32) {
    let (ours, theirs) = (ours.unwrap(), theirs.as_f64().unwrap());
    let distance = (ours - theirs).abs();
    assert!(distance <= 10.0_f64.powi(-digits) * theirs.abs(), "ours {ours}, theirs {theirs}");
}

#[test]
fn order_statistics_agree() {
    for case in fixture("descriptions") {
        let values = numbers(&case["values"]);
        for (p, theirs) in numbers(&case["p"]).into_iter().zip(case["quantiles"].as_array().unwrap()) {
            assert_close(descriptive::quantile(&values, p), theirs, 13);
        }
        assert_close(descriptive::median(&values), &case["median"], 13);
        // Differences of nearly equal values keep fewer digits.
        assert_close(descriptive::mad(&values), &case["mad"], 6);
        assert_close(descriptive::mean(&values), &case["mean"], 13);
        assert_close(descriptive::stddev(&values), &case["stddev"], 6);
        assert_close(descriptive::min(&values), &case["min"], 13);
        assert_close(descriptive::max(&values), &case["max"], 13);
    }
}

#[test]
fn t_intervals_agree() {
    for case in fixture("t_intervals") {
        let (low, high) = interval::log_t(&numbers(&case["values"]), 0.0).unwrap();
        assert_close(Some(low), &case["low"], 8);
        assert_close(Some(high), &case["high"], 8);
    }
}

#[test]
fn adjusted_p_values_agree() {
    for case in fixture("benjamini_hochberg") {
        let ours = compare::benjamini_hochberg(&numbers(&case["p_values"]));
        let theirs = case["adjusted"].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_close(Some(*ours), theirs, 12);
        }
    }
}

#[test]
fn spreads_agree() {
    for case in fixture("spreads") {
        let groups: Vec<Vec<f64>> = case["groups"].as_array().unwrap().iter().map(numbers).collect();
        let ours = Deviation::drawn(&groups, Deviation::NONE).unwrap();
        assert_eq!(ours.freedom as u64, case["freedom"].as_u64().unwrap());
        assert_close(Some(ours.sd), &case["deviation"], 9);
    }
}

#[test]
fn percentiles_agree() {
    for case in fixture("percentiles") {
        let whole = |key: &str| -> Vec<u64> {
            case[key].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
        };
        for (name, theirs) in case["percentiles"].as_object().unwrap() {
            let ours = Percentile::of_name(name).unwrap().of(&whole("values"), &whole("counts"));
            assert_eq!(ours, theirs.as_u64(), "{name}");
        }
    }
}

const REPETITIONS: usize = 12_000;
const TRUTH_ROUNDS: usize = 60_000;
/// Rounds of a case: five, six or seven at quick, one more where time is left, ten and eleven at thorough.
const ROUNDS: [usize; 6] = [5, 6, 7, 8, 10, 11];

/// A population of rounds: a round's samples are its effect times a noise each.
struct Population {
    effect: fn(&mut Pcg64Mcg) -> f64,
    noise: fn(&mut Pcg64Mcg) -> f64,
    samples: usize,
}

impl Population {
    fn median_of_a_round(&self, random: &mut Pcg64Mcg) -> f64 {
        let effect = (self.effect)(random);
        let mut samples: Vec<f64> = (0..self.samples).map(|_| effect * (self.noise)(random)).collect();
        descriptive::median_in_place(&mut samples).unwrap()
    }

    fn check(&self) {
        let mut random = Pcg64Mcg::seed_from_u64(20_261_121);
        let mut medians: Vec<f64> = (0..TRUTH_ROUNDS).map(|_| self.median_of_a_round(&mut random)).collect();
        let truth = descriptive::median_in_place(&mut medians).unwrap();
        check_with(&mut random, |random| self.median_of_a_round(random), (truth, truth));
    }
}

/// Checks how often the interval holds any of the medians from `truth.0` to `truth.1`.
fn check_with(random: &mut Pcg64Mcg, mut round: impl FnMut(&mut Pcg64Mcg) -> f64, truth: (f64, f64)) {
    let mut report = Vec::new();
    let mut good = true;
    for count in ROUNDS {
        let mut held = 0;
        for _ in 0..REPETITIONS {
            let rounds: Vec<f64> = (0..count).map(|_| round(random)).collect();
            let interval = interval::of_medians(&rounds, 0.0).unwrap();
            held += usize::from(interval.low <= truth.1 && truth.0 <= interval.high);
        }
        let coverage = 100.0 * held as f64 / REPETITIONS as f64;
        good &= coverage >= 92.0 && (coverage <= 97.5 || truth.0 < truth.1);
        report.push(format!("{count} rounds: {coverage:.1} %"));
    }
    assert!(good, "coverage out of bounds: {}", report.join(", "));
    assert!(std::env::var_os("HOSTMARK_SHOW_COVERAGE").is_none(), "as asked: {}", report.join(", "));
}

fn uniform(random: &mut Pcg64Mcg) -> f64 {
    1.0 - random.random::<f64>()
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

fn exponential(random: &mut Pcg64Mcg) -> f64 {
    -uniform(random).ln()
}

fn outlier(random: &mut Pcg64Mcg) -> f64 {
    if uniform(random) < 0.05 { 10.0 } else { 1.0 }
}

#[test]
fn rounds_differ_more_than_samples() {
    Population { effect: |r| (0.05 * normal(r)).exp(), noise: |r| (0.02 * normal(r)).exp(), samples: 20 }.check();
}

#[test]
fn samples_differ_much_more_than_rounds() {
    Population { effect: |r| (0.05 * normal(r)).exp(), noise: |r| (0.5 * normal(r)).exp(), samples: 21 }.check();
}

#[test]
fn rounds_do_not_differ_at_all() {
    Population { effect: |_| 1.0, noise: |r| (0.1 * normal(r)).exp(), samples: 20 }.check();
}

#[test]
fn samples_with_outliers_of_ten_times() {
    Population { effect: |r| (0.05 * normal(r)).exp(), noise: |r| (0.05 * normal(r)).exp() * outlier(r), samples: 20 }
        .check();
}

#[test]
fn round_effects_with_an_exponential_tail() {
    Population { effect: |r| 1.0 + 0.2 * exponential(r), noise: |r| (0.02 * normal(r)).exp(), samples: 20 }.check();
}

#[test]
fn skewed_rounds_of_skewed_samples_with_outliers() {
    Population {
        effect: |r| 1.0 + 0.2 * exponential(r),
        noise: |r| (1.0 + 0.2 * exponential(r)) * outlier(r),
        samples: 40,
    }
    .check();
}

#[test]
fn very_skewed_rounds() {
    Population { effect: |r| 1.0 + 0.1 * normal(r).exp(), noise: |r| (0.05 * normal(r)).exp(), samples: 20 }.check();
}

#[test]
fn one_sample_a_round_and_rounds_that_differ_by_half() {
    Population { effect: |r| (0.5 * normal(r)).exp(), noise: |_| 1.0, samples: 1 }.check();
}

/// Rounds of two kinds, as where a round meets a neighbour or the pages of a slow node: so many of a hundred are so many times as
/// slow as the others.
fn two_kinds(slow_share: f64, times: f64) {
    let mut random = Pcg64Mcg::seed_from_u64(20_261_124);
    let near = |random: &mut Pcg64Mcg| (0.01 * normal(random)).exp();
    let round = |random: &mut Pcg64Mcg| {
        let slow = if uniform(random) <= slow_share { times } else { 1.0 };
        slow * near(random)
    };
    if slow_share == 0.5 {
        // Whatever lies between the two kinds has half of the rounds on either side.
        return check_with(&mut random, round, (1.05, 0.95 * times));
    }
    let mut medians: Vec<f64> = (0..TRUTH_ROUNDS).map(|_| round(&mut random)).collect();
    let truth = descriptive::median_in_place(&mut medians).unwrap();
    check_with(&mut random, round, (truth, truth));
}

#[test]
fn a_third_of_the_rounds_is_slow() {
    [1.5, 2.0, 5.0].into_iter().for_each(|times| two_kinds(1.0 / 3.0, times));
}

#[test]
fn nearly_half_of_the_rounds_is_slow() {
    [1.5, 2.0, 5.0].into_iter().for_each(|times| two_kinds(0.45, times));
}

#[test]
fn half_of_the_rounds_is_slow() {
    [1.5, 2.0, 5.0].into_iter().for_each(|times| two_kinds(0.5, times));
}
