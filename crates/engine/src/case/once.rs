//! One operation a round, as a whole program is: done once however long it takes, and nothing is thrown away.

use super::Case;
use crate::clock::{Clock, Ticks};
use crate::counter_blocks::CounterBlocks;
use crate::sample::Samples;
use crate::stop::Result;

impl Case {
    /// One operation that lasts long, as a whole program does: `next` returns its time. It is done once in a round, however
    /// long it takes, and nothing is thrown away.
    pub fn once(&mut self, next: impl FnOnce(&Clock) -> Result<Ticks>) -> Result<()> {
        self.once_many(|clock| Ok((next(clock)?, 1)))
    }

    /// Like [`Case::once`], as a rate: `amount` is done in the time that `next` returns.
    pub fn once_rate(&mut self, amount: u64, next: impl FnOnce(&Clock) -> Result<Ticks>) -> Result<()> {
        self.single(amount, |clock| Ok((next(clock)?, 1)))
    }

    /// Like [`Case::once`]: `next` returns a value in the probe's unit, which is no time that was measured here.
    pub fn once_told(&mut self, next: impl FnOnce(&Clock) -> Result<f64>) -> Result<()> {
        self.be_alone()?;
        self.start_barrier()?;
        let mut samples = Samples::of_values(1);
        let blocks = CounterBlocks::begin(&self.clock, &self.interference);
        let start = self.clock.start();
        let value = next(&self.clock)?;
        samples.push(value, 1, self.clock.ns(self.clock.start().since(start)));
        blocks.end(&mut samples);
        self.keep(samples, 0)
    }

    /// Like [`Case::once`]: `next` returns the time of several operations, and how many.
    pub fn once_many(&mut self, next: impl FnOnce(&Clock) -> Result<(Ticks, u64)>) -> Result<()> {
        self.single(0, next)
    }

    fn single(&mut self, amount: u64, next: impl FnOnce(&Clock) -> Result<(Ticks, u64)>) -> Result<()> {
        self.be_alone()?;
        self.start_barrier()?;
        let mut samples = Samples::of_times(1);
        let blocks = CounterBlocks::begin(&self.clock, &self.interference);
        let (ticks, operations) = next(&self.clock)?;
        let ns = self.clock.ns(ticks);
        samples.push(ns, operations, ns);
        blocks.end(&mut samples);
        self.keep(samples, amount)
    }
}
