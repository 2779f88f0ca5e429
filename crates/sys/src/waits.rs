//! Waits of one party for another by words that both see: in memory that processes share, with the futex, and in the tests by the same
//! code in a model of all interleavings.

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::arch;
use super::call::named;
use super::mapped::Mapped;

#[cfg(any(test, feature = "tests"))]
#[path = "waits_model.rs"]
pub mod model;

/// A word of shared memory, and the kernel's help to wait on it.
pub trait Word {
    fn load(&self, ordering: Ordering) -> u32;
    fn store(&self, value: u32, ordering: Ordering);
    /// Gives it a value, and returns the former one.
    fn swap(&self, value: u32, ordering: Ordering) -> u32;
    fn add(&self, more: u32, ordering: Ordering);
    /// Sleeps while it is `value`, until somebody wakes; may come back earlier.
    fn sleep_while(&self, value: u32) -> io::Result<()>;
    /// Wakes one who sleeps on it.
    fn wake(&self) -> io::Result<()>;
    /// Orders what was stored before against what is loaded after.
    fn fence();
    /// Pauses at every turn of a loop that spins.
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
        futex_wait(self, value, false).map(drop)
    }

    #[inline(always)]
    fn wake(&self) -> io::Result<()> {
        futex_wake(self, false).map(drop)
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

/// Wakes at most one waiter on `word` by futex(2); returns how many. `is_private`: only threads of this process wait.
#[inline(always)]
pub fn futex_wake(word: &AtomicU32, is_private: bool) -> io::Result<usize> {
    futex_checked(arch::futex(word, libc::FUTEX_WAKE | privacy_flag(is_private), 1))
}

/// Waits on `word` as long as it is `value`. False when it was another value from the beginning, or a signal came.
#[inline(always)]
pub fn futex_wait(word: &AtomicU32, value: u32, is_private: bool) -> io::Result<bool> {
    let result = arch::futex(word, libc::FUTEX_WAIT | privacy_flag(is_private), value);
    match -result as i32 {
        libc::EAGAIN | libc::EINTR => Ok(false),
        _ => futex_checked(result).map(|_| true),
    }
}

/// A result by the instruction, as programs see it.
#[inline(always)]
fn futex_checked(result: i64) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| named("futex", io::Error::from_raw_os_error(-result as i32)))
}

#[inline(always)]
fn privacy_flag(is_private: bool) -> libc::c_int {
    if is_private { libc::FUTEX_PRIVATE_FLAG } else { 0 }
}

/// A value in memory that is shared with children forked later; unmapped when dropped, and never dropped itself.
#[derive(Debug)]
pub struct Shared<T: Sync>(Mapped, PhantomData<T>);

impl<T: Sync> Shared<T> {
    /// Maps memory and moves `value` there.
    pub fn new(value: T) -> io::Result<Shared<T>> {
        let mapped = Mapped::anonymous(size_of::<T>().max(1), libc::MAP_SHARED)?;
        // SAFETY: the mapping is as long as the value, writable, nobody else's, and aligned to a page.
        unsafe { mapped.start().cast::<T>().write(value) };
        Ok(Shared(mapped, PhantomData))
    }
}

// SAFETY: it owns a value that several threads may use, and that may be unmapped by any of them.
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: it gives nothing out but shared references to a value that several threads may use.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T: Sync> std::ops::Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it was written when it was made, lives as long as self, and T may be used by several at once.
        unsafe { &*self.0.start().cast::<T>() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use loom::thread;

    use super::model::{ModelWord, every_interleaving};
    use super::*;
    use crate::process::in_a_child;

    /// Turns that two parties take.
    const TURNS: u32 = 3;

    #[test]
    fn a_token_comes_back_in_every_interleaving() {
        every_interleaving(3, || {
            let words = Arc::new([ModelWord::default(), ModelWord::default()]);
            let other = words.clone();
            let far = thread::spawn(move || {
                for _ in 0..TURNS {
                    take(&other[0]).unwrap();
                    give(&other[1]).unwrap();
                }
            });
            for _ in 0..TURNS {
                give(&words[0]).unwrap();
                take(&words[1]).unwrap();
            }
            far.join().unwrap();
        });
    }

    #[test]
    #[ignore = "takes long"]
    fn every_call_has_its_answer_in_every_interleaving() {
        every_interleaving(3, || {
            let words = Arc::new([ModelWord::default(), ModelWord::default()]);
            let other = words.clone();
            let far = thread::spawn(move || {
                for answered in 0..TURNS {
                    sleep_past(&other[0], answered).unwrap();
                    count_to(&other[1], answered + 1).unwrap();
                }
            });
            for called in 0..TURNS {
                count_to(&words[0], called + 1).unwrap();
                sleep_past(&words[1], called).unwrap();
            }
            far.join().unwrap();
        });
    }

    /// Two parties that count on in turn, each sleeping until the other has; `sleep(mark, other's count, until)` and `wake(mark, own)`.
    fn in_turns(
        sleep: fn(&ModelWord, &ModelWord, u32),
        wake: fn(&ModelWord, &ModelWord),
    ) -> impl Fn() + Sync + Send + 'static {
        move || {
            // Counts, and the marks of those who wait for them.
            let words = Arc::new([(); 4].map(|()| ModelWord::default()));
            let other = words.clone();
            let far = thread::spawn(move || {
                for turn in 1..=TURNS {
                    sleep(&other[2], &other[0], turn);
                    other[1].store(turn, Ordering::Release);
                    wake(&other[3], &other[1]);
                }
            });
            for turn in 1..=TURNS {
                words[0].store(turn, Ordering::Release);
                wake(&words[2], &words[0]);
                sleep(&words[3], &words[1], turn);
            }
            far.join().unwrap();
        }
    }

    #[test]
    #[ignore = "takes long"]
    fn who_is_marked_is_woken_in_every_interleaving() {
        let sleep = |mark: &ModelWord, count: &ModelWord, turn: u32| {
            sleep_marked(mark, || count.load(Ordering::Acquire) >= turn).unwrap();
        };
        every_interleaving(3, in_turns(sleep, |mark, _| wake_marked(mark).unwrap()));
    }

    /// Proof of the model: it finds the fault of sleeping on the count, where a late clear wakes the next sleep.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_sleep_on_the_count_is_lost_in_some_interleaving() {
        let sleep = |mark: &ModelWord, count: &ModelWord, turn: u32| {
            loop {
                mark.store(1, Ordering::Relaxed);
                ModelWord::fence();
                let seen = count.load(Ordering::Acquire);
                if seen >= turn {
                    mark.store(0, Ordering::Relaxed);
                    return;
                }
                count.sleep_while(seen).unwrap();
            }
        };
        let wake = |mark: &ModelWord, count: &ModelWord| {
            ModelWord::fence();
            if mark.load(Ordering::Relaxed) == 1 {
                mark.store(0, Ordering::Relaxed);
                count.wake().unwrap();
            }
        };
        every_interleaving(3, in_turns(sleep, wake));
    }

    #[test]
    fn with_nobody_there_none_is_woken_and_another_value_is_not_waited_on() {
        let word = AtomicU32::new(1);
        assert_eq!(futex_wake(&word, true).unwrap(), 0);
        assert!(!futex_wait(&word, 2, true).unwrap());
    }

    #[test]
    fn one_who_waits_is_woken() {
        for is_private in [true, false] {
            let word = AtomicU32::new(0);
            std::thread::scope(|scope| {
                let waiter = scope
                    .spawn(|| while word.load(Ordering::Acquire) == 0 && futex_wait(&word, 0, is_private).is_ok() {});
                word.store(1, Ordering::Release);
                while !waiter.is_finished() {
                    futex_wake(&word, is_private).unwrap();
                }
            });
        }
    }

    #[test]
    fn what_a_child_writes_is_seen_here() {
        let word = Shared::new(AtomicU32::new(1)).unwrap();
        in_a_child(|| {
            word.store(7, Ordering::Release);
            Ok(())
        });
        assert_eq!(word.load(Ordering::Acquire), 7);
    }
}
