//! Group ipc: two processes of one host talk.

mod pipe_bandwidth;

crate::group!("ipc": pipe_bandwidth);
