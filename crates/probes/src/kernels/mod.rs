//! The inner loops that are timed, by hand for each architecture, so that no compiler folds or vectorises them.
//!
//! Everything exposed here is safe: lengths, alignment and the CPU's abilities are checked once, before the hot loop.

#[macro_use]
mod assembly;

pub mod arith;
pub mod atomic;
pub mod bandwidth;
pub mod bogoflops;
pub mod branch;
pub mod chase;
pub mod flops;
pub mod forwarding;
pub mod hand_over;
pub mod http;
pub mod indirect;
pub mod operation;
pub mod ordered;
pub mod parallel;
pub(crate) mod random;
pub mod random_access;
pub mod restartable;
pub mod rpc;
pub mod sieve;
pub mod straight;
pub mod stream;
pub mod unaligned;
pub mod words;

use std::fmt;

/// Why a kernel refused to run on what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The memory's length is zero or no multiple of what the kernel takes at once.
    Length {
        /// Length that was given.
        bytes: usize,
        /// Length of which it must be a multiple.
        multiple_bytes: usize,
    },
    /// The memory's start is not aligned enough.
    Alignment {
        /// Alignment that is needed.
        needed_bytes: usize,
    },
    /// Source and destination differ in length.
    Unequal {
        /// Length of the destination.
        destination_bytes: usize,
        /// Length of the source.
        source_bytes: usize,
    },
    /// A line, page, window or stride that no chain can be built with.
    Step {
        /// The step that was given.
        bytes: usize,
    },
    /// More nodes than an index of 32 bits can number.
    Nodes {
        /// How many there would be.
        nodes: usize,
    },
    /// There is no loop of so many chains.
    Chains {
        /// How many were asked for.
        chains: usize,
        /// Of how many there are.
        built: &'static [usize],
    },
    /// The CPU lacks the instructions.
    Unavailable {
        /// Name of the kernel.
        kernel: &'static str,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length { bytes, multiple_bytes } => {
                write!(f, "use {bytes} bytes of memory: give a non-zero multiple of {multiple_bytes} bytes")
            }
            Self::Alignment { needed_bytes } => {
                write!(f, "use this memory: give a start aligned to {needed_bytes} bytes")
            }
            Self::Unequal { destination_bytes, source_bytes } => {
                write!(f, "copy {source_bytes} bytes onto {destination_bytes} bytes: give equal lengths")
            }
            Self::Step { bytes } => {
                write!(
                    f,
                    "build a chain with steps of {bytes} bytes: give a non-zero multiple of 8 that fits the memory"
                )
            }
            Self::Nodes { nodes } => write!(f, "build a chain of {nodes} nodes: give fewer than 2^32"),
            Self::Chains { chains, built } => {
                let built = built.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "follow {chains} chains: there are loops of {built} chains")
            }
            Self::Unavailable { kernel } => {
                write!(f, "run the {kernel} kernel: this CPU lacks its instructions, choose another kernel")
            }
        }
    }
}

impl std::error::Error for Refused {}
