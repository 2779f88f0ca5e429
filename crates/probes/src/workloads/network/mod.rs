//! Sockets, interfaces and what a connection tells.

pub mod datagrams;
pub mod link;
pub mod local;
pub mod own_network;
pub mod readiness;
pub mod socket;
pub mod tally;
pub mod tcp_info;
pub mod uring_messages;
