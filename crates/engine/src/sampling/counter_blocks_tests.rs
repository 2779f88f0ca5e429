//! How often the counters are read, and which samples they mark: exact, on a fake clock.

use std::rc::Rc;

use super::*;
use crate::clock::{FakeClock, Precision};
use crate::sampling::sample::Script;
use crate::sampling::sampler::Sampler;

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
    // Blocks of 1, 2, 3, 4 samples: the fifth of all is in the third.
    let (samples, _) = taken(10, 200_000, |number, script| {
        if number == 4 {
            script.wait(50_000)
        }
    });
    assert_eq!(marked(&samples), [3, 4, 5]);
    assert!((samples.delays_ns.iter().sum::<f64>() - 50_000.0).abs() < 1e-6, "{:?}", samples.delays_ns);
    assert_eq!(samples.delays_ns[0], 0.0);
    // Under a hundredth of the block's 600 µs.
    let (samples, _) = taken(10, 200_000, |number, script| {
        if number == 4 {
            script.wait(5_900)
        }
    });
    assert_eq!(marked(&samples), [0_usize; 0]);
}

#[test]
fn where_every_sample_is_disturbed_each_has_a_reading_and_a_mark_of_its_own() {
    let (samples, reads) = taken(50, 200_000, |number, script| {
        if number < 40 {
            script.wait(10_000)
        }
    });
    assert_eq!(marked(&samples), (0..40).collect::<Vec<_>>());
    assert_eq!(reads, 1 + 40 + 4);
}

#[test]
fn one_disturbance_in_many_costs_a_block_and_not_the_round() {
    let disturbed = |number: usize, script: &Script| {
        if number % 100 == 99 {
            script.wait(50_000)
        }
    };
    let (samples, _) = taken(1000, 200_000, disturbed);
    let share = marked(&samples).len() as f64 / samples.disturbance_flags.len() as f64;
    assert!((0.01..0.16).contains(&share), "{share}");
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
