//! Two or more processes that hand something to each other, by every means of the kernel.

pub mod exchange;
pub mod file_lock;
pub(crate) mod flow;
pub mod futex;
pub(crate) mod guard;
pub mod listener;
pub mod message_groups;
pub mod message_queue;
pub(crate) mod ping_pong;
pub mod pipe;
pub mod request_queue;
pub mod shm_ring;
pub mod signal_pair;
pub mod sleeper;
pub mod sleeping_lock;
pub mod stream;
pub mod sysv;
pub mod token_ring;
