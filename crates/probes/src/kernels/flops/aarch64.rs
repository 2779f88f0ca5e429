//! Floating-point pipes of AArch64: fused multiply-adds of scalars, of NEON's vectors and of SVE's.

use std::arch::{asm, is_aarch64_feature_detected};

use super::{FlopsKernel, MOST_LANES, Variant};

/// Fused multiply-adds on 24 accumulators, eight rounds a turn: wide cores start four a cycle, for four cycles each.
macro_rules! fused {
    ($name:ident, $type:ty, before [$($before:expr),*], $set:literal, $fma:literal, $add:literal, [$($store:expr),+]) => {
        /// # Safety
        /// The CPU must have the instructions; `turns` is not zero.
        unsafe fn $name(turns: u64, room: &mut [$type; MOST_LANES]) {
            let (half, one): ($type, $type) = (0.5, 1.0);
            // SAFETY: one vector is stored to the room, which is larger; registers are declared by `clobber_abi`; the
            // loop ends when its counter is zero.
            unsafe {
                asm!(
                    $($before,)*
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
                    $set,
                    ".endr",
                    ".p2align 6",
                    "2:",
                    ".rept 8",
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
                    $fma,
                    ".endr",
                    ".endr",
                    "subs x1, x1, #1",
                    "b.ne 2b",
                    ".irp i,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
                    $add,
                    ".endr",
                    $($store,)+
                    inout("x1") turns => _,
                    inout("x0") room.as_mut_ptr() => _,
                    inout("v24") half => _,
                    inout("v25") one => _,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

// x = x / 2 + 1, which tends to two.
fused!(scalar_f32, f32, before [], "fmov s\\i, s25", "fmadd s\\i, s\\i, s24, s25", "fadd s0, s0, s\\i", ["str s0, [x0]"]);
fused!(scalar_f64, f64, before [], "fmov d\\i, d25", "fmadd d\\i, d\\i, d24, d25", "fadd d0, d0, d\\i", ["str d0, [x0]"]);
// x = x + 1/2 · 1: vectors accumulate only.
fused!(neon_f32, f32, before ["dup v24.4s, v24.s[0]", "dup v25.4s, v25.s[0]"], "mov v\\i\\().16b, v25.16b",
       "fmla v\\i\\().4s, v24.4s, v25.4s", "fadd v0.4s, v0.4s, v\\i\\().4s", ["str q0, [x0]"]);
fused!(neon_f64, f64, before ["dup v24.2d, v24.d[0]", "dup v25.2d, v25.d[0]"], "mov v\\i\\().16b, v25.16b",
       "fmla v\\i\\().2d, v24.2d, v25.2d", "fadd v0.2d, v0.2d, v\\i\\().2d", ["str q0, [x0]"]);
fused!(sve_f32, f32, before [".arch_extension sve", "ptrue p0.s", "mov z24.s, s24", "mov z25.s, s25"],
       "mov z\\i\\().d, z25.d", "fmla z\\i\\().s, p0/m, z24.s, z25.s", "fadd z0.s, z0.s, z\\i\\().s", ["str z0, [x0]"]);
fused!(sve_f64, f64, before [".arch_extension sve", "ptrue p0.d", "mov z24.d, d24", "mov z25.d, d25"],
       "mov z\\i\\().d, z25.d", "fmla z\\i\\().d, p0/m, z24.d, z25.d", "fadd z0.d, z0.d, z\\i\\().d", ["str z0, [x0]"]);

/// 64-bit lanes of an SVE vector; only for CPUs that have the extension.
fn sve_lanes() -> u64 {
    let lanes;
    // SAFETY: the only caller asked the CPU for the extension first; nothing but the register is written.
    unsafe {
        asm!(".arch_extension sve", "cntd {lanes}", lanes = out(reg) lanes, options(pure, nomem, nostack, preserves_flags));
    }
    lanes
}

/// Sum of the accumulators, each halved and increased eight times a turn from one.
#[cfg(test)]
fn halved(turns: u64) -> f64 {
    24.0 * (0..8 * turns).fold(1.0, |x, _| x / 2.0 + 1.0)
}

/// Sum of the accumulators, each increased by a half eight times a turn from one.
#[cfg(test)]
fn increased(turns: u64) -> f64 {
    24.0 * (1.0 + 4.0 * turns as f64)
}

macro_rules! variant {
    ($run:ident, $type:ty, $lanes:expr, $expected:ident) => {
        Variant {
            run: $run,
            lane_flops: 384,
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
