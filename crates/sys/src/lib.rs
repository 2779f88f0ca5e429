//! System calls as typed, safe functions that no library has as we need them: shared by the engine and the probes.

pub mod affinity;
pub mod call;
pub mod call_filter;
pub mod child;
pub mod clock;
pub mod control_group;
pub mod descendants;
pub mod exit_message;
pub mod ipc_cleanup;
pub mod mapped;
pub mod memory;
pub mod names;
pub mod namespaces;
pub mod netlink;
pub mod perf_event;
pub mod place;
pub mod process;
pub mod regular;
pub mod scratch;
pub mod setting;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
#[cfg(feature = "tests")]
pub mod soak;
pub mod usage;
pub mod waits;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
