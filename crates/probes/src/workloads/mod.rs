//! Workloads of probes: processes that hand something over, rings, servers, files, mappings, signals, clocks, as typed,
//! safe functions over raw calls. Functions that the engine needs too are in the crate `sys`.

use hostmark_engine::prelude::sys::{
    affinity, call, child, clock, descendants, exit_message, ipc_cleanup, memory, process, usage, waits,
};

pub mod handover;
pub mod machine;
pub mod mappings;
pub mod network;
pub mod pipeline;
pub mod processes;
pub mod storage;

#[cfg(test)]
#[path = "soak_tests.rs"]
mod soak_tests;

/// A call's result, as programs see it; an error says which call it was.
#[inline(always)]
fn checked(call: &'static str, result: i64) -> std::io::Result<usize> {
    usize::try_from(result).map_err(|_| call::named(call, std::io::Error::from_raw_os_error(-result as i32)))
}

/// Makes a call of a library that would inline the instruction, by a function that returns: as [`machine::arch`] makes its own.
#[inline(never)]
pub fn by_function<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// `getpid` by a function around the instruction: no library and no cache can answer it.
#[inline(always)]
pub fn getpid() -> u64 {
    machine::arch::call0(libc::SYS_getpid) as u64
}

/// The same by the instruction alone.
#[inline(always)]
pub fn bare_getpid() -> u64 {
    machine::arch::bare_call0(libc::SYS_getpid) as u64
}

/// `getppid` by a function around the instruction: no libc, no vDSO, no cache can answer it.
#[inline(always)]
pub fn getppid() -> u64 {
    machine::arch::call0(libc::SYS_getppid) as u64
}
