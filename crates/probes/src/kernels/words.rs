//! Words of memory that are really written and really read, one by one, and the instruction that empties the caches.

use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};
use std::ptr;
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::atomic::AtomicMethod;

/// Lines are flushed at this distance: no cache line is shorter on the machines this runs on.
const LINE_BYTES: usize = 64;

/// Memory as words, none of whose accesses the compiler may leave out, merge or move.
pub struct VolatileWords<'a>(&'a mut [u64]);

impl<'a> VolatileWords<'a> {
    pub fn of(memory: &'a mut [u8]) -> VolatileWords<'a> {
        // SAFETY: any eight bytes are a word.
        VolatileWords(unsafe { memory.align_to_mut().1 })
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    pub fn write(&mut self, index: usize, value: u64) {
        // SAFETY: the reference is valid and aligned.
        unsafe { ptr::write_volatile(&raw mut self.0[index], value) }
    }

    #[inline(always)]
    pub fn read(&self, index: usize) -> u64 {
        // SAFETY: the reference is valid and aligned.
        unsafe { ptr::read_volatile(&raw const self.0[index]) }
    }

    /// Writes every line back to memory and drops it from all caches; comes back when that is done.
    pub fn flush(&mut self) {
        flush_lines(self.0, (0..size_of_val(self.0)).step_by(LINE_BYTES));
    }
}

/// Writes the lines that hold the bytes at these `offsets` of `memory` back to memory, and drops them from all caches; comes back when that is done.
pub(super) fn flush_lines<T>(memory: &mut [T], offsets: impl Iterator<Item = usize>) {
    let (start, bytes) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    for offset in offsets {
        assert!(offset < bytes);
        // SAFETY: the line holds bytes of this memory; flushing changes no contents.
        unsafe { flush_line(start.add(offset)) };
    }
    wait_for_flushes();
}

/// Flushes a line by CLFLUSHOPT where the CPU has it: CLFLUSH waits for the flush before, and takes thirty times as long.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn flush_line(line: *mut u8) {
    const CLFLUSHOPT: u32 = 1 << 23;
    static HAS_CLFLUSHOPT: LazyLock<bool> =
        LazyLock::new(|| __get_cpuid_max(0).0 >= 7 && __cpuid_count(7, 0).ebx & CLFLUSHOPT != 0);
    match *HAS_CLFLUSHOPT {
        // SAFETY: the CPU has the instruction, and the caller gives an address that may be read.
        true => unsafe { asm!("clflushopt [{line}]", line = in(reg) line, options(nostack, preserves_flags)) },
        // SAFETY: the caller gives an address that may be read.
        false => unsafe { asm!("clflush [{line}]", line = in(reg) line, options(nostack, preserves_flags)) },
    }
}

#[cfg(target_arch = "x86_64")]
fn wait_for_flushes() {
    // SAFETY: a fence alone.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn flush_line(line: *mut u8) {
    // SAFETY: the caller gives an address that may be read; Linux lets programs clean and invalidate by address.
    unsafe { asm!("dc civac, {line}", line = in(reg) line, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn wait_for_flushes() {
    // SAFETY: a fence alone.
    unsafe { asm!("dsb sy", options(nostack, preserves_flags)) };
}

/// A way to hand over a word that tells by its value whose turn it is.
pub trait HandOver: Sync {
    /// Waits for `mine` and makes it `yours`.
    fn hand_over(&self, word: &AtomicU64, mine: u64, yours: u64);
}

/// Waits by trying to swap: the line moves to who waits, and with it the turn.
pub struct BySwap(pub &'static AtomicMethod);

/// Waits by reading, answers by a plain store: the line is shared first, then taken.
pub struct ByStore;

impl HandOver for BySwap {
    #[inline(always)]
    fn hand_over(&self, word: &AtomicU64, mine: u64, yours: u64) {
        self.0.swap_when(word, mine, yours);
    }
}

impl HandOver for ByStore {
    #[inline(always)]
    fn hand_over(&self, word: &AtomicU64, mine: u64, yours: u64) {
        while word.load(Ordering::Acquire) != mine {}
        word.store(yours, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_also_after_a_flush() {
        let mut memory = vec![0_u64; 4096];
        // SAFETY: any word is eight bytes.
        let mut words = VolatileWords::of(unsafe { memory.align_to_mut::<u8>().1 });
        assert_eq!(words.len(), 4096);
        (0..words.len()).for_each(|index| words.write(index, !(index as u64)));
        words.flush();
        assert!((0..words.len()).all(|index| words.read(index) == !(index as u64)));
    }

    fn check(way: &impl HandOver) {
        let (word, seen) = (AtomicU64::new(0), AtomicU64::new(0));
        // Each turn leaves its number: out of turn, it would not find that of the turn before.
        let turn = |turn: u64| {
            way.hand_over(&word, 2 * turn, 2 * turn + 1);
            assert_eq!(seen.swap(turn + 1, Ordering::Relaxed), turn);
            word.store(2 * turn + 2, Ordering::Release);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| (0..300).step_by(2).for_each(turn));
            (1..300).step_by(2).for_each(turn);
        });
        assert_eq!(seen.into_inner(), 300);
    }

    #[test]
    fn the_word_is_handed_over_in_turns() {
        check(&ByStore);
        check(&BySwap(super::super::atomic::method("best").unwrap()));
    }
}
