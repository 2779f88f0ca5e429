//! Probe memory.fill: how fast one core, or several, set memory to one value, by size and kernel.

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth::{self, WriteKernel};

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[super::SIZE_BEYOND_LATER, super::STORE_KERNEL, super::PAGE, super::THREADS],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    core_bound: CoreBound::SIZE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::FILL
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_write(super::reach(case, size));
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::writes().iter(), usual)?;
    let run = |kernel: &WriteKernel, buffer: &mut Buffer, part, n| kernel.fill(&mut buffer.bytes_mut()[part], n, 0);
    passes(case, &kernels, pages, (size, size), run)?;
    Ok(())
}
