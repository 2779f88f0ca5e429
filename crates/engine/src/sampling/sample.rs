//! A round's samples, and what the kernel saw of the thread meanwhile.

use hostmark_model::{DisturbanceFlags, ReasonCode};
use hostmark_say::say;

use crate::round_error::{Result, RoundError};
use crate::sampling::totals::Totals;
use crate::sys::usage::{Reading, ThreadCounters};

/// Samples of a round at most.
pub(crate) const MOST_SAMPLES: usize = 1000;
/// A run delay over this share of a block of samples marks them.
pub(crate) const DELAY_SHARE: f64 = 0.01;
/// A share of delay that lies further from the usual one than this many of the median's absolute deviations is none of them.
const OUTLYING: f64 = 5.0;

/// Sees what interferes with the measuring thread.
#[derive(Debug)]
pub enum Interference {
    /// The kernel's counters of this thread.
    Thread(ThreadCounters),
    /// Nothing: tests on a fake clock.
    #[cfg(test)]
    Blind,
    /// What a test has counted.
    #[cfg(test)]
    Scripted(std::rc::Rc<Script>),
}

impl Interference {
    /// What is counted so far.
    pub fn read(&self) -> Reading {
        match self {
            Interference::Thread(counters) => counters.read(),
            #[cfg(test)]
            Interference::Blind => Reading::default(),
            #[cfg(test)]
            Interference::Scripted(script) => script.read(),
        }
    }

    /// The CPU that the thread runs on: unlike all else, this costs nanoseconds.
    pub fn cpu(&self) -> usize {
        match self {
            Interference::Thread(counters) => counters.cpu(),
            #[cfg(test)]
            Interference::Blind => 0,
            #[cfg(test)]
            Interference::Scripted(script) => script.counted.get().cpu,
        }
    }
}

/// Counters that a test moves, and how often they were read.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct Script {
    pub counted: std::cell::Cell<Reading>,
    pub reads: std::cell::Cell<usize>,
}

#[cfg(test)]
impl Script {
    fn read(&self) -> Reading {
        self.reads.set(self.reads.get() + 1);
        self.counted.get()
    }
}

/// Whether the thread moved between two readings, or was kept waiting for over 1 % of the time `spent_ns` between them.
pub fn is_disturbed(before: &Reading, after: &Reading, spent_ns: f64) -> bool {
    let delay_ns = after.run_delay_ns.saturating_sub(before.run_delay_ns) as f64;
    after.cpu != before.cpu || delay_ns > DELAY_SHARE * spent_ns
}

/// A round's samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Timed nanoseconds of each.
    pub ns: Vec<f64>,
    /// Iterations of each.
    pub iterations: Vec<u64>,
    /// Marks of each.
    pub disturbance_flags: Vec<DisturbanceFlags>,
    /// Run delay inside each, ns.
    pub delays_ns: Vec<f64>,
    /// How long each sample took from its first to its last operation, ns.
    pub spent_ns: Vec<f64>,
    /// The core's frequency beside each, hertz, as far as it is known yet; 0 where it changed. Empty where nobody looks.
    pub core_hz: Vec<f64>,
    /// The looks at the core, as [`CoreReading::after`](crate::clock::CoreReading::after) tells them. Empty where nobody looks.
    pub looks: Vec<[u64; 2]>,
    /// Involuntary switches inside all.
    pub involuntary_switches: u64,
    /// Page faults inside all.
    pub faults: u64,
    /// Iterations of a sample, to hand on to later rounds.
    pub learned: u64,
    /// All operations, also those whose time is left out of a sample.
    pub whole: Totals,
    /// Whether `ns` are times: what the clock cannot tell apart is then not known better.
    pub is_time: bool,
}

impl Samples {
    /// None yet, of times, with what is to be handed on to later rounds.
    pub fn of_times(learned: u64) -> Samples {
        Samples { is_time: true, ..Samples::of_values(learned) }
    }

    /// None yet, of values that are no times.
    pub fn of_values(learned: u64) -> Samples {
        Samples {
            ns: touched(),
            iterations: touched(),
            disturbance_flags: touched(),
            delays_ns: touched(),
            spent_ns: touched(),
            core_hz: touched(),
            looks: touched(),
            learned,
            ..Samples::default()
        }
    }

    /// Takes a sample. What disturbed it is known when its block ends.
    pub fn push(&mut self, ns: f64, iterations: u64, spent_ns: f64) {
        self.ns.push(ns);
        self.iterations.push(iterations);
        self.disturbance_flags.push(DisturbanceFlags::default());
        self.delays_ns.push(0.0);
        self.spent_ns.push(spent_ns);
        self.whole.add(iterations, spent_ns);
    }

    /// Marks samples below zero, which no estimate takes: of two times that were subtracted, something else ran during the shorter.
    /// Where over half are such, their difference does not stand out from what disturbed them: the round has no value.
    pub(crate) fn mark_below_zero(&mut self) -> Result<()> {
        let mut below = 0;
        for (flags, _) in self.disturbance_flags.iter_mut().zip(&self.ns).filter(|(_, ns)| **ns < 0.0) {
            flags.0 |= DisturbanceFlags::FORBIDDEN;
            below += 1;
        }
        let all = self.ns.len();
        if 2 * below > all {
            let text = say!(
                "{below} of {all} samples below zero: no more than what was subtracted, or disturbed by other programs"
            );
            return Err(RoundError::skipped(ReasonCode::Inconclusive, text));
        }
        Ok(())
    }

    /// Makes one of all of them.
    pub fn join(&mut self) {
        for sum in [&mut self.ns, &mut self.delays_ns, &mut self.spent_ns] {
            *sum = vec![sum.iter().sum()];
        }
        self.iterations = vec![self.iterations.iter().sum()];
        self.disturbance_flags =
            vec![DisturbanceFlags(self.disturbance_flags.iter().fold(0, |all, flags| all | flags.0))];
        self.core_hz.clear();
        self.looks.clear();
    }

    /// For an operation that waits for another party, being woken and put on the CPU is part of it: only a share of delay
    /// far over the round's usual one marks a sample.
    pub fn forgive_usual_delay(&mut self) {
        let shares: Vec<f64> = self.delays_ns.iter().zip(&self.spent_ns).map(|(delay, spent)| delay / spent).collect();
        let usual = hostmark_stats::descriptive::median(&shares).unwrap_or(0.0);
        let apart: Vec<f64> = shares.iter().map(|share| (share - usual).abs()).collect();
        let most = usual + DELAY_SHARE + OUTLYING * hostmark_stats::descriptive::median(&apart).unwrap_or(0.0);
        for (flags, share) in self.disturbance_flags.iter_mut().zip(shares) {
            if share <= most {
                flags.0 &= !DisturbanceFlags::DELAYED;
            }
        }
    }
}

/// Room whose pages are there: those that it took while samples are taken would count among theirs.
fn touched<T: Clone + Default>() -> Vec<T> {
    let mut room = vec![T::default(); MOST_SAMPLES];
    std::hint::black_box(&mut room).fill(T::default());
    room.clear();
    room
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
