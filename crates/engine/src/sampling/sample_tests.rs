//! Marks on disturbed samples, and those that are forgiven.

use std::rc::Rc;

use super::*;
use crate::clock::{FakeClock, Precision};
use crate::sampling::sample::Script;
use crate::sampling::sampler::Sampler;

#[test]
fn samples_are_marked_for_what_happened_in_their_block() {
    let before = Reading::default();
    let marks = |after: Reading| {
        let mut samples = Samples::default();
        samples.push(1e6, 10, 1e6);
        samples.mark(0, 1e6, &before, &after);
        samples.disturbance_flags[0].0
    };
    assert_eq!(marks(before), 0);
    assert_eq!(marks(Reading { run_delay_ns: 9_999, ..before }), 0);
    assert_eq!(marks(Reading { run_delay_ns: 10_001, ..before }), DisturbanceFlags::DELAYED);
    let switched = Reading { involuntary_switches: 1, faults: 2, ..before };
    assert_eq!(marks(switched), DisturbanceFlags::SWITCHED | DisturbanceFlags::FAULTED);
    assert!(!DisturbanceFlags(marks(switched)).is_disturbed());
}

#[test]
fn samples_below_zero_are_marked_and_a_round_of_more_than_half_such_has_no_value() {
    let of = |ns: &[f64]| {
        let mut samples = Samples::of_times(1);
        ns.iter().for_each(|&ns| samples.push(ns, 1, 1e6));
        samples
    };
    let mut samples = of(&[6.0, -67.0, 0.0, 5.0]);
    assert_eq!(samples.mark_below_zero(), Ok(()));
    let marked: Vec<bool> = samples.disturbance_flags.iter().map(|flags| !flags.is_possible()).collect();
    assert_eq!(marked, [false, true, false, false]);
    assert!(samples.disturbance_flags[1].is_disturbed() && !samples.disturbance_flags[1].is_quiet());
    assert_eq!(of(&[-1.0, 6.0]).mark_below_zero(), Ok(()));
    for most in [&[-1.0, -2.0, 6.0][..], &[-1573.0]] {
        let Err(RoundError::Skipped(reason)) = of(most).mark_below_zero() else { panic!("{most:?}") };
        assert!(reason.text.contains("below zero") && reason.code == Some(ReasonCode::Inconclusive), "{reason:?}");
    }
}

#[test]
fn a_blocking_operation_is_marked_only_for_an_unusual_delay_or_share_whatever_the_samples_last() {
    let disturbed = |delays: &[(f64, u64)]| {
        let mut samples = Samples::default();
        for &(spent_ns, run_delay_ns) in delays {
            // What is kept need not be the time spent: the median of a batch, the time of one operation.
            samples.push(1e3, 1, spent_ns);
            let delayed = Reading { run_delay_ns, ..Reading::default() };
            samples.mark(samples.ns.len() - 1, spent_ns, &Reading::default(), &delayed);
        }
        assert!(samples.disturbance_flags.iter().all(|flags| flags.is_disturbed()));
        samples.forgive_usual_delay();
        marked(&samples)
    };
    assert_eq!(disturbed(&[50_000, 51_000, 49_000, 50_000, 400_000].map(|delay| (1e6, delay))), [4]);
    // Two parties on one CPU wait half of the time each, in samples of several lengths; the seventh waits for a third one.
    let shares = [(1.0, 0.48), (2.0, 0.52), (1.0, 0.5), (4.0, 0.47), (2.0, 0.53), (1.0, 0.51), (2.0, 0.9)];
    assert_eq!(disturbed(&shares.map(|(ms, share)| (ms * 1e6, (share * ms * 1e6) as u64))), [6]);
}

#[test]
fn all_that_was_sampled_is_one_sample() {
    let mut samples = Samples::of_times(1);
    (1..=3).for_each(|n| samples.push(f64::from(n), 10, 2.0));
    samples.disturbance_flags[1] = DisturbanceFlags(DisturbanceFlags::DELAYED);
    let whole = samples.whole;
    samples.join();
    assert_eq!((samples.ns, samples.iterations, samples.spent_ns), (vec![6.0], vec![30], vec![6.0]));
    assert_eq!(
        (samples.disturbance_flags, samples.delays_ns, samples.whole),
        (vec![DisturbanceFlags(DisturbanceFlags::DELAYED)], vec![0.0], whole)
    );
}

impl Script {
    fn wait(&self, ns: u64) {
        let counted = self.counted.get();
        self.counted.set(Reading { run_delay_ns: counted.run_delay_ns + ns, ..counted });
    }

    fn go_to(&self, cpu: usize) {
        self.counted.set(Reading { cpu, ..self.counted.get() });
    }
}

/// Samples of `sample_ns` each and how often the counters were read; `then` is told the number of each before it ends.
fn taken(samples: usize, sample_ns: u64, then: impl Fn(usize, &Script)) -> (Samples, usize) {
    let fake = FakeClock::new(0);
    let (clock, script) = (Clock::Fake(fake.clone()), Rc::new(Script::default()));
    let interference = Interference::Scripted(script.clone());
    let mut taken = Samples::of_times(1);
    let mut blocks = CounterBlocks::begin(&clock, &interference);
    for number in 0..samples {
        fake.advance(sample_ns);
        then(number, &script);
        taken.push(sample_ns as f64, 1, sample_ns as f64);
        blocks.add(&mut taken);
    }
    blocks.end(&mut taken);
    (taken, script.reads.get())
}

fn marked(samples: &Samples) -> Vec<usize> {
    (0..samples.disturbance_flags.len()).filter(|&at| samples.disturbance_flags[at].is_disturbed()).collect()
}

#[test]
fn an_undisturbed_round_reads_its_counters_once_a_block() {
    // 1, 2, 3 … samples a block: 45 in nine, and then 25 in each of five milliseconds.
    assert_eq!(taken(45, 200_000, |_, _| ()).1, 1 + 9);
    assert_eq!(taken(1000, 200_000, |_, _| ()).1, 1 + 24 + 700 / 25);
    // Blocks of up to 5 ms.
    assert_eq!(taken(100, 2_500_000, |_, _| ()).1, 1 + 1 + 50);
    assert_eq!(taken(100, 3_000_000, |_, _| ()).1, 1 + 100);
    assert_eq!(taken(10, 50_000_000, |_, _| ()).1, 1 + 10);
    assert_eq!(taken(1, 50, |_, _| ()).1, 1 + 1);
}

#[test]
fn a_disturbed_block_marks_its_samples_and_those_alone() {
    let waited = |is_late: fn(usize) -> bool, samples, ns| {
        taken(samples, 200_000, |number, script| script.wait(if is_late(number) { ns } else { 0 }))
    };
    // Blocks of 1, 2, 3, 4 samples: the fifth of all is in the third.
    let (samples, _) = waited(|number| number == 4, 10, 50_000);
    assert_eq!(marked(&samples), [3, 4, 5]);
    assert!((samples.delays_ns.iter().sum::<f64>() - 50_000.0).abs() < 1e-6, "{:?}", samples.delays_ns);
    assert_eq!(samples.delays_ns[0], 0.0);
    // Under a hundredth of the block's 600 µs.
    assert_eq!(marked(&waited(|number| number == 4, 10, 5_900).0), [0_usize; 0]);
    // Where every sample is disturbed each has a reading and a mark of its own; one in many costs a block and not the round.
    let (samples, reads) = waited(|number| number < 40, 50, 10_000);
    assert_eq!((marked(&samples), reads), ((0..40).collect(), 1 + 40 + 4));
    let (samples, _) = waited(|number| number % 100 == 99, 1000, 50_000);
    assert!((10..160).contains(&marked(&samples).len()), "{:?}", marked(&samples));
}

#[test]
fn a_move_marks_the_sample_in_which_it_was_seen_and_not_its_block() {
    let (samples, _) = taken(40, 200_000, |number, script| match number {
        20 => script.go_to(3),
        21 => script.go_to(0),
        _ => (),
    });
    assert_eq!(marked(&samples), [20, 21]);
    assert!([20, 21].iter().all(|&at| samples.disturbance_flags[at].0 == DisturbanceFlags::MIGRATED));
}

#[test]
fn what_is_counted_between_samples_that_were_thrown_away_marks_none() {
    let fake = FakeClock::new(0);
    let (clock, script) = (Clock::Fake(fake.clone()), Rc::new(Script::default()));
    let interference = Interference::Scripted(script.clone());
    let mut samples = Samples::of_times(1);
    let mut blocks = CounterBlocks::begin(&clock, &interference);
    for is_first in [true, false] {
        fake.advance(200_000);
        if is_first {
            script.wait(150_000);
            blocks.begin_anew();
        } else {
            samples.push(2e5, 1, 2e5);
            blocks.add(&mut samples);
        }
    }
    blocks.end(&mut samples);
    assert_eq!((marked(&samples).len(), samples.delays_ns[0]), (0, 0.0));
}

#[test]
fn a_round_of_short_samples_is_read_a_tenth_as_often_as_sampled() {
    let fake = FakeClock::new(20);
    let (clock, script) = (Clock::Fake(fake.clone()), Rc::new(Script::default()));
    let interference = Interference::Scripted(script.clone());
    let precision = Precision::of(&clock);
    let mut sampler =
        Sampler { clock: &clock, precision, core: None, interference: &interference, budget_ns: 110e6, pass_ns: None };
    let mut body = |n: u64| {
        fake.advance(3 * n);
        Ok(())
    };
    let samples = sampler.take(None, &mut body).unwrap();
    let (reads, taken) = (script.reads.get(), samples.ns.len());
    assert!(taken > 100 && 8 * reads < taken, "{reads} readings of {taken} samples");
}

fn samples(count: usize) -> Samples {
    let mut samples = Samples::of_times(1);
    (0..count).for_each(|_| samples.push(1.0, 1, 1.0));
    samples
}

fn look(ghz: f64, width: f64) -> Option<CoreReading> {
    Some(CoreReading { hz: ghz * 1e9, width })
}

fn beside(clock: &Clock) -> CoreMonitor<'_> {
    CoreMonitor { clock, core: None, last: look(3.0, 5.0) }
}

#[test]
fn samples_between_two_looks_ran_at_what_both_saw_or_at_nobody_knows_what() {
    let clock = Clock::MonotonicRaw;
    let (mut beside, mut two) = (beside(&clock), samples(2));
    beside.seen(look(3.006, 5.0), &mut two);
    assert_eq!(two.core_hz, [3.003e9, 3.003e9]);
    two.push(1.0, 1, 1.0);
    beside.seen(None, &mut two);
    assert_eq!(two.core_hz.len(), 2);
    beside.seen(look(3.2, 5.0), &mut two);
    assert_eq!(two.core_hz[2], 0.0);
}

#[test]
fn each_look_is_kept_with_the_number_of_samples_before_it() {
    let clock = Clock::MonotonicRaw;
    let (mut beside, mut all) = (beside(&clock), samples(2));
    beside.seen(look(3.0, 2.6), &mut all);
    beside.seen(look(3.0, 4.9876), &mut all);
    all.push(1.0, 1, 1.0);
    beside.seen(look(3.0, f64::INFINITY), &mut all);
    assert_eq!(all.looks, [[0, 5000], [2, 2600], [0, 4988], [1, u64::MAX]]);
}

#[test]
fn rows_report_the_frequency_of_each_sample_again() {
    let hz = [3e9, 3.0001e9, 0.0, 0.0, 2.9e9];
    let rows = in_rows(&hz);
    assert_eq!(rows, [[2, 3_000_050], [2, 0], [1, 2_900_000]]);
    assert_eq!(of_rows(&rows, 5).unwrap(), [3.00005e9, 3.00005e9, 0.0, 0.0, 2.9e9]);
    // A file may say anything.
    for samples in [0, 4, 6] {
        assert_eq!(of_rows(&rows, samples), None);
    }
    assert_eq!(of_rows(&[[u64::MAX, 1], [u64::MAX, 1]], 3), None);
}

#[test]
fn a_rate_of_bytes_is_sustained_in_bytes_or_in_requests_as_is_asked() {
    let mut whole = Totals::default();
    assert_eq!(whole.value(&Quantity::SUSTAINED, None, 0, Unit::Nanoseconds), None);
    whole.add(30, 1e9);
    whole.add(10, 1e9);
    let value = |quantity: &Quantity, mean_ns, amount, unit| whole.value(quantity, mean_ns, amount, unit).unwrap();
    assert_eq!(value(&Quantity::SUSTAINED, None, 0, Unit::Nanoseconds), 20.0);
    assert_eq!(value(&Quantity::SUSTAINED, None, 4096, Unit::BytesPerSecond), 20.0);
    assert_eq!(value(&Quantity::SUSTAINED_BYTES, None, 4096, Unit::BytesPerSecond), 81920.0);
    assert_eq!(value(&Quantity::MEAN, None, 0, Unit::Nanoseconds), 5e7);
    assert_eq!(value(&Quantity::MEAN, Some(7.0), 4096, Unit::BytesPerSecond), 7.0);
    assert_eq!(whole.value(&Quantity::P99, None, 0, Unit::Nanoseconds), None);
}
