//! Two or more processes that hand something to each other, by every means of the kernel.

pub mod exchange;
pub(crate) mod ping_pong;
pub mod request_queue;
pub mod stream;
pub mod sysv;
pub mod token_ring;
