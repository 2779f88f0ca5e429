//! The bandwidth kernels of x86-64: tables, and which of them this CPU can run.

mod copy;
mod read;
mod write;

use std::arch::is_x86_feature_detected;

use super::{CopyKernel, Reach, ReadKernel, WriteKernel, always, libc};

fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

pub(super) static READS: &[ReadKernel] = &[
    ReadKernel { name: "scalar", is_available: always, run: read::scalar },
    ReadKernel { name: "sse2", is_available: always, run: read::sse2 },
    ReadKernel { name: "avx2", is_available: has_avx2, run: read::avx2 },
    ReadKernel { name: "avx512", is_available: has_avx512, run: read::avx512 },
    ReadKernel { name: "avx512-descending", is_available: has_avx512, run: read::avx512_descending },
    ReadKernel { name: "avx2-streams", is_available: has_avx2, run: read::avx2_streams },
    ReadKernel { name: "nt", is_available: always, run: read::nt },
];

pub(super) static WRITES: &[WriteKernel] = &[
    WriteKernel { name: "scalar", is_available: always, run: write::scalar },
    WriteKernel { name: "sse2", is_available: always, run: write::sse2 },
    WriteKernel { name: "avx2", is_available: has_avx2, run: write::avx2 },
    WriteKernel { name: "avx512", is_available: has_avx512, run: write::avx512 },
    WriteKernel { name: "avx2-prefetch", is_available: has_avx2, run: write::avx2_prefetch },
    WriteKernel { name: "avx2-streams", is_available: has_avx2, run: write::avx2_streams },
    WriteKernel { name: "nt", is_available: always, run: write::nt },
    WriteKernel { name: "rep", is_available: always, run: write::rep },
    WriteKernel { name: "libc", is_available: always, run: libc::write },
];

pub(super) static COPIES: &[CopyKernel] = &[
    CopyKernel { name: "scalar", is_available: always, run: copy::scalar },
    CopyKernel { name: "sse2", is_available: always, run: copy::sse2 },
    CopyKernel { name: "avx2", is_available: has_avx2, run: copy::avx2 },
    CopyKernel { name: "avx512", is_available: has_avx512, run: copy::avx512 },
    CopyKernel { name: "avx2-prefetch", is_available: has_avx2, run: copy::avx2_prefetch },
    CopyKernel { name: "nt", is_available: always, run: copy::nt },
    CopyKernel { name: "rep", is_available: always, run: copy::rep },
    CopyKernel { name: "libc", is_available: always, run: libc::copy },
];

// The order of preference, as measured on Cascade Lake. AVX-512 doubles AVX2 in the first cache, though the core clock
// falls from 3.1 to 2.7 GHz for it; its plain stores lose to AVX2's from the third cache on (6.3 against 8.3 GB/s in
// memory), where the prefetch for writing counts (11 GB/s), and four streams more so (12 GB/s).

pub(super) fn best_reads(reach: Reach) -> &'static [&'static str] {
    match reach {
        Reach::FirstCache => &["avx512", "avx2", "sse2"],
        Reach::Caches => &["avx512", "avx2", "sse2"],
        Reach::Memory => &["avx2-streams", "sse2"],
    }
}

pub(super) fn best_writes(reach: Reach) -> &'static [&'static str] {
    match reach {
        Reach::FirstCache => &["avx512", "avx2", "sse2"],
        Reach::Caches => &["avx2-prefetch", "sse2"],
        Reach::Memory => &["avx2-streams", "sse2"],
    }
}

pub(super) fn best_copies(reach: Reach) -> &'static [&'static str] {
    match reach {
        Reach::FirstCache => &["avx512", "avx2", "sse2"],
        Reach::Caches | Reach::Memory => &["avx2-prefetch", "sse2"],
    }
}
