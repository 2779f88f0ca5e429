//! Checks of the clock and the sampler: a delay, a sleep, a chain of multiplications.

use std::ops::RangeInclusive;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hostmark_analysis::bilingual::{Words, same};
use hostmark_analysis::words;
use hostmark_say::say;

use super::bench::{Bench, BenchRound, least, median};
use super::check::{Attempt, Check, Known, Line};
use super::known::{self, KNOWN, SHORTEST_SLEEP_NS, SLEEP_NS, SLEPT_NS};
use crate::command::measure::disturbed::emulated;
use crate::emulator;

/// Rounds of a look.
const ROUNDS: u32 = 8;
/// A sleep takes long: fewer rounds do.
const SLEEP_ROUNDS: u32 = 3;
/// The bound of the delay and the multiplications.
const WITHIN: f64 = 0.01;
/// That of two clocks over the same time: the kernel slews one of them by a quarter of this at most, and a CPU that wakes needs some
/// microseconds from one reading to the other.
const CLOCKS_AGREE: f64 = 0.002;

fn within_a_hundredth(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < WITHIN
}

fn one_percent() -> Words {
    Words { en: "±1 %".into(), zh: "±1%".into() }
}

/// A sleep is so many times the usual one at most: it has to be sampled within a round.
const MOST_SLEEPS: u64 = 10;

/// A delay, ns.
pub const DELAY_NS: u64 = 20_000;

pub fn delay(bench: &mut Bench, delay_ns: &Known<u64>) -> Line {
    known::DELAY_NS.store(delay_ns.put, Ordering::Relaxed);
    let expected = delay_ns.expected as f64;
    let put_in = words(say!("a delay of {expected:.2} µs by CLOCK_MONOTONIC_RAW", expected = expected / 1e3));
    let check =
        Check { id: "delay", put_in, bound: one_percent(), limit: Duration::from_secs(6), puts_others_in: false };
    check.judge(bench, |bench| {
        let ns = least(&bench.rounds(KNOWN, "known.delay", ROUNDS)?, BenchRound::median);
        Ok(Attempt { back: same(format!("{:.2} µs", ns / 1e3)), is_within: Ok(within_a_hundredth(ns, expected)) })
    })
}

/// The rate of the clock that checks: 1.0 as it is.
pub fn sleep(bench: &mut Bench, rate: f64) -> Line {
    // Where a clock takes long, a CPU that wakes takes long to read two.
    let asked_ns = SHORTEST_SLEEP_NS * bench.stretch.min(MOST_SLEEPS);
    SLEEP_NS.store(asked_ns, Ordering::Relaxed);
    let asked_ms = asked_ns as f64 / 1e6;
    let put_in = words(say!("sleeps of {asked_ms} ms or more"));
    let check = Check {
        id: "sleep",
        put_in,
        bound: Words { en: "±0.2 %".into(), zh: "±0.2%".into() },
        limit: Duration::from_secs(3),
        puts_others_in: false,
    };
    check.judge(bench, |bench| {
        let (mut values, mut ratios) = (Vec::new(), Vec::new());
        let slept = || std::mem::take(&mut *SLEPT_NS.lock().unwrap_or_else(PoisonError::into_inner));
        for number in 0..SLEEP_ROUNDS {
            slept();
            let round = bench.round(KNOWN, "known.sleep", number)?;
            let slept = slept();
            // Those before the samples found out how long they take.
            let count = round.iterations.iter().sum::<u64>() as usize;
            let mut slept = slept.iter().skip(slept.len().saturating_sub(count));
            ratios.extend(round.values.iter().zip(&round.iterations).map(|(value, &n)| {
                let other: u64 = slept.by_ref().take(n as usize).sum();
                value * n as f64 / (rate * other as f64)
            }));
            values.extend(round.values);
        }
        // A sample begins before the sleep's clock is read and ends after that: whatever comes between only adds to the sample.
        let (measured, ratio) = (median(values), ratios.into_iter().fold(f64::INFINITY, f64::min));
        let shown = |ns: f64| format!("{:.4} ms", ns / 1e6);
        let back = words(say!(
            "{measured}, by CLOCK_MONOTONIC {ratio}",
            measured = shown(measured),
            ratio = shown(measured / ratio)
        ));
        let is_long_enough = measured > asked_ns as f64 * (1.0 - CLOCKS_AGREE);
        Ok(Attempt { back, is_within: Ok((ratio - 1.0).abs() < CLOCKS_AGREE && is_long_enough) })
    })
}

/// Cycles of a dependent 64-bit multiplication on this architecture: 3 on most x86 cores, up to 5 on small ones.
pub const CYCLES: RangeInclusive<u32> = if cfg!(target_arch = "x86_64") { 3..=5 } else { 2..=5 };

/// The chain is measured in nanoseconds, and the core's frequency beside it.
pub fn multiply(bench: &mut Bench, cycles: RangeInclusive<u32>) -> Line {
    let (first, last) = (cycles.start(), cycles.end());
    let put_in = words(say!("dependent multiplications of {first} to {last} whole cycles"));
    let check =
        Check { id: "multiply", put_in, bound: one_percent(), limit: Duration::from_secs(8), puts_others_in: false };
    if let Some(reason) = without_cycles(bench) {
        return check.impossible(reason);
    }
    check.judge(bench, |bench| {
        // The samples and the frequency beside them are disturbed each on its own, so the quotient errs to both sides.
        let found = median(bench.rounds(KNOWN, "known.multiply", ROUNDS)?.iter().map(BenchRound::cycles).collect());
        if found.is_nan() {
            return Err(no_frequency().into());
        }
        let back = words(say!("{found:.3} cycles"));
        let is_within = cycles.clone().any(|whole| within_a_hundredth(found, whole.into()));
        Ok(Attempt { back, is_within: Ok(is_within) })
    })
}

/// Why a core's cycles mean nothing on this machine, if they do not.
pub fn without_cycles(bench: &Bench) -> Option<Words> {
    let of_processor = emulated(bench.host.virtualization.hypervisor.as_deref());
    let of_program = |name: String| words(say!("{name} executes this program in software"));
    of_processor.or_else(|| emulator::name().map(of_program))
}

/// Why a value has no cycles.
pub fn no_frequency() -> Words {
    term!("the core's frequency is unknown here").to_owned_text()
}
