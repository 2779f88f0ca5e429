//! Sockets, interfaces and what a connection tells.

pub mod datagrams;
pub mod link;
pub mod local;
pub mod own_network;
pub mod socket;
pub mod tcp_info;
pub mod uring_messages;
