//! The loops over chunks that read, write and copy: each wraps from the end to the start without a branch.

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
