//! Percentiles of the operations of all rounds.

use super::*;

static TAILED: Probe = Probe { also: &[Quantity::P50, Quantity::P90, Quantity::P99, Quantity::P999], ..PLAIN };

/// A case whose rounds have these operations, (ns, how many) each; its samples are disturbed.
fn tailed(group: &'static str, rounds: &[&[(u64, u64)]]) -> Measured {
    let entry = Entry { group, name: "tailed", shares_worker: false, probe: &TAILED };
    let with_operations = |(number, operations): (usize, &&[(u64, u64)])| {
        let of_round = [4.0, 5.0, 6.0].map(|value| value + number as f64);
        let mut round = round(number as u32, disturbed(&of_round, &[MOVED, 0, 0]));
        let (values, counts) = operations.iter().copied().unzip();
        round.events.insert(round.events.len() - 1, Event::Histogram(Histogram { values, counts }));
        round
    };
    let rounds: Vec<RoundResult> = rounds.iter().enumerate().map(with_operations).collect();
    values(outcome(&entry, &rounds, 3))
}

#[test]
fn percentiles_lie_between_those_of_the_rounds_and_their_histogram_is_all_of_them() {
    let measured = tailed("net", &[&[(100, 900), (200, 100)], &[(110, 850), (220, 150)], &[(120, 950), (300, 50)]]);
    let [p50, p90, p99] = ["p50", "p90", "p99"].map(|name| measured.also[name].estimate.clone());
    assert_eq!((p50.typical, p90.typical, p99.typical), (110.0, 220.0, 220.0));
    assert_eq!((p99.rounds, p99.min, p99.max), (3, 200.0, 300.0));
    assert_eq!(p99.range, Some([200.0, 300.0]));
    // 3000 operations: three lie beyond p99.9, and ten are demanded.
    assert!(!measured.also.contains_key("p999"));
    let histogram = measured.histogram.unwrap();
    assert_eq!(histogram.values, [100, 110, 120, 200, 220, 300]);
    assert_eq!(histogram.counts, [900, 850, 950, 100, 150, 50]);
}

#[test]
fn the_parts_of_a_distribution_are_those_of_one_round() {
    static PARTS: Probe = Probe { also: &[Quantity::P90, Quantity::P99, Quantity::MEAN], ..PLAIN };
    let entry = Entry { group: "disk", name: "parts", shares_worker: false, probe: &PARTS };
    // The device was in one of two states, and gives many more operations a round in the fast one.
    let of = |number: u32, usual: u64, slow: u64, count: u64| {
        let mut round = round(number, given(&[usual as f64; 3]));
        let histogram = Histogram { values: vec![usual, slow], counts: vec![95 * count, 5 * count] };
        round.events.insert(round.events.len() - 1, Event::Histogram(histogram));
        with_also(round, "mean", &[0.95 * usual as f64 + 0.05 * slow as f64])
    };
    let rounds =
        [of(0, 50, 70, 40), of(1, 2030, 2500, 1), of(2, 51, 70, 40), of(3, 2100, 4000, 1), of(4, 3000, 9000, 1)];
    let measured = values(outcome(&entry, &rounds, 5));
    let [p90, p99, mean] = ["p90", "p99", "mean"].map(|name| measured.also[name].estimate.clone());
    assert_eq!(measured.estimate.typical, 2030.0);
    assert_eq!((p90.typical, p99.typical), (2030.0, 2500.0));
    assert!((mean.typical - 2053.5).abs() < 1e-9, "{mean:?}");
    for estimate in [p90, p99, mean] {
        assert!(estimate.ci_low.unwrap() <= estimate.typical && estimate.typical <= estimate.ci_high.unwrap());
    }
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
