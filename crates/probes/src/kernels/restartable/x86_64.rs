//! Restartable sequences of x86-64.

use std::cell::Cell;
use std::io;
use std::sync::atomic::AtomicU64;

use super::{Alone, CpuCounters};
use hostmark_engine::prelude::sys::call::returned;

/// Area shared by a thread and the kernel (linux/rseq.h).
#[repr(C, align(32))]
struct Area {
    cpu_id_start: u32,
    cpu_id: u32,
    sequence: u64,
    flags: u32,
    rest: [u32; 3],
}

/// Critical section: its start, length and the address where it goes on when it was interrupted (linux/rseq.h).
#[repr(C, align(32))]
#[derive(Default)]
struct Sequence {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
}

/// A counter's place is its CPU's number times this, by a shift.
const _: () = assert!(size_of::<Alone<AtomicU64>>() == 1 << 7);

/// Signature before the abort address of an interrupted sequence, so that nothing else can be jumped to.
const SIGNATURE: u32 = 0x5305_3053;

thread_local! {
    /// The area that was registered here, since a thread has one alone; null at first.
    static OWN: Cell<*mut Area> = const { Cell::new(std::ptr::null_mut()) };
}

/// Registration of this thread with the kernel for restartable sequences.
pub struct Restartable {
    /// Area of this thread, so that this is not sent to another one.
    area: *mut Area,
}

impl Restartable {
    /// The area that the C library registered for this thread, or one that is registered now and stays as long as the process.
    pub fn of_this_thread() -> io::Result<Restartable> {
        let registered = of_the_library().or_else(|| Some(OWN.get()).filter(|own| !own.is_null()));
        if let Some(area) = registered {
            return Ok(Restartable { area });
        }
        let area = Box::new(Area { cpu_id_start: 0, cpu_id: u32::MAX, sequence: 0, flags: 0, rest: [0; 3] });
        let area = Box::into_raw(area);
        // SAFETY: the area is as long and as aligned as the kernel asks, and is never freed: the kernel writes to it until the thread
        // ends.
        let result = unsafe { libc::syscall(libc::SYS_rseq, area, size_of::<Area>(), 0, SIGNATURE) };
        returned("rseq", result)?;
        OWN.set(area);
        Ok(Restartable { area })
    }

    /// Adds one to the counter of the CPU that the thread is on, `n` times: how often the kernel restarted it.
    #[inline(never)]
    pub fn add(&self, counters: &CpuCounters, n: u64) -> u64 {
        let (mut sequence, mut restarts) = (Sequence::default(), 0_u64);
        if n > 0 {
            // SAFETY: the area is registered for this thread, which `self` does not leave. The kernel reads the sequence while the area
            // names it, which ends before it goes. There is a counter, 128 bytes long, for every CPU that the kernel can name. The loop
            // ends when its counter, not zero at first, is.
            unsafe {
                std::arch::asm!(
                    "lea {at}, [rip + 3f]",
                    "mov [{sequence} + 8], {at}",
                    "lea {end}, [rip + 4f]",
                    "sub {end}, {at}",
                    "mov [{sequence} + 16], {end}",
                    "lea {at}, [rip + 5f]",
                    "mov [{sequence} + 24], {at}",
                    ".p2align 5",
                    "2:",
                    "mov [{area} + 8], {sequence}",
                    "3:",
                    "mov {at:e}, [{area} + 4]",
                    "shl {at}, 7",
                    // The last instruction of the sequence is what it is for.
                    "inc qword ptr [{counters} + {at}]",
                    "4:",
                    count_down!("{n}", "2b"),
                    "jmp 6f",
                    ".byte 0x0f, 0xb9, 0x3d",
                    ".long {signature}",
                    "5:",
                    "inc {restarts}",
                    "jmp 2b",
                    "6:",
                    "mov qword ptr [{area} + 8], 0",
                    at = out(reg) _, end = out(reg) _, n = inout(reg) n => _, restarts = inout(reg) restarts,
                    area = in(reg) self.area, sequence = in(reg) &raw mut sequence, counters = in(reg) counters.0.as_ptr(),
                    signature = const SIGNATURE, options(nostack)
                );
            }
        }
        restarts
    }
}

/// The area that a C library has registered for every thread, which glibc does since 2.35.
fn of_the_library() -> Option<*mut Area> {
    // SAFETY: looks names up; nothing is called.
    let [offset, size] =
        [c"__rseq_offset", c"__rseq_size"].map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    if offset.is_null() || size.is_null() {
        return None;
    }
    // SAFETY: variables of glibc with these types (sys/rseq.h). Without registration the size is 0.
    let (offset, size) = unsafe { (*offset.cast::<isize>(), *size.cast::<u32>()) };
    let thread: *mut u8;
    // SAFETY: the first word of a thread's own block is its address.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) thread, options(nostack, readonly, preserves_flags)) };
    (size > 0).then(|| thread.wrapping_offset(offset).cast())
}
