//! How one party waits for another by words that both see; the tests run the same code in a model of all interleavings.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::futex;

/// A word of shared memory, and the kernel's help to wait on it.
pub trait Word {
    /// Its value.
    fn load(&self, ordering: Ordering) -> u32;
    /// Gives it a value.
    fn store(&self, value: u32, ordering: Ordering);
    /// Gives it a value, and returns the former one.
    fn swap(&self, value: u32, ordering: Ordering) -> u32;
    /// Adds to it.
    fn add(&self, more: u32, ordering: Ordering);
    /// Sleeps while it is `value`, until somebody wakes; may come back earlier.
    fn sleep_while(&self, value: u32) -> io::Result<()>;
    /// Wakes one who sleeps on it.
    fn wake(&self) -> io::Result<()>;
    /// Orders what was stored before against what is loaded after.
    fn fence();
    /// Called at every turn of a loop that spins.
    fn pause();
}

impl Word for AtomicU32 {
    #[inline(always)]
    fn load(&self, ordering: Ordering) -> u32 {
        self.load(ordering)
    }

    #[inline(always)]
    fn store(&self, value: u32, ordering: Ordering) {
        self.store(value, ordering);
    }

    #[inline(always)]
    fn swap(&self, value: u32, ordering: Ordering) -> u32 {
        self.swap(value, ordering)
    }

    #[inline(always)]
    fn add(&self, more: u32, ordering: Ordering) {
        self.fetch_add(more, ordering);
    }

    #[inline(always)]
    fn sleep_while(&self, value: u32) -> io::Result<()> {
        futex::wait(self, value, false).map(drop)
    }

    #[inline(always)]
    fn wake(&self) -> io::Result<()> {
        futex::wake(self, false).map(drop)
    }

    #[inline(always)]
    fn fence() {
        fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn pause() {
        std::hint::spin_loop();
    }
}

/// A word with two cache lines to itself: prefetchers take pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Alone<T>(pub T);

/// Leaves a token in `word` for the one who takes it, and wakes that one.
#[inline(always)]
pub fn give(word: &impl Word) -> io::Result<()> {
    word.store(1, Ordering::Release);
    word.wake()
}

/// Takes the token out of `word`; sleeps until there is one.
#[inline(always)]
pub fn take(word: &impl Word) -> io::Result<()> {
    while word.swap(0, Ordering::Acquire) == 0 {
        word.sleep_while(0)?;
    }
    Ok(())
}

/// Sets a count that only this party changes, and wakes the one who waits for it.
#[inline(always)]
pub fn count_to(word: &impl Word, count: u32) -> io::Result<()> {
    word.store(count, Ordering::Release);
    word.wake()
}

/// Sleeps until the other party's count is no longer `old`.
#[inline(always)]
pub fn sleep_past(word: &impl Word, old: u32) -> io::Result<()> {
    while word.load(Ordering::Acquire) == old {
        word.sleep_while(old)?;
    }
    Ok(())
}

/// Sleeps until `is_due`, which the other party makes so before it calls [`wake_marked`]. `mark` is 1 while this one may sleep.
///
/// It sleeps on the mark itself: whoever clears the mark, however late, ends the sleep by that, and nobody sleeps unmarked.
#[cold]
pub fn sleep_marked<W: Word>(mark: &W, is_due: impl Fn() -> bool) -> io::Result<()> {
    loop {
        mark.store(1, Ordering::Relaxed);
        // Either the other sees the mark after its change, or this sees the change: never neither.
        W::fence();
        if is_due() {
            mark.store(0, Ordering::Relaxed);
            return Ok(());
        }
        mark.sleep_while(1)?;
    }
}

/// Wakes the one who has marked that it may sleep. A call of the kernel only where there is a mark.
#[inline(always)]
pub fn wake_marked<W: Word>(mark: &W) -> io::Result<()> {
    W::fence();
    if mark.load(Ordering::Relaxed) == 1 && mark.swap(0, Ordering::Relaxed) == 1 {
        mark.wake()?;
    }
    Ok(())
}

#[cfg(any(test, feature = "tests"))]
#[path = "waits_model.rs"]
pub mod model;

#[cfg(test)]
#[path = "waits_tests.rs"]
mod tests;
