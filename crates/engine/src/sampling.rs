//! Sampling: one round of a case, with the length of a sample, the reading of counters, and the state of the core and the last cache.

pub(crate) mod choice;
pub mod counted;
pub(crate) mod latencies;
pub(crate) mod lockstep;
pub(crate) mod memory_look;
pub(crate) mod sample;
pub(crate) mod sampler;
pub mod threads;
