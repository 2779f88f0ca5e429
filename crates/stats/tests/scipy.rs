//! Holds the statistics against answers of SciPy and NumPy; `fixtures/scipy.json` names versions and calls.

use hostmark_stats::histogram::Percentile;
use hostmark_stats::{compare, descriptive, interval};
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
        let ours = compare::Spread::pooled(&groups).unwrap();
        assert_eq!(ours.freedom as u64, case["freedom"].as_u64().unwrap());
        assert_close(Some(ours.deviation), &case["deviation"], 9);
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
