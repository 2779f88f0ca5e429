//! Kernels that read, write, fill and copy memory as fast as each instruction set can, and the tables to choose from.
//!
//! A kernel goes over the memory a number of passes without a branch between them, so that small buffers lose nothing
//! to mispredicted loop ends. All bytes are touched in every pass; nothing beyond is touched, but prefetched perhaps.

// The loops over chunks that read, write and copy: each wraps from the end to the start without a branch.

/// A loop that reads. On x86-64 `rsi` walks and `rax` brings the checksum back, on AArch64 `x0` does both.
macro_rules! read_kernel {
    ($(#[$text:meta])* $name:ident, chunk $chunk:literal, before [$($before:expr),*], loads [$($load:expr),*], after [$($after:expr),*]) => {
        $(#[$text])*
        ///
        /// # Safety
        /// The CPU must have the instructions; `bytes`, some whole chunks, must be readable from the aligned `start`;
        /// `passes` is not zero.
        pub(super) unsafe fn $name(start: *const u8, bytes: usize, passes: u64) -> u64 {
            let checksum: u64;
            // SAFETY: loads stay between start and end, as the caller promises whole chunks; `clobber_abi` covers all
            // vector registers, whose upper parts are left zero on x86-64.
            unsafe {
                asm_by_arch!(
                    $($before,)*
                    ".p2align 6",
                    "2:",
                    $($load,)*
                    by_arch!(
                        x86_64 { next_chunk!($chunk, end "rdx", turns "rcx", "rsi" from "rdi") }
                        aarch64 { next_chunk!(concat!("#", $chunk), end "x2", turns "x3", "x0" from "x1") }
                    )
                    $(, $after)*;
                    x86_64 {
                        inout("rsi") start => _,
                        inout("rdi") start => _,
                        inout("rdx") start.wrapping_add(bytes) => _,
                        inout("rcx") (bytes / $chunk) as u64 * passes => _,
                        out("rax") checksum,
                    }
                    aarch64 {
                        inout("x0") start => checksum,
                        inout("x1") start => _,
                        inout("x2") start.wrapping_add(bytes) => _,
                        inout("x3") (bytes / $chunk) as u64 * passes => _,
                    }
                    clobber_abi("C"),
                    options(readonly, nostack)
                );
            }
            checksum
        }
    };
}

/// A loop that writes. On x86-64 `rsi` walks, `rax` and `r8` bring the pattern and its step; on AArch64 `x0`, `x4` and `x5`.
macro_rules! write_kernel {
    ($(#[$text:meta])* $name:ident, before [$($before:expr),*], stores [$($store:expr),*], after [$($after:expr),*]) => {
        $(#[$text])*
        ///
        /// # Safety
        /// The CPU must have the instructions; `bytes`, some whole chunks, must be writable from the aligned `start`;
        /// `passes` is not zero.
        pub(super) unsafe fn $name(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
            // SAFETY: stores stay between start and end, as the caller promises whole chunks; `clobber_abi` covers all
            // vector registers, whose upper parts are left zero on x86-64.
            unsafe {
                asm_by_arch!(
                    $($before,)*
                    ".p2align 6",
                    "2:",
                    $($store,)*
                    by_arch!(
                        x86_64 { next_chunk!("512", end "rdx", turns "rcx", "rsi" from "rdi") }
                        aarch64 { next_chunk!("#512", end "x2", turns "x3", "x0" from "x1") }
                    )
                    $(, $after)*;
                    x86_64 {
                        inout("rsi") start => _,
                        inout("rdi") start => _,
                        inout("rdx") start.wrapping_add(bytes) => _,
                        inout("rcx") (bytes / 512) as u64 * passes => _,
                        inout("rax") word => _,
                        inout("r8") step => _,
                    }
                    aarch64 {
                        inout("x0") start => _,
                        inout("x1") start => _,
                        inout("x2") start.wrapping_add(bytes) => _,
                        inout("x3") (bytes / 512) as u64 * passes => _,
                        inout("x4") word => _,
                        inout("x5") step => _,
                    }
                    clobber_abi("C"),
                    options(nostack)
                );
            }
        }
    };
}

/// A loop that copies. On x86-64 `rsi` walks the source and `rdi` the destination, with simple addresses so that all three
/// address units of older cores serve, and `rax` is free; on AArch64 `x0` and `x4` walk.
macro_rules! copy_kernel {
    ($(#[$text:meta])* $name:ident, moves [$($move:expr),*], after [$($after:expr),*]) => {
        $(#[$text])*
        ///
        /// # Safety
        /// The CPU must have the instructions; `bytes`, some whole chunks, must be readable from the aligned `source`
        /// and writable from the aligned `destination`, which are apart; `passes` is not zero.
        pub(super) unsafe fn $name(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
            // SAFETY: loads and stores stay between starts and ends, as the caller promises whole chunks; `clobber_abi`
            // covers all vector registers, whose upper parts are left zero on x86-64.
            unsafe {
                asm_by_arch!(
                    ".p2align 6",
                    "2:",
                    $($move,)*
                    by_arch!(
                        x86_64 { next_chunk!("512", end "rdx", turns "rcx", "rsi" from "r8", "rdi" from "r9") }
                        aarch64 { next_chunk!("#512", end "x2", turns "x3", "x0" from "x1", "x4" from "x5") }
                    )
                    $(, $after)*;
                    x86_64 {
                        inout("rsi") source => _,
                        inout("rdi") destination => _,
                        inout("rdx") source.wrapping_add(bytes) => _,
                        inout("rcx") (bytes / 512) as u64 * passes => _,
                        inout("r8") source => _,
                        inout("r9") destination => _,
                        out("rax") _,
                    }
                    aarch64 {
                        inout("x0") source => _,
                        inout("x1") source => _,
                        inout("x2") source.wrapping_add(bytes) => _,
                        inout("x3") (bytes / 512) as u64 * passes => _,
                        inout("x4") destination => _,
                        inout("x5") destination => _,
                    }
                    clobber_abi("C"),
                    options(nostack)
                );
            }
        }
    };
}

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as machine;
#[cfg(target_arch = "x86_64")]
use x86_64 as machine;

use std::ffi::{c_int, c_void};
use std::hint::black_box;

use super::Refused;

/// Memory is taken in chunks of this size: a kernel refuses lengths that are no multiple of it.
pub const CHUNK_BYTES: usize = 512;

/// Alignment of the memory's start: a cache line, also that of the widest vector.
pub const ALIGNMENT_BYTES: usize = 64;

/// Number that [`WriteKernel::run`] adds to each of the pattern's 64-bit words from one chunk to the next. It is even
/// in every byte and the pattern is made odd in every byte, so that no byte written is ever zero.
pub const PATTERN_STEP: u64 = 0x0202_0202_0202_0202;

pub struct ReadKernel {
    /// Name by which it is asked for, and recorded.
    pub name: &'static str,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    /// Start, bytes, passes (neither zero); gives a checksum of what the last turn of the loop brought, at least.
    run: unsafe fn(*const u8, usize, u64) -> u64,
}

impl ReadKernel {
    /// Reads every byte of `memory`, `passes` times; gives a checksum of what the last turn of the loop brought, at least.
    pub fn run(&self, memory: &[u8], passes: u64) -> Result<u64, Refused> {
        check(self.name, self.is_available, memory)?;
        if passes == 0 {
            return Ok(0);
        }
        // SAFETY: the CPU has the instructions, and the memory is readable, aligned and some whole chunks long.
        Ok(black_box(unsafe { (self.run)(memory.as_ptr(), memory.len(), passes) }))
    }
}

/// Stores a pattern to memory.
pub struct WriteKernel {
    /// Name by which it is asked for, and recorded.
    pub name: &'static str,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    /// Start, bytes, passes (neither zero), the first chunk's word, what is added to it a chunk.
    run: unsafe fn(*mut u8, usize, u64, u64, u64),
}

impl WriteKernel {
    /// Writes every byte of `memory`, `passes` times, with values that are never zero and vary from chunk to chunk and
    /// from pass to pass. Only `rep` and `libc` store one byte value a pass: the pattern's lowest, which varies too.
    pub fn run(&self, memory: &mut [u8], passes: u64, pattern: u64) -> Result<(), Refused> {
        self.store(memory, passes, pattern | 0x0101_0101_0101_0101, PATTERN_STEP)
    }

    /// Sets every byte of `memory` to `byte`, `passes` times: what `memset` does, and with zero what `bzero` does.
    pub fn fill(&self, memory: &mut [u8], passes: u64, byte: u8) -> Result<(), Refused> {
        self.store(memory, passes, u64::from_ne_bytes([byte; 8]), 0)
    }

    fn store(&self, memory: &mut [u8], passes: u64, word: u64, step: u64) -> Result<(), Refused> {
        check(self.name, self.is_available, memory)?;
        if passes > 0 {
            // SAFETY: the CPU has the instructions, and the memory is writable, aligned and some whole chunks long.
            unsafe { (self.run)(memory.as_mut_ptr(), memory.len(), passes, word, step) };
        }
        Ok(())
    }
}

/// Copies memory to other memory.
pub struct CopyKernel {
    /// Name by which it is asked for, and recorded.
    pub name: &'static str,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    /// Destination, source, bytes, passes (neither zero).
    run: unsafe fn(*mut u8, *const u8, usize, u64),
}

impl CopyKernel {
    /// Copies every byte of `source` to `destination`, `passes` times.
    pub fn run(&self, destination: &mut [u8], source: &[u8], passes: u64) -> Result<(), Refused> {
        check(self.name, self.is_available, destination)?;
        check(self.name, self.is_available, source)?;
        if destination.len() != source.len() {
            let (destination_bytes, source_bytes) = (destination.len(), source.len());
            return Err(Refused::Unequal { destination_bytes, source_bytes });
        }
        if passes > 0 {
            // SAFETY: the CPU has the instructions; both memories are aligned, equally many whole chunks long, and
            // apart from each other as one of them is borrowed mutably.
            unsafe { (self.run)(destination.as_mut_ptr(), source.as_ptr(), source.len(), passes) };
        }
        Ok(())
    }
}

fn check(kernel: &'static str, is_available: fn() -> bool, memory: &[u8]) -> Result<(), Refused> {
    if !is_available() {
        return Err(Refused::Unavailable { kernel });
    }
    if memory.is_empty() || !memory.len().is_multiple_of(CHUNK_BYTES) {
        return Err(Refused::Length { bytes: memory.len(), multiple_bytes: CHUNK_BYTES });
    }
    if !memory.as_ptr().addr().is_multiple_of(ALIGNMENT_BYTES) {
        return Err(Refused::Alignment { needed_bytes: ALIGNMENT_BYTES });
    }
    Ok(())
}

/// Returns true, for kernels whose instructions every CPU of the architecture has.
fn always() -> bool {
    true
}

/// All read kernels of this architecture, whether or not this CPU can run them.
pub fn reads() -> &'static [ReadKernel] {
    machine::READS
}

/// All write kernels of this architecture, whether or not this CPU can run them.
pub fn writes() -> &'static [WriteKernel] {
    machine::WRITES
}

/// All copy kernels of this architecture, whether or not this CPU can run them.
pub fn copies() -> &'static [CopyKernel] {
    machine::COPIES
}

pub fn read(name: &str) -> Option<&'static ReadKernel> {
    machine::READS.iter().find(|kernel| kernel.name == name)
}

pub fn write(name: &str) -> Option<&'static WriteKernel> {
    machine::WRITES.iter().find(|kernel| kernel.name == name)
}

pub fn copy(name: &str) -> Option<&'static CopyKernel> {
    machine::COPIES.iter().find(|kernel| kernel.name == name)
}

/// Level that holds the memory a kernel goes over; for a copy, source and destination together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    FirstCache,
    Caches,
    Memory,
}

/// Returns where a copy's destination should start, relative to its source, modulo 4 KiB.
///
/// A load waits for an older store whose address ends in the same 12 bits. In the first cache half a KiB below the source
/// is best: such a store is still to come, or is 3.5 KiB old and out of the store buffer (AVX-512 copies 64 bytes a cycle
/// on Cascade Lake, against 45 when the destination is ahead by 64 to 2048 bytes). Beyond it stores stay in the buffer for
/// longer, and half a KiB ahead is best: 5 to 20 % over half a KiB below, for vectors, `rep movsb` and memcpy alike.
pub fn copy_offset_bytes(reach: Reach) -> usize {
    match reach {
        Reach::FirstCache => 3584,
        Reach::Caches | Reach::Memory => 512,
    }
}

/// The read kernel that is the fastest on this CPU for memory at `reach`.
pub fn best_read(reach: Reach) -> &'static ReadKernel {
    let mut candidates = machine::best_reads(reach).iter().filter_map(|name| read(name));
    candidates.find(|kernel| (kernel.is_available)()).unwrap_or(&machine::READS[0])
}

/// The write kernel with plain stores that is the fastest on this CPU for memory at `reach`.
pub fn best_write(reach: Reach) -> &'static WriteKernel {
    let mut candidates = machine::best_writes(reach).iter().filter_map(|name| write(name));
    candidates.find(|kernel| (kernel.is_available)()).unwrap_or(&machine::WRITES[0])
}

/// The copy kernel with plain stores that is the fastest on this CPU for memory at `reach`.
pub fn best_copy(reach: Reach) -> &'static CopyKernel {
    let mut candidates = machine::best_copies(reach).iter().filter_map(|name| copy(name));
    candidates.find(|kernel| (kernel.is_available)()).unwrap_or(&machine::COPIES[0])
}

unsafe extern "C" {
    fn memcpy(destination: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(destination: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
}

/// Fills by `memset`, each pass with the lowest byte of its word.
///
/// # Safety
/// `bytes` bytes from `start` must be writable.
unsafe fn write_by_libc(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
    let mut word = word;
    // Through a pointer that the compiler cannot see through, else it may merge or inline the calls.
    let memset = black_box(memset as unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void);
    for _ in 0..passes {
        // SAFETY: the caller promises that the bytes are writable.
        unsafe { memset(start.cast(), (word & 0xff) as c_int, bytes) };
        word = word.wrapping_add(step);
    }
}

/// Copies by `memcpy`.
///
/// # Safety
/// `bytes` bytes from `source` must be readable, as many from `destination` writable, and the two apart.
pub(super) unsafe fn copy_by_libc(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
    let memcpy = black_box(memcpy as unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void);
    for _ in 0..passes {
        // SAFETY: the caller promises that both are valid and apart.
        unsafe { memcpy(destination.cast(), source.cast(), bytes) };
    }
}
