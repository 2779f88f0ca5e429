//! Probe memory.read: how fast one core reads memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[
        Axis {
            at_a_glance: Some(|host, _| super::beyond(host, super::USUAL_BYTES).into_iter().collect()),
            ..super::SIZE
        },
        Axis::choice(
            "kernel",
            "best",
            Points::quick(&["best", "scalar"]).standard(&[
                "sse2",
                "avx2",
                "avx512",
                "avx512-descending",
                "avx2-streams",
                "neon",
                "sve",
                "nt",
            ]),
        ),
        super::PAGE,
        super::THREADS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    core_bound: CoreBound::SIZE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::READ
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_read(super::reach(case, size));
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::reads().iter(), usual)?;
    passes(case, &kernels, pages, (size, size), |kernel, buffer, part, n| {
        kernel.run(&buffer.bytes()[part], n).map(drop)
    })?;
    Ok(())
}
