//! Probe memory.write: how fast one core, or several, store to memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth::{self, WriteKernel};

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[super::SIZE, super::STORE_KERNEL, super::PAGE, super::THREADS],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    core_bound: CoreBound::SIZE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::WRITE
};

/// Pattern that is stored: any value whose bytes differ.
const PATTERN: u64 = 0x0123_4567_89ab_cdef;

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_write(super::reach(case, size));
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::writes().iter(), usual)?;
    let run =
        |kernel: &WriteKernel, buffer: &mut Buffer, part, n| kernel.run(&mut buffer.bytes_mut()[part], n, PATTERN);
    let kernel = passes(case, &kernels, pages, (size, size), run)?;
    // A plain store to a line that is not cached reads it first; what one instruction or the C library does is theirs.
    match kernel.name {
        "nt" => case.note("bus_bytes_per_byte", 1),
        "rep" | "libc" => {}
        _ => case.note("bus_bytes_per_byte", 2),
    }
    Ok(())
}
