//! Copy kernels: loads, each followed by the store of what it brought.

use std::arch::asm;

use super::{has_avx2, has_avx512};

/// 16-byte loads, and stores by the instruction given.
macro_rules! sse2_moves {
    ($store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "movdqa xmm\\i, [rsi + \\i * 16]\n",
            $store,
            " [rdi + \\i * 16], xmm\\i\n",
            ".endr\n",
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "movdqa xmm\\i, [rsi + \\i * 16 + 256]\n",
            $store,
            " [rdi + \\i * 16 + 256], xmm\\i\n",
            ".endr"
        )
    };
}

/// 32-byte loads, and stores by the instruction given.
macro_rules! avx2_moves {
    ($store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "vmovdqa ymm\\i, [rsi + \\i * 32]\n",
            $store,
            " [rdi + \\i * 32], ymm\\i\n",
            ".endr"
        )
    };
}

/// 64-byte loads, and stores by the instruction given.
macro_rules! avx512_moves {
    ($store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7\n",
            "vmovdqa64 zmm\\i, [rsi + \\i * 64]\n",
            $store,
            " [rdi + \\i * 64], zmm\\i\n",
            ".endr"
        )
    };
}

copy_kernel!(
    /// 64-bit loads and stores.
    scalar,
    moves [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "mov rax, [rsi + \\i * 32]",
        "mov [rdi + \\i * 32], rax",
        "mov rax, [rsi + \\i * 32 + 8]",
        "mov [rdi + \\i * 32 + 8], rax",
        "mov rax, [rsi + \\i * 32 + 16]",
        "mov [rdi + \\i * 32 + 16], rax",
        "mov rax, [rsi + \\i * 32 + 24]",
        "mov [rdi + \\i * 32 + 24], rax",
        ".endr"
    ],
    after []
);

copy_kernel!(
    /// 16-byte loads and stores.
    sse2,
    moves [sse2_moves!("movdqa")],
    after []
);

copy_kernel!(
    /// 32-byte loads and stores.
    avx2,
    moves [avx2_moves!("vmovdqa")],
    after ["vzeroupper"]
);

copy_kernel!(
    /// 64-byte loads and stores.
    avx512,
    moves [avx512_moves!("vmovdqa64")],
    after ["vzeroupper"]
);

copy_kernel!(
    /// 32-byte loads and stores behind a prefetch for writing, 512 bytes ahead: the source is left to the hardware.
    avx2_prefetch,
    moves [".irp i,0,1,2,3,4,5,6,7", "prefetchw [rdi + \\i * 64 + 512]", ".endr", avx2_moves!("vmovdqa")],
    after ["vzeroupper"]
);

copy_kernel!(
    /// 16-byte loads, and stores past the caches.
    nt_sse2,
    moves [sse2_moves!("movntdq")],
    after ["sfence"]
);

copy_kernel!(
    /// 32-byte loads, and stores past the caches.
    nt_avx2,
    moves [avx2_moves!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

copy_kernel!(
    /// 64-byte loads, and stores past the caches.
    nt_avx512,
    moves [avx512_moves!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

/// Copies past the caches, with the widest stores that this CPU has, and waits until they are out.
///
/// # Safety
/// As of the other kernels, but any CPU will do.
pub(super) unsafe fn nt(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
    // SAFETY: the caller keeps the same promises, and the CPU has what is chosen.
    unsafe {
        match (has_avx512(), has_avx2()) {
            (true, _) => nt_avx512(destination, source, bytes, passes),
            (_, true) => nt_avx2(destination, source, bytes, passes),
            _ => nt_sse2(destination, source, bytes, passes),
        }
    }
}

/// `rep movsb`.
///
/// # Safety
/// `bytes` bytes must be readable from `source` and writable from `destination`, which are apart.
pub(super) unsafe fn rep(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
    for _ in 0..passes {
        // SAFETY: the bytes are valid, as the caller promises, and the direction flag is clear on entry to asm.
        unsafe {
            asm!(
                "rep movsb",
                inout("rdi") destination => _,
                inout("rsi") source => _,
                inout("rcx") bytes => _,
                options(nostack, preserves_flags),
            );
        }
    }
}
