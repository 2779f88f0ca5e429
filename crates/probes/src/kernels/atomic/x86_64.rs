//! Atomic operations of x86-64: the lock prefix.

use std::arch::asm;
use std::sync::atomic::AtomicU64;

use super::Method;

pub(super) static METHODS: &[Method] =
    &[Method { name: "lock", is_available: || true, fetch_add, compare_and_swap, swap_when }];

fn fetch_add(word: &AtomicU64, n: u64) {
    // SAFETY: the word is written atomically, as its type allows; the loop ends when its counter, not zero at first, is.
    unsafe {
        asm!(
            ".p2align 5",
            "2:",
            "mov eax, 1",
            "lock xadd [{word}], rax",
            "dec {n}",
            "jnz 2b",
            word = in(reg) word.as_ptr(),
            n = inout(reg) n => _,
            out("rax") _,
            options(nostack),
        );
    }
}

fn compare_and_swap(word: &AtomicU64, n: u64) {
    // SAFETY: the word is written atomically, as its type allows; the loop ends when its counter, not zero at first, is.
    unsafe {
        asm!(
            "mov rax, [{word}]",
            ".p2align 5",
            "2:",
            "lea {new}, [rax + 1]",
            "lock cmpxchg [{word}], {new}",
            // What was found instead is expected next.
            "jne 2b",
            "mov rax, {new}",
            "dec {n}",
            "jnz 2b",
            word = in(reg) word.as_ptr(),
            new = out(reg) _,
            n = inout(reg) n => _,
            out("rax") _,
            options(nostack),
        );
    }
}

fn swap_when(word: &AtomicU64, expected: u64, new: u64) {
    // SAFETY: the word is written atomically, as its type allows.
    unsafe {
        asm!(
            "2:",
            "mov rax, {expected}",
            "lock cmpxchg [{word}], {new}",
            "jne 2b",
            word = in(reg) word.as_ptr(),
            expected = in(reg) expected,
            new = in(reg) new,
            out("rax") _,
            options(nostack),
        );
    }
}
