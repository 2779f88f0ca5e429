//! Files, names and devices.

pub mod files;
pub mod path_ops;
pub mod uring;
pub(crate) mod uring_queues;
