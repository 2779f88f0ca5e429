//! The futex: wake-ups with nobody to wake, and words of memory that processes wait on.

use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

use super::exchange::{Exchange, Turn};
use super::shared::Shared;
use super::waits::{Alone, give, take};
use super::{arch, checked};

/// Wakes at most one of those who wait on `word`, by futex(2); how many were woken. `is_private`: only threads of this process
/// wait on it.
#[inline(always)]
pub fn wake(word: &AtomicU32, is_private: bool) -> io::Result<usize> {
    let operation = libc::FUTEX_WAKE | flag(is_private);
    // SAFETY: the word is valid; to wake reads nothing from it.
    checked("futex", unsafe { arch::call(libc::SYS_futex, [word.as_ptr() as usize, operation as usize, 1, 0, 0, 0]) })
}

/// Waits on `word` as long as it is `value`. False when it was another value from the beginning, or a signal came.
#[inline(always)]
pub fn wait(word: &AtomicU32, value: u32, is_private: bool) -> io::Result<bool> {
    let operation = libc::FUTEX_WAIT | flag(is_private);
    let arguments = [word.as_ptr() as usize, operation as usize, value as usize, 0, 0, 0];
    // SAFETY: the word is valid, and no time-out is given.
    let result = unsafe { arch::call(libc::SYS_futex, arguments) };
    match -result as i32 {
        libc::EAGAIN | libc::EINTR => Ok(false),
        _ => checked("futex", result).map(|_| true),
    }
}

fn flag(is_private: bool) -> libc::c_int {
    if is_private { libc::FUTEX_PRIVATE_FLAG } else { 0 }
}

/// A token by two words that processes share. Each turn: set the other's word, wake it, and sleep until the own word is set.
pub fn by_futex(cpus: &[usize]) -> io::Result<Exchange<impl Turn + use<>>> {
    let words = Rc::new(Shared::new([Alone::<AtomicU32>::default(), Alone::default()])?);
    let (near, far) = (words.clone(), words);
    Exchange::start(
        cpus,
        move || give(&near[0].0).and_then(|()| take(&near[1].0)),
        move || Ok(move || take(&far[0].0).and_then(|()| give(&far[1].0))),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::sys::exchange::tests::check;

    #[test]
    fn a_token_goes_to_and_fro() {
        check(by_futex);
    }

    #[test]
    fn with_nobody_there_none_is_woken_and_another_value_is_not_waited_on() {
        let word = AtomicU32::new(1);
        assert_eq!(wake(&word, true).unwrap(), 0);
        assert!(!wait(&word, 2, true).unwrap());
    }

    #[test]
    fn one_who_waits_is_woken() {
        for is_private in [true, false] {
            let word = AtomicU32::new(0);
            std::thread::scope(|scope| {
                let waiter =
                    scope.spawn(|| while word.load(Ordering::Acquire) == 0 && wait(&word, 0, is_private).is_ok() {});
                word.store(1, Ordering::Release);
                while !waiter.is_finished() {
                    wake(&word, is_private).unwrap();
                }
            });
        }
    }
}
