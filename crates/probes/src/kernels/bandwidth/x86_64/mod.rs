//! The bandwidth kernels of x86-64: tables, and which of them this CPU can run.

mod read;

use std::arch::{asm, is_x86_feature_detected};

use super::{CopyKernel, Reach, ReadKernel, WriteKernel, always, copy_by_libc, write_by_libc};

fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

pub(super) static READS: &[ReadKernel] = &[
    ReadKernel { name: "scalar", is_available: always, run: read::scalar },
    ReadKernel { name: "sse2", is_available: always, run: read::sse2 },
    ReadKernel { name: "avx2", is_available: has_avx2, run: read::avx2 },
    ReadKernel { name: "avx512", is_available: has_avx512, run: read::avx512 },
    ReadKernel { name: "avx512-descending", is_available: has_avx512, run: read::avx512_descending },
    ReadKernel { name: "avx2-streams", is_available: has_avx2, run: read::avx2_streams },
    ReadKernel { name: "nt", is_available: always, run: read::nt },
];

pub(super) static WRITES: &[WriteKernel] = &[
    WriteKernel { name: "scalar", is_available: always, run: write_scalar },
    WriteKernel { name: "sse2", is_available: always, run: write_sse2 },
    WriteKernel { name: "avx2", is_available: has_avx2, run: write_avx2 },
    WriteKernel { name: "avx512", is_available: has_avx512, run: write_avx512 },
    WriteKernel { name: "avx2-prefetch", is_available: has_avx2, run: write_avx2_prefetch },
    WriteKernel { name: "avx2-streams", is_available: has_avx2, run: write_avx2_streams },
    WriteKernel { name: "nt", is_available: always, run: write_nt },
    WriteKernel { name: "rep", is_available: always, run: write_rep },
    WriteKernel { name: "libc", is_available: always, run: write_by_libc },
];

pub(super) static COPIES: &[CopyKernel] = &[
    CopyKernel { name: "scalar", is_available: always, run: copy_scalar },
    CopyKernel { name: "sse2", is_available: always, run: copy_sse2 },
    CopyKernel { name: "avx2", is_available: has_avx2, run: copy_avx2 },
    CopyKernel { name: "avx512", is_available: has_avx512, run: copy_avx512 },
    CopyKernel { name: "avx2-prefetch", is_available: has_avx2, run: copy_avx2_prefetch },
    CopyKernel { name: "nt", is_available: always, run: copy_nt },
    CopyKernel { name: "rep", is_available: always, run: copy_rep },
    CopyKernel { name: "libc", is_available: always, run: copy_by_libc },
];

// The order of preference, as measured on Cascade Lake. AVX-512 doubles AVX2 in the first cache, though the core clock
// falls from 3.1 to 2.7 GHz for it; its plain stores lose to AVX2's from the third cache on (6.3 against 8.3 GB/s in
// memory), where the prefetch for writing counts (11 GB/s), and four streams more so (12 GB/s).

pub(super) fn best_reads(reach: Reach) -> &'static [&'static str] {
    match reach {
        Reach::FirstCache => &["avx512", "avx2", "sse2"],
        Reach::Caches => &["avx512", "avx2", "sse2"],
        Reach::Memory => &["avx2-streams", "sse2"],
    }
}

pub(super) fn best_writes(reach: Reach) -> &'static [&'static str] {
    match reach {
        Reach::FirstCache => &["avx512", "avx2", "sse2"],
        Reach::Caches => &["avx2-prefetch", "sse2"],
        Reach::Memory => &["avx2-streams", "sse2"],
    }
}

pub(super) fn best_copies(reach: Reach) -> &'static [&'static str] {
    match reach {
        Reach::FirstCache => &["avx512", "avx2", "sse2"],
        Reach::Caches | Reach::Memory => &["avx2-prefetch", "sse2"],
    }
}

write_kernel!(
    /// 64-bit stores.
    write_scalar,
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
    write_sse2,
    before ["movq xmm0, rax", "punpcklqdq xmm0, xmm0", "movq xmm1, r8", "punpcklqdq xmm1, xmm1"],
    stores [sse2_stores!("movdqa")],
    after []
);

write_kernel!(
    /// 32-byte stores.
    write_avx2,
    before ["vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0", "vmovq xmm1, r8", "vpbroadcastq ymm1, xmm1"],
    stores [avx2_stores!("vmovdqa")],
    after ["vzeroupper"]
);

write_kernel!(
    /// 64-byte stores.
    write_avx512,
    before ["vpbroadcastq zmm0, rax", "vpbroadcastq zmm1, r8"],
    stores [avx512_stores!("vmovdqa64")],
    after ["vzeroupper"]
);

write_kernel!(
    /// 32-byte stores behind a prefetch for writing, 1 KiB ahead: it asks for lines sooner than the store buffer can.
    write_avx2_prefetch,
    before ["vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0", "vmovq xmm1, r8", "vpbroadcastq ymm1, xmm1"],
    stores [".irp i,0,1,2,3,4,5,6,7", "prefetchw [rsi + \\i * 64 + 1024]", ".endr", avx2_stores!("vmovdqa")],
    after ["vzeroupper"]
);

write_kernel!(
    /// 16-byte stores past the caches.
    write_nt_sse2,
    before ["movq xmm0, rax", "punpcklqdq xmm0, xmm0", "movq xmm1, r8", "punpcklqdq xmm1, xmm1"],
    stores [sse2_stores!("movntdq")],
    after ["sfence"]
);

write_kernel!(
    /// 32-byte stores past the caches.
    write_nt_avx2,
    before ["vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0", "vmovq xmm1, r8", "vpbroadcastq ymm1, xmm1"],
    stores [avx2_stores!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

write_kernel!(
    /// 64-byte stores past the caches.
    write_nt_avx512,
    before ["vpbroadcastq zmm0, rax", "vpbroadcastq zmm1, r8"],
    stores [avx512_stores!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

/// Writes the four quarters of the memory side by side, with 32-byte stores behind a prefetch for writing, 512 bytes
/// ahead in each. The pattern grows by its step each 128 bytes of a quarter.
///
/// # Safety
/// As of the other kernels.
pub(super) unsafe fn write_avx2_streams(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
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
pub(super) unsafe fn write_nt(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
    // SAFETY: the caller keeps the same promises, and the CPU has what is chosen.
    unsafe {
        match (has_avx512(), has_avx2()) {
            (true, _) => write_nt_avx512(start, bytes, passes, word, step),
            (_, true) => write_nt_avx2(start, bytes, passes, word, step),
            _ => write_nt_sse2(start, bytes, passes, word, step),
        }
    }
}

/// `rep stosb`, each pass with the lowest byte of its word.
///
/// # Safety
/// `bytes` bytes must be writable from `start`.
pub(super) unsafe fn write_rep(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
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
    copy_scalar,
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
    copy_sse2,
    moves [sse2_moves!("movdqa")],
    after []
);

copy_kernel!(
    /// 32-byte loads and stores.
    copy_avx2,
    moves [avx2_moves!("vmovdqa")],
    after ["vzeroupper"]
);

copy_kernel!(
    /// 64-byte loads and stores.
    copy_avx512,
    moves [avx512_moves!("vmovdqa64")],
    after ["vzeroupper"]
);

copy_kernel!(
    /// 32-byte loads and stores behind a prefetch for writing, 512 bytes ahead: the source is left to the hardware.
    copy_avx2_prefetch,
    moves [".irp i,0,1,2,3,4,5,6,7", "prefetchw [rdi + \\i * 64 + 512]", ".endr", avx2_moves!("vmovdqa")],
    after ["vzeroupper"]
);

copy_kernel!(
    /// 16-byte loads, and stores past the caches.
    copy_nt_sse2,
    moves [sse2_moves!("movntdq")],
    after ["sfence"]
);

copy_kernel!(
    /// 32-byte loads, and stores past the caches.
    copy_nt_avx2,
    moves [avx2_moves!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

copy_kernel!(
    /// 64-byte loads, and stores past the caches.
    copy_nt_avx512,
    moves [avx512_moves!("vmovntdq")],
    after ["vzeroupper", "sfence"]
);

/// Copies past the caches, with the widest stores that this CPU has, and waits until they are out.
///
/// # Safety
/// As of the other kernels, but any CPU will do.
pub(super) unsafe fn copy_nt(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
    // SAFETY: the caller keeps the same promises, and the CPU has what is chosen.
    unsafe {
        match (has_avx512(), has_avx2()) {
            (true, _) => copy_nt_avx512(destination, source, bytes, passes),
            (_, true) => copy_nt_avx2(destination, source, bytes, passes),
            _ => copy_nt_sse2(destination, source, bytes, passes),
        }
    }
}

/// `rep movsb`.
///
/// # Safety
/// `bytes` bytes must be readable from `source` and writable from `destination`, which are apart.
pub(super) unsafe fn copy_rep(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
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
