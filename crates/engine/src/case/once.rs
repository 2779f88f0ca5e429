//! One operation a round, as a whole program is: done once however long it takes, and nothing is thrown away.

use super::Case;
use super::timed::Elapsed;
use crate::clock::{Clock, Ticks};
use crate::round_error::Result;
use crate::sampling::counter_blocks::CounterBlocks;
use crate::sampling::sample::Samples;

/// What is done once in a round.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Once<'case, F> {
    case: &'case mut Case,
    next: F,
}

impl Case {
    /// What lasts long, as a whole program does, or can be done once alone, as the first touch of memory: done once in a round,
    /// however long it takes, and nothing is thrown away. `next` returns its time, the time of several operations with their
    /// number, or a value in the probe's unit that is no time which was measured here.
    pub fn once<T, F: FnOnce(&Clock) -> Result<T>>(&mut self, next: F) -> Once<'_, F> {
        Once { case: self, next }
    }

    fn single<T>(
        &mut self,
        (mut samples, amount): (Samples, u64),
        next: impl FnOnce(&Clock) -> Result<T>,
        read: impl FnOnce(&Clock, T, Ticks) -> (f64, u64, f64),
    ) -> Result<()> {
        self.be_alone()?;
        self.start_barrier()?;
        let blocks = CounterBlocks::begin(&self.clock, &self.interference);
        let start = self.clock.start();
        let outcome = next(&self.clock)?;
        let spent = self.clock.start().since(start);
        let (value, operations, ns) = read(&self.clock, outcome, spent);
        samples.push(value, operations, ns);
        blocks.end(&mut samples);
        self.keep(samples, amount)
    }
}

impl<T: Elapsed, F: FnOnce(&Clock) -> Result<T>> Once<'_, F> {
    /// The time of one operation.
    pub fn time(self) -> Result<()> {
        self.measure(0)
    }

    /// A rate: an operation moves `amount` bytes or does `amount` things.
    pub fn rate(self, amount: u64) -> Result<()> {
        self.measure(amount)
    }

    fn measure(self, amount: u64) -> Result<()> {
        self.case.single((Samples::of_times(1), amount), self.next, |clock, outcome, _| {
            let (ticks, operations) = outcome.of();
            let ns = clock.ns(ticks);
            (ns, operations, ns)
        })
    }
}

impl<F: FnOnce(&Clock) -> Result<f64>> Once<'_, F> {
    /// The value that was told.
    pub fn value(self) -> Result<()> {
        self.case.single((Samples::of_values(1), 0), self.next, |clock, value, spent| (value, 1, clock.ns(spent)))
    }
}
