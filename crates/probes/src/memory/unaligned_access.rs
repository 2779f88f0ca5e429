//! Probe memory.unaligned_access: loads and stores that span two cache lines or two pages, beside aligned ones.

use hostmark_engine::prelude::*;

use crate::kernels::forwarding::{Access, PLACES, Unaligned};

/// A boundary of the lines of every core, of 64, 128 or 256 bytes, as each quarter of it is.
const LINES_BYTES: usize = 1024;
/// Distance of accesses that need not lie at a boundary: to other banks of the cache as well, of which each serves one line at a time.
const APART_BYTES: usize = 256 + 8;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("spans", "line", Points::quick(&["nothing", "inside", "line", "page"])),
        Axis::choice("op", "load", Points::quick(&["load", "store", "dependent_load"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["spans", "op"] }],
    core_bound: CoreBound::Yes,
    section: super::STRUCTURE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::memory::UNALIGNED_ACCESS
};

fn measure(case: &mut Case) -> Result<()> {
    let access: Access = case.param("op")?;
    let page_bytes = Pages::Base.bytes();
    let (first, distance) = match case.param::<String>("spans")?.as_str() {
        "nothing" => (LINES_BYTES, APART_BYTES),
        "inside" => (LINES_BYTES + 4, APART_BYTES),
        "line" => (LINES_BYTES - 4, LINES_BYTES / 4),
        _ => (page_bytes - 4, page_bytes),
    };
    let mut memory = case.buffer(((PLACES + 1) * page_bytes) as u64, Pages::Base, None)?;
    let offsets = std::array::from_fn(|place| first + place * distance);
    let mut accesses = Unaligned::new(access, memory.bytes_mut(), offsets).map_err(crate::fastest::refused)?;
    case.loops(|n| accesses.access(n)).time()
}
