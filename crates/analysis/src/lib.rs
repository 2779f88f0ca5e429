//! Analysis of run files alone: comparison, findings, overhead, fleets, trust; gives values and sentences.
#![forbid(unsafe_code)]

/// Code that the build script generates from the text files beside the code, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

pub mod bars;
pub mod compare;
pub mod consistency;
pub mod constants;
mod curve;
pub mod data_path;
mod difference;
pub mod duration;
pub mod escape;
pub mod findings;
pub mod fleet;
pub mod format;
pub mod groups;
pub mod guest;
pub mod labels;
pub mod levels;
pub mod lmbench;
#[cfg(test)]
mod made_up;
mod neighbours;
pub mod network;
pub mod over_time;
pub mod overhead;
pub mod plain_table;
mod propagated;
pub mod reasons;
pub mod redact;
pub mod references;
pub mod repetition;
pub mod scaling;
pub mod short_arrays;
pub mod split_huge_pages;
pub mod stream_times;
pub mod submitted;
pub mod trust;
pub mod typography;

pub use findings::findings;
pub use reasons::{Spoken, spoken, words};
