//! The system-call instruction of x86_64.

use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// futex(2) on `word`, to wait or to wake, without a time-out: its result, or a negative error number. Never inlined, so that
/// who waits or wakes pays for a return after it, as behind a library's function.
#[inline(never)]
pub(super) fn futex(word: &AtomicU32, operation: libc::c_int, value: u32) -> i64 {
    let result: i64;
    // SAFETY: the kernel reads at most the word, and no time-out is given; rax, rcx and r11 are declared.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_futex => result,
            in("rdi") word.as_ptr(),
            in("rsi") operation as usize,
            in("rdx") value as usize,
            in("r10") 0_usize,
            in("r8") 0_usize,
            in("r9") 0_usize,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}
