//! Words in memory that processes share, and waiting for them to change.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::exchange::{Exchange, Turn};
use super::{arch, checked};

/// Memory that this process and children forked later share, zero at first; unmapped when dropped.
#[derive(Debug)]
pub(super) struct Shared {
    start: NonNull<u8>,
    bytes: usize,
}

impl Shared {
    /// Maps `bytes`.
    pub(super) fn map(bytes: usize) -> io::Result<Shared> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::other("mmap gave address 0"))?;
        Ok(Shared { start, bytes })
    }

    /// The 32-bit word that lies `offset` bytes from the start.
    #[inline(always)]
    pub(super) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.bytes);
        // SAFETY: aligned and inside the mapping, whose words are only used as atomics.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// What lies `offset` bytes from the start, for `bytes` bytes: to be read and written by who knows that nobody else does.
    #[inline(always)]
    pub(super) fn place(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes));
        // SAFETY: inside the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this value's own mapping, of which no reference outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Sleeps while `word` is `value`, or a little less.
#[inline(always)]
pub(super) fn wait(word: &AtomicU32, value: u32) -> io::Result<()> {
    let arguments = [word.as_ptr() as usize, libc::FUTEX_WAIT as usize, value as usize, 0, 0, 0];
    // SAFETY: a word that outlives the call; no timeout.
    match checked(unsafe { arch::call(libc::SYS_futex, arguments) }) {
        // It had changed already, or a signal came: the caller looks again.
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Err(error),
        _ => Ok(()),
    }
}

/// Wakes one who sleeps on `word`.
#[inline(always)]
pub(super) fn wake(word: &AtomicU32) -> io::Result<()> {
    let arguments = [word.as_ptr() as usize, libc::FUTEX_WAKE as usize, 1, 0, 0, 0];
    // SAFETY: a word that outlives the call.
    checked(unsafe { arch::call(libc::SYS_futex, arguments) }).map(drop)
}

/// A token by two words that processes share, a line each. Each turn: set the other's word, wake it, and sleep until the
/// own word is set.
pub fn by_futex(cpus: &[usize]) -> io::Result<Exchange<impl Turn + use<>>> {
    let memory = std::rc::Rc::new(Shared::map(rustix::param::page_size())?);
    let (near, far) = (memory.clone(), memory);
    Exchange::start(
        cpus,
        move || give(near.word(0)).and_then(|()| take(near.word(128))),
        move || take(far.word(0)).and_then(|()| give(far.word(128))),
    )
}

#[inline(always)]
fn give(word: &AtomicU32) -> io::Result<()> {
    word.store(1, Ordering::Release);
    wake(word)
}

#[inline(always)]
fn take(word: &AtomicU32) -> io::Result<()> {
    while word.swap(0, Ordering::Acquire) == 0 {
        wait(word, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::exchange::tests::check;

    #[test]
    fn a_token_goes_to_and_fro() {
        check(by_futex);
    }

    #[test]
    fn who_waits_for_a_word_that_has_changed_does_not_sleep() {
        let word = AtomicU32::new(7);
        wait(&word, 6).unwrap();
    }
}
