//! Probe memory.numa_latency: the latency of each memory node from each node's CPUs.

use hostmark_engine::prelude::*;

/// The buffer, as multiples of the last-level cache: enough that most loads leave it.
const CACHES: u64 = 2;
/// The least and the largest buffer, bytes; a larger one costs more to prepare than it adds.
const LEAST_BYTES: u64 = 64 << 20;
const MOST_BYTES: u64 = 1 << 30;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::nodes("nodes"), Axis::settled_size("size", size).fills(Fill::Chain)],
    limit: Limit::DramLatency,
    core_bound: CoreBound::SIZE,
    section: super::NODES,
    measure: Measure::Run(measure),
    ..crate::texts::memory::NUMA_LATENCY
};

fn size(host: &HostFacts) -> u64 {
    (CACHES * host.largest_last_level_cache_bytes()).clamp(LEAST_BYTES, MOST_BYTES).next_multiple_of(2 << 20)
}

fn measure(case: &mut Case) -> Result<()> {
    let (_, memory) = super::nodes(case)?;
    let size: u64 = case.param("size")?;
    let mut buffer = crate::chained::chained(case, size, Pages::Pmd, Some(memory))?;
    crate::chained::loads(case, buffer.bytes_mut(), |case, chain| case.loops(|n| chain.walk(n)).time())
}
