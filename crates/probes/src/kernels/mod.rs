//! The inner loops that are timed, by hand for each architecture, so that no compiler folds or vectorises them.
//!
//! Everything exposed here is safe: lengths, alignment and the CPU's abilities are checked once, before the hot loop.

#[macro_use]
mod assembly;

pub mod arith;
pub mod atomic;
pub mod bandwidth;
pub mod branch;
pub mod chase;
pub mod flops;
pub mod forwarding;
pub mod http;
pub mod operation;
pub mod parallel;
pub mod random_access;
pub mod restartable;
pub mod rpc;
pub mod stream;
pub mod words;

use hostmark_engine::prelude::{Message, say};

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
    Alignment {
        /// Alignment that is needed.
        needed_bytes: usize,
    },
    /// Source and destination differ in length.
    Unequal {
        /// Length of the destination.
        destination_bytes: usize,
        source_bytes: usize,
    },
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
