//! A lock on one futex that never spins: who finds it taken sleeps at once, as with the C library's default mutex.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use hostmark_engine::prelude::sys::waits;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and somebody may sleep.
const AWAITED: u32 = 2;

/// The lock's word. Threads of this process alone may use it.
#[derive(Debug, Default)]
pub struct SleepingLock(AtomicU32);

impl SleepingLock {
    /// Does `work` while no other thread does anything under this lock.
    #[inline(always)]
    pub fn held(&self, work: impl FnOnce()) -> io::Result<()> {
        if self.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Whoever gets it after a sleep cannot know whether others still sleep, and wakes one for nothing at worst.
            while self.0.swap(AWAITED, Ordering::Acquire) != FREE {
                waits::futex_wait(&self.0, AWAITED, true)?;
            }
        }
        work();
        match self.0.swap(FREE, Ordering::Release) {
            AWAITED => waits::futex_wake(&self.0, true).map(drop),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn no_two_threads_are_inside_and_none_sleeps_for_ever() {
        const THREADS: u64 = 4;
        const TIMES: u64 = 20_000;
        let (lock, count) = (SleepingLock::default(), AtomicU64::new(0));
        // Not one operation: two at once would lose a step.
        let step = || count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..TIMES).for_each(|_| lock.held(step).unwrap()));
            }
        });
        assert_eq!((count.into_inner(), lock.0.into_inner()), (THREADS * TIMES, FREE));
    }
}
