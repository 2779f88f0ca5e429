//! Batches and histograms, exactly, on a clock that moves when it is told.

use hostmark_stats::histogram::Percentile;

use super::*;
use crate::clock::FakeClock;

/// A round of operations whose times are given by their number; none takes the time to read the clock.
fn all_of(budget_ns: f64, least: u64, hint: Option<u64>, time_ns: impl Fn(u64) -> u64) -> Latencies {
    let fake = FakeClock::new(0);
    let mut number = 0;
    let mut next = |clock: &Clock| {
        let start = clock.start();
        fake.advance(time_ns(number));
        number += 1;
        Ok(clock.end().since(start))
    };
    let clock = Clock::Fake(fake.clone());
    let interference = &Interference::Blind;
    LatencySampler { clock: &clock, interference, budget_ns, least }.take(hint, &mut next).unwrap()
}

/// A round of 80 ms.
fn taken(hint: Option<u64>, time_ns: impl Fn(u64) -> u64) -> (Samples, Histogram) {
    let Latencies { samples, histogram, .. } = all_of(80e6, 0, hint, time_ns);
    (samples, histogram)
}

fn percentile(histogram: &Histogram, name: &str) -> u64 {
    Percentile::of_name(name).unwrap().of(&histogram.values, &histogram.counts).unwrap()
}

#[test]
fn equal_operations_are_one_value_and_every_batch_has_it() {
    let (samples, histogram) = taken(None, |_| 1000);
    assert_eq!((histogram.values, histogram.counts), (vec![1000], vec![80_000]));
    assert_eq!((samples.learned, samples.ns), (1000, vec![1000.0; 80]));
    assert!(samples.iterations.iter().all(|&iterations| iterations == 1));
}

#[test]
fn a_known_distribution_has_its_percentiles() {
    // Of 1000 in a row 900 take 500 ns, 90 take 1 µs, 9 take 1.5 µs and one takes 2 µs: under 2048 ns all are exact.
    let time_ns = |number: u64| match number % 1000 {
        0 => 2000,
        1..10 => 1500,
        10..100 => 1000,
        _ => 500,
    };
    let (samples, histogram) = taken(None, time_ns);
    assert_eq!(histogram.values, [500, 1000, 1500, 2000]);
    let found = ["p50", "p90", "p99", "p999"].map(|name| percentile(&histogram, name));
    // Whole thousands and a part of one: each percentile is at the edge of two values, or within one.
    assert_eq!((found[0], found[3]), (500, 1500));
    assert!(found[1] <= 1000 && (1000..=1500).contains(&found[2]), "{found:?}");
    let share = |index: usize| histogram.counts[index] as f64 / histogram.counts.iter().sum::<u64>() as f64;
    assert!((share(0) - 0.9).abs() < 1e-3 && (share(3) - 0.001).abs() < 1e-4);
    // Batches hold whole thousands on average, so that their medians are the fast ones.
    assert!(samples.ns.iter().all(|&ns| ns == 500.0));
}

#[test]
fn long_times_are_distinguished_to_a_thousandth_and_one_as_long_as_the_round_is_taken_once() {
    let (_, histogram) = taken(None, |_| 1_234_567);
    let [value] = histogram.values[..] else { panic!("{histogram:?}") };
    assert!((value as f64 / 1_234_567.0 - 1.0).abs() < 5e-4, "{value}");
    let (samples, histogram) = taken(None, |_| 200_000_000);
    assert_eq!((samples.ns, histogram.counts), (vec![200_000_000.0], vec![1]));
}

#[test]
fn a_round_has_20_to_200_samples_whatever_an_operation_takes() {
    for ns in [50, 700, 3_000, 90_000, 600_000, 1_500_000, 3_000_000] {
        let (samples, histogram) = taken(None, |_| ns);
        assert!((20..=200).contains(&samples.ns.len()), "{ns}: {}", samples.ns.len());
        assert_eq!(histogram.counts.iter().sum::<u64>(), 80_000_000_u64.div_ceil(ns), "{ns}");
    }
}

#[test]
fn a_round_lasts_up_to_a_fifth_of_a_second_for_its_least_number_of_operations() {
    let operations = |ns: u64| all_of(80e6, 200, None, |_| ns).histogram.counts.iter().sum::<u64>();
    assert_eq!([100_000, 500_000, 5_000_000, 300_000_000].map(operations), [800, 200, 40, 1]);
}

#[test]
fn a_batch_of_an_earlier_round_is_taken_when_it_fits() {
    let learned = |hint: u64| taken(Some(hint), |_| 1000).0.learned;
    assert_eq!((learned(700), learned(1900)), (700, 1900));
    assert_eq!((learned(100), learned(50_000)), (1000, 1000));
}

#[test]
fn a_batch_that_would_last_for_hours_is_not_tried() {
    let most = std::cell::Cell::new(0);
    let learned = taken(Some(1 << 28), |number| {
        most.set(number);
        1000
    });
    assert_eq!(learned.0.learned, 1000);
    assert!(most.get() < 200_000, "{}", most.get());
}

#[test]
fn an_operation_that_was_put_off_once_does_not_make_batches_small() {
    let learned = |slow: u64| taken(None, |number| if number == slow { 3_000_000 } else { 1000 }).0.learned;
    assert_eq!([learned(0), learned(1), learned(5)], [1000; 3]);
}

#[test]
fn operations_that_slow_down_end_with_the_rounds_time() {
    // 80 times as slow once the batch is found, of which a part was tried first: the first batch alone would take the whole
    // time.
    let found = 1000 + 1000 / 64;
    let (samples, histogram) = taken(Some(1000), |number| if number < found { 1000 } else { 80_000 });
    assert_eq!(histogram.counts.iter().sum::<u64>(), 1000);
    assert_eq!(samples.ns, [80_000.0]);
}

#[test]
fn stalls_after_bursts_are_in_the_mean_and_the_rate_which_the_median_hides() {
    // As under a limit of 200 a second that is kept by slices of 100 ms: 19 at once, then one waits for the next slice.
    let burst = |number: u64| if number % 20 == 19 { 86_500_000 } else { 710_000 };
    let taken = all_of(800e6, 0, None, burst);
    assert_eq!(hostmark_stats::descriptive::median(&taken.samples.ns), Some(710_000.0));
    assert!((taken.mean_ns / 5e6 - 1.0).abs() < 0.15, "{}", taken.mean_ns);
    let Totals { operations, ns } = taken.samples.whole;
    let sustained = operations as f64 * 1e9 / ns;
    assert!((sustained / 200.0 - 1.0).abs() < 0.15, "{sustained}");
    assert!((sustained * taken.mean_ns / 1e9 - 1.0).abs() < 1e-9, "{sustained} {}", taken.mean_ns);
}

#[test]
fn an_operation_that_fails_fails_the_round() {
    let clock = Clock::Fake(FakeClock::new(1));
    let sampler = LatencySampler { clock: &clock, interference: &Interference::Blind, budget_ns: 1e6, least: 0 };
    let refused = sampler.take(None, &mut |_| Err(RoundError::wrong("refused")));
    assert_eq!(refused.map(drop), Err(RoundError::wrong("refused")));
}
