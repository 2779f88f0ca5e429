//! System calls, instructions, clocks, signals, and what others take of the CPU.

pub(crate) mod arch;
pub(crate) mod bpf;
pub(crate) mod busy;
pub(crate) mod context;
pub(crate) mod kernel_module;
pub mod timer;
pub(crate) mod tiny_guest;
