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

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;
#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicU64;

/// A word alone on its page, so that nothing else shares its line, and no prefetcher fetches it with another.
#[repr(align(4096))]
#[derive(Default)]
pub struct Lonely(pub AtomicU64);

/// Method of this CPU for atomic operations.
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
pub fn methods() -> &'static [AtomicMethod] {
    machine::METHODS
}

/// The method of this name, if this architecture has it; `best` is the first that this CPU has.
pub fn method(name: &str) -> Option<&'static AtomicMethod> {
    machine::METHODS.iter().find(|method| method.name == name || (name == "best" && (method.is_available)()))
}
