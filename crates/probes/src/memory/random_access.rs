//! Probe memory.random_access: loads and stores of single words at random places, none of which waits for another.

use hostmark_engine::prelude::*;

use crate::kernels::random_access::{Access, Blocks};

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("op", "read", Points::quick(&["read"]).standard(&["write"])),
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::InAll(1)),
        Axis::choice("within", "all", Points::quick(&["all"]).standard(&["l1_blocks_1k"]).thorough(&["l1_blocks_4k"])),
        super::PMD_FIRST,
        Axis::bind_elsewhere(),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "size", "within"] }],
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    measure: Measure::Run(measure),
    ..crate::texts::memory::RANDOM_ACCESS
};

/// A size beyond most caches, with the profile others, and one that means memory where that is larger: all powers of two, as blocks are.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let listed: &[u64] = match profile {
        Profile::Glance | Profile::Quick => &[],
        Profile::Standard => &[1 << 20],
        Profile::Thorough => &[1 << 20, 32 << 10, 16 << 20, 256 << 20],
    };
    let far = super::beyond(host, super::USUAL_BYTES).map(u64::next_power_of_two);
    [super::USUAL_BYTES].iter().chain(listed).copied().chain(far).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let access = match case.param::<String>("op")?.as_str() {
        "write" => Access::Write,
        _ => Access::Read,
    };
    let block = match case.param::<String>("within")?.as_str() {
        "l1_blocks_1k" => 1 << 10,
        "l1_blocks_4k" => 4 << 10,
        _ => usize::try_from(size)?,
    };
    let pages = super::pages(case)?;
    let seed = case.seed();
    let mut buffer = case.touched(size, pages, None)?;
    let mut blocks = Blocks::new(buffer.bytes_mut(), block, seed).map_err(crate::fastest::refused)?;
    let lines = size / case.line_bytes();
    case.steady_over(size).after(|| blocks.access(access, lines));
    case.loops(|n| blocks.access(access, n)).time()
}
