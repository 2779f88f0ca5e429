//! Why there is no guest: what failed, and what to do.

use std::io;

use super::kernel::KernelError;
use crate::guest_session::{MOST_BEFORE, console};
use crate::transport_error::TransportError;
use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;

/// Why there is no guest. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The kernel.
    Kernel(#[from] KernelError),
    /// The program that is to run in it.
    Program(TransportError),
    /// It is not static.
    Dynamic {
        /// The architecture.
        machine: &'static str,
    },
    /// It is asked for what cannot be.
    Asked(Message),
    /// QEMU is missing, or does not start.
    Qemu {
        /// Its last word, or how it ended.
        how: Message,
        /// What to do.
        remedy: Message,
    },
    /// Nobody in the guest answers.
    Silent {
        /// How long it was given.
        seconds: u64,
        /// The end of its console.
        lines: Vec<String>,
        /// The likely cause, and what to do.
        remedy: Message,
    },
    /// It ended while it booted.
    Ended {
        how: Message,
        /// The end of its console.
        lines: Vec<String>,
        /// What to do.
        remedy: Message,
    },
    /// Its emulator ran instructions of its kernel that another of its CPUs had changed by then, as QEMU does now and then with several CPUs.
    Misemulated(Vec<String>),
    /// It says too much where its agent should answer.
    Floods(Vec<String>),
    /// The person asked to stop.
    Stopped,
    /// A call of the system failed here.
    Io(#[from] io::Error),
}

impl From<&GuestError> for Message {
    fn from(error: &GuestError) -> Message {
        match error {
            GuestError::Kernel(value) => value.into(),
            GuestError::Program(value) => value.into(),
            GuestError::Dynamic { machine } => say!(
                "this program is not static and runs in no guest; put hostmark-{machine}-linux-musl beside it, made by cargo build \
         --release --target {machine}-unknown-linux-musl"
            ),
            GuestError::Asked(value) => value.into(),
            GuestError::Qemu { how, remedy } => say!("QEMU does not start ({how}); {remedy}"),
            GuestError::Silent { seconds, lines, remedy } => {
                say!("the guest has not answered in {seconds} s{lines}; {remedy}", lines = console(lines))
            }
            GuestError::Ended { how, lines, remedy } => {
                say!("the guest ended while it booted: {how}{lines}; {remedy}", lines = console(lines))
            }
            GuestError::Misemulated(value) => say!(
                "the guest ended while it booted: QEMU ran code that the kernel had just changed{value}; give it one CPU by --smp 1, or take another QEMU",
                value = console(value)
            ),
            GuestError::Floods(value) => say!(
                "the guest has written {most_before} KiB to its channel and answers no knock{value}; look at what writes there",
                most_before = MOST_BEFORE >> 10,
                value = console(value)
            ),
            GuestError::Stopped => say!("stopped on request; start again when you like"),
            GuestError::Io(value) => say!("the guest cannot be started ({value}); try again"),
        }
    }
}

displays_its_message!(GuestError);
