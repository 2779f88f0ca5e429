//! Faults on a protected page, and the signals that they become, as operations to be measured.

use std::arch::asm;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hostmark_engine::prelude::say;

use crate::workloads::call::named;
use crate::workloads::machine::signal::ThisThread;
use crate::workloads::mappings::mapping::Mapping;
use crate::workloads::memory::Pages;

/// Signals handled.
static HANDLED: AtomicU64 = AtomicU64::new(0);
/// The protected page; 0 when there is none.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// The store that faults is the next instruction, of this many bytes, so that the handler can step over it.
#[cfg(target_arch = "x86_64")]
const STORE_BYTES: i64 = 2;
#[cfg(target_arch = "aarch64")]
const STORE_BYTES: u64 = 4;

#[inline(always)]
fn store(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: stores a byte to a page of this module that is read-only: it faults, and the handler steps over it. 88 07 is
    // `mov byte ptr [rdi], al`, two bytes.
    unsafe {
        asm!(".byte 0x88, 0x07", in("rdi") address, in("al") 1_u8, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above; every instruction has four bytes.
    unsafe {
        asm!("strb {value:w}, [{address}]", value = in(reg) 1_u32, address = in(reg) address, options(nostack));
    }
}

/// Counts, and steps over the store that faulted. A fault anywhere else is the program's own: it dies of it as it would
/// without this handler.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands the handler a valid description.
    let code = unsafe { (*info).si_code };
    if code == libc::SI_TKILL {
        HANDLED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // SAFETY: the address is there for every fault.
    let address = unsafe { (*info).si_addr() } as usize;
    if address != PAGE.load(Ordering::Relaxed) {
        // SAFETY: puts the default action back: the instruction faults again, and the process ends of it.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    HANDLED.fetch_add(1, Ordering::Relaxed);
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel hands the handler the registers that it restores afterwards; the faulting instruction is `store`'s,
    // as nothing else knows the page's address.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            (*context).uc_mcontext.gregs[libc::REG_RIP as usize] += STORE_BYTES;
        }
        #[cfg(target_arch = "aarch64")]
        {
            (*context).uc_mcontext.pc += STORE_BYTES;
        }
    }
}

/// A read-only page, and a handler for SIGSEGV that counts; the former handler comes back on drop.
#[derive(Debug)]
pub struct Protected {
    page: Mapping,
    former: libc::sigaction,
    thread: ThisThread,
}

impl Protected {
    /// Makes the page and installs the handler. One at a time in a process: another is an error.
    pub fn install() -> io::Result<Protected> {
        let page = Mapping::plain(Pages::Base.bytes())?;
        page.write_every(1, 1);
        page.protect(false)?;
        let address = page.address() as usize;
        if PAGE.compare_exchange(0, address, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return Err(io::Error::other(say!("there is a protected page already")));
        }
        let mut former = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: an action of zeros is valid: default action, empty mask, no flags.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler only touches atomics and what the kernel hands it.
        if unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, former.as_mut_ptr()) } != 0 {
            PAGE.store(0, Ordering::SeqCst);
            return Err(named("sigaction", io::Error::last_os_error()));
        }
        // SAFETY: zeroed is a valid action, and the call filled it.
        let former = unsafe { former.assume_init() };
        Ok(Protected { page, former, thread: ThisThread::new() })
    }

    /// Stores to the page: the fault becomes a signal, whose handler steps over the store.
    #[inline(always)]
    pub fn fault(&self) {
        store(self.page.address() as usize);
    }

    /// Sends the same signal to the calling thread by tgkill(2): its handler has run when the call returns.
    #[inline(always)]
    pub fn send(&self) -> io::Result<()> {
        // SAFETY: it has a handler as long as self lives.
        unsafe { self.thread.send(libc::SIGSEGV) }
    }

    /// The same call without a signal: only whether it might be sent is checked.
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

impl Drop for Protected {
    fn drop(&mut self) {
        // SAFETY: puts back what `install` was told.
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const self.former, std::ptr::null_mut()) };
        PAGE.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_and_every_signal_is_handled_and_the_page_keeps_its_byte() {
        let mut protected = Protected::install().unwrap();
        let before = protected.handled();
        for done in 1..=100 {
            protected.fault();
            protected.send().unwrap();
            protected.send_nothing().unwrap();
            assert_eq!(protected.handled(), before + 2 * done);
        }
        assert_eq!(protected.page.bytes()[0], 1);
        assert!(Protected::install().is_err());
    }
}
