//! Macros for inner loops, so that each loop is written once: where the architectures differ, both are given side by side,
//! and what every loop needs has a name.

/// Expands to the tokens in the braces behind this architecture's name.
#[cfg(target_arch = "x86_64")]
macro_rules! by_arch {
    (x86_64 { $($here:tt)* } aarch64 { $($elsewhere:tt)* }) => { $($here)* };
}
#[cfg(target_arch = "aarch64")]
macro_rules! by_arch {
    (x86_64 { $($elsewhere:tt)* } aarch64 { $($here:tt)* }) => { $($here)* };
}

/// `asm!` with lines that both architectures share, then the operands that each has in registers of its own, then shared
/// operands and options.
macro_rules! asm_by_arch {
    ($($line:expr),+; x86_64 { $($x86:tt)* } aarch64 { $($arm:tt)* } $($shared:tt)*) => {
        by_arch! {
            x86_64 { std::arch::asm!($($line,)+ $($x86)* $($shared)*) }
            aarch64 { std::arch::asm!($($line,)+ $($arm)* $($shared)*) }
        }
    };
}

/// Goes to `label` if `register` is zero.
macro_rules! skip_if_zero {
    ($register:expr, $label:literal) => {
        by_arch!(
            x86_64 { concat!("test ", $register, ", ", $register, "\njz ", $label) }
            aarch64 { concat!("cbz ", $register, ", ", $label) }
        )
    };
}

/// Takes one from `register`, and goes to `label` until it is zero.
macro_rules! count_down {
    ($register:expr, $label:literal) => {
        by_arch!(
            x86_64 { concat!("dec ", $register, "\njnz ", $label) }
            aarch64 { concat!("subs ", $register, ", ", $register, ", #1\nb.ne ", $label) }
        )
    };
}

/// Times that `unrolled` does its work in a turn: enough for the loop's own cost to hide under its latency.
pub(super) const UNROLL: u64 = 64;

/// Executes `once` 64 times a turn, then `rest` times one by one. Both counters may be zero.
macro_rules! unrolled {
    ($turns:expr, $rest:expr, $once:expr) => {
        concat!(
            skip_if_zero!($turns, "3f"),
            "\n.p2align 6\n2:\n.rept 64\n",
            $once,
            "\n.endr\n",
            count_down!($turns, "2b"),
            "\n3:\n",
            skip_if_zero!($rest, "5f"),
            "\n.p2align 4\n4:\n",
            $once,
            "\n",
            count_down!($rest, "4b"),
            "\n5:"
        )
    };
}

/// Loads the link at the address in `register` into the register itself.
macro_rules! follow {
    ($register:expr) => {
        concat!(by_arch!(x86_64 { "mov " } aarch64 { "ldr " }), $register, ", [", $register, "]")
    };
}

/// The end of a loop over chunks: moves each pointer on by `step`, all back to their starts when the first is at the `end`, and
/// goes to label 2 until `turns` is zero. Only that last jump is a branch.
macro_rules! next_chunk {
    ($step:expr, end $end:expr, turns $turns:expr, $first:literal from $first_start:literal $(, $at:literal from $start:literal)*) => {
        concat!(
            by_arch!(x86_64 { concat!("add ", $first, ", ", $step) } aarch64 { concat!("add ", $first, ", ", $first, ", ", $step) }),
            $("\n", by_arch!(x86_64 { concat!("add ", $at, ", ", $step) } aarch64 { concat!("add ", $at, ", ", $at, ", ", $step) }),)*
            "\ncmp ", $first, ", ", $end, "\n",
            by_arch!(x86_64 { concat!("cmove ", $first, ", ", $first_start) } aarch64 { concat!("csel ", $first, ", ", $first_start, ", ", $first, ", eq") }),
            $("\n", by_arch!(x86_64 { concat!("cmove ", $at, ", ", $start) } aarch64 { concat!("csel ", $at, ", ", $start, ", ", $at, ", eq") }),)*
            "\n",
            count_down!($turns, "2b")
        )
    };
}

/// The names of 24 vector registers of AArch64: repeated macros of the assembler leave no room for a suffix behind their own
/// names.
#[cfg(target_arch = "aarch64")]
macro_rules! registers_24 {
    ($pre:literal, $post:literal) => {
        registers_24!($pre, $post; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23)
    };
    ($pre:literal, $post:literal; $first:literal $($number:literal)*) => {
        concat!($pre, $first, $post $(, ",", $pre, $number, $post)*)
    };
}
