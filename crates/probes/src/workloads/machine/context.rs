//! Switches between two stacks of one thread, by our own instructions and by the C library's, and signals that a thread sends itself.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::workloads::call::returned;
use crate::workloads::checked;
use crate::workloads::machine::arch;
use crate::workloads::memory::{Buffer, Pages};

/// A coroutine's stack: it calls nothing that needs more.
const STACK_BYTES: usize = 64 << 10;

/// A coroutine that does nothing but switch back, and the place where each side's stack pointer is kept meanwhile.
#[derive(Debug)]
pub struct Coroutine {
    /// Stack pointers of the caller and of the coroutine; its address is the coroutine's own register.
    pointers: Box<[usize; 2]>,
    _stack: Buffer,
}

impl Coroutine {
    /// A coroutine that waits for its first switch.
    pub fn new() -> io::Result<Coroutine> {
        let mut stack = Buffer::map(STACK_BYTES, Pages::Base, None)?;
        let mut pointers = Box::new([0; 2]);
        let of_pointers = pointers.as_mut_ptr().expose_provenance();
        pointers[1] = arch::new_stack(stack.bytes_mut(), of_pointers);
        Ok(Coroutine { pointers, _stack: stack })
    }

    /// Switches to the coroutine and back: two switches.
    #[inline(always)]
    pub fn there_and_back(&mut self) {
        let pointers = self.pointers.as_mut_ptr();
        // SAFETY: both slots are valid; the second holds the stack pointer that `new_stack` made or the coroutine's last
        // switch left, on a stack that lives as long as self. The coroutine touches nothing but both.
        unsafe { arch::switch(pointers, *pointers.add(1)) };
    }
}

/// Sets this thread's signal mask to none, as swapcontext does at each switch.
#[inline(always)]
pub fn set_signal_mask() -> io::Result<()> {
    // SAFETY: an empty set is valid zeroed memory on Linux, and both pointers are valid or null.
    let result = unsafe {
        let none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut())
    };
    returned("sigprocmask", result).map(drop)
}

/// The same coroutine made and switched by the C library's makecontext and swapcontext, where it has them (glibc).
#[cfg(target_env = "gnu")]
pub mod by_libc {
    use std::io;

    use super::{Buffer, Pages, STACK_BYTES};

    struct Contexts {
        caller: libc::ucontext_t,
        coroutine: libc::ucontext_t,
    }

    /// A coroutine of the C library that does nothing but switch back.
    pub struct LibcCoroutine {
        contexts: Box<Contexts>,
        _stack: Buffer,
    }

    std::thread_local! {
        /// Contexts for the coroutine: makecontext passes on ints alone.
        static CURRENT: std::cell::Cell<*mut Contexts> = const { std::cell::Cell::new(std::ptr::null_mut()) };
    }

    extern "C" fn switch_back() {
        let contexts = CURRENT.get();
        loop {
            // SAFETY: `new` set the pointer to contexts that live as long as the coroutine, on this very thread.
            unsafe { libc::swapcontext(&raw mut (*contexts).coroutine, &raw const (*contexts).caller) };
        }
    }

    impl LibcCoroutine {
        /// A coroutine of this thread that waits for its first switch.
        pub fn new() -> io::Result<LibcCoroutine> {
            let mut stack = Buffer::map(STACK_BYTES, Pages::Base, None)?;
            // SAFETY: a ucontext is plain data, and zeroed is valid until getcontext fills it.
            let mut contexts = Box::new(unsafe { std::mem::zeroed::<Contexts>() });
            // SAFETY: fills the context it is given.
            super::returned("getcontext", unsafe { libc::getcontext(&raw mut contexts.coroutine) })?;
            contexts.coroutine.uc_stack.ss_sp = stack.bytes_mut().as_mut_ptr().cast();
            contexts.coroutine.uc_stack.ss_size = STACK_BYTES;
            contexts.coroutine.uc_link = std::ptr::null_mut();
            CURRENT.set(&raw mut *contexts);
            // SAFETY: the context was got, and has a stack that lives as long as it.
            unsafe { libc::makecontext(&raw mut contexts.coroutine, switch_back, 0) };
            Ok(LibcCoroutine { contexts, _stack: stack })
        }

        /// Switches to the coroutine and back: two switches.
        #[inline(always)]
        pub fn there_and_back(&mut self) -> io::Result<()> {
            let contexts = &raw mut *self.contexts;
            // SAFETY: both contexts are valid, and the coroutine's is one that waits.
            let switched = unsafe { libc::swapcontext(&raw mut (*contexts).caller, &raw const (*contexts).coroutine) };
            super::returned("swapcontext", switched).map(drop)
        }
    }
}

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
    /// Signal 0 is not sent; the kernel only checks whether it might be.
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
    pub fn install() -> io::Result<Handled> {
        // SAFETY: an action of zeros is valid: default action, empty mask, no flags.
        let (mut action, mut former): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
        action.sa_sigaction = count as *const () as usize;
        // SAFETY: the handler only adds to an atomic, which is safe at any point of the program.
        returned("sigaction", unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, &raw mut former) })?;
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
    fn a_coroutine_comes_back_as_often_as_it_is_switched_to() {
        let mut coroutine = Coroutine::new().unwrap();
        let (mut turns, mut sum) = (0_u64, 0.5_f64);
        for _ in 0..1000 {
            coroutine.there_and_back();
            turns += 1;
            sum += 1.0;
        }
        assert_eq!((turns, sum), (1000, 1000.5));
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn the_library_s_coroutine_comes_back_too() {
        let mut coroutine = by_libc::LibcCoroutine::new().unwrap();
        let mut turns = 0_u64;
        for _ in 0..1000 {
            coroutine.there_and_back().unwrap();
            turns += 1;
        }
        assert_eq!(turns, 1000);
    }

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
