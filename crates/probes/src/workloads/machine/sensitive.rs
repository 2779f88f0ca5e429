//! Instructions for which a guest leaves its CPU.

use std::io;

use crate::workloads::machine::arch;

/// The highest leaf of cpuid, as it answers leaf 0; none on other architectures.
#[inline(always)]
pub fn cpuid() -> Option<u32> {
    arch::cpuid()
}

/// The right to write to the port of the firmware's progress codes, which ends with the process.
#[derive(Debug)]
pub struct Port(());

impl Port {
    /// Asks for it, which root alone is given.
    pub fn open() -> io::Result<Port> {
        arch::permit_port().map(Port)
    }

    /// Writes a byte 0.
    #[inline(always)]
    pub fn write(&self) {
        arch::write_port();
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
