//! Atomic operations of AArch64: single instructions (LSE, from Armv8.1 on), or pairs of exclusive load and store.

use std::arch::is_aarch64_feature_detected;
use std::sync::atomic::AtomicU64;

use super::AtomicMethod;

pub(super) static METHODS: &[AtomicMethod] = &[
    AtomicMethod {
        name: "lse",
        is_available: || is_aarch64_feature_detected!("lse"),
        fetch_add: lse_fetch_add,
        compare_and_swap: lse_compare_and_swap,
        swap_when: lse_swap_when,
    },
    AtomicMethod {
        name: "ll_sc",
        is_available: || true,
        fetch_add: exclusive_add,
        compare_and_swap: exclusive_compare_and_swap,
        swap_when: exclusive_swap_when,
    },
];

on_word!(
    lse_fetch_add(word, n),
    [
        ".arch_extension lse",
        "2:",
        "ldaddal {one}, {old}, [{word}]",
        count_down!("{n}", "2b"),
    ],
    one = in(reg) 1_u64, old = out(reg) _, n = inout(reg) n => _,
);

on_word!(
    lse_compare_and_swap(word, n),
    [
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
        count_down!("{n}", "2b"),
    ],
    expected = out(reg) _, new = out(reg) _, old = out(reg) _, n = inout(reg) n => _,
);

on_word!(
    lse_swap_when(word, expected, new),
    [
        ".arch_extension lse",
        "2:",
        "mov {old}, {expected}",
        "casal {old}, {new}, [{word}]",
        "cmp {old}, {expected}",
        "b.ne 2b",
    ],
    expected = in(reg) expected, new = in(reg) new, old = out(reg) _,
);

on_word!(
    exclusive_add(word, n),
    [
        "2:",
        "ldaxr {old}, [{word}]",
        "add {old}, {old}, #1",
        "stlxr {failed:w}, {old}, [{word}]",
        "cbnz {failed:w}, 2b",
        count_down!("{n}", "2b"),
    ],
    old = out(reg) _, failed = out(reg) _, n = inout(reg) n => _,
);

on_word!(
    exclusive_compare_and_swap(word, n),
    [
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
        count_down!("{n}", "2b"),
        "b 5f",
        "4:",
        // What was found instead is expected next.
        "clrex",
        "mov {expected}, {old}",
        "b 2b",
        "5:",
    ],
    expected = out(reg) _, new = out(reg) _, old = out(reg) _, failed = out(reg) _, n = inout(reg) n => _,
);

on_word!(
    exclusive_swap_when(word, expected, new),
    [
        "2:",
        "ldaxr {old}, [{word}]",
        "cmp {old}, {expected}",
        "b.ne 2b",
        "stlxr {failed:w}, {new}, [{word}]",
        "cbnz {failed:w}, 2b",
    ],
    expected = in(reg) expected, new = in(reg) new, old = out(reg) _, failed = out(reg) _,
);
