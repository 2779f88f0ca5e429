//! Probe memory.copy: how fast one core, or several, copy memory, by size and kernel.

use std::ops::Range;

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth::{self, CopyKernel};

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[
        Axis { points: Points::OfHost(sizes), ..super::SIZE }.fills(Fill::EachThread(2)),
        Axis::choice(
            "kernel",
            "best",
            Points::quick(&["best", "scalar", "libc"]).standard(&[
                "sse2",
                "avx2",
                "avx512",
                "avx2-prefetch",
                "neon",
                "sve",
                "nt",
                "rep",
            ]),
        ),
        super::PAGE,
        super::THREADS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    core_bound: CoreBound::SIZE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::COPY
};

/// Sizes of each of the two buffers: half of what lies outside the caches is enough.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let far = super::beyond(host, 2 * super::USUAL_BYTES).map(|both| both / 2);
    super::sizes_beyond_later(host, profile).into_iter().chain(far).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let reach = super::reach(case, 2 * size);
    let usual = bandwidth::best_copy(reach);
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::copies().iter(), usual)?;
    let offset = bandwidth::copy_offset_bytes(reach);
    case.note("offset_bytes", offset);
    let bytes = usize::try_from(size)?;
    // The destination begins at the first address behind the source that has the offset.
    let destination = bytes.next_multiple_of(4096) + offset;
    let run = |kernel: &CopyKernel, buffer: &mut Buffer, part: Range<usize>, n| {
        let (source, rest) = buffer.bytes_mut().split_at_mut(bytes);
        kernel.run(&mut rest[destination - bytes..][part.clone()], &source[part], n)
    };
    let kernel = passes(case, &kernels, pages, (size, (destination + bytes) as u64), run)?;
    // What one instruction or the C library does is theirs.
    match kernel.name {
        "nt" => case.note("bus_bytes_per_byte", 2),
        "rep" | "libc" => {}
        _ => case.note("bus_bytes_per_byte", 3),
    }
    Ok(())
}
