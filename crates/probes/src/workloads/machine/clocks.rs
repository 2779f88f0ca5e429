//! The clocks that a program can read, as operations to be measured.

use std::io;

use crate::workloads::call::named;
use crate::workloads::clock::{monotonic_ns, monotonic_raw_ns};
use crate::workloads::machine::arch;
use hostmark_engine::prelude::{read_counter, smallest_step};

/// A clock, and the way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// The CPU's counter, read in order by its instruction.
    Counter,
    /// `CLOCK_MONOTONIC` through the vDSO.
    Monotonic,
    /// `CLOCK_MONOTONIC_RAW` through the vDSO.
    MonotonicRaw,
    /// `CLOCK_MONOTONIC` by a system call.
    Syscall,
}

impl ClockSource {
    /// The source of this name: tsc, monotonic, monotonic_raw, syscall.
    pub fn of_name(name: &str) -> Option<ClockSource> {
        match name {
            "tsc" => Some(ClockSource::Counter),
            "monotonic" => Some(ClockSource::Monotonic),
            "monotonic_raw" => Some(ClockSource::MonotonicRaw),
            "syscall" => Some(ClockSource::Syscall),
            _ => None,
        }
    }

    /// The step in which it counts over some hundred readings: ticks of the counter, nanoseconds of the others; none when
    /// it stood still.
    pub fn step(self) -> Option<u64> {
        let mut readings = [0; 500];
        readings.fill_with(|| self.read());
        smallest_step(&readings)
    }

    /// Whether this process may read it: reading a forbidden counter would end it.
    pub fn is_readable(self) -> bool {
        self != ClockSource::Counter || !crate::workloads::process::counter_forbidden()
    }

    /// Reads it once: ticks of the counter, nanoseconds of the others.
    #[inline(always)]
    pub fn read(self) -> u64 {
        match self {
            ClockSource::Counter => read_counter(),
            ClockSource::Monotonic => monotonic_ns(),
            ClockSource::MonotonicRaw => monotonic_raw_ns(),
            ClockSource::Syscall => monotonic_by_syscall().unwrap_or(0),
        }
    }
}

#[inline(always)]
fn monotonic_by_syscall() -> io::Result<u64> {
    let mut now = [0_i64; 2];
    match arch::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) {
        0 => Ok(now[0] as u64 * 1_000_000_000 + now[1] as u64),
        error => Err(named("clock_gettime", io::Error::from_raw_os_error(-error as i32))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_goes_forward() {
        for name in ["tsc", "monotonic", "monotonic_raw", "syscall"] {
            let source = ClockSource::of_name(name).unwrap();
            let first = source.read();
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(source.read() > first, "{name}");
        }
    }

    #[test]
    fn the_instruction_and_the_vdso_read_one_clock() {
        let before = ClockSource::Monotonic.read();
        let between = ClockSource::Syscall.read();
        let after = ClockSource::Monotonic.read();
        assert!((before..=after).contains(&between));
    }
}
