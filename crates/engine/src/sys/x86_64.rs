//! The system-call instruction of x86_64.

use std::arch::asm;

/// clock_gettime(2) by the instruction; 0 or a negative error number.
#[inline(always)]
pub(super) fn clock_gettime(clock: libc::clockid_t, now: &mut [i64; 2]) -> i64 {
    let result: i64;
    // SAFETY: the kernel writes one timespec, two 64-bit words, to `now`; rax, rcx and r11 are declared.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_gettime => result,
            in("rdi") i64::from(clock),
            in("rsi") now.as_mut_ptr(),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// read(2) or write(2) by the instruction: bytes moved, or a negative error number. `buffer` holds `bytes` bytes.
#[inline(always)]
pub(super) fn transfer(number: libc::c_long, file: libc::c_int, buffer: *mut u8, bytes: usize) -> i64 {
    let result: i64;
    // SAFETY: the kernel reads or writes at most `bytes` bytes of `buffer`, which the callers own; rax, rcx and r11 are
    // declared.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") i64::from(file),
            in("rsi") buffer,
            in("rdx") bytes,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// A call without arguments that touches no memory of ours.
#[inline(always)]
pub(super) fn call0(number: libc::c_long) -> i64 {
    let result: i64;
    // SAFETY: only getppid and its like are called through this; syscall writes rax, rcx and r11, all declared.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}
