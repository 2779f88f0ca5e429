//! Write kernels: stores of a register pattern that grows by a step from chunk to chunk.

use std::arch::asm;

/// A loop over chunks that wraps from the end to the start without a branch; `x0` walks, `x4` and `x5` bring the
/// pattern and its step.
macro_rules! write_kernel {
    ($(#[$text:meta])* $name:ident, before [$($before:expr),*], stores [$($store:expr),*], after [$($after:expr),*]) => {
        $(#[$text])*
        ///
        /// # Safety
        /// `bytes`, some whole chunks, must be writable from the aligned `start`; `passes` is not zero.
        pub(super) unsafe fn $name(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
            // SAFETY: stores stay between start and end, as the caller promises whole chunks; `clobber_abi` covers all
            // vector registers.
            unsafe {
                asm!(
                    $($before,)*
                    ".p2align 6",
                    "2:",
                    $($store,)*
                    "add x0, x0, #512",
                    "cmp x0, x2",
                    "csel x0, x1, x0, eq",
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    $($after,)*
                    inout("x0") start => _,
                    inout("x1") start => _,
                    inout("x2") start.wrapping_add(bytes) => _,
                    inout("x3") (bytes / 512) as u64 * passes => _,
                    inout("x4") word => _,
                    inout("x5") step => _,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

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
    scalar,
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
    neon,
    before ["dup v0.2d, x4", "dup v1.2d, x5"],
    stores [stores!("stp")],
    after []
);

write_kernel!(
    /// Pairs of 16-byte stores that ask the caches to keep nothing, and waits until they are out.
    nt,
    before ["dup v0.2d, x4", "dup v1.2d, x5"],
    stores [stores!("stnp")],
    after ["dsb ishst"]
);
