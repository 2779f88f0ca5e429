//! Restartable sequences are not written for AArch64.

use std::io;

use super::CpuCounters;

/// Restartable sequences, which do not exist here.
pub enum Restartable {}

impl Restartable {
    pub fn of_this_thread() -> io::Result<Restartable> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn add(&self, _: &CpuCounters, _: u64) -> u64 {
        match *self {}
    }
}
