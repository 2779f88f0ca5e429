//! The CPU time of this process and of its children.

use std::io;

use super::counters::usage_of;

/// CPU time of this process and of all children that it has waited for, theirs among it, ns.
pub fn of_all_own() -> io::Result<u64> {
    Ok(usage_ns(libc::RUSAGE_SELF)? + usage_ns(libc::RUSAGE_CHILDREN)?)
}

fn usage_ns(whose: libc::c_int) -> io::Result<u64> {
    let usage = usage_of(whose)?;
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok(ns(usage.ru_utime) + ns(usage.ru_stime))
}
