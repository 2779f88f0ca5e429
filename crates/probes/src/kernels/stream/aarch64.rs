//! The kernels of STREAM and STREAM2 in AArch64 instructions.

use std::arch::asm;

use super::{Kernel, Operation, Reach, libc_copy};

fn always() -> bool {
    true
}

/// A loop over chunks that wraps from the end to the start without a branch: x0 walks d, x1 x, x2 y; the scalar is in both
/// halves of v31, the sum grows in v0 to v7.
macro_rules! kernel {
    ($name:ident, $set:expr, $body:expr, $after:expr) => {
        /// # Safety
        /// `bytes`, some whole chunks, must be writable from the aligned `d` and readable from the aligned `x` and `y` as
        /// far as the operation reads them; `passes` is not zero.
        pub(super) unsafe fn $name(d: *mut f64, x: *const f64, y: *const f64, bytes: usize, passes: u64, q: f64) -> f64 {
            let sum: f64;
            // SAFETY: loads and stores stay between starts and ends, as the caller promises whole chunks; `clobber_abi`
            // covers all vector registers but the low halves of v8 to v15, which are not written.
            unsafe {
                asm!(
                    "dup v31.2d, v0.d[0]",
                    $set,
                    ".p2align 6",
                    "2:",
                    $body,
                    "add x0, x0, #512",
                    "add x1, x1, #512",
                    "add x2, x2, #512",
                    "cmp x0, x4",
                    "csel x0, x5, x0, eq",
                    "csel x1, x6, x1, eq",
                    "csel x2, x7, x2, eq",
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    $after,
                    inout("x0") d => _,
                    inout("x1") x => _,
                    inout("x2") y => _,
                    inout("x3") (bytes / 512) as u64 * passes => _,
                    inout("x4") d.wrapping_byte_add(bytes) => _,
                    inout("x5") d => _,
                    inout("x6") x => _,
                    inout("x7") y => _,
                    inout("v0") q => sum,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
            sum
        }
    };
}

/// A chunk by pairs of 16-byte vectors: the lines given, for each of 16.
macro_rules! pairs {
    ($($line:expr),*) => {
        concat!(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", $($line, "\n",)* ".endr")
    };
}

/// The kernels of STREAM with the loads and the stores given, and what goes after all.
macro_rules! stream {
    ($module:ident, $load:literal, $store:literal, $after:literal) => {
        mod $module {
            use super::asm;
            kernel!(
                copy,
                "",
                pairs!(concat!($load, " q16, q17, [x1, #(\\i * 32)]"), concat!($store, " q16, q17, [x0, #(\\i * 32)]")),
                $after
            );
            kernel!(
                scale,
                "",
                pairs!(
                    concat!($load, " q16, q17, [x1, #(\\i * 32)]"),
                    "fmul v16.2d, v16.2d, v31.2d",
                    "fmul v17.2d, v17.2d, v31.2d",
                    concat!($store, " q16, q17, [x0, #(\\i * 32)]")
                ),
                $after
            );
            kernel!(
                add,
                "",
                pairs!(
                    concat!($load, " q16, q17, [x1, #(\\i * 32)]"),
                    concat!($load, " q18, q19, [x2, #(\\i * 32)]"),
                    "fadd v16.2d, v16.2d, v18.2d",
                    "fadd v17.2d, v17.2d, v19.2d",
                    concat!($store, " q16, q17, [x0, #(\\i * 32)]")
                ),
                $after
            );
            kernel!(
                triad,
                "",
                pairs!(
                    concat!($load, " q16, q17, [x1, #(\\i * 32)]"),
                    concat!($load, " q18, q19, [x2, #(\\i * 32)]"),
                    "fmla v16.2d, v18.2d, v31.2d",
                    "fmla v17.2d, v19.2d, v31.2d",
                    concat!($store, " q16, q17, [x0, #(\\i * 32)]")
                ),
                $after
            );
        }
    };
}

stream!(neon, "ldp", "stp", "");
stream!(nt, "ldnp", "stnp", "dsb ishst");

/// The other kernels of STREAM2.
mod more {
    use super::asm;

    /// Adds eight vectors from an offset on to eight sums. No loop of the assembler around it: the outer of two would use up
    /// what ends the name of the inner one's variable.
    macro_rules! eight_vectors {
        ($offset:literal) => {
            concat!(
                ".irp i,0,1,2,3,4,5,6,7\n",
                "ldr q16, [x0, #(",
                $offset,
                " + \\i * 16)]\n",
                "fadd v\\i\\().2d, v\\i\\().2d, v16.2d\n",
                ".endr\n"
            )
        };
    }

    kernel!(fill, "", pairs!("stp q31, q31, [x0, #(\\i * 32)]"), "");
    kernel!(
        daxpy,
        "",
        pairs!(
            "ldp q16, q17, [x0, #(\\i * 32)]",
            "ldp q18, q19, [x1, #(\\i * 32)]",
            "fmla v16.2d, v18.2d, v31.2d",
            "fmla v17.2d, v19.2d, v31.2d",
            "stp q16, q17, [x0, #(\\i * 32)]"
        ),
        ""
    );
    kernel!(
        sum,
        ".irp i,0,1,2,3,4,5,6,7\nmovi v\\i\\().2d, #0\n.endr",
        concat!(eight_vectors!("0"), eight_vectors!("128"), eight_vectors!("256"), eight_vectors!("384")),
        ".irp i,1,2,3,4,5,6,7\nfadd v0.2d, v0.2d, v\\i\\().2d\n.endr\nfaddp d0, v0.2d"
    );
}

/// A kernel of a module, by a name.
macro_rules! of {
    ($name:literal, $operation:ident, $run:expr) => {
        Kernel { name: $name, operation: Operation::$operation, is_available: always, run: $run }
    };
}

pub(super) static KERNELS: &[&[Kernel]] = &[&[
    of!("neon", Copy, neon::copy),
    of!("neon", Scale, neon::scale),
    of!("neon", Add, neon::add),
    of!("neon", Triad, neon::triad),
    of!("nt-neon", Copy, nt::copy),
    of!("nt-neon", Scale, nt::scale),
    of!("nt-neon", Add, nt::add),
    of!("nt-neon", Triad, nt::triad),
    of!("neon", Fill, more::fill),
    of!("neon", Daxpy, more::daxpy),
    of!("neon", Sum, more::sum),
    of!("libc", Copy, libc_copy),
]];

pub(super) fn best(_: Reach) -> &'static [&'static str] {
    &["neon"]
}

pub(super) const NON_TEMPORAL: &[&str] = &["nt-neon"];
