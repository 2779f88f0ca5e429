//! How are samples taken? One round of a case: how long a sample is, when the counters are read, what the core and the last cache did.

pub(crate) mod choice;
pub(crate) mod core_monitor;
pub(crate) mod counted;
pub(crate) mod counter_blocks;
pub(crate) mod cpu;
pub(crate) mod difference;
pub(crate) mod free_running;
pub(crate) mod last_cache;
pub(crate) mod latencies;
pub(crate) mod lockstep;
pub(crate) mod memory_look;
pub(crate) mod sample;
pub(crate) mod sampler;
pub(crate) mod setup;
pub(crate) mod steady;
pub mod threads;
pub(crate) mod totals;
pub mod uncounted;
