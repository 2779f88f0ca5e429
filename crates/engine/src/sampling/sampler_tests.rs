//! The sampler on a fake clock: exact.

use super::*;
use crate::clock::FakeClock;

fn sampler<'a>(clock: &'a Clock, interference: &'a Interference, budget_ns: f64) -> Sampler<'a> {
    Sampler { clock, precision: Precision::of(clock), core: None, interference, budget_ns, pass_ns: None }
}

/// Samples of a body whose `n` operations take so many ns in its so manieth call, on a clock of this cost.
fn taken(cost_ns: u64, budget_ns: f64, hint: Option<u64>, mut ns: impl FnMut(usize, u64) -> u64) -> Samples {
    let fake = FakeClock::new(cost_ns);
    let clock = Clock::Fake(fake.clone());
    let mut calls = 0;
    let mut body = |n: u64| {
        calls += 1;
        fake.advance(ns(calls, n));
        Ok(())
    };
    sampler(&clock, &Interference::Blind, budget_ns).take(hint, &mut body).unwrap()
}

/// Samples of an operation of `op_ns` after `fixed_ns` a call.
fn take(op_ns: u64, fixed_ns: u64, cost_ns: u64, hint: Option<u64>) -> Samples {
    taken(cost_ns, 40e6, hint, |_, n| fixed_ns + n * op_ns)
}

/// True where each sample says that an operation takes so many ns.
fn are_all(samples: &Samples, ns: f64) -> bool {
    samples.ns.iter().zip(&samples.iterations).all(|(of_all, &n)| of_all / n as f64 == ns)
}

#[test]
fn two_lengths_give_the_operation_exactly_whatever_a_call_costs() {
    for fixed_ns in [0, 40, 5_000] {
        let samples = take(3, fixed_ns, 20, None);
        assert!(samples.ns.len() >= 30 && are_all(&samples, 3.0), "{samples:?}");
        assert_eq!((samples.learned % TURN, short_length(samples.learned) % TURN), (0, 0), "whole turns");
    }
}

#[test]
fn a_sample_is_long_against_the_clock() {
    let samples = take(1, 0, 1_000, None);
    let coarse_ns = 1000.0 * 2_000.0;
    assert!(samples.ns[0] + coarse_ns / 16.0 >= 0.5 * coarse_ns, "{}", samples.ns[0]);
}

#[test]
fn an_operation_longer_than_a_sample_is_timed_alone() {
    let samples = take(300_000_000, 0, 0, None);
    assert_eq!((samples.learned, samples.iterations[0], samples.ns[0]), (1, 1, 300_000_000.0));
    assert_eq!(samples.ns.len(), 1);
}

#[test]
fn the_cost_of_a_first_time_does_not_make_the_samples_short() {
    // Of 1000 ns each, after some that took over ten samples' time, as where a child had still to be given its pages.
    for (hint, slow) in [None, Some(1)].into_iter().flat_map(|hint| [1, 2, 3].map(|slow| (hint, slow))) {
        let samples = taken(20, 40e6, hint, |call, n| n * 1000 + if call <= slow { 5_000_000 } else { 0 });
        assert!(samples.learned > 100 && samples.iterations.iter().all(|&n| n > 100), "{hint:?} {slow} {samples:?}");
        assert!(are_all(&samples, 1000.0));
    }
}

/// Samples of an operation of `op_ns` beside another program, which runs during the short lengths, by their number, as long as this says.
fn beside(budget_ns: f64, op_ns: u64, other_ns: impl Fn(usize) -> u64) -> Samples {
    let (mut longest, mut shorts) = (0, 0);
    taken(20, budget_ns, None, |_, n| {
        longest = longest.max(n);
        let is_short = longest > 1000 && n < longest / 2;
        shorts += usize::from(is_short);
        n * op_ns + if is_short { other_ns(shorts) } else { 0 }
    })
}

#[test]
fn a_round_goes_on_until_it_has_samples_above_zero_but_not_for_ever() {
    let least = |interrupted: usize| beside(8e6, 100, |short| if short <= interrupted { 5_000_000 } else { 0 });
    let few = least(2);
    assert!(few.ns.iter().filter(|&&ns| ns > 0.0).count() >= LEAST_SAMPLES, "{few:?}");
    assert!(few.ns.iter().any(|&ns| ns < 0.0));
    let none = least(usize::MAX);
    assert!(none.ns.iter().all(|&ns| ns < 0.0) && none.ns.len() < 10, "{none:?}");
}

#[test]
fn no_sample_is_shorter_than_the_operation_where_the_short_length_was_disturbed() {
    let disturbed = std::cell::Cell::new(0);
    let samples = beside(40e6, 1, |short| {
        let is_disturbed = short % 4 == 0;
        disturbed.set(disturbed.get() + usize::from(is_disturbed));
        if is_disturbed { 80_000 } else { 0 }
    });
    assert!(samples.ns.len() > 50 && disturbed.get() > 10, "{disturbed:?}");
    assert!(are_all(&samples, 1.0), "{samples:?}");
}

#[test]
fn every_sample_is_held_to_its_length_and_not_the_first_ones_alone() {
    for slow in [4, 30, 100] {
        // 60 µs each at first, as a load of memory that is given while it is measured, then 100 ns.
        let samples = taken(20, 40e6, None, |call, n| n * if call <= slow { 60_000 } else { 100 });
        let shortest_ns = samples.spent_ns.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(shortest_ns >= FAR_TOO_SHORT * SAMPLE_NS, "{slow}: {shortest_ns}");
        assert!(are_all(&samples, 100.0), "{slow}");
    }
}

#[test]
fn both_sides_of_every_difference_are_held_to_their_length_which_is_sought_anew_after_a_first_time() {
    type Time = fn(usize, u64) -> u64;
    let slow_for_long: Time = |call, ns| if call <= 20 { 600 * ns } else { ns };
    let slow_once: Time = |call, ns| if call == 1 { ns + 5_000_000 } else { ns };
    for (tens, least, time_ns) in [(1, 100, slow_for_long), (10, 30, slow_once)] {
        let fake = FakeClock::new(0);
        let side = |op_ns: u64| {
            let (fake, mut calls) = (fake.clone(), 0);
            move |n: u64| {
                calls += 1;
                fake.advance(time_ns(calls, n * op_ns));
                Ok(())
            }
        };
        let (mut whole, mut part) = (side(300 * tens), side(100 * tens));
        let clock = Clock::Fake(fake.clone());
        let taken = sampler(&clock, &Interference::Blind, 40e6).take_difference(None, &mut whole, &mut part).unwrap();
        let are = |ns: &[f64], op_ns: u64| ns.iter().all(|&ns| ns == (op_ns * tens) as f64);
        assert!(are(&taken.whole_ns, 300) && are(&taken.part_ns, 100));
        assert!(
            taken.samples.learned > least && taken.samples.iterations.iter().all(|&n| n > least),
            "{:?}",
            taken.samples
        );
    }
}

#[test]
fn a_whole_that_goes_on_has_gone_on_for_a_while_and_is_not_interrupted_by_its_part() {
    let fake = FakeClock::new(0);
    let clock = Clock::Fake(fake.clone());
    let turns = std::cell::RefCell::new(Vec::new());
    let body = |name: char, op_ns: u64| {
        let (fake, turns) = (fake.clone(), &turns);
        move |n: u64| {
            fake.advance(n * op_ns);
            turns.borrow_mut().push(name);
            Ok(())
        }
    };
    let (settled, mut part) = (body('w', 30_000), body('p', 10_000));
    // A ring is faster at first.
    let mut whole = |n: u64| if turns.borrow().len() < 10 { body('w', 20_000)(n) } else { settled(n) };
    let taken =
        sampler(&clock, &Interference::Blind, 40e6).take_steady_difference(None, &mut whole, &mut part).unwrap();
    assert!(taken.samples.ns.iter().zip(&taken.samples.iterations).all(|(ns, &n)| *ns == 20_000.0 * n as f64));
    assert!(taken.whole_ns.len() > 3 && taken.whole_ns.iter().all(|&ns| ns == 30_000.0));
    assert!(taken.part_ns.iter().all(|&ns| ns == 10_000.0));
    turns.borrow_mut().dedup();
    assert_eq!(turns.into_inner(), ['w', 'p']);
}

#[test]
fn what_an_earlier_round_learned_is_used_when_it_still_fits() {
    let learned = take(3, 0, 20, None).learned;
    assert_eq!(take(3, 0, 20, Some(learned)).learned, learned);
    assert_eq!(take(3, 0, 20, Some(7)).learned, learned);
}

#[test]
fn the_budget_is_kept() {
    for op_ns in [1, 50, 10_000, 3_000_000] {
        let samples = take(op_ns, 0, 20, None);
        let spent_ns: f64 = samples.ns.iter().sum();
        assert!(spent_ns < 48e6, "{op_ns}: {spent_ns}");
    }
}

#[test]
fn a_sample_is_as_long_whatever_the_budget_and_a_long_one_spreads_them_out() {
    let usual = take(3, 0, 20, None);
    for budget_ns in [10e6, 20e6, 80e6, 400e6, 4e9] {
        let mut spent_ns = 0;
        let samples = taken(20, budget_ns, None, |_, n| {
            spent_ns += 3 * n;
            3 * n
        });
        assert_eq!(samples.learned, usual.learned, "{budget_ns}");
        assert!(samples.ns.len() as f64 <= 1.1 * SAMPLES_A_ROUND, "{budget_ns}: {}", samples.ns.len());
        assert!((0.9..1.1).contains(&(spent_ns as f64 / budget_ns)) || budget_ns < 20e6, "{budget_ns}: {spent_ns}");
    }
}

#[test]
fn an_operation_that_fails_ends_the_round() {
    let clock = Clock::Fake(FakeClock::new(1));
    let mut calls = 0;
    let mut body = |_| {
        calls += 1;
        if calls == 3 { Err(RoundError::wrong("no")) } else { Ok(()) }
    };
    assert_eq!(sampler(&clock, &Interference::Blind, 1e6).take(None, &mut body), Err(RoundError::wrong("no")));
}

#[test]
fn a_body_whose_time_jumps_with_its_length_is_given_a_length_after_all() {
    let mut calls = 0;
    let samples = taken(0, 40e6, None, |call, n| {
        calls = call;
        if n < 1000 { n } else { 10_000_000 }
    });
    assert!(!samples.ns.is_empty() && calls < 5_000, "{calls}");
}

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn a_fill_that_would_end_too_late_is_skipped_after_its_first_part() {
    let limit = Deadline { began_ns: 10 * SECOND_NS, limit_ns: 5 * SECOND_NS };
    let after = |ms: u64, done: u64| {
        let begun_ns = 11 * SECOND_NS;
        limit.forecast_at(begun_ns + ms * 1_000_000, begun_ns, done, 3072 * MIB)
    };
    // 48 such parts, and a second is gone already.
    assert_eq!(after(80, 64 * MIB), Ok(()));
    let Err(RoundError::Skipped(reason)) = after(170, 64 * MIB) else { panic!() };
    assert_eq!(
        &*reason,
        "filling 3072 MiB at 394.758 MB/s takes 8.2 s, and a round of this run may take 5.0 s to set up; use a longer \
             profile"
    );
    assert_eq!(after(9000, 3072 * MIB), Ok(()), "what is done is not thrown away");
    let endless = Deadline { limit_ns: 0, ..limit };
    assert_eq!(endless.forecast_at(99 * SECOND_NS, 0, 1, 3072 * MIB), Ok(()));
}
