//! How are samples taken? One round of a case: how long a sample is, when the counters are read, what the core and the last cache did.

pub(crate) mod choice;
pub mod counted;
pub(crate) mod latencies;
pub(crate) mod lockstep;
pub(crate) mod memory_look;
pub(crate) mod sample;
pub(crate) mod sampler;
pub mod threads;
