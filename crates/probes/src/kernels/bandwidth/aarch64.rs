//! The bandwidth kernels of AArch64: tables, and which of them this CPU can run.

use std::arch::{asm, is_aarch64_feature_detected};

use super::{CopyKernel, Reach, ReadKernel, WriteKernel, always, copy_by_libc, write_by_libc};

/// The SVE kernels take eight vectors at once, a chunk of 512 bytes with vectors of 512 bits: no CPU has wider ones.
fn has_sve() -> bool {
    is_aarch64_feature_detected!("sve") && vector_bytes() <= 64
}

pub(super) static READS: &[ReadKernel] = &[
    ReadKernel { name: "scalar", is_available: always, run: read_scalar },
    ReadKernel { name: "neon", is_available: always, run: read_neon },
    ReadKernel { name: "sve", is_available: has_sve, run: read_sve },
    ReadKernel { name: "nt", is_available: always, run: read_nt },
];

pub(super) static WRITES: &[WriteKernel] = &[
    WriteKernel { name: "scalar", is_available: always, run: write_scalar },
    WriteKernel { name: "neon", is_available: always, run: write_neon },
    WriteKernel { name: "sve", is_available: has_sve, run: write_sve },
    WriteKernel { name: "nt", is_available: always, run: write_nt },
    WriteKernel { name: "libc", is_available: always, run: write_by_libc },
];

pub(super) static COPIES: &[CopyKernel] = &[
    CopyKernel { name: "scalar", is_available: always, run: copy_scalar },
    CopyKernel { name: "neon", is_available: always, run: copy_neon },
    CopyKernel { name: "sve", is_available: has_sve, run: copy_sve },
    CopyKernel { name: "nt", is_available: always, run: copy_nt },
    CopyKernel { name: "libc", is_available: always, run: copy_by_libc },
];

/// The order of preference: by width alone, as no such CPU was measured yet.
const WIDEST_FIRST: &[&str] = &["sve", "neon"];

pub(super) fn best_reads(_: Reach) -> &'static [&'static str] {
    WIDEST_FIRST
}

pub(super) fn best_writes(_: Reach) -> &'static [&'static str] {
    WIDEST_FIRST
}

pub(super) fn best_copies(_: Reach) -> &'static [&'static str] {
    WIDEST_FIRST
}

/// All 32 vector registers, folded by exclusive or.
macro_rules! checksum {
    () => {
        concat!(
            ".irp i,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            "eor v0.16b, v0.16b, v\\i\\().16b\n",
            ".endr\n",
            "fmov x0, d0\n",
            "mov x1, v0.d[1]\n",
            "eor x0, x0, x1"
        )
    };
}

/// A chunk by pair loads into all 32 vector registers, by the instruction given.
macro_rules! loads {
    ($load:literal) => {
        loads!($load: 0 1 0, 2 3 32, 4 5 64, 6 7 96, 8 9 128, 10 11 160, 12 13 192, 14 15 224, 16 17 256, 18 19 288,
               20 21 320, 22 23 352, 24 25 384, 26 27 416, 28 29 448, 30 31 480)
    };
    ($load:literal: $($first:literal $second:literal $at:literal),*) => {
        concat!($($load, " q", $first, ", q", $second, ", [x0, #", $at, "]\n"),*)
    };
}

read_kernel!(
    /// 64-bit loads, added up: the checksum is the sum of all words read.
    read_scalar,
    chunk 512,
    before ["mov x4, #0", "mov x5, #0", "mov x6, #0", "mov x7, #0"],
    loads [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "ldr x8, [x0, #(\\i * 32)]",
        "ldr x9, [x0, #(\\i * 32 + 8)]",
        "ldr x10, [x0, #(\\i * 32 + 16)]",
        "ldr x11, [x0, #(\\i * 32 + 24)]",
        "add x4, x4, x8",
        "add x5, x5, x9",
        "add x6, x6, x10",
        "add x7, x7, x11",
        ".endr"
    ],
    after ["add x4, x4, x5", "add x6, x6, x7", "add x0, x4, x6"]
);

read_kernel!(
    /// Pairs of 16-byte loads.
    read_neon,
    chunk 512,
    before [],
    loads [loads!("ldp")],
    after [checksum!()]
);

read_kernel!(
    /// Pairs of 16-byte loads that ask the caches to keep nothing.
    read_nt,
    chunk 512,
    before [],
    loads [loads!("ldnp")],
    after [checksum!()]
);

/// A chunk by pair stores of one vector register, by the instruction given.
macro_rules! stores {
    ($store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            $store,
            " q0, q0, [x0, #(\\i * 32)]\n",
            ".endr\n",
            "add v0.2d, v0.2d, v1.2d"
        )
    };
}

write_kernel!(
    /// 64-bit stores.
    write_scalar,
    before [],
    stores [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "str x4, [x0, #(\\i * 32)]",
        "str x4, [x0, #(\\i * 32 + 8)]",
        "str x4, [x0, #(\\i * 32 + 16)]",
        "str x4, [x0, #(\\i * 32 + 24)]",
        ".endr",
        "add x4, x4, x5"
    ],
    after []
);

write_kernel!(
    /// Pairs of 16-byte stores.
    write_neon,
    before ["dup v0.2d, x4", "dup v1.2d, x5"],
    stores [stores!("stp")],
    after []
);

write_kernel!(
    /// Pairs of 16-byte stores that ask the caches to keep nothing, and waits until they are out.
    write_nt,
    before ["dup v0.2d, x4", "dup v1.2d, x5"],
    stores [stores!("stnp")],
    after ["dsb ishst"]
);

/// A chunk by pairs of 16-byte loads and stores, by the instructions given.
macro_rules! moves {
    ($load:literal, $store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7\n",
            $load,
            " q0, q1, [x0, #(\\i * 64)]\n",
            $load,
            " q2, q3, [x0, #(\\i * 64 + 32)]\n",
            $store,
            " q0, q1, [x4, #(\\i * 64)]\n",
            $store,
            " q2, q3, [x4, #(\\i * 64 + 32)]\n",
            ".endr"
        )
    };
}

copy_kernel!(
    /// 64-bit loads and stores.
    copy_scalar,
    moves [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "ldr x6, [x0, #(\\i * 32)]",
        "ldr x7, [x0, #(\\i * 32 + 8)]",
        "ldr x8, [x0, #(\\i * 32 + 16)]",
        "ldr x9, [x0, #(\\i * 32 + 24)]",
        "str x6, [x4, #(\\i * 32)]",
        "str x7, [x4, #(\\i * 32 + 8)]",
        "str x8, [x4, #(\\i * 32 + 16)]",
        "str x9, [x4, #(\\i * 32 + 24)]",
        ".endr"
    ],
    after []
);

copy_kernel!(
    /// Pairs of 16-byte loads and stores.
    copy_neon,
    moves [moves!("ldp", "stp")],
    after []
);

copy_kernel!(
    /// Pairs of 16-byte loads and stores that ask the caches to keep nothing, and waits until they are out.
    copy_nt,
    moves [moves!("ldnp", "stnp")],
    after ["dsb ishst"]
);

/// Vectors that one turn of a hot loop moves: a whole number of turns makes a chunk of 512 bytes.
const UNROLL: usize = 8;

/// Bytes of a vector; only for CPUs that have the extension.
pub(super) fn vector_bytes() -> usize {
    let bytes;
    // SAFETY: the only caller asks the CPU for the extension first; nothing but the register is written.
    unsafe {
        asm!(".arch_extension sve", "cntb {bytes}", bytes = out(reg) bytes, options(pure, nomem, nostack, preserves_flags));
    }
    bytes
}

/// Reads whole vectors.
///
/// # Safety
/// The CPU must have the extension with vectors of at most 64 bytes; `bytes`, some whole chunks, must be readable from
/// the aligned `start`; `passes` is not zero.
pub(super) unsafe fn read_sve(start: *const u8, bytes: usize, passes: u64) -> u64 {
    let turn_bytes = vector_bytes() * UNROLL;
    let checksum: u64;
    // SAFETY: loads stay between start and end, as the chunks are whole turns; `clobber_abi` covers all vector and
    // predicate registers.
    unsafe {
        asm!(
            ".arch_extension sve",
            "ptrue p0.d",
            ".p2align 6",
            "2:",
            ".irp i,0,1,2,3,4,5,6,7",
            "ldr z\\i, [x0, #\\i, mul vl]",
            ".endr",
            next_chunk!("x4", end "x2", turns "x3", "x0" from "x1"),
            ".irp i,1,2,3,4,5,6,7",
            "eor z0.d, z0.d, z\\i\\().d",
            ".endr",
            "eorv d0, p0, z0.d",
            "fmov x0, d0",
            inout("x0") start => checksum,
            inout("x1") start => _,
            inout("x2") start.wrapping_add(bytes) => _,
            inout("x3") (bytes / turn_bytes) as u64 * passes => _,
            inout("x4") turn_bytes => _,
            clobber_abi("C"),
            options(readonly, nostack),
        );
    }
    checksum
}

/// Writes whole vectors. The pattern grows by its step every 512 bytes, as that of the other kernels.
///
/// # Safety
/// The CPU must have the extension with vectors of at most 64 bytes; `bytes`, some whole chunks, must be writable from
/// the aligned `start`; `passes` is not zero.
pub(super) unsafe fn write_sve(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
    let turn_bytes = vector_bytes() * UNROLL;
    // SAFETY: stores stay between start and end, as the chunks are whole turns; `clobber_abi` covers all vector and
    // predicate registers.
    unsafe {
        asm!(
            ".arch_extension sve",
            "mov z0.d, x5",
            "mov z1.d, x6",
            ".p2align 6",
            "2:",
            ".irp i,0,1,2,3,4,5,6,7",
            "str z0, [x0, #\\i, mul vl]",
            ".endr",
            "add x0, x0, x4",
            // A chunk ends where the address is a multiple of 512 from the start: only then the step is added.
            "sub x7, x0, x1",
            "tst x7, #511",
            "csel x8, x6, xzr, eq",
            "mov z1.d, x8",
            "add z0.d, z0.d, z1.d",
            "cmp x0, x2",
            "csel x0, x1, x0, eq",
            count_down!("x3", "2b"),
            inout("x0") start => _,
            inout("x1") start => _,
            inout("x2") start.wrapping_add(bytes) => _,
            inout("x3") (bytes / turn_bytes) as u64 * passes => _,
            inout("x4") turn_bytes => _,
            inout("x5") word => _,
            inout("x6") step => _,
            clobber_abi("C"),
            options(nostack),
        );
    }
}

/// Copies whole vectors.
///
/// # Safety
/// The CPU must have the extension with vectors of at most 64 bytes; `bytes`, some whole chunks, must be readable from
/// the aligned `source` and writable from the aligned `destination`, which are apart; `passes` is not zero.
pub(super) unsafe fn copy_sve(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
    let turn_bytes = vector_bytes() * UNROLL;
    // SAFETY: loads and stores stay between starts and ends, as the chunks are whole turns; `clobber_abi` covers all
    // vector and predicate registers.
    unsafe {
        asm!(
            ".arch_extension sve",
            ".p2align 6",
            "2:",
            ".irp i,0,1,2,3,4,5,6,7",
            "ldr z\\i, [x0, #\\i, mul vl]",
            ".endr",
            ".irp i,0,1,2,3,4,5,6,7",
            "str z\\i, [x5, #\\i, mul vl]",
            ".endr",
            next_chunk!("x4", end "x2", turns "x3", "x0" from "x1", "x5" from "x6"),
            inout("x0") source => _,
            inout("x1") source => _,
            inout("x2") source.wrapping_add(bytes) => _,
            inout("x3") (bytes / turn_bytes) as u64 * passes => _,
            inout("x4") turn_bytes => _,
            inout("x5") destination => _,
            inout("x6") destination => _,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
