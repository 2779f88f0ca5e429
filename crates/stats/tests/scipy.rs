//! Holds the statistics against answers of SciPy and NumPy; `fixtures/scipy.json` names versions and calls.

use hostmark_stats::{compare, interval, order};
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
            assert_close(order::quantile(&values, p), theirs, 13);
        }
        assert_close(order::median(&values), &case["median"], 13);
        // Differences of nearly equal values keep fewer digits.
        assert_close(order::mad(&values), &case["mad"], 6);
        assert_close(order::mean(&values), &case["mean"], 13);
        assert_close(order::stddev(&values), &case["stddev"], 6);
        assert_close(order::min(&values), &case["min"], 13);
        assert_close(order::max(&values), &case["max"], 13);
    }
}

#[test]
fn t_intervals_agree() {
    for case in fixture("t_intervals") {
        let ours = interval::log_t(&numbers(&case["values"]), 0.0).unwrap();
        assert_eq!(ours.method.name(), case["method"].as_str().unwrap());
        assert_close(Some(ours.low), &case["low"], 8);
        assert_close(Some(ours.high), &case["high"], 8);
    }
}

#[test]
fn comparisons_agree() {
    for case in fixture("welch") {
        let ours = compare::welch(&numbers(&case["base"]), &numbers(&case["new"])).unwrap();
        assert_close(Some(ours.ratio), &case["ratio"], 12);
        assert_close(Some(ours.low), &case["low"], 8);
        assert_close(Some(ours.high), &case["high"], 8);
        assert_close(Some(ours.p_value), &case["p_value"], 8);
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
