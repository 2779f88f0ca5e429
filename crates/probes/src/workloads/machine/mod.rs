//! System calls, instructions, clocks, signals, and what others take of the CPU.

pub(crate) mod arch;
pub mod bpf;
pub mod busy;
pub mod context;
pub mod kernel_module;
pub mod timer;
pub mod tiny_guest;
