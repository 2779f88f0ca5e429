//! Faults that this process causes and serves: on a protected page, and the signals that they become; on memory whose first access
//! another of its threads is told of; and the barrier that interrupts every CPU where it runs.

use std::arch::asm;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::workloads::call::{errno, named};
use crate::workloads::machine::arch;
use crate::workloads::machine::context::ThisThread;
use crate::workloads::mappings::mapping::Mapping;
use crate::workloads::memory::Pages;
use crate::workloads::{checked, clock};

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

/// Counts, and steps over the store that faulted. Any other fault is the program's own, which dies of it as usual.
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

/// Constants of linux/userfaultfd.h: the version of the interface, the features, and the requests' numbers, which have their sizes in them.
const API: u64 = 0xaa;
const USER_MODE_ONLY: usize = 1;
const REGISTER_MISSING: u64 = 1 << 0;
const EVENT_FAULT: u8 = 0x12;
const UFFDIO_API: u32 = 0xc018_aa3f;
const UFFDIO_REGISTER: u32 = 0xc020_aa00;
const UFFDIO_COPY: u32 = 0xc028_aa03;
const UFFDIO_ZEROPAGE: u32 = 0xc020_aa04;
/// Length of a fault's message, as 64-bit words: the event (a byte), flags, the address, and more.
const MESSAGE_WORDS: usize = 4;

/// New content of a faulting page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    /// A copy of a page of the server's.
    Copy,
    Zeros,
}

/// Memory whose first accesses wait for a [`FaultServer`], and one page more, by which it is told that there are no more.
#[derive(Debug)]
pub struct ServedMemory {
    mapping: Mapping,
    pages: usize,
    page_bytes: usize,
}

/// Server of the faults in a thread of its own. Once it is gone, faults are the kernel's, so that nobody waits for ever.
#[derive(Debug)]
pub struct FaultServer {
    descriptor: OwnedFd,
    /// The page after the last that is served.
    end: u64,
}

impl ServedMemory {
    /// Returns memory of `pages` pages, and the server of their faults. An error where the kernel has no such descriptors or refuses them.
    pub fn new(pages: usize) -> io::Result<(ServedMemory, FaultServer)> {
        let descriptor = descriptor()?;
        let page = Pages::Base.bytes();
        let mapping = Mapping::anonymous((pages + 1) * page, Pages::Base)?;
        let start = mapping.address() as u64;
        request(&descriptor, "UFFDIO_API", UFFDIO_API, &mut [API, 0, 0])?;
        // Start, length, mode, and what the kernel can do for it.
        let mut region = [start, mapping.length() as u64, REGISTER_MISSING, 0];
        request(&descriptor, "UFFDIO_REGISTER", UFFDIO_REGISTER, &mut region)?;
        let server = FaultServer { descriptor, end: start + (pages * page) as u64 };
        Ok((ServedMemory { mapping, pages, page_bytes: page }, server))
    }

    /// Writes to a page, which faults unless it has been written since it was given back.
    #[inline(always)]
    pub fn touch(&self, page: usize) {
        // Their size is known already: asking a library for it would be in the time.
        self.mapping.write_at(page * self.page_bytes);
    }

    /// Gives all pages back, so that each faults again.
    pub fn give_back(&self) -> io::Result<()> {
        self.mapping.give_back()
    }

    /// Tells the server that there are no more.
    pub fn end(&self) {
        self.touch(self.pages);
    }
}

/// A descriptor for faults of user mode alone, which needs no privilege (Linux 5.11 and later), or else any.
fn descriptor() -> io::Result<OwnedFd> {
    let open = |flags: usize| {
        // SAFETY: the call touches no memory of ours.
        checked("userfaultfd", unsafe {
            arch::call(libc::SYS_userfaultfd, [flags | libc::O_CLOEXEC as usize, 0, 0, 0, 0, 0])
        })
    };
    let number = match open(USER_MODE_ONLY) {
        Err(error) if errno(&error) == Some(libc::EINVAL) => open(0)?,
        opened => opened?,
    };
    // SAFETY: the kernel made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}

/// An ioctl(2) that reads and writes these words.
#[inline(always)]
fn request(descriptor: &OwnedFd, name: &'static str, request: u32, words: &mut [u64]) -> io::Result<()> {
    debug_assert_eq!((request >> 16 & 0x3fff) as usize, size_of_val(words));
    let arguments = [descriptor.as_raw_fd() as usize, request as usize, words.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: as many words as the request's number says. What the kernel fills are pages of a range that was registered, of which
    // nothing is borrowed: only those that were not there are filled.
    checked(name, unsafe { arch::call(libc::SYS_ioctl, arguments) }).map(drop)
}

impl FaultServer {
    /// Serves faults until it is told that there are no more: how many. Before each it does nothing for `delay_ns`.
    pub fn serve(self, becomes: Becomes, delay_ns: u64) -> io::Result<u64> {
        let page_bytes = Pages::Base.bytes() as u64;
        let content = vec![CONTENT; page_bytes as usize];
        let mut served = 0;
        loop {
            let address = self.wait()? & !(page_bytes - 1);
            if delay_ns > 0 {
                let begin = clock::monotonic_ns();
                while clock::monotonic_ns() - begin < delay_ns {
                    std::hint::spin_loop();
                }
            }
            match becomes {
                // To, from, bytes, mode, and how many were copied.
                Becomes::Copy => {
                    let mut copy = [address, content.as_ptr() as u64, page_bytes, 0, 0];
                    request(&self.descriptor, "UFFDIO_COPY", UFFDIO_COPY, &mut copy)?;
                }
                // Start, length, mode, and how many were filled.
                Becomes::Zeros => {
                    let mut zeros = [address, page_bytes, 0, 0];
                    request(&self.descriptor, "UFFDIO_ZEROPAGE", UFFDIO_ZEROPAGE, &mut zeros)?;
                }
            }
            if address == self.end {
                return Ok(served);
            }
            served += 1;
        }
    }

    /// Waits for a fault: its address.
    #[inline(always)]
    fn wait(&self) -> io::Result<u64> {
        let mut message = [0_u64; MESSAGE_WORDS];
        loop {
            let (to, bytes) = (message.as_mut_ptr().cast(), size_of_val(&message));
            match arch::transfer(libc::SYS_read, self.descriptor.as_raw_fd(), to, bytes) {
                error if error == -i64::from(libc::EINTR) => {}
                error if error < 0 => return Err(named("read", io::Error::from_raw_os_error(-error as i32))),
                _ if message[0].to_ne_bytes()[0] == EVENT_FAULT => return Ok(message[2]),
                _ => return Err(io::Error::other(say!("something else than a fault was reported"))),
            }
        }
    }
}

/// Every byte of a page that is served as a copy.
const CONTENT: u8 = 7;

/// Commands of membarrier(2), from the kernel's interface.
const PRIVATE_EXPEDITED: usize = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

/// The right to interrupt the CPUs on which this process's threads run.
#[derive(Debug)]
pub struct Barrier(());

impl Barrier {
    /// Registers the process, which the kernel demands once.
    pub fn register() -> io::Result<Barrier> {
        command(REGISTER_PRIVATE_EXPEDITED).map(|()| Barrier(()))
    }

    /// Comes back when every CPU that runs a thread of this process has been interrupted and has answered.
    #[inline(always)]
    pub fn everywhere(&self) -> io::Result<()> {
        command(PRIVATE_EXPEDITED)
    }
}

#[inline(always)]
fn command(command: usize) -> io::Result<()> {
    // SAFETY: a barrier touches no memory of ours.
    checked("membarrier", unsafe { arch::call(libc::SYS_membarrier, [command, 0, 0, 0, 0, 0]) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

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

    /// The least time of a fault, ns, with a server that first does nothing for so long, and what pages held behind the byte written.
    fn least(becomes: Becomes, delay_ns: u64, times: usize) -> Option<(u64, u8)> {
        let (mut memory, server) = match ServedMemory::new(times) {
            Ok(made) => made,
            Err(error) if matches!(errno(&error), Some(libc::ENOSYS | libc::EPERM | libc::EINVAL)) => return None,
            Err(error) => panic!("{error}"),
        };
        let mut least_ns = u64::MAX;
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(becomes, delay_ns));
            for round in 0..2 {
                for page in 0..times {
                    let begin = clock::monotonic_ns();
                    memory.touch(page);
                    let took_ns = clock::monotonic_ns() - begin;
                    assert!(took_ns >= delay_ns, "round {round}, page {page} was there after {took_ns} ns");
                    least_ns = least_ns.min(took_ns);
                }
                if round == 0 {
                    memory.give_back().unwrap();
                }
            }
            memory.end();
            assert_eq!(serving.join().unwrap().unwrap(), 2 * times as u64);
        });
        Some((least_ns, memory.mapping.bytes()[1]))
    }

    #[test]
    fn a_fault_takes_as_long_as_its_server_waits_and_little_more() {
        for (becomes, content) in [(Becomes::Copy, CONTENT), (Becomes::Zeros, 0)] {
            let Some((quick_ns, found)) = least(becomes, 0, 50) else {
                return skipped("there is no userfaultfd here");
            };
            assert_eq!(found, content);
            // Far shorter than a turn on a busy CPU: of two hundred some have the CPU from begin to end.
            const DELAY_NS: u64 = 300_000;
            let (slow_ns, _) = least(becomes, DELAY_NS, 100).unwrap();
            assert!(slow_ns < DELAY_NS + quick_ns + DELAY_NS / 3, "{slow_ns} ns and {quick_ns} ns");
        }
    }

    #[test]
    fn without_a_server_the_kernel_serves() {
        if let Ok((memory, server)) = ServedMemory::new(2) {
            drop(server);
            memory.touch(0);
            memory.end();
        }
    }

    #[test]
    fn a_registered_process_has_its_barrier() {
        match Barrier::register() {
            Ok(barrier) => barrier.everywhere().unwrap(),
            // A filter of system calls, an emulator or a small kernel may not have it.
            Err(error) => {
                assert!(matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EINVAL)), "{error}")
            }
        }
    }
}
