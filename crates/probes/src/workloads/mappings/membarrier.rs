//! A memory barrier on every CPU where this process runs: the cheapest way to have the kernel interrupt them.

use std::io;

use crate::workloads::{checked, machine::arch};

/// Commands of membarrier(2), from the kernel's interface.
const PRIVATE_EXPEDITED: usize = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

/// The right to interrupt the CPUs on which this process's threads run.
#[derive(Debug)]
pub struct Barrier(());

impl Barrier {
    /// Registers the process, which the kernel demands once.
    pub fn register() -> io::Result<Barrier> {
        command(REGISTER_PRIVATE_EXPEDITED).map(|()| Barrier(()))
    }

    /// Comes back when every CPU that runs a thread of this process has been interrupted and has answered.
    #[inline(always)]
    pub fn everywhere(&self) -> io::Result<()> {
        command(PRIVATE_EXPEDITED)
    }
}

#[inline(always)]
fn command(command: usize) -> io::Result<()> {
    // SAFETY: a barrier touches no memory of ours.
    checked("membarrier", unsafe { arch::call(libc::SYS_membarrier, [command, 0, 0, 0, 0, 0]) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_process_has_its_barrier() {
        match Barrier::register() {
            Ok(barrier) => barrier.everywhere().unwrap(),
            // A filter of system calls, an emulator or a small kernel may not have it.
            Err(error) => {
                assert!(matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EINVAL)), "{error}")
            }
        }
    }
}
