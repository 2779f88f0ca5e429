//! System calls by the instruction itself, and what else only instructions can do.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

use machine::system_call;
pub(super) use machine::{cpuid, new_stack, permit_port, switch, write_port};

/// clock_gettime(2) by the instruction; 0 or a negative error number.
#[inline(always)]
pub(super) fn clock_gettime(clock: libc::clockid_t, now: &mut [i64; 2]) -> i64 {
    // SAFETY: the kernel writes one timespec, two 64-bit words, to `now`.
    unsafe { system_call!(libc::SYS_clock_gettime, i64::from(clock), now.as_mut_ptr()) }
}

/// read(2) or write(2) by the instruction: bytes moved, or a negative error number. `buffer` holds `bytes` bytes.
#[inline(always)]
pub(super) fn transfer(number: libc::c_long, file: libc::c_int, buffer: *mut u8, bytes: usize) -> i64 {
    // SAFETY: the kernel reads or writes at most `bytes` bytes of `buffer`, which the callers own.
    unsafe { system_call!(number, i64::from(file), buffer, bytes) }
}

/// A call without arguments that touches no memory of ours.
#[inline(always)]
pub(super) fn call0(number: libc::c_long) -> i64 {
    // SAFETY: only getppid and its like are called through this.
    unsafe { system_call!(number) }
}

/// Any call, by the instruction: its result, or a negative error number.
///
/// # Safety
/// The arguments must be what the kernel expects of `number`, and what they point to must be valid for it.
#[inline(always)]
pub(super) unsafe fn call(number: libc::c_long, [a, b, c, d, e, f]: [usize; 6]) -> i64 {
    // SAFETY: the caller's.
    unsafe { system_call!(number, a, b, c, d, e, f) }
}
