//! The inner loops that are timed, by hand for each architecture, so that no compiler folds or vectorises them.
//!
//! Everything exposed here is safe: lengths, alignment and the CPU's abilities are checked once, before the hot loop.

// Macros for inner loops, so that each loop is written once: where the architectures differ, both are given side by side, and what every
// loop needs has a name. They stand before the modules that use them.

/// Expands to the tokens in the braces behind this architecture's name.
#[cfg(target_arch = "x86_64")]
macro_rules! by_arch {
    (x86_64 { $($here:tt)* } aarch64 { $($elsewhere:tt)* }) => { $($here)* };
}
#[cfg(target_arch = "aarch64")]
macro_rules! by_arch {
    (x86_64 { $($elsewhere:tt)* } aarch64 { $($here:tt)* }) => { $($here)* };
}

/// `asm!` with lines that both architectures share, then each one's operands, then shared operands and options.
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
const UNROLL: u64 = 64;

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

/// The names of 24 vector registers of AArch64: the assembler's macros leave no room for a suffix behind their own names.
#[cfg(target_arch = "aarch64")]
macro_rules! registers_24 {
    ($pre:literal, $post:literal) => {
        registers_24!($pre, $post; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23)
    };
    ($pre:literal, $post:literal; $first:literal $($number:literal)*) => {
        concat!($pre, $first, $post $(, ",", $pre, $number, $post)*)
    };
}

pub mod arith;
pub(crate) mod atomic;
pub(crate) mod bandwidth;
pub(crate) mod branch;
pub(crate) mod chase;
pub(crate) mod flops;
pub(crate) mod forwarding;
pub(crate) mod http;
pub(crate) mod operation;
pub(crate) mod parallel;
pub(crate) mod random_access;
pub(crate) mod restartable;
pub(crate) mod rpc;
pub(crate) mod stream;
pub(crate) mod words;

use hostmark_engine::prelude::{Message, ReasonCode, RoundError, say};

/// Reason why a kernel refused to run on its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The memory's length is zero or no multiple of what the kernel takes at once.
    Length {
        bytes: usize,
        /// Length of which it must be a multiple.
        multiple_bytes: usize,
    },
    /// The memory's start is not aligned enough.
    Alignment { needed_bytes: usize },
    /// Source and destination differ in length.
    Unequal { destination_bytes: usize, source_bytes: usize },
    /// A line, page, window or stride that no chain can be built with.
    Step { bytes: usize },
    /// Number of nodes that an index of 32 bits cannot number.
    Nodes { nodes: usize },
    /// Number of chains without a loop.
    Chains { chains: usize, built: &'static [usize] },
    /// The CPU lacks the instructions.
    Unavailable { kernel: &'static str },
}

impl From<Refused> for Message {
    fn from(refused: Refused) -> Message {
        match refused {
            Refused::Length { bytes, multiple_bytes } => {
                say!("cannot use {bytes} bytes of memory: give a non-zero multiple of {multiple_bytes} bytes")
            }
            Refused::Alignment { needed_bytes } => {
                say!("cannot use this memory: give a start aligned to {needed_bytes} bytes")
            }
            Refused::Unequal { destination_bytes, source_bytes } => {
                say!("cannot copy {source_bytes} bytes onto {destination_bytes} bytes: give equal lengths")
            }
            Refused::Step { bytes } => say!(
                "cannot build a chain with steps of {bytes} bytes: give a non-zero multiple of 8 that fits the memory"
            ),
            Refused::Nodes { nodes } => say!("cannot build a chain of {nodes} nodes: give fewer than 2^32"),
            Refused::Chains { chains, built } => {
                let built = built.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                say!("cannot follow {chains} chains: there are loops of {built} chains")
            }
            Refused::Unavailable { kernel } => {
                say!("cannot run the {kernel} kernel: this CPU lacks its instructions, choose another kernel")
            }
        }
    }
}

/// A case whose kernel refuses its memory cannot be measured.
impl From<Refused> for RoundError {
    fn from(refused: Refused) -> RoundError {
        let code = match refused {
            Refused::Unavailable { .. } => ReasonCode::Hardware,
            _ => ReasonCode::NotApplicable,
        };
        RoundError::skipped(code, refused)
    }
}
