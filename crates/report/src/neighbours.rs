//! What others on the same physical machine must take before it is said.

/// The share of looks at a core in which another thread ran on it too.
pub(crate) const SHARED: f64 = 0.05;
/// The last cache changed where the slowest look took so many times the fastest; of how many looks at least.
const CHANGED: f64 = 1.3;
const LOOKS: usize = 3;

/// The fastest and the slowest look at the last cache, ns; none where that is no change, or the looks are few.
pub(crate) fn slowed(looks_ns: &[f64]) -> Option<(f64, f64)> {
    let fastest = looks_ns.iter().copied().filter(|ns| *ns > 0.0).fold(f64::INFINITY, f64::min);
    let slowest = looks_ns.iter().copied().fold(0.0, f64::max);
    let times = slowest / fastest;
    (looks_ns.len() >= LOOKS && times.is_finite() && times >= CHANGED).then_some((fastest, slowest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_changed_where_its_looks_lie_far_apart() {
        assert_eq!(slowed(&[30.0, 36.0, 39.0]), Some((30.0, 39.0)));
        assert_eq!(slowed(&[30.0, 36.0, 38.9]), None);
        for few in [&[][..], &[30.0, 60.0], &[0.0, 0.0, 0.0], &[f64::INFINITY, 1.0, 1.0]] {
            assert_eq!(slowed(few), None, "{few:?}");
        }
    }
}
