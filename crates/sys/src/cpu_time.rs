//! The CPU time of this process and of its children.

use std::io;

use super::call::named;
use super::counters::usage_of;

/// CPU time of this process and of all children that it has waited for, theirs among it, ns.
pub fn of_all_own() -> io::Result<u64> {
    Ok(usage_ns(libc::RUSAGE_SELF)? + usage_ns(libc::RUSAGE_CHILDREN)?)
}

/// CPU time of this process alone, ns. The kernel splits what getrusage(2) tells by ticks where it does not count each switch;
/// this clock never does.
#[inline]
pub fn of_process() -> io::Result<u64> {
    of_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread, ns.
pub fn of_thread() -> io::Result<u64> {
    of_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of another process, up to now.
pub fn of_other(pid: u32) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: the library writes one number.
    match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) } {
        0 => of_clock(clock),
        error => Err(named("clock_getcpuclockid", io::Error::from_raw_os_error(error))),
    }
}

#[inline]
fn of_clock(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec. (rustix's function takes the call for one that cannot fail.)
    match unsafe { libc::clock_gettime(clock, &raw mut time) } {
        0 => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        _ => Err(named("clock_gettime", io::Error::last_os_error())),
    }
}

/// CPU time of this process in user code, ns: to microseconds, and where the kernel does not count each entry into it, shared out
/// by its ticks.
pub fn user_of_process() -> io::Result<u64> {
    Ok(ns(usage_of(libc::RUSAGE_SELF)?.ru_utime))
}

fn usage_ns(whose: libc::c_int) -> io::Result<u64> {
    let usage = usage_of(whose)?;
    Ok(ns(usage.ru_utime) + ns(usage.ru_stime))
}

fn ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}
