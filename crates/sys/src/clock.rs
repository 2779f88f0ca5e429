//! The kernel's clocks through the vDSO.

use rustix::time::{ClockId, clock_gettime};

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
