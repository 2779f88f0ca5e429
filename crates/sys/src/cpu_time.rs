//! The CPU time of this process and of its children.

use std::io;

use super::call::named;

/// CPU time of this process and of all children that it has waited for, theirs among it, ns.
pub fn of_all_own() -> io::Result<u64> {
    Ok(usage_ns(libc::RUSAGE_SELF)? + usage_ns(libc::RUSAGE_CHILDREN)?)
}

fn usage_ns(whose: libc::c_int) -> io::Result<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage that the kernel fills.
    if unsafe { libc::getrusage(whose, usage.as_mut_ptr()) } != 0 {
        return Err(named("getrusage", io::Error::last_os_error()));
    }
    // SAFETY: zeroed is a valid rusage, and the call filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok(ns(usage.ru_utime) + ns(usage.ru_stime))
}
