//! How many elements each array has.

use hostmark_engine::prelude::*;

/// An array has this many times the bytes of the last-level caches, so that little of it is still there a pass later.
const TIMES_CACHES: u64 = 4;
/// Last-level cache of a host that does not tell: as large as most.
const USUAL_CACHE_BYTES: u64 = 32 << 20;
/// Bytes of three arrays' elements.
const BYTES_OF_THREE: u64 = 24;
/// What a thread's arrays take besides their elements, at most: their ends, and what parts them.
const SLACK_BYTES: u64 = 32 << 10;

/// Elements of each array on this host: 4 times all its last-level caches. Where memory does not hold that, half as many or
/// a quarter, which are other cases, as every id has its number; where it does not hold these either, the caches would hold
/// the arrays, and the case by the rule is skipped. No time limit has a part in it.
pub fn settled(host: &HostFacts) -> u64 {
    let cpus = host.usable_cpus();
    let enough = enough(host);
    let slack = (SLACK_BYTES + Pages::Pmd.bytes() as u64) * cpus.len() as u64;
    let fits = |elements: &u64| elements * BYTES_OF_THREE + slack <= may_fill_bytes(host);
    [enough, enough / 2, enough / TIMES_CACHES].into_iter().find(fits).unwrap_or(enough)
}

/// Elements of each array that are enough for the rule.
pub fn enough(host: &HostFacts) -> u64 {
    TIMES_CACHES * capped(host.last_level_caches_bytes(&host.usable_cpus())) / 8
}

fn capped(caches_bytes: u64) -> u64 {
    if caches_bytes > 0 { caches_bytes } else { USUAL_CACHE_BYTES }
}

/// Names arrays that caches hold a part of.
pub fn note_short(case: &mut Case, elements: u64) {
    if let Some(short) = short(elements, case.llc_sum_bytes()) {
        case.note("times_caches", short);
    }
}

/// How many times caches of so many bytes an array of so many elements has; none where it is long enough.
fn short(elements: u64, caches_bytes: u64) -> Option<String> {
    let caches = capped(caches_bytes);
    let times = elements as f64 * 8.0 / caches as f64;
    (elements < TIMES_CACHES * caches / 8).then(|| format!("{times:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host of two CPUs under one cache of `cache_mib`, with `memory_mib` free and a limit of `limit_mib`.
    fn host(cache_mib: u64, memory_mib: u64, limit_mib: Option<u64>) -> HostFacts {
        let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
        let size_bytes = cache_mib << 20;
        let cache = CacheFact { level: 3, size_bytes, shared_cpus: vec![0, 1], ..CacheFact::default() };
        let mut host = HostFacts { cpus: vec![cpu(0), cpu(1)], caches: vec![cache], ..HostFacts::default() };
        host.memory.available_bytes = memory_mib << 20;
        host.limits.memory_limit_bytes = limit_mib.map(|mib| mib << 20);
        host
    }

    #[test]
    fn elements_follow_from_the_caches_and_a_limit_never_makes_another_number_of_the_same_id() {
        let enough = |cache_mib: u64| 4 * (cache_mib << 20) / 8;
        assert_eq!(settled(&host(32, 20 << 10, None)), enough(32));
        // The rule's arrays of 3 × 128 MiB, in half of the memory; a limit that leaves room changes nothing.
        assert_eq!(settled(&host(32, 20 << 10, Some(800))), enough(32));
        assert_eq!(settled(&host(32, 20 << 10, Some(500))), enough(32) / 2);
        assert_eq!(settled(&host(32, 20 << 10, Some(250))), enough(32) / 4);
        // Memory in which caches would hold the arrays: the rule's own number, which is skipped for want of memory.
        assert_eq!(settled(&host(32, 20 << 10, Some(128))), enough(32));
        assert_eq!(settled(&host(260, 8 << 10, None)), enough(260));
        assert_eq!(settled(&host(260, 4 << 10, None)), enough(260) / 2);
        assert_eq!(settled(&host(260, 512, None)), enough(260));
        // A host that tells of no cache has the usual one.
        assert_eq!(settled(&host(0, 20 << 10, None)), enough(32));
    }

    #[test]
    fn arrays_under_four_times_the_caches_are_named() {
        assert_eq!(short(4 * (32 << 20) / 8, 32 << 20), None);
        assert_eq!(short(2 * (32 << 20) / 8, 32 << 20).as_deref(), Some("2.00"));
        assert!(short(1000, 0).is_some());
    }
}
