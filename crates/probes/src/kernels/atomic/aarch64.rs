//! Atomic operations of AArch64: single instructions (LSE, from Armv8.1 on), or pairs of exclusive load and store.

use std::arch::{asm, is_aarch64_feature_detected};
use std::sync::atomic::AtomicU64;

use super::Method;

pub(super) static METHODS: &[Method] = &[
    Method {
        name: "lse",
        is_available: || is_aarch64_feature_detected!("lse"),
        fetch_add: lse_fetch_add,
        compare_and_swap: lse_compare_and_swap,
        swap_when: lse_swap_when,
    },
    Method {
        name: "ll_sc",
        is_available: || true,
        fetch_add: exclusive_add,
        compare_and_swap: exclusive_compare_and_swap,
        swap_when: exclusive_swap_when,
    },
];

fn lse_fetch_add(word: &AtomicU64, n: u64) {
    // SAFETY: the word is written atomically, as its type allows; the loop ends when its counter, not zero at first, is.
    unsafe {
        asm!(
            ".arch_extension lse",
            "2:",
            "ldaddal {one}, {old}, [{word}]",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            word = in(reg) word.as_ptr(),
            one = in(reg) 1_u64,
            old = out(reg) _,
            n = inout(reg) n => _,
            options(nostack),
        );
    }
}

fn lse_compare_and_swap(word: &AtomicU64, n: u64) {
    // SAFETY: the word is written atomically, as its type allows; the loop ends when its counter, not zero at first, is.
    unsafe {
        asm!(
            ".arch_extension lse",
            "ldr {expected}, [{word}]",
            "2:",
            "add {new}, {expected}, #1",
            "mov {old}, {expected}",
            "casal {old}, {new}, [{word}]",
            "cmp {old}, {expected}",
            // What was found instead is expected next.
            "mov {expected}, {old}",
            "b.ne 2b",
            "mov {expected}, {new}",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            word = in(reg) word.as_ptr(),
            expected = out(reg) _,
            new = out(reg) _,
            old = out(reg) _,
            n = inout(reg) n => _,
            options(nostack),
        );
    }
}

fn lse_swap_when(word: &AtomicU64, expected: u64, new: u64) {
    // SAFETY: the word is written atomically, as its type allows.
    unsafe {
        asm!(
            ".arch_extension lse",
            "2:",
            "mov {old}, {expected}",
            "casal {old}, {new}, [{word}]",
            "cmp {old}, {expected}",
            "b.ne 2b",
            word = in(reg) word.as_ptr(),
            expected = in(reg) expected,
            new = in(reg) new,
            old = out(reg) _,
            options(nostack),
        );
    }
}

fn exclusive_add(word: &AtomicU64, n: u64) {
    // SAFETY: the word is written atomically, as its type allows; the loop ends when its counter, not zero at first, is.
    unsafe {
        asm!(
            "2:",
            "ldaxr {old}, [{word}]",
            "add {old}, {old}, #1",
            "stlxr {failed:w}, {old}, [{word}]",
            "cbnz {failed:w}, 2b",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            word = in(reg) word.as_ptr(),
            old = out(reg) _,
            failed = out(reg) _,
            n = inout(reg) n => _,
            options(nostack),
        );
    }
}

fn exclusive_compare_and_swap(word: &AtomicU64, n: u64) {
    // SAFETY: the word is written atomically, as its type allows; the loop ends when its counter, not zero at first, is.
    unsafe {
        asm!(
            "ldr {expected}, [{word}]",
            "2:",
            "add {new}, {expected}, #1",
            "3:",
            "ldaxr {old}, [{word}]",
            "cmp {old}, {expected}",
            "b.ne 4f",
            "stlxr {failed:w}, {new}, [{word}]",
            "cbnz {failed:w}, 3b",
            "mov {expected}, {new}",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            "b 5f",
            "4:",
            // What was found instead is expected next.
            "clrex",
            "mov {expected}, {old}",
            "b 2b",
            "5:",
            word = in(reg) word.as_ptr(),
            expected = out(reg) _,
            new = out(reg) _,
            old = out(reg) _,
            failed = out(reg) _,
            n = inout(reg) n => _,
            options(nostack),
        );
    }
}

fn exclusive_swap_when(word: &AtomicU64, expected: u64, new: u64) {
    // SAFETY: the word is written atomically, as its type allows.
    unsafe {
        asm!(
            "2:",
            "ldaxr {old}, [{word}]",
            "cmp {old}, {expected}",
            "b.ne 2b",
            "stlxr {failed:w}, {new}, [{word}]",
            "cbnz {failed:w}, 2b",
            word = in(reg) word.as_ptr(),
            expected = in(reg) expected,
            new = in(reg) new,
            old = out(reg) _,
            failed = out(reg) _,
            options(nostack),
        );
    }
}
