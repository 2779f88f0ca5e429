//! Share that others on the same physical machine must take before it is reported.

use hostmark_model::{CaseRecord, RoundRecord, Run};

/// The share of looks at a core in which another thread ran on it too.
pub(crate) const SHARED: f64 = 0.05;
/// Largest slowdown by a neighbour on its core: beside three builds 68 of 179 null system calls were 3 to 22 % slower.
pub(crate) const COST: f64 = 0.22;
/// The last cache changed where the slowest look took so many times the fastest; of how many looks at least.
const CHANGED: f64 = 1.3;
const LOOKS: usize = 3;

/// The share of a run in which another thread used its core. Where the run does not tell: whether the core has no neighbours, as the machine
/// is no guest.
pub(crate) fn core_shared(run: &Run) -> Result<f64, bool> {
    let told = run.neighbours.as_ref().and_then(|neighbours| neighbours.core_shared);
    told.ok_or(run.host.virtualization.hypervisor.is_none())
}

/// The probe that tells what a load from memory takes.
const LATENCY: &str = "memory.latency";

/// The fastest and the slowest of a run's looks at the last cache, ns; none where that is no change, or the looks are few.
pub(crate) fn slowed(run: &Run) -> Option<(f64, f64)> {
    let looks_ns = &run.neighbours.as_ref()?.last_cache.as_ref()?.looks_ns;
    apart(looks_ns, memory_ns(run).unwrap_or(f64::INFINITY))
}

/// Slowest load from memory of this run, ns.
fn memory_ns(run: &Run) -> Option<f64> {
    let loads = run.cases.iter().filter(|case| case.probe == LATENCY).filter_map(CaseRecord::measured);
    loads.map(|measured| measured.estimate.value()).max_by(f64::total_cmp)
}

/// Fastest and slowest probe of the cache, ns, where they differ; probes slower than a load from memory were held up by something else.
fn apart(looks_ns: &[f64], memory_ns: f64) -> Option<(f64, f64)> {
    let looks: Vec<f64> = looks_ns.iter().copied().filter(|ns| *ns > 0.0 && *ns <= memory_ns).collect();
    let (fastest, slowest) =
        (looks.iter().copied().fold(f64::INFINITY, f64::min), looks.iter().copied().fold(0.0, f64::max));
    let times = slowest / fastest;
    (looks.len() >= LOOKS && times.is_finite() && times >= CHANGED).then_some((fastest, slowest))
}

/// Average share of the CPUs' time that others certainly used in these rounds; none where no round tells.
pub(crate) fn of_rounds<'a>(rounds: impl IntoIterator<Item = &'a RoundRecord>) -> Option<f64> {
    let shares = rounds.into_iter().filter_map(|round| round.others);
    let shares: Vec<f64> = shares.map(|others| (others.share - others.error).max(0.0)).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_changed_where_its_looks_lie_far_apart() {
        let apart = |looks_ns: &[f64]| apart(looks_ns, 90.0);
        assert_eq!(apart(&[30.0, 36.0, 39.0]), Some((30.0, 39.0)));
        assert_eq!(apart(&[30.0, 36.0, 38.9]), None);
        for few in [&[][..], &[30.0, 60.0], &[0.0, 0.0, 0.0], &[f64::INFINITY, 1.0, 1.0]] {
            assert_eq!(apart(few), None, "{few:?}");
        }
        // No load from a cache takes longer than one from memory.
        assert_eq!(apart(&[30.0, 31.0, 39.0, 400.0]), Some((30.0, 39.0)));
        assert_eq!(apart(&[30.0, 31.0, 32.0, 400.0]), None);
    }
}
