//! Blocks of samples: the kernel's counters are read once a block, and what they show marks all samples of the block.

use hostmark_model::DisturbanceFlags;

use crate::clock::{Clock, Ticks};
use crate::sampling::sample::{DELAY_SHARE, Interference, Samples};
use crate::sys::usage::Reading;

/// Samples that are shorter than this, ns, share a reading with their neighbours.
const LONGEST_NS: f64 = 5_000_000.0;

/// How many samples a block may have. A disturbance marks its whole block: where nothing disturbs, blocks grow, and reading
/// costs next to nothing; where much does, a block is a sample, and its neighbours are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    most: usize,
}

impl Growth {
    /// One sample at first.
    pub(crate) fn new() -> Growth {
        Growth { most: 1 }
    }

    /// A block has ended.
    pub(crate) fn ended(&mut self, is_disturbed: bool) {
        self.most = if is_disturbed { 1 } else { self.most + 1 };
    }

    /// Whether a block of so many samples, which took so long, has room for no further one.
    pub(crate) fn is_full(self, samples: usize, spent_ns: f64) -> bool {
        samples >= self.most || spent_ns + spent_ns / samples.max(1) as f64 > LONGEST_NS
    }
}

/// Cuts a round's samples into blocks and marks them.
pub(crate) struct CounterBlocks<'a> {
    clock: &'a Clock,
    interference: &'a Interference,
    growth: Growth,
    /// When the block under way began, and what was counted by then.
    begun: Ticks,
    before: Reading,
    /// Its first sample.
    first: usize,
    /// Where the thread was last.
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
    /// Marks the samples from the `first` on, which with all between them took `spent_ns`, by what was counted before and
    /// after them. Whether the thread was kept waiting.
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

#[cfg(test)]
#[path = "counter_blocks_tests.rs"]
mod tests;
