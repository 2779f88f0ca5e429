//! Copy kernels: loads, each followed by the store of what it brought.

use std::arch::asm;

/// A loop over chunks that wraps from the end to the start without a branch; `x0` walks the source, `x4` the
/// destination.
macro_rules! copy_kernel {
    ($(#[$text:meta])* $name:ident, moves [$($move:expr),*], after [$($after:expr),*]) => {
        $(#[$text])*
        ///
        /// # Safety
        /// `bytes`, some whole chunks, must be readable from the aligned `source` and writable from the aligned
        /// `destination`, which are apart; `passes` is not zero.
        pub(super) unsafe fn $name(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
            // SAFETY: loads and stores stay between starts and ends, as the caller promises whole chunks; `clobber_abi`
            // covers all vector registers.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    $($move,)*
                    "add x0, x0, #512",
                    "add x4, x4, #512",
                    "cmp x0, x2",
                    "csel x0, x1, x0, eq",
                    "csel x4, x5, x4, eq",
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    $($after,)*
                    inout("x0") source => _,
                    inout("x1") source => _,
                    inout("x2") source.wrapping_add(bytes) => _,
                    inout("x3") (bytes / 512) as u64 * passes => _,
                    inout("x4") destination => _,
                    inout("x5") destination => _,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

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
    scalar,
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
    neon,
    moves [moves!("ldp", "stp")],
    after []
);

copy_kernel!(
    /// Pairs of 16-byte loads and stores that ask the caches to keep nothing, and waits until they are out.
    nt,
    moves [moves!("ldnp", "stnp")],
    after ["dsb ishst"]
);
