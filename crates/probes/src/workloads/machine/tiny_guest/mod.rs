//! A guest of a few instructions, made through /dev/kvm, that leaves its CPU by one cause over and over.

use std::io;

use crate::workloads::machine::arch as instructions;

#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

pub use arch::TinyGuest;

/// Number of exits in one pass of the guest's loop: often enough that the way out at its end hardly counts.
pub const TIMES: u64 = 200;

named! {
    /// Reason why a guest leaves its CPU.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ExitCause {
        /// Asks for the CPU's identity.
        Cpuid = "cpuid",
        /// Reads a model-specific register that KVM keeps for it.
        Msr = "msr",
        Hypercall = "hypercall",
        Port = "port",
        /// Writes to an address behind which there is no memory.
        Mmio = "mmio",
        Halt = "hlt",
    }
}

impl ExitCause {
    /// Tells whether it is for the process that runs the guest; KVM deals with the others inside the kernel.
    pub fn is_for_user_space(self) -> bool {
        matches!(self, ExitCause::Port | ExitCause::Mmio | ExitCause::Halt)
    }
}

/// Work of a guest in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Loop with the cause in it, [`TIMES`] times.
    Loaded,
    /// The same loop without it.
    Empty,
}

/// The highest leaf of cpuid, as it answers leaf 0; none on other architectures.
#[inline(always)]
pub fn cpuid() -> Option<u32> {
    instructions::cpuid()
}

/// The right to write to the port of the firmware's progress codes, which ends with the process.
#[derive(Debug)]
pub struct Port(());

impl Port {
    /// Asks for it, which root alone is given.
    pub fn open() -> io::Result<Port> {
        instructions::permit_port().map(Port)
    }

    /// Writes a byte 0.
    #[inline(always)]
    pub fn write(&self) {
        instructions::write_port();
    }
}

/// Absence of such a guest of Arm cores.
#[cfg(target_arch = "aarch64")]
mod arch {
    use std::io;

    use hostmark_engine::prelude::ReasonCode;
    use hostmark_engine::prelude::say;

    use super::{ExitCause, Pass};
    use crate::workloads::call::fault;

    /// A guest that is made nowhere.
    #[derive(Debug)]
    pub enum TinyGuest {}

    impl TinyGuest {
        pub fn new(_: ExitCause) -> io::Result<TinyGuest> {
            Err(fault(ReasonCode::Architecture, say!("the guest's instructions are those of x86_64")))
        }

        pub fn pass(&mut self, _: Pass) -> io::Result<()> {
            match *self {}
        }

        pub fn is_nested(&self) -> bool {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn an_x86_cpu_reports_its_leaves_and_no_other_does() {
        assert_eq!(cpuid().is_some_and(|highest| highest > 0), cfg!(target_arch = "x86_64"));
    }

    #[test]
    fn a_port_that_is_given_can_be_written() {
        match Port::open() {
            Ok(port) => port.write(),
            Err(error) => skipped(&format!("the kernel gives no I/O port: {error}")),
        }
    }
}
