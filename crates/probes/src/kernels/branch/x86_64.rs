//! The branch in x86-64 instructions.

use std::arch::asm;

use super::AHEAD;

/// Goes through the branch `n` times, `n` not zero, first as `first` says and then on from index `at`, inside of the
/// directions; gives how often it was not taken.
pub(super) fn branch(directions: &[u8], first: [u8; AHEAD], at: usize, n: u64) -> u64 {
    let bytes = directions.as_ptr_range();
    let mut count: u64 = 0;
    // SAFETY: reads stay inside the slice, as `at` does and the pointer wraps at its end; the loop ends when its counter
    // is zero. The encodings are chosen so that no jump crosses 32 bytes of code: some cores decode such a one slowly.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "mov r9d, r10d",
            "mov r10d, r11d",
            "mov r11d, eax",
            "movzx eax, byte ptr [rsi]",
            "add rsi, 1",
            "cmp rsi, rdx",
            "cmove rsi, rdi",
            "test r9d, r9d",
            "jz 3f",
            "add r8, 1",
            "3:",
            "dec rcx",
            "jnz 2b",
            inout("rsi") bytes.start.wrapping_add(at) => _,
            inout("rcx") n => _,
            inout("r8") count,
            in("rdx") bytes.end,
            in("rdi") bytes.start,
            out("r9") _,
            inout("r10") u64::from(first[0]) => _,
            inout("r11") u64::from(first[1]) => _,
            inout("rax") u64::from(first[2]) => _,
            options(readonly, nostack),
        );
    }
    count
}
