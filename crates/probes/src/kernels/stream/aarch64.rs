//! The kernels of STREAM and STREAM2 in AArch64 instructions.

use super::{Kernel, LIBC, Reach, StreamOperation, always};

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
    /// Adds eight vectors from an offset on to eight sums, not in an assembler's loop: a nested one would lose its variable's name.
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

pub(super) static KERNELS: &[&[Kernel]] =
    &[&of_stream!("neon", always, neon), &of_stream!("nt-neon", always, nt), &of_stream2!("neon", always, more), &LIBC];

pub(super) fn best(_: Reach) -> &'static [&'static str] {
    &["neon"]
}

pub(super) const NON_TEMPORAL: &[&str] = &["nt-neon"];
