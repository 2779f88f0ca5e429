//! Probe memory.ownership: what a line costs that a core takes to write, by the level that holds it.

use hostmark_engine::prelude::*;

use crate::kernels::chase::Chain;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("op", "own", Points::quick(&["own", "write"])),
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::Chain),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "size"] }],
    limit: Limit::Rising("size"),
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::memory::OWNERSHIP
};

/// Half of each cache; four times what all but the last hold, which a neighbour leaves of the next for certain; and what is beyond all. Powers
/// of two, which memory.latency has as well.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let largest = super::largest(host, profile);
    let caches = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| host.cache(cpu, level)));
    let powers: Vec<u64> =
        caches.filter_map(|cache| cache.size_bytes.checked_ilog2()).map(|power| 1 << power).collect();
    let halves = powers.iter().map(|power| power / 2);
    let fourfold = powers.iter().rev().skip(1).map(|power| 4 * power);
    let sizes = halves.chain(fourfold).chain([super::USUAL_BYTES]).filter(|&size| size <= largest);
    sizes.chain(super::beyond(host, super::USUAL_BYTES)).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let (op, size): (String, u64) = (case.param("op")?, case.param("size")?);
    let (line, seed) = (case.line_bytes(), case.seed());
    let mut buffer = crate::chained::chained(case, size, Pages::Pmd, None)?;
    let chain = Chain::random(buffer.bytes_mut(), line as usize, seed).map_err(crate::fastest::refused)?;
    let mut chain = chain.settled(case.llc_bytes(), line, &case.steady());
    let mut walk = |n| if op == "write" { chain.walk_writing(n) } else { chain.walk_owning(n) };
    // From the first sample on what leaves a cache is dirty.
    walk(size.min(case.llc_bytes().max(super::USUAL_BYTES)) / line);
    case.loops(walk).time()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lie_in_each_cache_and_beyond_all() {
        let sizes = |kib: &[u64]| {
            let cache = |(level, kib): (u8, &u64)| CacheFact {
                level,
                size_bytes: kib << 10,
                shared_cpus: vec![0],
                ..CacheFact::default()
            };
            let cpu = CpuFact { id: 0, online: true, allowed: true, ..CpuFact::default() };
            let caches = (1..).zip(kib).map(cache).collect();
            let mut host = HostFacts { cpus: vec![cpu], caches, ..HostFacts::default() };
            host.memory.available_bytes = 64 << 30;
            super::sizes(&host, Profile::Standard).into_iter().map(|bytes| bytes >> 10).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[48, 1280, 30 << 10]), [16, 512, 8 << 10, 4096, 128, 64 << 10, 120 << 10]);
        assert_eq!(sizes(&[32, 1024, 260 << 10]), [16, 512, 128 << 10, 4096, 128, 64 << 10, 520 << 10]);
        assert_eq!(sizes(&[]), [64 << 10]);
        assert_eq!(sizes(&[0, 512]), [256, 64 << 10]);
    }
}
