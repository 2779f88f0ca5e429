//! The futex: words of memory that threads and processes wait on.

use std::io;
use std::sync::atomic::AtomicU32;

use super::arch;
use super::call::named;

/// Wakes at most one of those who wait on `word`, by futex(2); how many were woken. `is_private`: only threads of this process
/// wait on it.
#[inline(always)]
pub fn wake(word: &AtomicU32, is_private: bool) -> io::Result<usize> {
    checked(arch::futex(word, libc::FUTEX_WAKE | flag(is_private), 1))
}

/// Waits on `word` as long as it is `value`. False when it was another value from the beginning, or a signal came.
#[inline(always)]
pub fn wait(word: &AtomicU32, value: u32, is_private: bool) -> io::Result<bool> {
    let result = arch::futex(word, libc::FUTEX_WAIT | flag(is_private), value);
    match -result as i32 {
        libc::EAGAIN | libc::EINTR => Ok(false),
        _ => checked(result).map(|_| true),
    }
}

/// A result by the instruction, as programs see it.
#[inline(always)]
fn checked(result: i64) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| named("futex", io::Error::from_raw_os_error(-result as i32)))
}

#[inline(always)]
fn flag(is_private: bool) -> libc::c_int {
    if is_private { libc::FUTEX_PRIVATE_FLAG } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

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
