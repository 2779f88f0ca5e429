//! Signals as operations to be measured: installing a handler, and a signal to oneself that it handles.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::workloads::call::named;
use crate::workloads::{checked, machine::arch};

/// Signals handled.
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The kernel's own form of sigaction on 64-bit machines with a restorer in it: handler, flags, restorer, mask.
type KernelAction = [usize; 4];
/// Bytes of the kernel's signal mask.
pub(crate) const MASK_BYTES: usize = 8;

/// Installs "ignore" for SIGUSR2 by rt_sigaction(2), and is told what was there. Nothing is ever sent to it.
#[inline(always)]
pub fn install() -> io::Result<()> {
    let action: KernelAction = [libc::SIG_IGN, 0, 0, 0];
    let mut old: MaybeUninit<KernelAction> = MaybeUninit::uninit();
    let arguments = [libc::SIGUSR2 as usize, (&raw const action) as usize, old.as_mut_ptr() as usize, MASK_BYTES, 0, 0];
    // SAFETY: both actions have the kernel's size; to ignore a signal needs no restorer.
    checked("rt_sigaction", unsafe { arch::call(libc::SYS_rt_sigaction, arguments) }).map(drop)
}

/// The thread that made it, as tgkill(2) names it.
#[derive(Debug)]
pub(crate) struct ThisThread {
    process: usize,
    thread: usize,
}

impl ThisThread {
    pub(crate) fn new() -> ThisThread {
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as usize;
        ThisThread { process: std::process::id() as usize, thread }
    }

    /// Sends a signal to the thread by tgkill(2): when that is the calling one, its handler has run when the call returns.
    /// Of signal 0 nothing is sent; only whether it might be is looked at.
    ///
    /// # Safety
    ///
    /// The signal has a handler, or is 0.
    #[inline(always)]
    pub(crate) unsafe fn send(&self, signal: libc::c_int) -> io::Result<()> {
        // SAFETY: no pointer is given; what the signal does is the caller's promise.
        let sent = unsafe { arch::call(libc::SYS_tgkill, [self.process, self.thread, signal as usize, 0, 0, 0]) };
        checked("tgkill", sent).map(drop)
    }
}

/// A handler for SIGUSR1 that counts; the former one comes back on drop.
#[derive(Debug)]
pub struct Handled {
    former: libc::sigaction,
    thread: ThisThread,
}

impl Handled {
    /// Installs the handler.
    pub fn install() -> io::Result<Handled> {
        // SAFETY: an action of zeros is valid: default action, empty mask, no flags.
        let (mut action, mut former): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
        action.sa_sigaction = count as *const () as usize;
        // SAFETY: the handler only adds to an atomic, which is safe at any point of the program.
        if unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, &raw mut former) } != 0 {
            return Err(named("sigaction", io::Error::last_os_error()));
        }
        Ok(Handled { former, thread: ThisThread::new() })
    }

    /// Sends the signal to the calling thread by tgkill(2): its handler has run when the call returns.
    #[inline(always)]
    pub fn send(&self) -> io::Result<()> {
        // SAFETY: it has a handler as long as self lives.
        unsafe { self.thread.send(libc::SIGUSR1) }
    }

    /// Sends no signal by tgkill(2): what sending costs without a handler.
    #[inline(always)]
    pub fn send_nothing(&self) -> io::Result<()> {
        // SAFETY: it is signal 0.
        unsafe { self.thread.send(0) }
    }

    /// Signals handled so far by this process.
    pub fn handled(&self) -> u64 {
        HANDLED.load(Ordering::Relaxed)
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        // SAFETY: puts back what `install` was told.
        unsafe { libc::sigaction(libc::SIGUSR1, &raw const self.former, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_is_handled_before_the_call_returns() {
        let handler = Handled::install().unwrap();
        for _ in 0..100 {
            let before = handler.handled();
            handler.send().unwrap();
            assert_eq!(handler.handled(), before + 1);
        }
        install().unwrap();
    }
}
