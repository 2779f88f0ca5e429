//! A counter for each CPU, and increments of it that need no lock: the kernel restarts one that it interrupts (rseq).

use std::sync::atomic::{AtomicU64, Ordering};

use hostmark_engine::prelude::sys::waits::Alone;

pub use machine::Restartable;

/// No kernel of an architecture with these loops knows more CPUs.
const SLOTS: usize = 8192;

/// A counter for each CPU that there can be.
#[derive(Debug)]
pub struct CpuCounters(Box<[Alone<AtomicU64>]>);

impl Default for CpuCounters {
    fn default() -> CpuCounters {
        CpuCounters((0..SLOTS).map(|_| Alone::default()).collect())
    }
}

impl CpuCounters {
    pub fn of(&self, cpu: usize) -> &AtomicU64 {
        &self.0[cpu % SLOTS].0
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().map(|slot| slot.0.load(Ordering::Relaxed)).sum()
    }
}

/// Adds one to a counter, `n` times, by load, addition and store: for who is its only thread.
pub fn add_alone(counter: &AtomicU64, n: u64) {
    if n > 0 {
        // SAFETY: the word is there; a loop that counts ends when its counter, not zero at first, is.
        unsafe {
            asm_by_arch!(
                ".p2align 5", "2:",
                by_arch!(
                    x86_64 { "inc qword ptr [{word}]" }
                    aarch64 { "ldr {sum}, [{word}]\nadd {sum}, {sum}, #1\nstr {sum}, [{word}]" }
                ),
                count_down!("{n}", "2b");
                x86_64 {} aarch64 { sum = out(reg) _, }
                word = in(reg) counter.as_ptr(), n = inout(reg) n => _, options(nostack)
            );
        }
    }
}

/// Restartable sequences of x86-64.
#[cfg(target_arch = "x86_64")]
mod machine {
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
                // SAFETY: the area is registered for this thread, which `self` does not leave, and the kernel reads the sequence while the
                // area names it. Every CPU has a counter of 128 bytes. The loop ends when its counter, not zero at first, is.
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
}

/// Restartable sequences are not written for AArch64.
#[cfg(target_arch = "aarch64")]
mod machine {
    use std::io;

    use super::CpuCounters;

    /// Restartable sequences, which do not exist here.
    pub enum Restartable {}

    impl Restartable {
        pub fn of_this_thread() -> io::Result<Restartable> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn add(&self, _: &CpuCounters, _: u64) -> u64 {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

    use super::*;

    #[test]
    fn a_thread_that_is_moved_all_the_time_counts_each_increment_once() {
        const CHUNK: u64 = 100_000;
        let allowed = sched_getaffinity(None).unwrap();
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        // On a busy machine it may wait whenever it is moved.
        for _ in 0..3 {
            let (counters, restarts, is_over) = (CpuCounters::default(), AtomicU64::new(0), AtomicBool::new(false));
            let due = std::thread::scope(|scope| {
                let (say, hear) = std::sync::mpsc::channel();
                let (counters, restarts, is_over) = (&counters, &restarts, &is_over);
                let counting = scope.spawn(move || {
                    let thread = Restartable::of_this_thread();
                    say.send(gettid()).unwrap();
                    let mut due = 0;
                    while let Ok(thread) = &thread
                        && !is_over.load(Ordering::Relaxed)
                    {
                        restarts.fetch_add(thread.add(counters, CHUNK), Ordering::Relaxed);
                        due += CHUNK;
                    }
                    due
                });
                let thread = hear.recv().unwrap();
                for (moves, cpu) in cpus.iter().cycle().take(20_000).enumerate() {
                    let mut only = CpuSet::new();
                    only.set(*cpu);
                    // One that has ended cannot be moved.
                    let is_enough = moves > 200 && restarts.load(Ordering::Relaxed) > 0;
                    if sched_setaffinity(Some(thread), &only).is_err() || is_enough {
                        break;
                    }
                    // It begins to run where it is now, and is moved in the midst of that.
                    std::thread::sleep(std::time::Duration::from_micros(20));
                }
                is_over.store(true, Ordering::Relaxed);
                counting.join().unwrap()
            });
            assert_eq!(counters.sum(), due);
            // It is mostly between store and increment, for longer than the scheduler leaves it alone. Without them nothing is counted.
            if restarts.into_inner() > 0 || due < 1000 * CHUNK || cpus.len() == 1 {
                return;
            }
        }
        panic!("no increment began again");
    }

    #[test]
    fn the_only_thread_of_a_counter_needs_no_help() {
        let counters = CpuCounters::default();
        [0, 1, 1000].into_iter().for_each(|n| add_alone(counters.of(7), n));
        assert_eq!((counters.sum(), counters.of(7 + SLOTS).load(Ordering::Relaxed)), (1001, 1001));
    }
}
