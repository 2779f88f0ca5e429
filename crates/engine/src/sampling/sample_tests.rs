//! Which samples are marked, and which marks are forgiven.

use super::*;

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
fn a_blocking_operation_is_marked_only_for_unusual_delay() {
    let mut samples = Samples::default();
    for delay in [50_000, 51_000, 49_000, 50_000, 400_000] {
        samples.push(1e6, 10, 1e6);
        let delayed = Reading { run_delay_ns: delay, ..Reading::default() };
        samples.mark(samples.ns.len() - 1, 1e6, &Reading::default(), &delayed);
    }
    assert!(samples.disturbance_flags.iter().all(|flags| flags.is_disturbed()));
    samples.forgive_usual_delay();
    let disturbed: Vec<bool> = samples.disturbance_flags.iter().map(|flags| flags.is_disturbed()).collect();
    assert_eq!(disturbed, [false, false, false, false, true]);
}

#[test]
fn a_share_of_delay_that_scatters_is_forgiven_whatever_the_samples_last() {
    let mut samples = Samples::default();
    // Two parties on one CPU wait half of the time each, in samples of several lengths; the seventh waits for a third one.
    for (ms, share) in [(1, 0.48), (2, 0.52), (1, 0.5), (4, 0.47), (2, 0.53), (1, 0.51), (2, 0.9)] {
        let spent_ns = f64::from(ms) * 1e6;
        let delayed = Reading { run_delay_ns: (share * spent_ns) as u64, ..Reading::default() };
        // What is kept need not be the time spent: the median of a batch, the time of one operation.
        samples.push(1e3, 1, spent_ns);
        samples.mark(samples.ns.len() - 1, spent_ns, &Reading::default(), &delayed);
    }
    samples.forgive_usual_delay();
    let disturbed: Vec<bool> = samples.disturbance_flags.iter().map(|flags| flags.is_disturbed()).collect();
    assert_eq!(disturbed, [false, false, false, false, false, false, true]);
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
