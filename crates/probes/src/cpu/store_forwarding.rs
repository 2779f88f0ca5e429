//! Probe cpu.store_forwarding: a load of what was stored just before, by how the two overlap.

use hostmark_engine::prelude::*;

use crate::kernels::forwarding::{Forwarding, Overlap};

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice(
        "overlap",
        "same",
        Points::quick(&["same", "narrower", "wider", "line", "page", "alias", "apart"]),
    )],
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::STORE_FORWARDING
};

fn measure(case: &mut Case) -> Result<()> {
    let overlap: Overlap = case.param("overlap")?;
    let page_bytes = Pages::Base.bytes();
    let mut memory = case.buffer(2 * page_bytes as u64, Pages::Base, None)?;
    let mut pairs =
        Forwarding::new(overlap, memory.bytes_mut(), page_bytes, case.seed()).map_err(crate::fastest::refused)?;
    case.loops(|n| {
        std::hint::black_box(pairs.chain(n));
    })
    .time()
}
