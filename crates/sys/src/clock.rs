//! The kernel's clocks through the vDSO, and sleeps by them.

use std::io;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::call::Call;

/// Sleeps for so long. Where the kernel refuses, at which the standard library's function panics, other threads run until then.
pub fn sleep(time: Duration) {
    let due = monotonic_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    while monotonic_ns() < due {
        if sleep_until(due).is_err() {
            std::thread::yield_now();
        }
    }
}

/// Sleeps until CLOCK_MONOTONIC says `due` ns, or not at all where it says more.
pub fn sleep_until(due: u64) -> io::Result<()> {
    let at = Timespec { tv_sec: (due / 1_000_000_000) as i64, tv_nsec: (due % 1_000_000_000) as i64 };
    rustix::io::retry_on_intr(|| rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &at))
        .call("clock_nanosleep")
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
#[inline]
pub fn monotonic_raw_ns() -> u64 {
    now_ns(ClockId::MonotonicRaw)
}

/// `CLOCK_MONOTONIC` in nanoseconds: the same on every CPU.
#[inline]
pub fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}

#[inline]
fn now_ns(id: ClockId) -> u64 {
    let now = clock_gettime(id);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
