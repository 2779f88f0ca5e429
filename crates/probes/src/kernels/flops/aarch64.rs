//! Floating-point pipes of AArch64: fused multiply-adds of scalars, of NEON's vectors and of SVE's.

use std::arch::{asm, is_aarch64_feature_detected};

use super::{FlopsKernel, Variant};

/// Fused multiply-adds on 24 accumulators, ten rounds a turn: wide cores start four a cycle, for four cycles each.
macro_rules! fused {
    ($name:ident, $type:ty, $pre:literal $post:literal, before $before:literal, $set:literal, $fma:literal, $add:literal, $store:literal) => {
        kernel!(
            $name($type),
            [
                "movi v27.2d, #0",
                $before,
                concat!(".irp acc,", registers_24!($pre, $post), "\n", $set, "\n.endr")
            ],
            concat!(".rept 10\n.irp acc,", registers_24!($pre, $post), "\n", $fma, "\n.endr\n.endr"),
            [concat!(".irp acc,", registers_24!($pre, $post), "\n", $add, "\n.endr"), $store],
            constants(half = 0.5, one = 1.0),
            inout("v24") half => _, inout("v25") one => _,
        );
    };
}

// x = x / 2 + 1, which tends to two.
fused!(scalar_f32, f32, "s" "", before "", "fmov \\acc, s25", "fmadd \\acc, \\acc, s24, s25", "fadd s27, s27, \\acc", "str s27, [x0]");
fused!(scalar_f64, f64, "d" "", before "", "fmov \\acc, d25", "fmadd \\acc, \\acc, d24, d25", "fadd d27, d27, \\acc", "str d27, [x0]");
// x = x + 1/2 · 1: vectors accumulate only.
fused!(neon_f32, f32, "v" ".4s", before "dup v24.4s, v24.s[0]; dup v25.4s, v25.s[0]",
       "fmov \\acc, #1.0", "fmla \\acc, v24.4s, v25.4s", "fadd v27.4s, v27.4s, \\acc", "str q27, [x0]");
fused!(neon_f64, f64, "v" ".2d", before "dup v24.2d, v24.d[0]; dup v25.2d, v25.d[0]",
       "fmov \\acc, #1.0", "fmla \\acc, v24.2d, v25.2d", "fadd v27.2d, v27.2d, \\acc", "str q27, [x0]");
fused!(sve_f32, f32, "z" ".s", before ".arch_extension sve; ptrue p0.s; mov z24.s, s24; mov z25.s, s25; mov z27.s, #0",
       "fmov \\acc, #1.0", "fmla \\acc, p0/m, z24.s, z25.s", "fadd z27.s, z27.s, \\acc", "str z27, [x0]");
fused!(sve_f64, f64, "z" ".d", before ".arch_extension sve; ptrue p0.d; mov z24.d, d24; mov z25.d, d25; mov z27.d, #0",
       "fmov \\acc, #1.0", "fmla \\acc, p0/m, z24.d, z25.d", "fadd z27.d, z27.d, \\acc", "str z27, [x0]");

/// 64-bit lanes of an SVE vector; only for CPUs that have the extension.
fn sve_lanes() -> u64 {
    let lanes;
    // SAFETY: the only caller asked the CPU for the extension first; nothing but the register is written.
    unsafe {
        asm!(".arch_extension sve", "cntd {lanes}", lanes = out(reg) lanes, options(pure, nomem, nostack, preserves_flags));
    }
    lanes
}

/// Sum of the accumulators, each halved and increased ten times a turn from one.
#[cfg(test)]
fn halved(turns: u64) -> f64 {
    24.0 * (0..10 * turns).fold(1.0, |x, _| x / 2.0 + 1.0)
}

/// Sum of the accumulators, each increased by a half ten times a turn from one.
#[cfg(test)]
fn increased(turns: u64) -> f64 {
    24.0 * (1.0 + 5.0 * turns as f64)
}

macro_rules! variant {
    ($run:ident, $type:ty, $lanes:expr, $expected:ident) => {
        Variant {
            run: $run,
            lane_flops: 480,
            lanes: $lanes,
            #[cfg(test)]
            expected: |turns| $expected(turns) as $type,
        }
    };
}

pub(super) static KERNELS: &[FlopsKernel] = &[
    FlopsKernel {
        name: "scalar",
        is_available: || true,
        single: variant!(scalar_f32, f32, || 1, halved),
        double: variant!(scalar_f64, f64, || 1, halved),
    },
    FlopsKernel {
        name: "neon",
        is_available: || true,
        single: variant!(neon_f32, f32, || 4, increased),
        double: variant!(neon_f64, f64, || 2, increased),
    },
    FlopsKernel {
        name: "sve",
        is_available: || is_aarch64_feature_detected!("sve"),
        single: variant!(sve_f32, f32, || 2 * sve_lanes(), increased),
        double: variant!(sve_f64, f64, sve_lanes, increased),
    },
];
