//! Floating-point pipes of x86-64: SSE2 with separate multiplications and additions, and fused ones of three widths.

use std::arch::is_x86_feature_detected;

use super::{FlopsKernel, Variant};

/// Multiplier of the kernels without fused instructions: so near one that nothing overflows in hours.
const FACTOR_F32: f32 = 1.000_000_1;
const FACTOR_F64: f64 = 1.000_000_000_000_1;

fn has_fma() -> bool {
    is_x86_feature_detected!("fma")
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// Fused multiply-adds: x = x / 2 + 1, which tends to two and stays there. 240 a turn,
/// so that the loop's own jump, which costs some cores several cycles, does not count.
macro_rules! fused {
    ($name:ident, $type:ty, $reg:literal, rounds $rounds:literal, accumulators $list:literal, last $last:literal,
     constants $half:literal $one:literal, $broadcast:literal, $fma:literal, $add:literal) => {
        kernel!(
            $name($type),
            [
                concat!($broadcast, " ", $reg, $half, ", [rsi]"),
                concat!($broadcast, " ", $reg, $one, ", [rdx]"),
                concat!(".irp i,", $list, "\nvmovaps ", $reg, "\\i, ", $reg, $one, "\n.endr")
            ],
            concat!(
                ".rept ", $rounds, "\n.irp i,", $list, "\n",
                $fma, " ", $reg, "\\i, ", $reg, $half, ", ", $reg, $one,
                "\n.endr\n.endr"
            ),
            [
                concat!(".irp i,", $last, "\n", $add, " ", $reg, "0, ", $reg, "0, ", $reg, "\\i\n.endr"),
                concat!("vmovups [rdi], ", $reg, "0"),
                "vzeroupper"
            ],
            constants(half = 0.5, one = 1.0),
            inout("rsi") &raw const half => _, inout("rdx") &raw const one => _,
        );
    };
}

// 24 accumulators where there are 32 registers, 12 where there are 16: the pipes take two a cycle, for four or five cycles.
macro_rules! fused_narrow {
    ($name:ident, $type:ty, $reg:literal, $broadcast:literal, $fma:literal, $add:literal) => {
        fused!($name, $type, $reg, rounds 20, accumulators "0,1,2,3,4,5,6,7,8,9,10,11", last "1,2,3,4,5,6,7,8,9,10,11",
               constants "12" "13", $broadcast, $fma, $add);
    };
}

macro_rules! fused_wide {
    ($name:ident, $type:ty, $broadcast:literal, $fma:literal, $add:literal) => {
        fused!($name, $type, "zmm", rounds 10, accumulators "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
               last "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23", constants "24" "25",
               $broadcast, $fma, $add);
    };
}

fused_narrow!(fma128_f32, f32, "xmm", "vbroadcastss", "vfmadd213ps", "vaddps");
fused_narrow!(fma128_f64, f64, "xmm", "vmovddup", "vfmadd213pd", "vaddpd");
fused_narrow!(avx2_f32, f32, "ymm", "vbroadcastss", "vfmadd213ps", "vaddps");
fused_narrow!(avx2_f64, f64, "ymm", "vbroadcastsd", "vfmadd213pd", "vaddpd");
fused_wide!(avx512_f32, f32, "vbroadcastss", "vfmadd213ps", "vaddps");
fused_wide!(avx512_f64, f64, "vbroadcastsd", "vfmadd213pd", "vaddpd");

/// Seven multiplications and seven additions in turns, on registers of their own; 16 rounds a turn.
macro_rules! separate {
    ($name:ident, $type:ty, $factor:ident, $mul:literal, $add:literal, $spread:literal) => {
        kernel!(
            $name($type),
            [
                concat!($spread, " xmm14, xmm14, 0"),
                concat!($spread, " xmm15, xmm15, 0"),
                ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13\nmovaps xmm\\i, xmm15\n.endr"
            ],
            concat!(
                ".rept 16\n",
                ".irp i,0,1,2,3,4,5,6\n", $mul, " xmm\\i, xmm14\n.endr\n",
                ".irp i,7,8,9,10,11,12,13\n", $add, " xmm\\i, xmm15\n.endr\n",
                ".endr"
            ),
            [
                concat!(".irp i,1,2,3,4,5,6,7,8,9,10,11,12,13\n", $add, " xmm0, xmm\\i\n.endr"),
                "movups [rdi], xmm0"
            ],
            constants(factor = $factor, one = 1.0),
            inout("xmm14") factor => _, inout("xmm15") one => _,
        );
    };
}

separate!(scalar_f32, f32, FACTOR_F32, "mulss", "addss", "shufps");
separate!(scalar_f64, f64, FACTOR_F64, "mulsd", "addsd", "shufpd");
separate!(sse2_f32, f32, FACTOR_F32, "mulps", "addps", "shufps");
separate!(sse2_f64, f64, FACTOR_F64, "mulpd", "addpd", "shufpd");

/// Sum of so many accumulators, each halved and increased so often from one.
#[cfg(test)]
macro_rules! fused_sum {
    ($type:ty, $accumulators:literal, $rounds:expr) => {{
        let one = (0..$rounds).fold(1.0, |x: $type, _| x / 2.0 + 1.0);
        (1..$accumulators).fold(one, |sum, _| sum + one)
    }};
}

macro_rules! separate_sum {
    ($name:ident, $type:ty, $factor:ident) => {
        #[cfg(test)]
        fn $name(turns: u64) -> $type {
            let product = (0..16 * turns).fold(1.0, |x: $type, _| x * $factor);
            let sum = (0..16 * turns).fold(1.0, |x: $type, _| x + 1.0);
            [product; 6].into_iter().chain([sum; 7]).fold(product, |sum, x| sum + x)
        }
    };
}

separate_sum!(separate_sum_f32, f32, FACTOR_F32);
separate_sum!(separate_sum_f64, f64, FACTOR_F64);

macro_rules! variant {
    ($run:ident, $lane_flops:literal, $lanes:literal, $expected:expr) => {
        Variant {
            run: $run,
            lane_flops: $lane_flops,
            lanes: || $lanes,
            #[cfg(test)]
            expected: $expected,
        }
    };
}

pub(super) static KERNELS: &[FlopsKernel] = &[
    FlopsKernel {
        name: "scalar",
        is_available: || true,
        single: variant!(scalar_f32, 224, 1, separate_sum_f32),
        double: variant!(scalar_f64, 224, 1, separate_sum_f64),
    },
    FlopsKernel {
        name: "sse2",
        is_available: || true,
        single: variant!(sse2_f32, 224, 4, separate_sum_f32),
        double: variant!(sse2_f64, 224, 2, separate_sum_f64),
    },
    FlopsKernel {
        name: "fma-128",
        is_available: has_fma,
        single: variant!(fma128_f32, 480, 4, |turns| fused_sum!(f32, 12, 20 * turns)),
        double: variant!(fma128_f64, 480, 2, |turns| fused_sum!(f64, 12, 20 * turns)),
    },
    FlopsKernel {
        name: "avx2",
        is_available: has_fma,
        single: variant!(avx2_f32, 480, 8, |turns| fused_sum!(f32, 12, 20 * turns)),
        double: variant!(avx2_f64, 480, 4, |turns| fused_sum!(f64, 12, 20 * turns)),
    },
    FlopsKernel {
        name: "avx512",
        is_available: has_avx512,
        single: variant!(avx512_f32, 480, 16, |turns| fused_sum!(f32, 24, 10 * turns)),
        double: variant!(avx512_f64, 480, 8, |turns| fused_sum!(f64, 24, 10 * turns)),
    },
];
