//! Atomic operations of x86-64: the lock prefix.

use std::sync::atomic::AtomicU64;

use super::AtomicMethod;

pub(super) static METHODS: &[AtomicMethod] =
    &[AtomicMethod { name: "lock", is_available: || true, fetch_add, compare_and_swap, swap_when }];

on_word!(
    fetch_add(word, n),
    [
        ".p2align 5",
        "2:",
        "mov eax, 1",
        "lock xadd [{word}], rax",
        count_down!("{n}", "2b"),
    ],
    n = inout(reg) n => _, out("rax") _,
);

on_word!(
    compare_and_swap(word, n),
    [
        "mov rax, [{word}]",
        ".p2align 5",
        "2:",
        "lea {new}, [rax + 1]",
        "lock cmpxchg [{word}], {new}",
        // What was found instead is expected next.
        "jne 2b",
        "mov rax, {new}",
        count_down!("{n}", "2b"),
    ],
    new = out(reg) _, n = inout(reg) n => _, out("rax") _,
);

on_word!(
    swap_when(word, expected, new),
    [
        "2:",
        "mov rax, {expected}",
        "lock cmpxchg [{word}], {new}",
        "jne 2b",
    ],
    expected = in(reg) expected, new = in(reg) new, out("rax") _,
);
