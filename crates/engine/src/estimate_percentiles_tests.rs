//! Percentiles of the operations of all rounds.

use super::*;

static TAILED: Probe = Probe { also: &[Quantity::P50, Quantity::P90, Quantity::P99, Quantity::P999], ..PLAIN };

/// A case whose rounds have these operations, (ns, how many) each; its samples are disturbed.
fn tailed(group: &'static str, rounds: &[&[(u64, u64)]]) -> Measured {
    let entry = Entry { group, name: "tailed", shares_worker: false, probe: &TAILED };
    let with_operations = |(number, operations): (usize, &&[(u64, u64)])| {
        let mut round = round(number as u32, disturbed(&[4.0, 5.0, 6.0], &[MOVED, 0, 0]));
        let (values, counts) = operations.iter().copied().unzip();
        round.events.insert(round.events.len() - 1, Event::Histogram(Histogram { values, counts }));
        round
    };
    let rounds: Vec<RoundResult> = rounds.iter().enumerate().map(with_operations).collect();
    match outcome(&entry, &rounds, 3) {
        Outcome::Measured(measured) => *measured,
        other => panic!("{other:?}"),
    }
}

#[test]
fn percentiles_are_the_median_of_the_rounds_and_their_histogram_is_all_of_them() {
    let measured = tailed("net", &[&[(100, 900), (200, 100)], &[(110, 850), (220, 150)], &[(120, 950), (300, 50)]]);
    let [p50, p90, p99] = ["p50", "p90", "p99"].map(|name| measured.also[name].estimate.clone());
    assert_eq!((p50.typical, p90.typical, p99.typical), (110.0, 120.0, 220.0));
    assert_eq!((p99.rounds, p99.min, p99.max), (3, 200.0, 300.0));
    assert_eq!(p99.range, Some([200.0, 300.0]));
    // 3000 operations: three lie beyond p99.9, and ten are demanded.
    assert!(!measured.also.contains_key("p999"));
    let histogram = measured.histogram.unwrap();
    assert_eq!(histogram.values, [100, 110, 120, 200, 220, 300]);
    assert_eq!(histogram.counts, [900, 850, 950, 100, 150, 50]);
}

#[test]
fn a_percentile_is_given_from_ten_operations_beyond_it_on() {
    let p999_of = |count: u64| tailed("net", &[&[(5, count)]]).also.contains_key("p999");
    assert!(p999_of(10_000) && !p999_of(9_999));
    let few = tailed("net", &[&[(5, 19)]]);
    assert!(few.also.is_empty() && few.histogram.is_some());
}

#[test]
fn disturbed_operations_stay_in_percentiles_of_hardware_too() {
    let measured = tailed("cpu", &[&[(5, 1000), (90, 1000)]]);
    assert_eq!(measured.noise.left_out, 1);
    assert_eq!(measured.also["p90"].estimate.typical, 90.0);
}

#[test]
fn a_percentile_is_no_more_exact_than_the_clock() {
    // The clock's step is 10 ns: a tenth of the value to both sides, however much the rounds agree.
    let p50 = tailed("net", &[&[(100, 20)][..]; 5]).also["p50"].estimate.clone();
    assert!(p50.ci_low.unwrap() <= 90.0 && p50.ci_high.unwrap() >= 110.0, "{p50:?}");
}
