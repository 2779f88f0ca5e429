//! Probe cpu.store_forwarding: a load of what was stored just before, by how the two overlap.

use hostmark_engine::prelude::*;

use crate::kernels::forwarding::{Forwarding, Overlap};

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["memory.unaligned_access", "cpu.latency", "memory.latency", "cpu.atomic"],
    axes: &[Axis::choice(
        "overlap",
        "same",
        Points::Listed {
            quick: &["same", "narrower", "wider", "line", "page", "alias", "apart"],
            standard: &[],
            thorough: &[],
        },
    )],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
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
