//! Files, names and devices.

pub mod create_delete;
pub mod directory;
pub mod files;
pub mod path_ops;
pub mod random_blocks;
pub mod uring;
pub mod uring_file;
pub mod uring_nop;
pub(crate) mod uring_queues;
