//! The kernels of STREAM and STREAM2 in x86-64 instructions.

use std::arch::{asm, is_x86_feature_detected};

use super::{Kernel, Operation, Reach, libc_copy};

fn always() -> bool {
    true
}

fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// A loop over chunks that wraps from the end to the start without a branch: rdi walks d, rsi x, rdx y; the scalar is in
/// every part of register 15, the sum grows in registers 8 to 11.
macro_rules! kernel {
    ($name:ident, $set:expr, $body:expr, $after:expr) => {
        /// # Safety
        /// The CPU must have the instructions; `bytes`, some whole chunks, must be writable from the aligned `d` and
        /// readable from the aligned `x` and `y` as far as the operation reads them; `passes` is not zero.
        pub(super) unsafe fn $name(d: *mut f64, x: *const f64, y: *const f64, bytes: usize, passes: u64, q: f64) -> f64 {
            let sum: f64;
            // SAFETY: loads and stores stay between starts and ends, as the caller promises whole chunks; `clobber_abi`
            // covers all vector registers, whose upper parts are left zero.
            unsafe {
                asm!(
                    $set,
                    ".p2align 6",
                    "2:",
                    $body,
                    "add rdi, 512",
                    "add rsi, 512",
                    "add rdx, 512",
                    "cmp rdi, rax",
                    "cmove rdi, r8",
                    "cmove rsi, r9",
                    "cmove rdx, r10",
                    "dec rcx",
                    "jnz 2b",
                    $after,
                    inout("rdi") d => _,
                    inout("rsi") x => _,
                    inout("rdx") y => _,
                    inout("rcx") (bytes / 512) as u64 * passes => _,
                    inout("rax") d.wrapping_byte_add(bytes) => _,
                    inout("r8") d => _,
                    inout("r9") x => _,
                    inout("r10") y => _,
                    inout("xmm0") q => sum,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
            sum
        }
    };
}

/// The eight lines of a chunk ahead, of the array at a register, by an instruction.
macro_rules! ahead {
    ($prefetch:literal, $at:literal) => {
        concat!(".irp i,0,1,2,3,4,5,6,7\n", $prefetch, " [", $at, " + \\i * 64 + 512]\n.endr\n")
    };
}

/// A chunk by vectors of 16 bytes: the lines given, for each of 32.
macro_rules! by_16 {
    ($($line:expr),*) => { concat!(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n", $($line, "\n",)* ".endr") };
}

/// The kernels of STREAM by vectors of 16 bytes: what goes before each chunk, of d and of the sources; the store; what
/// goes after all.
macro_rules! stream_by_16 {
    ($module:ident, $d:expr, $x:expr, $y:expr, $store:expr, $after:expr) => {
        mod $module {
            use super::asm;
            kernel!(
                copy,
                "",
                concat!($d, $x, by_16!("movapd xmm1, [rsi + \\i * 16]", concat!($store, " [rdi + \\i * 16], xmm1"))),
                $after
            );
            kernel!(
                scale,
                "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15",
                concat!(
                    $d,
                    $x,
                    by_16!(
                        "movapd xmm1, [rsi + \\i * 16]",
                        "mulpd xmm1, xmm15",
                        concat!($store, " [rdi + \\i * 16], xmm1")
                    )
                ),
                $after
            );
            kernel!(
                add,
                "",
                concat!(
                    $d,
                    $x,
                    $y,
                    by_16!(
                        "movapd xmm1, [rsi + \\i * 16]",
                        "addpd xmm1, [rdx + \\i * 16]",
                        concat!($store, " [rdi + \\i * 16], xmm1")
                    )
                ),
                $after
            );
            kernel!(
                triad,
                "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15",
                concat!(
                    $d,
                    $x,
                    $y,
                    by_16!(
                        "movapd xmm1, [rdx + \\i * 16]",
                        "mulpd xmm1, xmm15",
                        "addpd xmm1, [rsi + \\i * 16]",
                        concat!($store, " [rdi + \\i * 16], xmm1")
                    )
                ),
                $after
            );
        }
    };
}

/// The other kernels of STREAM2 by vectors of 16 bytes: what goes before each chunk, of d to write, of d to read, and of x.
macro_rules! stream2_by_16 {
    ($module:ident, $d:expr, $read:expr, $x:expr, $after:expr) => {
        mod $module {
            use super::asm;
            kernel!(fill, "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15", concat!($d, by_16!("movapd [rdi + \\i * 16], xmm15")), $after);
            kernel!(daxpy, "movapd xmm15, xmm0\nunpcklpd xmm15, xmm15", concat!($d, $x, by_16!("movapd xmm1, [rsi + \\i * 16]", "mulpd xmm1, xmm15", "addpd xmm1, [rdi + \\i * 16]", "movapd [rdi + \\i * 16], xmm1")), $after);
            kernel!(
                sum,
                ".irp i,0,1,2,3,4,5,6,7\nxorpd xmm\\i, xmm\\i\n.endr",
                concat!($read, ".irp i,0,1,2,3,4,5,6,7\n", "addpd xmm\\i, [rdi + \\i * 16 + 0]\n", "addpd xmm\\i, [rdi + \\i * 16 + 128]\n", "addpd xmm\\i, [rdi + \\i * 16 + 256]\n", "addpd xmm\\i, [rdi + \\i * 16 + 384]\n", ".endr"),
                ".irp i,1,2,3,4,5,6,7\naddpd xmm0, xmm\\i\n.endr\nmovapd xmm1, xmm0\nunpckhpd xmm1, xmm1\naddsd xmm0, xmm1"
            );
        }
    };
}

/// A chunk by vectors of 32 bytes: the lines given, for each of 16.
macro_rules! by_32 {
    ($($line:expr),*) => { concat!(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", $($line, "\n",)* ".endr") };
}

/// The kernels of STREAM by vectors of 32 bytes: what goes before each chunk, of d and of the sources; the store; what
/// goes after all.
macro_rules! stream_by_32 {
    ($module:ident, $d:expr, $x:expr, $y:expr, $store:expr, $after:expr) => {
        mod $module {
            use super::asm;
            kernel!(
                copy,
                "",
                concat!($d, $x, by_32!("vmovapd ymm1, [rsi + \\i * 32]", concat!($store, " [rdi + \\i * 32], ymm1"))),
                $after
            );
            kernel!(
                scale,
                "vbroadcastsd ymm15, xmm0",
                concat!(
                    $d,
                    $x,
                    by_32!("vmulpd ymm1, ymm15, [rsi + \\i * 32]", concat!($store, " [rdi + \\i * 32], ymm1"))
                ),
                $after
            );
            kernel!(
                add,
                "",
                concat!(
                    $d,
                    $x,
                    $y,
                    by_32!(
                        "vmovapd ymm1, [rsi + \\i * 32]",
                        "vaddpd ymm1, ymm1, [rdx + \\i * 32]",
                        concat!($store, " [rdi + \\i * 32], ymm1")
                    )
                ),
                $after
            );
            kernel!(
                triad,
                "vbroadcastsd ymm15, xmm0",
                concat!(
                    $d,
                    $x,
                    $y,
                    by_32!(
                        "vmovapd ymm1, [rsi + \\i * 32]",
                        "vfmadd231pd ymm1, ymm15, [rdx + \\i * 32]",
                        concat!($store, " [rdi + \\i * 32], ymm1")
                    )
                ),
                $after
            );
        }
    };
}

/// The other kernels of STREAM2 by vectors of 32 bytes: what goes before each chunk, of d to write, of d to read, and of x.
macro_rules! stream2_by_32 {
    ($module:ident, $d:expr, $read:expr, $x:expr, $after:expr) => {
        mod $module {
            use super::asm;
            kernel!(fill, "vbroadcastsd ymm15, xmm0", concat!($d, by_32!("vmovapd [rdi + \\i * 32], ymm15")), $after);
            kernel!(daxpy, "vbroadcastsd ymm15, xmm0", concat!($d, $x, by_32!("vmovapd ymm1, [rdi + \\i * 32]", "vfmadd231pd ymm1, ymm15, [rsi + \\i * 32]", "vmovapd [rdi + \\i * 32], ymm1")), $after);
            kernel!(
                sum,
                ".irp i,0,1,2,3,4,5,6,7\nvxorpd ymm\\i, ymm\\i, ymm\\i\n.endr",
                concat!($read, ".irp i,0,1,2,3,4,5,6,7\n", "vaddpd ymm\\i, ymm\\i, [rdi + \\i * 32 + 0]\n", "vaddpd ymm\\i, ymm\\i, [rdi + \\i * 32 + 256]\n", ".endr"),
                ".irp i,1,2,3,4,5,6,7\nvaddpd ymm0, ymm0, ymm\\i\n.endr\nvextractf128 xmm1, ymm0, 1\nvaddpd xmm0, xmm0, xmm1\nvunpckhpd xmm1, xmm0, xmm0\nvaddsd xmm0, xmm0, xmm1\nvzeroupper"
            );
        }
    };
}

/// A chunk by vectors of 64 bytes: the lines given, for each of 8.
macro_rules! by_64 {
    ($($line:expr),*) => { concat!(".irp i,0,1,2,3,4,5,6,7\n", $($line, "\n",)* ".endr") };
}

/// The kernels of STREAM by vectors of 64 bytes: what goes before each chunk, of d and of the sources; the store; what
/// goes after all.
macro_rules! stream_by_64 {
    ($module:ident, $d:expr, $x:expr, $y:expr, $store:expr, $after:expr) => {
        mod $module {
            use super::asm;
            kernel!(
                copy,
                "",
                concat!($d, $x, by_64!("vmovapd zmm1, [rsi + \\i * 64]", concat!($store, " [rdi + \\i * 64], zmm1"))),
                $after
            );
            kernel!(
                scale,
                "vbroadcastsd zmm15, xmm0",
                concat!(
                    $d,
                    $x,
                    by_64!("vmulpd zmm1, zmm15, [rsi + \\i * 64]", concat!($store, " [rdi + \\i * 64], zmm1"))
                ),
                $after
            );
            kernel!(
                add,
                "",
                concat!(
                    $d,
                    $x,
                    $y,
                    by_64!(
                        "vmovapd zmm1, [rsi + \\i * 64]",
                        "vaddpd zmm1, zmm1, [rdx + \\i * 64]",
                        concat!($store, " [rdi + \\i * 64], zmm1")
                    )
                ),
                $after
            );
            kernel!(
                triad,
                "vbroadcastsd zmm15, xmm0",
                concat!(
                    $d,
                    $x,
                    $y,
                    by_64!(
                        "vmovapd zmm1, [rsi + \\i * 64]",
                        "vfmadd231pd zmm1, zmm15, [rdx + \\i * 64]",
                        concat!($store, " [rdi + \\i * 64], zmm1")
                    )
                ),
                $after
            );
        }
    };
}

/// The other kernels of STREAM2 by vectors of 64 bytes: what goes before each chunk, of d to write, of d to read, and of x.
macro_rules! stream2_by_64 {
    ($module:ident, $d:expr, $read:expr, $x:expr, $after:expr) => {
        mod $module {
            use super::asm;
            kernel!(fill, "vbroadcastsd zmm15, xmm0", concat!($d, by_64!("vmovapd [rdi + \\i * 64], zmm15")), $after);
            kernel!(daxpy, "vbroadcastsd zmm15, xmm0", concat!($d, $x, by_64!("vmovapd zmm1, [rdi + \\i * 64]", "vfmadd231pd zmm1, zmm15, [rsi + \\i * 64]", "vmovapd [rdi + \\i * 64], zmm1")), $after);
            kernel!(
                sum,
                ".irp i,0,1,2,3,4,5,6,7\nvpxorq zmm\\i, zmm\\i, zmm\\i\n.endr",
                concat!($read, ".irp i,0,1,2,3,4,5,6,7\n", "vaddpd zmm\\i, zmm\\i, [rdi + \\i * 64 + 0]\n", ".endr"),
                ".irp i,1,2,3,4,5,6,7\nvaddpd zmm0, zmm0, zmm\\i\n.endr\nvextractf64x4 ymm1, zmm0, 1\nvaddpd ymm0, ymm0, ymm1\nvextractf128 xmm1, ymm0, 1\nvaddpd xmm0, xmm0, xmm1\nvunpckhpd xmm1, xmm0, xmm0\nvaddsd xmm0, xmm0, xmm1\nvzeroupper"
            );
        }
    };
}

stream_by_16!(sse2, "", "", "", "movapd", "");
stream_by_16!(nt_sse2, "", "", "", "movntpd", "sfence");
stream_by_32!(avx2, "", "", "", "vmovapd", "vzeroupper");
stream_by_32!(
    avx2_prefetch,
    ahead!("prefetchw", "rdi"),
    ahead!("prefetcht0", "rsi"),
    ahead!("prefetcht0", "rdx"),
    "vmovapd",
    "vzeroupper"
);
stream_by_32!(nt_avx2, "", ahead!("prefetcht0", "rsi"), ahead!("prefetcht0", "rdx"), "vmovntpd", "vzeroupper\nsfence");
stream_by_64!(avx512, "", "", "", "vmovapd", "vzeroupper");
stream_by_64!(
    nt_avx512,
    "",
    ahead!("prefetcht0", "rsi"),
    ahead!("prefetcht0", "rdx"),
    "vmovntpd",
    "vzeroupper\nsfence"
);
stream2_by_16!(more_sse2, "", "", "", "");
stream2_by_32!(more_avx2, "", "", "", "vzeroupper");
stream2_by_32!(
    more_avx2_prefetch,
    ahead!("prefetchw", "rdi"),
    ahead!("prefetcht0", "rdi"),
    ahead!("prefetcht0", "rsi"),
    "vzeroupper"
);
stream2_by_64!(more_avx512, "", "", "", "vzeroupper");

/// The four kernels of STREAM in a module, by one name.
macro_rules! of_stream {
    ($name:literal, $is_available:expr, $module:ident) => {
        [
            Kernel { name: $name, operation: Operation::Copy, is_available: $is_available, run: $module::copy },
            Kernel { name: $name, operation: Operation::Scale, is_available: $is_available, run: $module::scale },
            Kernel { name: $name, operation: Operation::Add, is_available: $is_available, run: $module::add },
            Kernel { name: $name, operation: Operation::Triad, is_available: $is_available, run: $module::triad },
        ]
    };
}

/// The other kernels of STREAM2 in a module, by one name.
macro_rules! of_stream2 {
    ($name:literal, $is_available:expr, $module:ident) => {
        [
            Kernel { name: $name, operation: Operation::Fill, is_available: $is_available, run: $module::fill },
            Kernel { name: $name, operation: Operation::Daxpy, is_available: $is_available, run: $module::daxpy },
            Kernel { name: $name, operation: Operation::Sum, is_available: $is_available, run: $module::sum },
        ]
    };
}

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
    &[Kernel { name: "libc", operation: Operation::Copy, is_available: always, run: libc_copy }],
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
