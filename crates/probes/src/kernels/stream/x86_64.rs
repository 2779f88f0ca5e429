//! The kernels of STREAM and STREAM2 in x86-64 instructions.

use std::arch::is_x86_feature_detected;

use super::{Kernel, LIBC, Reach, StreamOperation, always};

fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// A chunk by vectors of so many bytes: the lines given, for each of them.
macro_rules! chunk {
    (16, $($line:expr),*) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            $($line, "\n",)*
            ".endr"
        )
    };
    (32, $($line:expr),*) => {
        concat!(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", $($line, "\n",)* ".endr")
    };
    (64, $($line:expr),*) => {
        concat!(".irp i,0,1,2,3,4,5,6,7\n", $($line, "\n",)* ".endr")
    };
}

/// The kernels of STREAM by vectors of 16 bytes: the store, and what goes after all.
macro_rules! stream_by_16 {
    ($module:ident, $store:literal, $after:literal) => {
        mod $module {
            kernel!(
                copy,
                "",
                chunk!(16, "movapd xmm1, [rsi + \\i * 16]", concat!($store, " [rdi + \\i * 16], xmm1")),
                $after
            );
            kernel!(
                scale,
                "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15",
                chunk!(
                    16,
                    "movapd xmm1, [rsi + \\i * 16]",
                    "mulpd xmm1, xmm15",
                    concat!($store, " [rdi + \\i * 16], xmm1")
                ),
                $after
            );
            kernel!(
                add,
                "",
                chunk!(
                    16,
                    "movapd xmm1, [rsi + \\i * 16]",
                    "addpd xmm1, [rdx + \\i * 16]",
                    concat!($store, " [rdi + \\i * 16], xmm1")
                ),
                $after
            );
            kernel!(
                triad,
                "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15",
                chunk!(
                    16,
                    "movapd xmm1, [rdx + \\i * 16]",
                    "mulpd xmm1, xmm15",
                    "addpd xmm1, [rsi + \\i * 16]",
                    concat!($store, " [rdi + \\i * 16], xmm1")
                ),
                $after
            );
        }
    };
}

/// The other kernels of STREAM2 by vectors of 16 bytes.
mod more_sse2 {
    kernel!(fill, "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15", chunk!(16, "movapd [rdi + \\i * 16], xmm15"), "");
    kernel!(
        daxpy,
        "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15",
        chunk!(
            16,
            "movapd xmm1, [rsi + \\i * 16]",
            "mulpd xmm1, xmm15",
            "addpd xmm1, [rdi + \\i * 16]",
            "movapd [rdi + \\i * 16], xmm1"
        ),
        ""
    );
    kernel!(
        sum,
        ".irp i,0,1,2,3,4,5,6,7\nxorpd xmm\\i, xmm\\i\n.endr",
        concat!(
            ".irp i,0,1,2,3,4,5,6,7\n",
            "addpd xmm\\i, [rdi + \\i * 16 + 0]\n",
            "addpd xmm\\i, [rdi + \\i * 16 + 128]\n",
            "addpd xmm\\i, [rdi + \\i * 16 + 256]\n",
            "addpd xmm\\i, [rdi + \\i * 16 + 384]\n",
            ".endr"
        ),
        concat!(
            ".irp i,1,2,3,4,5,6,7\naddpd xmm0, xmm\\i\n.endr\n",
            "movapd xmm1, xmm0\nunpckhpd xmm1, xmm1\naddsd xmm0, xmm1"
        )
    );
}

/// The eight lines of a chunk ahead, of the array at a register, by an instruction, or none.
macro_rules! ahead {
    ([], $at:literal) => {
        ""
    };
    ([$prefetch:literal], $at:literal) => {
        concat!(".irp i,0,1,2,3,4,5,6,7\n", $prefetch, " [", $at, " + \\i * 64 + 512]\n.endr\n")
    };
}

/// A chunk by instructions of AVX on register 1, each with what stands before the array's register and behind the place.
macro_rules! avx {
    ($bytes:tt, $($before:expr, [$at:literal], $behind:expr);*) => {
        chunk!($bytes, $(concat!($before, "[", $at, " + \\i * ", $bytes, "]", $behind)),*)
    };
}

/// The kernels of STREAM by AVX: vector bytes, registers, prefetch distances of d, x and y, the store, and the end.
macro_rules! stream_by_avx {
    ($module:ident, $bytes:tt, $v:literal, ahead $d:tt $x:tt $y:tt, $store:literal, $after:literal) => {
        mod $module {
            kernel!(
                copy,
                "",
                concat!(
                    ahead!($d, "rdi"),
                    ahead!($x, "rsi"),
                    avx!($bytes, concat!("vmovapd ", $v, "1, "), ["rsi"], ""; concat!($store, " "), ["rdi"], concat!(", ", $v, "1"))
                ),
                $after
            );
            kernel!(
                scale,
                concat!("vbroadcastsd ", $v, "15, xmm0"),
                concat!(
                    ahead!($d, "rdi"),
                    ahead!($x, "rsi"),
                    avx!(
                        $bytes,
                        concat!("vmulpd ", $v, "1, ", $v, "15, "), ["rsi"], "";
                        concat!($store, " "), ["rdi"], concat!(", ", $v, "1")
                    )
                ),
                $after
            );
            kernel!(
                add,
                "",
                concat!(
                    ahead!($d, "rdi"),
                    ahead!($x, "rsi"),
                    ahead!($y, "rdx"),
                    avx!(
                        $bytes,
                        concat!("vmovapd ", $v, "1, "), ["rsi"], "";
                        concat!("vaddpd ", $v, "1, ", $v, "1, "), ["rdx"], "";
                        concat!($store, " "), ["rdi"], concat!(", ", $v, "1")
                    )
                ),
                $after
            );
            kernel!(
                triad,
                concat!("vbroadcastsd ", $v, "15, xmm0"),
                concat!(
                    ahead!($d, "rdi"),
                    ahead!($x, "rsi"),
                    ahead!($y, "rdx"),
                    avx!(
                        $bytes,
                        concat!("vmovapd ", $v, "1, "), ["rsi"], "";
                        concat!("vfmadd231pd ", $v, "1, ", $v, "15, "), ["rdx"], "";
                        concat!($store, " "), ["rdi"], concat!(", ", $v, "1")
                    )
                ),
                $after
            );
        }
    };
}

/// The other kernels of STREAM2 by the vectors of AVX: their bytes, the registers; by what each of d to write, d to read, and x
/// is fetched ahead; for the sum what makes a register zero, the rows of eight vectors in a chunk, and what comes before the
/// fold of 32 bytes.
macro_rules! stream2_by_avx {
    ($module:ident, $bytes:tt, $v:literal, ahead $d:tt $read:tt $x:tt,
     zero $zero:literal, rows [$($row:literal),*], fold $fold:literal) => {
        mod $module {
            kernel!(
                fill,
                concat!("vbroadcastsd ", $v, "15, xmm0"),
                concat!(ahead!($d, "rdi"), avx!($bytes, "vmovapd ", ["rdi"], concat!(", ", $v, "15"))),
                "vzeroupper"
            );
            kernel!(
                daxpy,
                concat!("vbroadcastsd ", $v, "15, xmm0"),
                concat!(
                    ahead!($d, "rdi"),
                    ahead!($x, "rsi"),
                    avx!(
                        $bytes,
                        concat!("vmovapd ", $v, "1, "), ["rdi"], "";
                        concat!("vfmadd231pd ", $v, "1, ", $v, "15, "), ["rsi"], "";
                        "vmovapd ", ["rdi"], concat!(", ", $v, "1")
                    )
                ),
                "vzeroupper"
            );
            kernel!(
                sum,
                concat!(".irp i,0,1,2,3,4,5,6,7\n", $zero, " ", $v, "\\i, ", $v, "\\i, ", $v, "\\i\n.endr"),
                concat!(
                    ahead!($read, "rdi"),
                    ".irp i,0,1,2,3,4,5,6,7\n",
                    $("vaddpd ", $v, "\\i, ", $v, "\\i, [rdi + \\i * ", $bytes, " + ", $row, "]\n",)*
                    ".endr"
                ),
                concat!(
                    ".irp i,1,2,3,4,5,6,7\nvaddpd ", $v, "0, ", $v, "0, ", $v, "\\i\n.endr\n",
                    $fold,
                    "vextractf128 xmm1, ymm0, 1\nvaddpd xmm0, xmm0, xmm1\n",
                    "vunpckhpd xmm1, xmm0, xmm0\nvaddsd xmm0, xmm0, xmm1\nvzeroupper"
                )
            );
        }
    };
}

stream_by_16!(sse2, "movapd", "");
stream_by_16!(nt_sse2, "movntpd", "sfence");
stream_by_avx!(avx2, 32, "ymm", ahead [] [] [], "vmovapd", "vzeroupper");
stream_by_avx!(avx2_prefetch, 32, "ymm", ahead["prefetchw"]["prefetcht0"]["prefetcht0"], "vmovapd", "vzeroupper");
stream_by_avx!(nt_avx2, 32, "ymm", ahead [] ["prefetcht0"] ["prefetcht0"], "vmovntpd", "vzeroupper\nsfence");
stream_by_avx!(avx512, 64, "zmm", ahead [] [] [], "vmovapd", "vzeroupper");
stream_by_avx!(nt_avx512, 64, "zmm", ahead [] ["prefetcht0"] ["prefetcht0"], "vmovntpd", "vzeroupper\nsfence");
stream2_by_avx!(more_avx2, 32, "ymm", ahead [] [] [], zero "vxorpd", rows ["0", "256"], fold "");
stream2_by_avx!(more_avx2_prefetch, 32, "ymm", ahead ["prefetchw"] ["prefetcht0"] ["prefetcht0"], zero "vxorpd", rows ["0", "256"], fold "");
stream2_by_avx!(more_avx512, 64, "zmm", ahead [] [] [], zero "vpxorq", rows ["0"], fold "vextractf64x4 ymm1, zmm0, 1\nvaddpd ymm0, ymm0, ymm1\n");

pub(super) static KERNELS: &[&[Kernel]] = &[
    &of_stream!("sse2", always, sse2),
    &of_stream!("avx2", has_avx2, avx2),
    &of_stream!("avx2-prefetch", has_avx2, avx2_prefetch),
    &of_stream!("avx512", has_avx512, avx512),
    &of_stream!("nt-sse2", always, nt_sse2),
    &of_stream!("nt-avx2", has_avx2, nt_avx2),
    &of_stream!("nt-avx512", has_avx512, nt_avx512),
    &of_stream2!("sse2", always, more_sse2),
    &of_stream2!("avx2", has_avx2, more_avx2),
    &of_stream2!("avx2-prefetch", has_avx2, more_avx2_prefetch),
    &of_stream2!("avx512", has_avx512, more_avx512),
    &LIBC,
];

// The order of preference, as measured on Cascade Lake: in memory AVX-512's plain stores lose to AVX2's, and a prefetch
// for writing gains a tenth for one thread; of the stores past the caches the widest are the fastest.

pub(super) fn best(reach: Reach) -> &'static [&'static str] {
    match reach {
        Reach::FirstCache => &["avx512", "avx2", "sse2"],
        Reach::Caches | Reach::Memory => &["avx2-prefetch", "sse2"],
    }
}

pub(super) const NON_TEMPORAL: &[&str] = &["nt-avx512", "nt-avx2", "nt-sse2"];
