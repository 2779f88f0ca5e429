//! The system-call instruction of aarch64.

use std::arch::asm;

/// clock_gettime(2) by the instruction; 0 or a negative error number.
#[inline(always)]
pub(super) fn clock_gettime(clock: libc::clockid_t, now: &mut [i64; 2]) -> i64 {
    let result: i64;
    // SAFETY: the kernel writes one timespec, two 64-bit words, to `now`; x0 is declared.
    unsafe {
        asm!(
            "svc 0",
            in("x8") libc::SYS_clock_gettime,
            inlateout("x0") i64::from(clock) => result,
            in("x1") now.as_mut_ptr(),
            options(nostack)
        );
    }
    result
}

/// read(2) or write(2) by the instruction: bytes moved, or a negative error number. `buffer` holds `bytes` bytes.
#[inline(always)]
pub(super) fn transfer(number: libc::c_long, file: libc::c_int, buffer: *mut u8, bytes: usize) -> i64 {
    let result: i64;
    // SAFETY: the kernel reads or writes at most `bytes` bytes of `buffer`, which the callers own; x0 is declared.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") i64::from(file) => result,
            in("x1") buffer,
            in("x2") bytes,
            options(nostack)
        );
    }
    result
}

/// A call without arguments that touches no memory of ours.
#[inline(always)]
pub(super) fn call0(number: libc::c_long) -> i64 {
    let result: i64;
    // SAFETY: only getppid and its like are called through this; svc writes x0, which is declared.
    unsafe {
        asm!("svc 0", in("x8") number, lateout("x0") result, options(nostack));
    }
    result
}
