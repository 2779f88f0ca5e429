//! What probes drive: processes that hand something over, rings, servers, files, mappings, signals, clocks, as typed, safe
//! functions over raw calls. What the engine needs too is in the crate `sys`.

use hostmark_engine::prelude::sys::{
    affinity, call, child, clock, cpu_time, descendants, exit_message, ipc_cleanup, memory, peer, process, shared,
    usage, waits,
};

mod arch;
pub mod balloon;
pub mod busy;
pub mod clocks;
pub mod command;
pub mod context;
pub mod create_delete;
pub mod datagrams;
pub mod exchange;
pub mod file_lock;
pub mod files;
mod flow;
pub mod fork;
pub mod futex;
mod guard;
mod keeper;
pub mod kernel_module;
pub mod link;
pub mod listener;
pub mod local;
pub mod mapping;
pub mod membarrier;
pub mod message_groups;
pub mod message_queue;
pub mod own_network;
pub mod path_ops;
mod ping_pong;
pub mod pipe;
pub mod pipeline;
pub mod program;
pub mod protection;
pub mod random_blocks;
pub mod readiness;
pub mod sensitive;
pub mod shm_ring;
pub mod signal;
pub mod signal_pair;
pub mod sleeper;
pub mod small_parent;
pub mod socket;
pub mod steal;
pub mod stream;
pub mod switches;
pub mod sysv;
pub mod tally;
pub mod tcp_info;
pub mod thread;
pub mod timer;
pub mod tiny_guest;
pub mod token_ring;
pub mod uring;
pub mod uring_nop;
mod uring_queues;

#[cfg(test)]
#[path = "soak_tests.rs"]
mod soak_tests;

/// A call's result, as programs see it; an error says which call it was.
#[inline(always)]
fn checked(call: &'static str, result: i64) -> std::io::Result<usize> {
    usize::try_from(result).map_err(|_| call::named(call, std::io::Error::from_raw_os_error(-result as i32)))
}

/// Makes a call of a library that would inline the instruction, by a function that returns: as [`arch`] makes its own.
#[inline(never)]
pub fn by_function<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// `getpid` by a function around the instruction: no library and no cache can answer it.
#[inline(always)]
pub fn getpid() -> u64 {
    arch::call0(libc::SYS_getpid) as u64
}

/// The same by the instruction alone.
#[inline(always)]
pub fn bare_getpid() -> u64 {
    arch::bare_call0(libc::SYS_getpid) as u64
}

/// `getppid` by a function around the instruction: no libc, no vDSO, no cache can answer it.
#[inline(always)]
pub fn getppid() -> u64 {
    arch::call0(libc::SYS_getppid) as u64
}
