//! The kernels of the scalable vector extension: whole vectors of whatever width the CPU has, up to 64 bytes.

use std::arch::asm;

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
pub(super) unsafe fn read(start: *const u8, bytes: usize, passes: u64) -> u64 {
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
pub(super) unsafe fn write(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
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
pub(super) unsafe fn copy(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
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
