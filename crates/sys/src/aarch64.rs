//! The system-call instruction of aarch64.

use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// futex(2) on `word`, to wait or to wake, without a time-out: its result, or a negative error number. Never inlined, so that
/// who waits or wakes pays for a return after it, as behind a library's function.
#[inline(never)]
pub(super) fn futex(word: &AtomicU32, operation: libc::c_int, value: u32) -> i64 {
    let result: i64;
    // SAFETY: the kernel reads at most the word, and no time-out is given; x0 is declared.
    unsafe {
        asm!(
            "svc 0",
            in("x8") libc::SYS_futex,
            inlateout("x0") word.as_ptr() as usize => result,
            in("x1") operation as usize,
            in("x2") value as usize,
            in("x3") 0_usize,
            in("x4") 0_usize,
            in("x5") 0_usize,
            options(nostack)
        );
    }
    result
}
