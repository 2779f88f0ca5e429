//! Read kernels: loads into registers that nothing waits for, so that the load ports and the memory set the pace.

use std::arch::asm;

use super::{has_avx2, has_avx512};

read_kernel!(
    /// 64-bit loads, added up: the checksum is the sum of all words read.
    scalar,
    chunk 512,
    before ["xor eax, eax", "xor r8d, r8d", "xor r9d, r9d", "xor r10d, r10d"],
    loads [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "add rax, [rsi + \\i * 32]",
        "add r8, [rsi + \\i * 32 + 8]",
        "add r9, [rsi + \\i * 32 + 16]",
        "add r10, [rsi + \\i * 32 + 24]",
        ".endr"
    ],
    after ["add rax, r8", "add r9, r10", "add rax, r9"]
);

/// 16-byte loads, each into a register of its own.
macro_rules! sse2_loads {
    () => {
        concat!(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", "movdqa xmm\\i, [rsi + \\i * 16]\n", ".endr")
    };
}

/// All 16-byte registers, folded by exclusive or.
macro_rules! sse2_checksum {
    () => {
        concat!(
            ".irp i,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "pxor xmm0, xmm\\i\n",
            ".endr\n",
            "pshufd xmm1, xmm0, 0x4e\n",
            "pxor xmm0, xmm1\n",
            "movq rax, xmm0"
        )
    };
}

/// 32-byte loads, each into a register of its own.
macro_rules! avx2_loads {
    () => {
        concat!(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", "vmovdqa ymm\\i, [rsi + \\i * 32]\n", ".endr")
    };
}

/// All 32-byte registers, folded by exclusive or.
macro_rules! avx2_checksum {
    () => {
        concat!(
            ".irp i,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "vpxor ymm0, ymm0, ymm\\i\n",
            ".endr\n",
            "vextracti128 xmm1, ymm0, 1\n",
            "vpxor xmm0, xmm0, xmm1\n",
            "vpshufd xmm1, xmm0, 0x4e\n",
            "vpxor xmm0, xmm0, xmm1\n",
            "vmovq rax, xmm0\n",
            "vzeroupper"
        )
    };
}

/// 64-byte loads, each into a register of its own.
macro_rules! avx512_loads {
    () => {
        concat!(".irp i,0,1,2,3,4,5,6,7\n", "vmovdqa64 zmm\\i, [rsi + \\i * 64]\n", ".endr")
    };
}

/// The first of the 64-byte registers and these, folded by exclusive or.
macro_rules! avx512_checksum {
    ($others:literal) => {
        concat!(
            ".irp i,",
            $others,
            "\n",
            "vpxorq zmm0, zmm0, zmm\\i\n",
            ".endr\n",
            "vextracti64x4 ymm1, zmm0, 1\n",
            "vpxor ymm0, ymm0, ymm1\n",
            "vextracti128 xmm1, ymm0, 1\n",
            "vpxor xmm0, xmm0, xmm1\n",
            "vpshufd xmm1, xmm0, 0x4e\n",
            "vpxor xmm0, xmm0, xmm1\n",
            "vmovq rax, xmm0\n",
            "vzeroupper"
        )
    };
}

read_kernel!(
    /// 16-byte loads.
    sse2,
    chunk 256,
    before [],
    loads [sse2_loads!()],
    after [sse2_checksum!()]
);

read_kernel!(
    /// 32-byte loads.
    avx2,
    chunk 512,
    before [],
    loads [avx2_loads!()],
    after [avx2_checksum!()]
);

/// A 64-byte load of each of these lines of a turn, each into a register of its own.
macro_rules! avx512_quarter {
    ($($at:literal),*) => {
        concat!($("vmovdqa64 zmm", $at, ", [rsi + ", $at, " * 64]\n"),*)
    };
}

/// 64-byte loads, four a turn, upwards.
///
/// Four and not eight: a load whose address moves on by 256 bytes a turn is one that the first cache's prefetcher can
/// follow, which brings 3 % in the second cache of Cascade Lake and loses nothing in the first.
///
/// # Safety
/// As of the other kernels.
pub(super) unsafe fn avx512(start: *const u8, bytes: usize, passes: u64) -> u64 {
    let checksum: u64;
    // SAFETY: loads stay between start and end, as a chunk is two turns of 256 bytes; `clobber_abi` covers all vector
    // registers, whose upper parts are left zero.
    unsafe {
        asm!(
            "2:",
            "mov rsi, rdi",
            ".p2align 5",
            "3:",
            avx512_quarter!(0, 1, 2, 3),
            "add rsi, 256",
            "cmp rsi, rdx",
            "jb 3b",
            count_down!("rcx", "2b"),
            avx512_checksum!("1,2,3"),
            out("rsi") _,
            in("rdi") start,
            in("rdx") start.wrapping_add(bytes),
            inout("rcx") passes => _,
            out("rax") checksum,
            clobber_abi("sysv64"),
            options(readonly, nostack),
        );
    }
    checksum
}

/// 64-byte loads, four a turn, downwards: on Cascade Lake 2 % over upwards in the second cache, and as much in the first;
/// in memory 3 % less.
///
/// # Safety
/// As of the other kernels.
pub(super) unsafe fn avx512_descending(start: *const u8, bytes: usize, passes: u64) -> u64 {
    let checksum: u64;
    // SAFETY: loads stay between start and end, as a chunk is two turns of 256 bytes; `clobber_abi` covers all vector
    // registers, whose upper parts are left zero.
    unsafe {
        asm!(
            "2:",
            "mov rsi, rdx",
            ".p2align 5",
            "3:",
            avx512_quarter!(3, 2, 1, 0),
            "sub rsi, 256",
            "cmp rsi, rdi",
            "jae 3b",
            count_down!("rcx", "2b"),
            avx512_checksum!("1,2,3"),
            out("rsi") _,
            in("rdi") start,
            in("rdx") start.wrapping_add(bytes).wrapping_sub(256),
            inout("rcx") passes => _,
            out("rax") checksum,
            clobber_abi("sysv64"),
            options(readonly, nostack),
        );
    }
    checksum
}

/// Distance of the non-temporal read's prefetches, in bytes: nearer and it waits, farther and lines are dropped again.
macro_rules! nt_ahead {
    () => {
        "512"
    };
}

read_kernel!(
    /// 16-byte loads behind a prefetch that asks the caches to keep nothing.
    nt_sse2,
    chunk 256,
    before [],
    loads [
        ".irp i,0,1,2,3",
        concat!("prefetchnta [rsi + \\i * 64 + ", nt_ahead!(), "]"),
        ".endr",
        sse2_loads!()
    ],
    after [sse2_checksum!()]
);

read_kernel!(
    /// 32-byte loads behind a prefetch that asks the caches to keep nothing.
    nt_avx2,
    chunk 512,
    before [],
    loads [
        ".irp i,0,1,2,3,4,5,6,7",
        concat!("prefetchnta [rsi + \\i * 64 + ", nt_ahead!(), "]"),
        ".endr",
        avx2_loads!()
    ],
    after [avx2_checksum!()]
);

read_kernel!(
    /// 64-byte loads behind a prefetch that asks the caches to keep nothing.
    nt_avx512,
    chunk 512,
    before [],
    loads [
        ".irp i,0,1,2,3,4,5,6,7",
        concat!("prefetchnta [rsi + \\i * 64 + ", nt_ahead!(), "]"),
        ".endr",
        avx512_loads!()
    ],
    after [avx512_checksum!("1,2,3,4,5,6,7")]
);

/// Reads the four quarters of the memory side by side, with 32-byte loads behind a prefetch 1 KiB ahead in each.
///
/// Four streams keep more of the hardware prefetchers' trackers at work, and their steps over page ends do not coincide:
/// on Cascade Lake 10 % (pmd pages) to 18 % (base pages) over one stream in memory, while caches gain nothing.
///
/// # Safety
/// As of the other kernels.
pub(super) unsafe fn avx2_streams(start: *const u8, bytes: usize, passes: u64) -> u64 {
    let quarter = bytes / 4;
    let checksum: u64;
    // SAFETY: loads stay between start and end, as a quarter of whole chunks is a whole number of turns of 128 bytes;
    // `clobber_abi` covers all vector registers, whose upper parts are left zero.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".irp i,0,1",
            "prefetcht0 [rsi + \\i * 64 + 1024]",
            "prefetcht0 [rsi + r8 + \\i * 64 + 1024]",
            "prefetcht0 [rsi + r8 * 2 + \\i * 64 + 1024]",
            "prefetcht0 [rsi + r9 + \\i * 64 + 1024]",
            ".endr",
            ".irp i,0,1,2,3",
            "vmovdqa ymm\\i, [rsi + \\i * 32]",
            ".endr",
            ".irp i,4,5,6,7",
            "vmovdqa ymm\\i, [rsi + r8 + \\i * 32 - 128]",
            ".endr",
            ".irp i,8,9,10,11",
            "vmovdqa ymm\\i, [rsi + r8 * 2 + \\i * 32 - 256]",
            ".endr",
            ".irp i,12,13,14,15",
            "vmovdqa ymm\\i, [rsi + r9 + \\i * 32 - 384]",
            ".endr",
            next_chunk!("128", end "rdx", turns "rcx", "rsi" from "rdi"),
            avx2_checksum!(),
            inout("rsi") start => _,
            inout("rdi") start => _,
            inout("rdx") start.wrapping_add(quarter) => _,
            inout("rcx") (quarter / 128) as u64 * passes => _,
            inout("r8") quarter => _,
            inout("r9") quarter * 3 => _,
            out("rax") checksum,
            clobber_abi("sysv64"),
            options(readonly, nostack),
        );
    }
    checksum
}

/// Reads with the widest loads that this CPU has, behind a prefetch that asks the caches to keep nothing.
///
/// # Safety
/// As of the other kernels, but any CPU will do.
pub(super) unsafe fn nt(start: *const u8, bytes: usize, passes: u64) -> u64 {
    // SAFETY: the caller keeps the same promises, and the CPU has what is chosen.
    unsafe {
        match (has_avx512(), has_avx2()) {
            (true, _) => nt_avx512(start, bytes, passes),
            (_, true) => nt_avx2(start, bytes, passes),
            _ => nt_sse2(start, bytes, passes),
        }
    }
}
