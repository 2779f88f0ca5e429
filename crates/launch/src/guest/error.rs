//! Why there is no guest: what failed, and what to do.

use std::io;

use super::kernel::KernelError;
use crate::guest_session::{MOST_BEFORE, console};
use crate::transport_error::TransportError;

/// Why there is no guest. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The program that is to run in it.
    #[error(transparent)]
    Program(TransportError),
    /// It is not static.
    #[error(
        "this program is not static and runs in no guest; put hostmark-{machine}-linux-musl beside it, made by cargo build \
         --release --target {machine}-unknown-linux-musl"
    )]
    Dynamic {
        /// The architecture.
        machine: &'static str,
    },
    /// It is asked for what cannot be.
    #[error("{0}")]
    Asked(String),
    /// QEMU is missing, or does not start.
    #[error("QEMU does not start ({how}); {remedy}")]
    Qemu {
        /// Its last word, or how it ended.
        how: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Nobody in the guest answers.
    #[error("the guest has not answered in {seconds} s{}; {remedy}", console(lines))]
    Silent {
        /// How long it was given.
        seconds: u64,
        /// The end of its console.
        lines: Vec<String>,
        /// The likely cause, and what to do.
        remedy: &'static str,
    },
    /// It ended while it booted.
    #[error("the guest ended while it booted: {how}{}; {remedy}", console(lines))]
    Ended {
        how: &'static str,
        /// The end of its console.
        lines: Vec<String>,
        /// What to do.
        remedy: &'static str,
    },
    /// Its emulator ran instructions of its kernel that another of its CPUs had changed by then, as QEMU does now and then with several CPUs.
    #[error(
        "the guest ended while it booted: QEMU ran code that the kernel had just changed{}; give it one CPU by --smp 1, or take another QEMU",
        console(.0)
    )]
    Misemulated(Vec<String>),
    /// It says too much where its agent should answer.
    #[error("the guest has written {} KiB to its channel and answers no knock{}; look at what writes there", MOST_BEFORE >> 10, console(.0))]
    Floods(Vec<String>),
    /// The person asked to stop.
    #[error("stopped on request; start again when you like")]
    Stopped,
    /// A call of the system failed here.
    #[error("the guest cannot be started ({0}); try again")]
    Io(#[from] io::Error),
}
