//! Read kernels: loads into registers that nothing waits for, so that the load ports and the memory set the pace.

use std::arch::asm;

/// A loop over chunks that wraps from the end to the start without a branch; `x0` walks and brings back the checksum.
macro_rules! read_kernel {
    ($(#[$text:meta])* $name:ident, before [$($before:expr),*], loads [$($load:expr),*], after [$($after:expr),*]) => {
        $(#[$text])*
        ///
        /// # Safety
        /// `bytes`, some whole chunks, must be readable from the aligned `start`; `passes` is not zero.
        pub(super) unsafe fn $name(start: *const u8, bytes: usize, passes: u64) -> u64 {
            let checksum: u64;
            // SAFETY: loads stay between start and end, as the caller promises whole chunks; `clobber_abi` covers all
            // vector registers.
            unsafe {
                asm!(
                    $($before,)*
                    ".p2align 6",
                    "2:",
                    $($load,)*
                    "add x0, x0, #512",
                    "cmp x0, x2",
                    "csel x0, x1, x0, eq",
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    $($after,)*
                    inout("x0") start => checksum,
                    inout("x1") start => _,
                    inout("x2") start.wrapping_add(bytes) => _,
                    inout("x3") (bytes / 512) as u64 * passes => _,
                    clobber_abi("C"),
                    options(readonly, nostack),
                );
            }
            checksum
        }
    };
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
        concat!(
            $load,
            " q0, q1, [x0]\n",
            $load,
            " q2, q3, [x0, #32]\n",
            $load,
            " q4, q5, [x0, #64]\n",
            $load,
            " q6, q7, [x0, #96]\n",
            $load,
            " q8, q9, [x0, #128]\n",
            $load,
            " q10, q11, [x0, #160]\n",
            $load,
            " q12, q13, [x0, #192]\n",
            $load,
            " q14, q15, [x0, #224]\n",
            $load,
            " q16, q17, [x0, #256]\n",
            $load,
            " q18, q19, [x0, #288]\n",
            $load,
            " q20, q21, [x0, #320]\n",
            $load,
            " q22, q23, [x0, #352]\n",
            $load,
            " q24, q25, [x0, #384]\n",
            $load,
            " q26, q27, [x0, #416]\n",
            $load,
            " q28, q29, [x0, #448]\n",
            $load,
            " q30, q31, [x0, #480]"
        )
    };
}

read_kernel!(
    /// 64-bit loads, added up: the checksum is the sum of all words read.
    scalar,
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
    neon,
    before [],
    loads [loads!("ldp")],
    after [checksum!()]
);

read_kernel!(
    /// Pairs of 16-byte loads that ask the caches to keep nothing.
    nt,
    before [],
    loads [loads!("ldnp")],
    after [checksum!()]
);
