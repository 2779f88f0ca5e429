//! The branch in x86-64 instructions.

use std::arch::asm;

/// Goes through the branch `n` times, `n` not zero; gives how often it was taken and the next index.
pub(super) fn branch(directions: &[u8], from: usize, n: u64) -> (u64, usize) {
    let bytes = directions.as_ptr_range();
    let mut at = bytes.start.wrapping_add(from);
    let mut count: u64 = 0;
    // SAFETY: reads stay inside the slice, as `from` does and the pointer wraps at its end; the loop ends when its
    // counter is zero. Both jumps lie within 32 bytes of code: some cores decode a jump across such a border slowly.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "movzx eax, byte ptr [rsi]",
            "inc rsi",
            "cmp rsi, rdx",
            "cmove rsi, rdi",
            "test al, al",
            "jz 3f",
            "inc r8",
            "3:",
            "dec rcx",
            "jnz 2b",
            inout("rsi") at,
            inout("rcx") n => _,
            inout("r8") count,
            in("rdx") bytes.end,
            in("rdi") bytes.start,
            out("rax") _,
            options(readonly, nostack),
        );
    }
    (count, at.addr() - bytes.start.addr())
}
