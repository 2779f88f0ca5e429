//! Turns that another process takes, counted by itself: who measures them is told when they were not taken.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hostmark_engine::prelude::say;

use crate::workloads::clock;
use crate::workloads::waits::Alone;
use crate::workloads::waits::Shared;

/// How long the other may take to count a turn that it has had: it may have lost its CPU meanwhile.
const PATIENCE_NS: u64 = 2_000_000_000;
const LOOK_AGAIN: Duration = Duration::from_micros(100);

/// A count that the other process writes and this one reads after the measuring: the line stays in the other's cache, where
/// a store to it takes no time that shows.
#[derive(Debug)]
pub(crate) struct Turns(Shared<Alone<AtomicU64>>);

impl Turns {
    pub(crate) fn new() -> io::Result<Turns> {
        Ok(Turns(Shared::new(Alone::default())?))
    }

    /// The other process: takes a turn, then counts it.
    #[inline(always)]
    pub(crate) fn take(&self, turn: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        #[cfg(test)]
        tests::delay();
        turn()?;
        let count = &self.0.0;
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
        Ok(())
    }

    /// Turns counted so far.
    pub(crate) fn taken(&self) -> u64 {
        self.0.0.load(Ordering::Acquire)
    }

    /// An error unless the other has had exactly so many turns, or has soon.
    pub(crate) fn expect(&self, due: u64) -> io::Result<()> {
        let begin = clock::monotonic_ns();
        while self.taken() < due && clock::monotonic_ns() - begin < PATIENCE_NS {
            std::thread::sleep(LOOK_AGAIN);
        }
        match self.taken() {
            taken if taken == due => Ok(()),
            taken => Err(io::Error::other(say!(
                "{due} hand-overs were timed, but the other party took {taken} turns: not every one happened"
            ))),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// How long the other parties of this process hesitate before each turn, ns; children that it forks have a copy.
    static DELAY_NS: AtomicU64 = AtomicU64::new(0);

    pub(in crate::workloads) fn delay_turns(by: Duration) {
        DELAY_NS.store(by.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(in crate::workloads) fn delay() {
        let ns = DELAY_NS.load(Ordering::Relaxed);
        if ns > 0 {
            std::thread::sleep(Duration::from_nanos(ns));
        }
    }

    /// The law of all two-party operations: `operation` takes no less than the other party's delay, however often it is done.
    /// `begin` is when the other party was started.
    pub(in crate::workloads) fn never_early(
        begin_ns: u64,
        delay: Duration,
        times: u32,
        mut operation: impl FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        for nth in 1..=times {
            operation()?;
            let spent = Duration::from_nanos(clock::monotonic_ns() - begin_ns);
            assert!(spent >= nth * delay, "number {nth} was back after {spent:?}: the other had not had its turn");
        }
        Ok(())
    }

    #[test]
    #[ignore = "takes long"]
    fn missing_turns_and_turns_too_many_are_errors() {
        let turns = Turns::new().unwrap();
        (0..3).try_for_each(|_| turns.take(|| Ok(()))).unwrap();
        turns.expect(3).unwrap();
        assert!(
            turns.expect(2).unwrap_err().to_string().contains("2 hand-overs were timed, but the other party took 3")
        );
        assert!(turns.expect(4).is_err());
        assert!(turns.take(|| Err(io::ErrorKind::BrokenPipe.into())).is_err() && turns.taken() == 3);
    }
}
