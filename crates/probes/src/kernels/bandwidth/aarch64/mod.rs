//! The bandwidth kernels of AArch64: tables, and which of them this CPU can run.

mod copy;
mod read;
mod sve;
mod write;

use std::arch::is_aarch64_feature_detected;

use super::{CopyKernel, Reach, ReadKernel, WriteKernel, always, libc};

/// The SVE kernels take eight vectors at once, which fill a chunk of 512 bytes up to vectors of 512 bits: no CPU sold
/// has wider ones.
fn has_sve() -> bool {
    is_aarch64_feature_detected!("sve") && sve::vector_bytes() <= 64
}

pub(super) static READS: &[ReadKernel] = &[
    ReadKernel { name: "scalar", is_available: always, run: read::scalar },
    ReadKernel { name: "neon", is_available: always, run: read::neon },
    ReadKernel { name: "sve", is_available: has_sve, run: sve::read },
    ReadKernel { name: "nt", is_available: always, run: read::nt },
];

pub(super) static WRITES: &[WriteKernel] = &[
    WriteKernel { name: "scalar", is_available: always, run: write::scalar },
    WriteKernel { name: "neon", is_available: always, run: write::neon },
    WriteKernel { name: "sve", is_available: has_sve, run: sve::write },
    WriteKernel { name: "nt", is_available: always, run: write::nt },
    WriteKernel { name: "libc", is_available: always, run: libc::write },
];

pub(super) static COPIES: &[CopyKernel] = &[
    CopyKernel { name: "scalar", is_available: always, run: copy::scalar },
    CopyKernel { name: "neon", is_available: always, run: copy::neon },
    CopyKernel { name: "sve", is_available: has_sve, run: sve::copy },
    CopyKernel { name: "nt", is_available: always, run: copy::nt },
    CopyKernel { name: "libc", is_available: always, run: libc::copy },
];

/// The order of preference: by width alone, as no such CPU was measured yet.
const WIDEST_FIRST: &[&str] = &["sve", "neon"];

pub(super) fn best_reads(_: Reach) -> &'static [&'static str] {
    WIDEST_FIRST
}

pub(super) fn best_writes(_: Reach) -> &'static [&'static str] {
    WIDEST_FIRST
}

pub(super) fn best_copies(_: Reach) -> &'static [&'static str] {
    WIDEST_FIRST
}
