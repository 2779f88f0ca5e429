//! Multiplications and additions of floating-point values as fast as each instruction set can: as many independent
//! accumulators as it takes to keep every pipe busy, and nothing but registers.

/// A kernel of one precision: what goes before the loop, a turn of it, what goes after, and the registers of its constants.
macro_rules! kernel {
    ($name:ident, [$($before:expr),+], $turn:expr, [$($after:expr),+],
     constants($($constant:ident: $type:ty = $value:expr),+), $($operand:tt)*) => {
        /// # Safety
        /// The CPU must have the instructions; `turns` is not zero; there is room for one vector.
        unsafe fn $name(turns: u64, room: *mut u8) {
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

/// Room for one vector of the widest instruction set: SVE's 2048 bits, or a tile of AMX.
const ROOM_BYTES: usize = 1024;

#[repr(align(64))]
struct Room(#[cfg_attr(not(test), expect(dead_code, reason = "kernels write it"))] [u8; ROOM_BYTES]);

/// A kernel of one instruction set and type of numbers.
#[derive(Clone, Copy)]
pub struct FlopsKernel {
    /// Name of the instruction set by which it is asked for, and recorded.
    pub name: &'static str,
    /// Type of the factors: `f64`, `f32`, `fp16`, `bf16` or `int8`.
    pub of: &'static str,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    /// Turns, not zero; room for one vector of the accumulators' sums.
    run: unsafe fn(u64, *mut u8),
    /// Operations of a turn: a multiplication with its addition is two.
    operations: fn() -> u64,
    /// Value of every lane after so many turns.
    #[cfg(test)]
    expected: fn(u64) -> f64,
}

impl FlopsKernel {
    /// Operations of one turn.
    pub fn operations(&self) -> u64 {
        (self.operations)()
    }

    /// Computes for `turns` turns, on a CPU that has the instructions.
    #[inline(never)]
    pub fn run(&self, turns: u64) {
        if turns == 0 {
            return;
        }
        // Not zeroed: where the C library does that by 512-bit stores, Intel cores to Cascade Lake lower their clock for the
        // next two thirds of a millisecond.
        let mut room = MaybeUninit::<Room>::uninit();
        // SAFETY: kernels are found only where this CPU has the instructions; the room holds the widest vector.
        unsafe { (self.run)(turns, room.as_mut_ptr().cast()) }
    }
}

/// Kernels of a type that this CPU can run, the fastest last.
pub fn available(of: &str) -> impl DoubleEndedIterator<Item = &'static FlopsKernel> {
    machine::KERNELS.iter().filter(move |kernel| kernel.of == of && (kernel.is_available)())
}

/// Tells whether this architecture has the instruction set of this name.
pub fn is_known(name: &str) -> bool {
    machine::KERNELS.iter().any(|kernel| kernel.name == name)
}

/// A kernel by its instruction set and the type of its factors.
macro_rules! variant {
    ($name:literal, $of:literal, $is_available:expr, $run:ident, $operations:expr, $expected:expr) => {
        FlopsKernel {
            name: $name,
            of: $of,
            is_available: $is_available,
            run: $run,
            operations: || $operations,
            #[cfg(test)]
            expected: $expected,
        }
    };
}

/// Pipes of x86-64: SSE2 with separate multiplications and additions, fused ones of three widths, sums of short products (VNNI, BF16)
/// and tiles (AMX).
#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};
    use std::sync::LazyLock;

    use super::FlopsKernel;

    /// Multiplier of the kernels without fused instructions: so near one that nothing overflows in hours.
    const FACTOR_F32: f32 = 1.000_000_1;
    const FACTOR_F64: f64 = 1.000_000_000_000_1;

    fn has_fma() -> bool {
        is_x86_feature_detected!("fma")
    }

    fn has_avx512() -> bool {
        is_x86_feature_detected!("avx512f")
    }

    /// Leaf 7 of CPUID says it in this bit of EDX, and Linux lets this process use tiles.
    fn has_amx(bit: u32) -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const XFEATURE_XTILEDATA: libc::c_long = 18;
        static IS_ALLOWED: LazyLock<bool> = LazyLock::new(|| {
            // SAFETY: the call asks for a right of this process, and changes nothing else.
            unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
        });
        __get_cpuid_max(0).0 >= 7 && __cpuid_count(7, 0).edx & (1 << bit) != 0 && *IS_ALLOWED
    }

    /// Multiply-adds on every accumulator from a vector of halves and one of ones, 240 a turn, so that the loop's own jump, which costs
    /// some cores several cycles, does not count. Fused ones are x = x / 2 + 1, which tends to two and stays there.
    macro_rules! fused {
    ($name:ident, ($type:ty, $half_value:expr, $one_value:expr), $reg:literal, rounds $rounds:literal, accumulators $list:literal, last $last:literal,
     constants $half:literal $one:literal, $broadcast:literal, $fma:literal, $add:literal) => {
        kernel!(
            $name,
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
            constants(half: $type = $half_value, one: $type = $one_value),
            inout("rsi") &raw const half => _, inout("rdx") &raw const one => _,
        );
    };
}

    // 24 accumulators where there are 32 registers, 12 where there are 16: the pipes take two a cycle, for four or five cycles.
    macro_rules! fused_narrow {
    ($name:ident, $constants:tt, $reg:literal, $broadcast:literal, $fma:literal, $add:literal) => {
        fused!($name, $constants, $reg, rounds 20, accumulators "0,1,2,3,4,5,6,7,8,9,10,11", last "1,2,3,4,5,6,7,8,9,10,11",
               constants "12" "13", $broadcast, $fma, $add);
    };
}

    macro_rules! fused_wide {
    ($name:ident, $constants:tt, $broadcast:literal, $fma:literal, $add:literal) => {
        fused!($name, $constants, "zmm", rounds 10, accumulators "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
               last "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23", constants "24" "25",
               $broadcast, $fma, $add);
    };
}

    fused_narrow!(fma128_f32, (f32, 0.5, 1.0), "xmm", "vbroadcastss", "vfmadd213ps", "vaddps");
    fused_narrow!(fma128_f64, (f64, 0.5, 1.0), "xmm", "vmovddup", "vfmadd213pd", "vaddpd");
    fused_narrow!(avx2_f32, (f32, 0.5, 1.0), "ymm", "vbroadcastss", "vfmadd213ps", "vaddps");
    fused_narrow!(avx2_f64, (f64, 0.5, 1.0), "ymm", "vbroadcastsd", "vfmadd213pd", "vaddpd");
    fused_wide!(avx512_f32, (f32, 0.5, 1.0), "vbroadcastss", "vfmadd213ps", "vaddps");
    fused_wide!(avx512_f64, (f64, 0.5, 1.0), "vbroadcastsd", "vfmadd213pd", "vaddpd");
    fused_wide!(avx512_fp16, (u16, 0x3800, 0x3c00), "vpbroadcastw", "vfmadd213ph", "vaddph");
    // Two halves times ones are added to each lane, which begins with the bits of two ones; and four ones times ones.
    fused_wide!(avx512_bf16, (u32, 0x3f00_3f00, PAIR), "vbroadcastss", "vdpbf16ps", "vaddps");
    fused_wide!(avx512_int8, (u32, FOUR, FOUR), "vbroadcastss", "vpdpbusd", "vpaddd");
    fused_narrow!(avx2_int8, (u32, FOUR, FOUR), "ymm", "vbroadcastss", "{{vex}} vpdpbusd", "vpaddd");

    /// Two bf16 ones.
    const PAIR: u32 = 0x3f80_3f80;
    /// Four bytes of one.
    const FOUR: u32 = 0x0101_0101;
    /// Shape of all eight tiles: 16 rows of 64 bytes.
    static TILES: [u8; 64] = {
        let mut tiles = [0; 64];
        tiles[0] = 1;
        let mut tile = 0;
        while tile < 8 {
            (tiles[16 + 2 * tile], tiles[48 + tile]) = (64, 16);
            tile += 1;
        }
        tiles
    };

    /// Products of 16 × 16 elements on six tiles from one tile of halves and one of ones, all rows alike; the first rows' sum is stored.
    macro_rules! tiles {
        ($name:ident, $half_value:expr, $one_value:expr, $product:literal, $add:literal) => {
            kernel!(
                $name,
                [
                    "ldtilecfg [r8]",
                    "xor eax, eax",
                    "tileloadd tmm6, [rsi + rax]",
                    "tileloadd tmm7, [rdx + rax]",
                    ".irp i,0,1,2,3,4,5\ntilezero tmm\\i\n.endr"
                ],
                concat!(".rept 10\n.irp i,0,1,2,3,4,5\n", $product, " tmm\\i, tmm6, tmm7\n.endr\n.endr"),
                [
                    "vpxor xmm0, xmm0, xmm0",
                    "mov eax, 64",
                    concat!(".irp i,0,1,2,3,4,5\ntilestored [rdi + rax], tmm\\i\n", $add, " zmm0, zmm0, [rdi]\n.endr"),
                    "vmovups [rdi], zmm0",
                    "tilerelease",
                    "vzeroupper"
                ],
                constants(half: [u32; 16] = [$half_value; 16], one: [u32; 16] = [$one_value; 16]),
                inout("rsi") &raw const half => _, inout("rdx") &raw const one => _, inout("r8") &raw const TILES => _, out("rax") _,
            );
        };
    }

    tiles!(amx_bf16, 0x3f00_3f00, PAIR, "tdpbf16ps", "vaddps");
    tiles!(amx_int8, FOUR, FOUR, "tdpbssd", "vpaddd");

    /// Seven multiplications and seven additions in turns, on registers of their own; 16 rounds a turn.
    macro_rules! separate {
    ($name:ident, $type:ty, $factor:ident, $mul:literal, $add:literal, $spread:literal) => {
        kernel!(
            $name,
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
            constants(factor: $type = $factor, one: $type = 1.0),
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
    fn fused_sum(accumulators: u64, rounds: u64) -> f64 {
        accumulators as f64 * (0..rounds).fold(1.0, |x, _| x / 2.0 + 1.0)
    }

    /// Sum of products and sums of the kernels that are not fused.
    #[cfg(test)]
    fn separate_sum(turns: u64, factor: f64) -> f64 {
        7.0 * (0..16 * turns).fold(1.0, |x, _| x * factor) + 7.0 * (1.0 + 16.0 * turns as f64)
    }

    pub(super) static KERNELS: &[FlopsKernel] = &[
        variant!("scalar", "f32", || true, scalar_f32, 224, |turns| separate_sum(turns, FACTOR_F32.into())),
        variant!("scalar", "f64", || true, scalar_f64, 224, |turns| separate_sum(turns, FACTOR_F64)),
        variant!("sse2", "f32", || true, sse2_f32, 224 * 4, |turns| separate_sum(turns, FACTOR_F32.into())),
        variant!("sse2", "f64", || true, sse2_f64, 224 * 2, |turns| separate_sum(turns, FACTOR_F64)),
        variant!("fma-128", "f32", has_fma, fma128_f32, 480 * 4, |turns| fused_sum(12, 20 * turns)),
        variant!("fma-128", "f64", has_fma, fma128_f64, 480 * 2, |turns| fused_sum(12, 20 * turns)),
        variant!("avx2", "f32", has_fma, avx2_f32, 480 * 8, |turns| fused_sum(12, 20 * turns)),
        variant!("avx2", "f64", has_fma, avx2_f64, 480 * 4, |turns| fused_sum(12, 20 * turns)),
        variant!("avx2", "int8", || is_x86_feature_detected!("avxvnni"), avx2_int8, 480 * 32, |turns| {
            12.0 * (f64::from(FOUR) + 80.0 * turns as f64)
        }),
        variant!("avx512", "f32", has_avx512, avx512_f32, 480 * 16, |turns| fused_sum(24, 10 * turns)),
        variant!("avx512", "f64", has_avx512, avx512_f64, 480 * 8, |turns| fused_sum(24, 10 * turns)),
        variant!("avx512", "fp16", || is_x86_feature_detected!("avx512fp16"), avx512_fp16, 480 * 32, |turns| {
            fused_sum(24, 10 * turns)
        }),
        variant!("avx512", "bf16", || is_x86_feature_detected!("avx512bf16"), avx512_bf16, 480 * 32, |turns| {
            24.0 * (f64::from(f32::from_bits(PAIR)) + 10.0 * turns as f64)
        }),
        variant!("avx512", "int8", || is_x86_feature_detected!("avx512vnni"), avx512_int8, 480 * 64, |turns| {
            24.0 * (f64::from(FOUR) + 40.0 * turns as f64)
        }),
        variant!("amx", "bf16", || has_amx(22), amx_bf16, 60 * 2 * 16 * 16 * 32, |turns| 60.0
            * 16.0
            * turns as f64
            * 2.0
            * 0.5),
        variant!("amx", "int8", || has_amx(25), amx_int8, 60 * 2 * 16 * 16 * 64, |turns| 60.0 * 64.0 * turns as f64),
    ];
}

/// Pipes of AArch64: fused multiply-adds of scalars, of NEON's vectors and of SVE's, and NEON's sums and matrices of short products.
#[cfg(target_arch = "aarch64")]
mod machine {
    use std::arch::{asm, is_aarch64_feature_detected};

    use super::FlopsKernel;

    /// Multiply-adds on 24 accumulators, ten rounds a turn: wide cores start four a cycle, for four cycles each.
    macro_rules! fused {
    ($name:ident, $type:ty, $half:expr, $one:expr, $pre:literal $post:literal, before $before:literal, $set:literal, $fma:literal, $add:literal, $store:literal) => {
        kernel!(
            $name,
            [
                "movi v27.2d, #0",
                $before,
                concat!(".irp acc,", registers_24!($pre, $post), "\n", $set, "\n.endr")
            ],
            concat!(".rept 10\n.irp acc,", registers_24!($pre, $post), "\n", $fma, "\n.endr\n.endr"),
            [concat!(".irp acc,", registers_24!($pre, $post), "\n", $add, "\n.endr"), $store],
            constants(half: $type = $half, one: $type = $one),
            inout("v24") half => _, inout("v25") one => _,
        );
    };
}

    // x = x / 2 + 1, which tends to two.
    fused!(scalar_f32, f32, 0.5, 1.0, "s" "", before "", "fmov \\acc, s25", "fmadd \\acc, \\acc, s24, s25", "fadd s27, s27, \\acc", "str s27, [x0]");
    fused!(scalar_f64, f64, 0.5, 1.0, "d" "", before "", "fmov \\acc, d25", "fmadd \\acc, \\acc, d24, d25", "fadd d27, d27, \\acc", "str d27, [x0]");
    // x = x + 1/2 · 1: vectors accumulate only.
    fused!(neon_f32, f32, 0.5, 1.0, "v" ".4s", before "dup v24.4s, v24.s[0]; dup v25.4s, v25.s[0]",
       "fmov \\acc, #1.0", "fmla \\acc, v24.4s, v25.4s", "fadd v27.4s, v27.4s, \\acc", "str q27, [x0]");
    fused!(neon_f64, f64, 0.5, 1.0, "v" ".2d", before "dup v24.2d, v24.d[0]; dup v25.2d, v25.d[0]",
       "fmov \\acc, #1.0", "fmla \\acc, v24.2d, v25.2d", "fadd v27.2d, v27.2d, \\acc", "str q27, [x0]");
    fused!(sve_f32, f32, 0.5, 1.0, "z" ".s", before ".arch_extension sve; ptrue p0.s; mov z24.s, s24; mov z25.s, s25; mov z27.s, #0",
       "fmov \\acc, #1.0", "fmla \\acc, p0/m, z24.s, z25.s", "fadd z27.s, z27.s, \\acc", "str z27, [x0]");
    fused!(sve_f64, f64, 0.5, 1.0, "z" ".d", before ".arch_extension sve; ptrue p0.d; mov z24.d, d24; mov z25.d, d25; mov z27.d, #0",
       "fmov \\acc, #1.0", "fmla \\acc, p0/m, z24.d, z25.d", "fadd z27.d, z27.d, \\acc", "str z27, [x0]");
    // The same of halves, of four pairs of bf16 in a matrix of 2 × 2, and of bytes by fours and by eights in such a matrix.
    fused!(neon_fp16, f32, f32::from_bits(0x3800), f32::from_bits(0x3c00), "v" ".8h",
       before ".arch_extension fp16; dup v24.8h, v24.h[0]; dup v25.8h, v25.h[0]",
       "fmov \\acc, #1.0", "fmla \\acc, v24.8h, v25.8h", "fadd v27.8h, v27.8h, \\acc", "str q27, [x0]");
    fused!(neon_bf16, f32, f32::from_bits(0x3f00_3f00), f32::from_bits(0x3f80_3f80), "v" ".4s",
       before ".arch_extension bf16; dup v24.4s, v24.s[0]; dup v25.4s, v25.s[0]",
       "fmov \\acc, #1.0", "bfmmla \\acc, v24.8h, v25.8h", "fadd v27.4s, v27.4s, \\acc", "str q27, [x0]");
    fused!(neon_int8, f32, 0.0, 0.0, "v" ".4s", before ".arch_extension dotprod; movi v24.16b, #1; movi v25.16b, #1",
       "movi \\acc, #1", "sdot \\acc, v24.16b, v25.16b", "add v27.4s, v27.4s, \\acc", "str q27, [x0]");
    fused!(matrix_int8, f32, 0.0, 0.0, "v" ".4s", before ".arch_extension i8mm; movi v24.16b, #1; movi v25.16b, #1",
       "movi \\acc, #1", "smmla \\acc, v24.16b, v25.16b", "add v27.4s, v27.4s, \\acc", "str q27, [x0]");

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

    /// Sum of the accumulators, each increased by so much ten times a turn from one.
    #[cfg(test)]
    fn increased(by: f64, turns: u64) -> f64 {
        24.0 * (1.0 + 10.0 * by * turns as f64)
    }

    fn has_sve() -> bool {
        is_aarch64_feature_detected!("sve")
    }

    pub(super) static KERNELS: &[FlopsKernel] = &[
        variant!("scalar", "f32", || true, scalar_f32, 480, halved),
        variant!("scalar", "f64", || true, scalar_f64, 480, halved),
        variant!("neon", "f32", || true, neon_f32, 480 * 4, |turns| increased(0.5, turns)),
        variant!("neon", "f64", || true, neon_f64, 480 * 2, |turns| increased(0.5, turns)),
        variant!("neon", "fp16", || is_aarch64_feature_detected!("fp16"), neon_fp16, 480 * 8, |turns| {
            increased(0.5, turns)
        }),
        variant!("neon", "bf16", || is_aarch64_feature_detected!("bf16"), neon_bf16, 480 * 16, |turns| {
            increased(2.0, turns)
        }),
        variant!("neon", "int8", || is_aarch64_feature_detected!("dotprod"), neon_int8, 480 * 16, |turns| {
            increased(4.0, turns)
        }),
        variant!("i8mm", "int8", || is_aarch64_feature_detected!("i8mm"), matrix_int8, 480 * 32, |turns| {
            increased(8.0, turns)
        }),
        variant!("sve", "f32", has_sve, sve_f32, 480 * 2 * sve_lanes(), |turns| increased(0.5, turns)),
        variant!("sve", "f64", has_sve, sve_f64, 480 * sve_lanes(), |turns| increased(0.5, turns)),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [&str; 5] = ["f32", "f64", "fp16", "bf16", "int8"];

    /// Value of a normal number of 16 bits (IEEE 754 binary16).
    fn half(bits: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        (1.0 + mantissa / 1024.0) * 2_f64.powi(exponent - 15)
    }

    /// First lane of the room after so many turns on a room of zeros, in the type of its accumulators, and how many others are alike.
    fn lanes_after(kernel: &FlopsKernel, turns: u64) -> (f64, usize) {
        let mut room = Room([0; ROOM_BYTES]);
        // SAFETY: the kernel is available, and the room as large as any vector.
        unsafe { (kernel.run)(turns, room.0.as_mut_ptr()) };
        let bytes = match kernel.of {
            "f64" => 8,
            "fp16" => 2,
            _ => 4,
        };
        let first = &room.0[..bytes];
        let value = match kernel.of {
            "f64" => f64::from_ne_bytes(first.try_into().unwrap()),
            "fp16" => half(u16::from_ne_bytes(first.try_into().unwrap())),
            "int8" => f64::from(u32::from_ne_bytes(first.try_into().unwrap())),
            _ => f64::from(f32::from_ne_bytes(first.try_into().unwrap())),
        };
        (value, room.0.chunks(bytes).take_while(|lane| *lane == first).count())
    }

    #[test]
    fn every_lane_holds_what_that_many_operations_come_to() {
        for kernel in TYPES.iter().flat_map(|of| available(of)) {
            // Few turns, in which each accumulator's value still tells how often it was computed.
            for turns in [1, 2] {
                let ((value, lanes), expected) = (lanes_after(kernel, turns), (kernel.expected)(turns));
                // The sum of the accumulators is rounded at each step; a half has 11 bits.
                let tolerance = if kernel.of == "fp16" { 0.02 } else { 1e-6 };
                assert!(
                    (value / expected - 1.0).abs() < tolerance,
                    "{} {}: {value}, not {expected}",
                    kernel.name,
                    kernel.of
                );
                // Of tiles the room has one row of 16.
                let each = match (kernel.name, kernel.operations() / lanes as u64) {
                    ("amx", each) => each / 16,
                    (_, each) => each,
                };
                let due = match kernel.name {
                    "amx" => 60 * 16 * 2 * products(kernel),
                    "scalar" | "sse2" if cfg!(target_arch = "x86_64") => 224,
                    _ => 480 * products(kernel),
                };
                assert!(each == due || kernel.name == "scalar", "{} {}: {each} a lane", kernel.name, kernel.of);
            }
            kernel.run(0);
        }
    }

    /// Products that an instruction adds to one lane.
    fn products(kernel: &FlopsKernel) -> u64 {
        match (kernel.name, kernel.of) {
            ("neon", "bf16") | ("neon", "int8") => 4,
            ("i8mm", _) => 8,
            (_, "bf16") => 2,
            (_, "int8") => 4,
            _ => 1,
        }
    }

    #[test]
    fn the_fastest_is_the_last() {
        for of in TYPES {
            let operations: Vec<u64> = available(of).map(FlopsKernel::operations).collect();
            assert!(operations.is_sorted(), "{of}: {operations:?}");
        }
        assert!(available("f64").count() >= 2 && is_known("scalar") && !is_known("none"));
    }
}
