//! Multiplications and additions of floating-point values as fast as each instruction set can: as many independent
//! accumulators as it takes to keep every pipe busy, and nothing but registers.

/// A kernel of one precision: what goes before the loop, a turn of it, what goes after, and the registers of its constants.
macro_rules! kernel {
    ($name:ident($type:ty), [$($before:expr),+], $turn:expr, [$($after:expr),+],
     constants($($constant:ident = $value:expr),+), $($operand:tt)*) => {
        /// # Safety
        /// The CPU must have the instructions; `turns` is not zero; there is room for one vector.
        unsafe fn $name(turns: u64, room: *mut $type) {
            $(let $constant: $type = $value;)+
            // SAFETY: one vector is stored to the room, as the caller promises; registers are declared by `clobber_abi`; the
            // loop ends when its counter is zero.
            unsafe {
                asm_by_arch!(
                    $($before,)+
                    ".p2align 6",
                    "2:",
                    $turn,
                    count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x1" }), "2b")
                    $(, $after)+;
                    x86_64 { inout("rcx") turns => _, inout("rdi") room => _, }
                    aarch64 { inout("x1") turns => _, inout("x0") room => _, }
                    $($operand)*
                    clobber_abi("C"),
                    options(nostack)
                );
            }
        }
    };
}

use std::mem::MaybeUninit;

/// Room for one vector of the widest instruction set: SVE's 2048 bits.
const MOST_LANES: usize = 64;

#[derive(Clone, Copy)]
pub struct Variant<T: 'static> {
    /// Turns, not zero; room for one vector of the accumulators' sums.
    run: unsafe fn(u64, *mut T),
    /// Operations on one lane in a turn: a fused multiply-add is two.
    lane_flops: u64,
    lanes: fn() -> u64,
    /// Value of every lane after so many turns.
    #[cfg(test)]
    expected: fn(u64) -> T,
}

/// A kernel of one instruction set.
#[derive(Clone, Copy)]
pub struct FlopsKernel {
    /// Name by which it is asked for, and recorded.
    pub name: &'static str,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    pub single: Variant<f32>,
    pub double: Variant<f64>,
}

/// A kernel in one precision, known to run on this CPU.
#[derive(Clone, Copy)]
pub enum Runnable {
    Single(Variant<f32>),
    Double(Variant<f64>),
}

impl FlopsKernel {
    /// The kernel in double or single precision, where this CPU can run it.
    pub fn runnable(&self, is_double: bool) -> Option<Runnable> {
        let precise = if is_double { Runnable::Double(self.double) } else { Runnable::Single(self.single) };
        (self.is_available)().then_some(precise)
    }
}

impl Runnable {
    /// Floating-point operations of one turn.
    pub fn flops(&self) -> u64 {
        match self {
            Runnable::Single(variant) => variant.lane_flops * (variant.lanes)(),
            Runnable::Double(variant) => variant.lane_flops * (variant.lanes)(),
        }
    }

    /// Computes for `turns` turns.
    #[inline(never)]
    pub fn run(&self, turns: u64) {
        if turns == 0 {
            return;
        }
        // Not zeroed: where the C library does that by 512-bit stores, Intel cores to Cascade Lake lower their clock for the
        // next two thirds of a millisecond.
        let mut single = MaybeUninit::<[f32; MOST_LANES]>::uninit();
        let mut double = MaybeUninit::<[f64; MOST_LANES]>::uninit();
        // SAFETY: this CPU has the instructions, else there were no such value; the room holds the widest vector.
        unsafe {
            match self {
                Runnable::Single(variant) => (variant.run)(turns, single.as_mut_ptr().cast()),
                Runnable::Double(variant) => (variant.run)(turns, double.as_mut_ptr().cast()),
            }
        }
    }
}

/// All kernels of this architecture, the narrowest first, whether or not this CPU can run them.
#[cfg(test)]
pub fn kernels() -> &'static [FlopsKernel] {
    machine::KERNELS
}

/// The kernel of this name, if this architecture has it.
pub fn kernel(name: &str) -> Option<&'static FlopsKernel> {
    machine::KERNELS.iter().find(|kernel| kernel.name == name)
}

/// The kernel with the widest vectors that this CPU can run.
pub fn widest() -> &'static FlopsKernel {
    machine::KERNELS.iter().rev().find(|kernel| (kernel.is_available)()).unwrap_or(&machine::KERNELS[0])
}

/// Floating-point pipes of x86-64: SSE2 with separate multiplications and additions, and fused ones of three widths.
#[cfg(target_arch = "x86_64")]
mod machine {
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
}

/// Floating-point pipes of AArch64: fused multiply-adds of scalars, of NEON's vectors and of SVE's.
#[cfg(target_arch = "aarch64")]
mod machine {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_holds_what_that_many_operations_come_to() {
        for kernel in kernels().iter().filter(|kernel| (kernel.is_available)()) {
            // Few turns, in which each accumulator's value still tells how often it was computed.
            for turns in [1, 2] {
                let (mut single, mut double) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
                // SAFETY: the kernel is available, and the room as large as any vector.
                unsafe {
                    (kernel.single.run)(turns, single.as_mut_ptr());
                    (kernel.double.run)(turns, double.as_mut_ptr());
                }
                let of = |lanes: fn() -> u64| lanes() as usize;
                let (expected, lanes) = ((kernel.single.expected)(turns), of(kernel.single.lanes));
                // The sum of the accumulators is rounded at each step; double precision has room for all of their bits.
                let is_right = |&x: &f32| (x / expected - 1.0).abs() < 1e-6;
                assert!(single[..lanes].iter().all(is_right), "{} f32: {single:?}, not {expected}", kernel.name);
                let (expected, lanes) = ((kernel.double.expected)(turns), of(kernel.double.lanes));
                assert!(
                    double[..lanes].iter().all(|&x| x == expected),
                    "{} f64: {double:?}, not {expected}",
                    kernel.name
                );
                if kernel.name != "scalar" {
                    assert!(double[of(kernel.double.lanes)..].iter().all(|&x| x == 0.0), "{} is wider", kernel.name);
                }
            }
        }
    }

    #[test]
    fn single_precision_has_twice_the_lanes_of_double() {
        for kernel in kernels().iter().filter(|kernel| (kernel.is_available)()) {
            let [single, double] = [false, true].map(|is_double| kernel.runnable(is_double).unwrap().flops());
            assert_eq!(single, if kernel.name == "scalar" { double } else { 2 * double }, "{}", kernel.name);
            kernel.runnable(true).unwrap().run(0);
        }
    }

    #[test]
    fn the_widest_is_available_and_no_narrower_than_any_other() {
        assert!((widest().is_available)());
        let flops = |kernel: &FlopsKernel| (kernel.double.lanes)();
        let available = kernels().iter().filter(|kernel| (kernel.is_available)());
        assert_eq!(available.map(flops).max(), Some(flops(widest())));
        assert!(kernel("scalar").is_some() && kernel("none").is_none());
    }
}
