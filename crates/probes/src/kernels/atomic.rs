//! Atomic operations on one word, by the instructions themselves: compilers call a function for them on AArch64.

/// A function of these lines, which reach the word by a register of its name, and of these operands.
macro_rules! on_word {
    ($name:ident($word:ident $(, $argument:ident)*), [$($line:expr),+ $(,)?], $($operand:tt)*) => {
        fn $name($word: &AtomicU64 $(, $argument: u64)*) {
            // SAFETY: the word is written atomically, as its type allows; a loop that counts ends when its counter, not zero at
            // first, is.
            unsafe { std::arch::asm!($($line,)+ word = in(reg) $word.as_ptr(), $($operand)* options(nostack)) };
        }
    };
}

use std::sync::atomic::AtomicU64;

/// A word alone on its page, so that nothing else shares its line, and no prefetcher fetches it with another.
#[repr(align(4096))]
#[derive(Default)]
pub struct Lonely(pub AtomicU64);

#[derive(Clone, Copy)]
pub struct AtomicMethod {
    /// Name by which it is asked for, and recorded.
    pub name: &'static str,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    fetch_add: fn(&AtomicU64, u64),
    compare_and_swap: fn(&AtomicU64, u64),
    swap_when: fn(&AtomicU64, u64, u64),
}

impl AtomicMethod {
    /// Adds one to `word`, `n` times, by an instruction that also fetches what was there.
    #[inline(never)]
    pub fn fetch_add(&self, word: &AtomicU64, n: u64) {
        if n > 0 {
            (self.fetch_add)(word, n);
        }
    }

    /// Adds one to `word`, `n` times, by comparing and swapping until nobody came between.
    #[inline(never)]
    pub fn compare_and_swap(&self, word: &AtomicU64, n: u64) {
        if n > 0 {
            (self.compare_and_swap)(word, n);
        }
    }

    /// Compares and swaps until `word` was `expected` and is `new`.
    #[inline(always)]
    pub fn swap_when(&self, word: &AtomicU64, expected: u64, new: u64) {
        (self.swap_when)(word, expected, new);
    }
}

/// All methods of this architecture, the best first, whether or not this CPU has them.
#[cfg(test)]
pub fn methods() -> &'static [AtomicMethod] {
    machine::METHODS
}

/// The method of this name, if this architecture has it; `best` is the first that this CPU has.
pub fn method(name: &str) -> Option<&'static AtomicMethod> {
    machine::METHODS.iter().find(|method| method.name == name || (name == "best" && (method.is_available)()))
}

/// Atomic operations of x86-64: the lock prefix.
#[cfg(target_arch = "x86_64")]
mod machine {
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
}

/// Atomic operations of AArch64: single instructions (LSE, from Armv8.1 on), or pairs of exclusive load and store.
#[cfg(target_arch = "aarch64")]
mod machine {
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
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn available() -> impl Iterator<Item = &'static AtomicMethod> {
        methods().iter().filter(|method| (method.is_available)())
    }

    #[test]
    fn every_addition_of_every_thread_counts() {
        const N: u64 = 20_000;
        for method in available() {
            for add in [AtomicMethod::fetch_add, AtomicMethod::compare_and_swap] {
                let word = Lonely::default();
                std::thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| add(method, &word.0, N));
                    }
                });
                assert_eq!(word.0.load(Ordering::SeqCst), 3 * N, "{}", method.name);
                add(method, &word.0, 0);
                assert_eq!(word.0.load(Ordering::SeqCst), 3 * N, "{}", method.name);
            }
        }
    }

    #[test]
    fn two_threads_swap_in_turns() {
        for method in available() {
            let word = Lonely::default();
            std::thread::scope(|scope| {
                scope.spawn(|| (0..500).for_each(|turn| method.swap_when(&word.0, 2 * turn + 1, 2 * turn + 2)));
                (0..500).for_each(|turn| method.swap_when(&word.0, 2 * turn, 2 * turn + 1));
            });
            assert_eq!(word.0.load(Ordering::SeqCst), 1000, "{}", method.name);
        }
    }

    #[test]
    fn a_method_is_found_by_its_name() {
        assert!(available().any(|method| method.name == super::method("best").unwrap().name));
        assert!(method("lock").is_some() || method("ll_sc").is_some());
        assert!(method("none").is_none());
        assert_eq!(align_of::<Lonely>(), 4096);
    }
}
