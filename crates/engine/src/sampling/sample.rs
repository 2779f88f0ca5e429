//! A round's samples, and what was seen beside them: what the kernel's counters say of their thread, read once a block, the core's
//! frequency, and how much of the core's width the thread had.

use hostmark_model::{DisturbanceFlags, ReasonCode, Unit};
use hostmark_say::say;

use crate::clock::{Clock, CoreClock, CoreReading, Ticks};
use crate::quantity::{Quantity, ValueSource};
use crate::round_error::{Result, RoundError};
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
    Thread(ThreadCounters),
    /// Counts nothing: tests on a fake clock.
    #[cfg(test)]
    Blind,
    /// Counts scripted by a test.
    #[cfg(test)]
    Scripted(std::rc::Rc<Script>),
}

impl Interference {
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

/// Tells whether the thread moved between two readings, or was kept waiting for over 1 % of the time `spent_ns` between them.
pub fn is_disturbed(before: &Reading, after: &Reading, spent_ns: f64) -> bool {
    let delay_ns = after.run_delay_ns.saturating_sub(before.run_delay_ns) as f64;
    after.cpu != before.cpu || delay_ns > DELAY_SHARE * spent_ns
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Timed nanoseconds of each.
    pub ns: Vec<f64>,
    pub iterations: Vec<u64>,
    pub disturbance_flags: Vec<DisturbanceFlags>,
    /// Run delay inside each, ns.
    pub delays_ns: Vec<f64>,
    /// Time of each sample from its first to its last operation, ns.
    pub spent_ns: Vec<f64>,
    /// The core's frequency beside each, hertz, as far as it is known yet; 0 where it changed. Empty where nobody looks.
    pub core_hz: Vec<f64>,
    /// The looks at the core, as [`CoreReading::after`](crate::clock::CoreReading::after) tells them. Empty where nobody looks.
    pub looks: Vec<[u64; 2]>,
    pub involuntary_switches: u64,
    pub faults: u64,
    /// Iterations of a sample, to hand on to later rounds.
    pub learned: u64,
    /// All operations, also those whose time is left out of a sample.
    pub whole: Totals,
    /// True where `ns` are times: they are then known no better than the clock's resolution.
    pub is_time: bool,
}

impl Samples {
    /// Returns an empty set of times, with what is to be handed on to later rounds.
    pub fn of_times(learned: u64) -> Samples {
        Samples { is_time: true, ..Samples::of_values(learned) }
    }

    /// Returns an empty set of values that are no times.
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

    /// Takes a sample. Its disturbances are known when its block ends.
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

    /// Forgives the usual delay of an operation that waits for another party, since being woken and put on the CPU is
    /// part of it: only a share of delay far over the round's usual one marks a sample.
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

/// Samples that are shorter than this, ns, share a reading with their neighbours.
const LONGEST_NS: f64 = 5_000_000.0;

/// Largest number of samples in a block. A disturbance marks its whole block: where nothing disturbs, blocks grow, and
/// reading costs next to nothing; where much does, a block is a sample, and its neighbours are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    most: usize,
}

impl Growth {
    pub(crate) fn new() -> Growth {
        Growth { most: 1 }
    }

    pub(crate) fn ended(&mut self, is_disturbed: bool) {
        self.most = if is_disturbed { 1 } else { self.most + 1 };
    }

    /// Tells whether a block of so many samples, which took so long, has room for no further one.
    pub(crate) fn is_full(self, samples: usize, spent_ns: f64) -> bool {
        samples >= self.most || spent_ns + spent_ns / samples.max(1) as f64 > LONGEST_NS
    }
}

/// Cuts a round's samples into blocks and marks them.
pub(crate) struct CounterBlocks<'a> {
    clock: &'a Clock,
    interference: &'a Interference,
    growth: Growth,
    /// Time when the block under way began, and the counts by then.
    begun: Ticks,
    before: Reading,
    first: usize,
    /// CPU on which the thread was last.
    cpu: usize,
}

impl<'a> CounterBlocks<'a> {
    /// The first sample is the next thing that the thread does.
    pub(crate) fn begin(clock: &'a Clock, interference: &'a Interference) -> CounterBlocks<'a> {
        let before = interference.read();
        let begun = clock.start();
        CounterBlocks { clock, interference, growth: Growth::new(), begun, before, first: 0, cpu: before.cpu }
    }

    /// All samples so far were thrown away.
    pub(crate) fn begin_anew(&mut self) {
        let growth = self.growth;
        *self = CounterBlocks { growth, ..CounterBlocks::begin(self.clock, self.interference) };
    }

    /// The last of `samples` is complete. It ends its block where the next one would make that too long.
    pub(crate) fn add(&mut self, samples: &mut Samples) {
        let spent_ns = self.clock.ns(self.clock.end().since(self.begun));
        let is_full = self.growth.is_full(samples.ns.len() - self.first, spent_ns);
        let cpu = if is_full { self.end_block(samples, spent_ns) } else { self.interference.cpu() };
        let moved = std::mem::replace(&mut self.cpu, cpu) != cpu;
        if let Some(last) = samples.disturbance_flags.last_mut().filter(|_| moved) {
            last.0 |= DisturbanceFlags::MIGRATED;
        }
    }

    /// The round has no further sample.
    pub(crate) fn end(mut self, samples: &mut Samples) {
        if samples.ns.len() > self.first {
            let spent_ns = self.clock.ns(self.clock.end().since(self.begun));
            self.end_block(samples, spent_ns);
        }
    }

    /// Marks the samples of the block, which took so long, and begins the next. Gives where the thread is.
    fn end_block(&mut self, samples: &mut Samples, spent_ns: f64) -> usize {
        let after = self.interference.read();
        let is_delayed = samples.mark(self.first, spent_ns, &self.before, &after);
        self.growth.ended(is_delayed);
        (self.first, self.before) = (samples.ns.len(), after);
        self.begun = self.clock.start();
        after.cpu
    }
}

impl Samples {
    /// Marks the samples from the `first` on, which with all between them took `spent_ns`, by the counters before and
    /// after them; tells whether the thread was kept waiting.
    pub(crate) fn mark(&mut self, first: usize, spent_ns: f64, before: &Reading, after: &Reading) -> bool {
        let delay_ns = after.run_delay_ns.saturating_sub(before.run_delay_ns) as f64;
        let involuntary = after.involuntary_switches - before.involuntary_switches;
        let faults = after.faults - before.faults;
        let is_delayed = delay_ns > DELAY_SHARE * spent_ns;
        let marks = [
            (is_delayed, DisturbanceFlags::DELAYED),
            (involuntary > 0, DisturbanceFlags::SWITCHED),
            (faults > 0, DisturbanceFlags::FAULTED),
        ];
        let flags = marks.iter().filter(|(is_seen, _)| *is_seen).fold(0, |sum, (_, mark)| sum | mark);
        self.disturbance_flags[first..].iter_mut().for_each(|own| own.0 |= flags);
        // Nobody knows in which of them it waited.
        let timed_ns: f64 = self.spent_ns[first..].iter().sum();
        for (delay, own_ns) in self.delays_ns[first..].iter_mut().zip(&self.spent_ns[first..]) {
            *delay = delay_ns * own_ns / timed_ns.max(f64::MIN_POSITIVE);
        }
        self.involuntary_switches += involuntary;
        self.faults += faults;
        is_delayed
    }
}

/// Two looks whose frequencies differ by more had a change between them: at which one the samples between ran, nobody knows.
const STEADY: f64 = 0.005;

/// Looks at the core between samples, and tells those since the last look what was seen.
pub(crate) struct CoreMonitor<'a> {
    clock: &'a Clock,
    core: Option<&'a mut CoreClock>,
    last: Option<CoreReading>,
}

impl<'a> CoreMonitor<'a> {
    /// Looks before the first sample.
    pub(crate) fn begin(clock: &'a Clock, mut core: Option<&'a mut CoreClock>) -> CoreMonitor<'a> {
        let last = core.as_mut().map(|core| core.look(clock));
        CoreMonitor { clock, core, last }
    }

    pub(crate) fn add(&mut self, samples: &mut Samples) {
        let look = self.core.as_mut().and_then(|core| core.look_again(self.clock));
        self.seen(look, samples);
    }

    /// The round has no further sample.
    pub(crate) fn end(mut self, samples: &mut Samples) {
        if samples.core_hz.len() < samples.ns.len() {
            let look = self.core.as_mut().map(|core| core.look(self.clock));
            self.seen(look, samples);
        }
    }

    /// Applies a look to the samples since the one before.
    fn seen(&mut self, look: Option<CoreReading>, samples: &mut Samples) {
        let (Some(now), Some(before)) = (look, self.last) else { return };
        let is_steady = (now.hz / before.hz - 1.0).abs() <= STEADY;
        let hz = if is_steady { (now.hz + before.hz) / 2.0 } else { 0.0 };
        let first = samples.core_hz.len();
        samples.core_hz.resize(samples.ns.len(), hz);
        if samples.looks.is_empty() {
            samples.looks.push(before.after(0));
        }
        samples.looks.push(now.after(samples.ns.len() - first));
        self.last = Some(now);
    }
}

/// Frequencies of samples as a file has them: of so many in a row the mean, kHz; 0 where it is not known.
pub(crate) fn in_rows(core_hz: &[f64]) -> Vec<[u64; 2]> {
    let mut rows: Vec<(u64, f64)> = Vec::new();
    for &hz in core_hz {
        match rows.last_mut() {
            Some((count, mean)) if (*mean - hz).abs() <= ONE_ROW * *mean => {
                *count += 1;
                *mean += (hz - *mean) / *count as f64;
            }
            _ => rows.push((1, hz)),
        }
    }
    rows.into_iter().map(|(count, hz)| [count, (hz / 1e3).round() as u64]).collect()
}

/// A row goes on while its frequency lies this near its mean: what one look is off by, and far less than a step of any clock.
const ONE_ROW: f64 = STEADY / 2.0;

/// The frequency beside each sample, hertz, from the rows of a file; none where they are not of so many samples.
pub(crate) fn of_rows(rows: &[[u64; 2]], samples: usize) -> Option<Vec<f64>> {
    let mut all = Vec::new();
    for &[count, khz] in rows {
        let count = usize::try_from(count).ok().filter(|count| *count <= samples - all.len())?;
        all.resize(all.len() + count, khz as f64 * 1e3);
    }
    (all.len() == samples).then_some(all)
}

/// All operations of a round's samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    pub operations: u64,
    /// The time from the first to the last of them, as far as it is theirs, ns.
    pub ns: f64,
}

impl Totals {
    /// Takes so many more into account.
    pub fn add(&mut self, operations: u64, ns: f64) {
        self.operations = self.operations.saturating_add(operations);
        self.ns += ns;
    }

    /// The value of `quantity` where it is one of these. `mean_ns`: the mean of operations that were timed one by one;
    /// `amount`: what one operation moves or does, 0 for a time; `unit`: that of the probe's value.
    pub fn value(&self, quantity: &Quantity, mean_ns: Option<f64>, amount: u64, unit: Unit) -> Option<f64> {
        if self.operations == 0 || self.ns <= 0.0 {
            return None;
        }
        if quantity.source == ValueSource::Mean {
            return Some(mean_ns.unwrap_or(self.ns / self.operations as f64));
        }
        let each = match quantity.unit == unit {
            true => amount.max(1),
            // Requests of a rate of bytes.
            false => 1,
        };
        let is_sustained = quantity.source == ValueSource::Sustained;
        is_sustained.then(|| each as f64 * self.operations as f64 * 1e9 / self.ns)
    }
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
