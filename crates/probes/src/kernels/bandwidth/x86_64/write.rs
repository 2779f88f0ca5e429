//! Write kernels: stores of a register pattern that grows by a step from chunk to chunk.

use std::arch::asm;

use super::{has_avx2, has_avx512};

write_kernel!(
    /// 64-bit stores.
    scalar,
    before [],
    stores [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "mov [rsi + \\i * 32], rax",
        "mov [rsi + \\i * 32 + 8], rax",
        "mov [rsi + \\i * 32 + 16], rax",
        "mov [rsi + \\i * 32 + 24], rax",
        ".endr",
        "add rax, r8"
    ],
    after []
);

/// 16-byte stores by the instruction given.
macro_rules! sse2_stores {
    ($store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            $store,
            " [rsi + \\i * 32], xmm0\n",
            $store,
            " [rsi + \\i * 32 + 16], xmm0\n",
            ".endr\n",
            "paddq xmm0, xmm1"
        )
    };
}

/// 32-byte stores by the instruction given.
macro_rules! avx2_stores {
    ($store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            $store,
            " [rsi + \\i * 32], ymm0\n",
            ".endr\n",
            "vpaddq ymm0, ymm0, ymm1"
        )
    };
}

/// 64-byte stores by the instruction given.
macro_rules! avx512_stores {
    ($store:literal) => {
        concat!(".irp i,0,1,2,3,4,5,6,7\n", $store, " [rsi + \\i * 64], zmm0\n", ".endr\n", "vpaddq zmm0, zmm0, zmm1")
    };
}

write_kernel!(
    /// 16-byte stores.
    sse2,
    before ["movq xmm0, rax", "punpcklqdq xmm0, xmm0", "movq xmm1, r8", "punpcklqdq xmm1, xmm1"],
    stores [sse2_stores!("movdqa")],
    after []
);

write_kernel!(
    /// 32-byte stores.
    avx2,
    before ["vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0", "vmovq xmm1, r8", "vpbroadcastq ymm1, xmm1"],
    stores [avx2_stores!("vmovdqa")],
    after ["vzeroupper"]
);

write_kernel!(
    /// 64-byte stores.
    avx512,
    before ["vpbroadcastq zmm0, rax", "vpbroadcastq zmm1, r8"],
    stores [avx512_stores!("vmovdqa64")],
    after ["vzeroupper"]
);

write_kernel!(
    /// 32-byte stores behind a prefetch for writing, 1 KiB ahead: it asks for lines sooner than the store buffer can.
    avx2_prefetch,
    before ["vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0", "vmovq xmm1, r8", "vpbroadcastq ymm1, xmm1"],
    stores [".irp i,0,1,2,3,4,5,6,7", "prefetchw [rsi + \\i * 64 + 1024]", ".endr", avx2_stores!("vmovdqa")],
    after ["vzeroupper"]
);

write_kernel!(
    /// 16-byte stores past the caches.
    nt_sse2,
    before ["movq xmm0, rax", "punpcklqdq xmm0, xmm0", "movq xmm1, r8", "punpcklqdq xmm1, xmm1"],
    stores [sse2_stores!("movntdq")],
    after ["sfence"]
);

write_kernel!(
    /// 32-byte stores past the caches.
    nt_avx2,
    before ["vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0", "vmovq xmm1, r8", "vpbroadcastq ymm1, xmm1"],
    stores [avx2_stores!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

write_kernel!(
    /// 64-byte stores past the caches.
    nt_avx512,
    before ["vpbroadcastq zmm0, rax", "vpbroadcastq zmm1, r8"],
    stores [avx512_stores!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

/// Writes the four quarters of the memory side by side, with 32-byte stores behind a prefetch for writing, 512 bytes
/// ahead in each. The pattern grows by its step each 128 bytes of a quarter.
///
/// # Safety
/// As of the other kernels.
pub(super) unsafe fn avx2_streams(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
    let quarter = bytes / 4;
    // SAFETY: stores stay between start and end, as a quarter of whole chunks is a whole number of turns of 128 bytes;
    // `clobber_abi` covers all vector registers, whose upper parts are left zero.
    unsafe {
        asm!(
            "vmovq xmm0, rax",
            "vpbroadcastq ymm0, xmm0",
            "vmovq xmm1, r10",
            "vpbroadcastq ymm1, xmm1",
            ".p2align 6",
            "2:",
            ".irp i,0,1",
            "prefetchw [rsi + \\i * 64 + 512]",
            "prefetchw [rsi + r8 + \\i * 64 + 512]",
            "prefetchw [rsi + r8 * 2 + \\i * 64 + 512]",
            "prefetchw [rsi + r9 + \\i * 64 + 512]",
            ".endr",
            ".irp i,0,1,2,3",
            "vmovdqa [rsi + \\i * 32], ymm0",
            ".endr",
            ".irp i,0,1,2,3",
            "vmovdqa [rsi + r8 + \\i * 32], ymm0",
            ".endr",
            ".irp i,0,1,2,3",
            "vmovdqa [rsi + r8 * 2 + \\i * 32], ymm0",
            ".endr",
            ".irp i,0,1,2,3",
            "vmovdqa [rsi + r9 + \\i * 32], ymm0",
            ".endr",
            "vpaddq ymm0, ymm0, ymm1",
            next_chunk!("128", end "rdx", turns "rcx", "rsi" from "rdi"),
            "vzeroupper",
            inout("rsi") start => _,
            inout("rdi") start => _,
            inout("rdx") start.wrapping_add(quarter) => _,
            inout("rcx") (quarter / 128) as u64 * passes => _,
            inout("r8") quarter => _,
            inout("r9") quarter * 3 => _,
            inout("rax") word => _,
            inout("r10") step => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
}

/// Stores past the caches, the widest that this CPU has, and waits until they are out.
///
/// # Safety
/// As of the other kernels, but any CPU will do.
pub(super) unsafe fn nt(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
    // SAFETY: the caller keeps the same promises, and the CPU has what is chosen.
    unsafe {
        match (has_avx512(), has_avx2()) {
            (true, _) => nt_avx512(start, bytes, passes, word, step),
            (_, true) => nt_avx2(start, bytes, passes, word, step),
            _ => nt_sse2(start, bytes, passes, word, step),
        }
    }
}

/// `rep stosb`, each pass with the lowest byte of its word.
///
/// # Safety
/// `bytes` bytes must be writable from `start`.
pub(super) unsafe fn rep(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
    let mut word = word;
    for _ in 0..passes {
        // SAFETY: the bytes are writable, as the caller promises, and the direction flag is clear on entry to asm.
        unsafe {
            asm!(
                "rep stosb",
                inout("rdi") start => _,
                inout("rcx") bytes => _,
                in("al") word as u8,
                options(nostack, preserves_flags),
            );
        }
        word = word.wrapping_add(step);
    }
}
