//! Whether huge pages are translated as huge ones, by what translation costs in them and in base pages.

/// Base pages must cost this much, ns, or nothing is told: a walk takes 10 at least, a miss of the first level 2.
const LEAST_WALK_NS: f64 = 5.0;
/// Huge pages that cost this share of what base pages cost, or less, are translated as huge ones …
const HUGE: f64 = 0.25;
/// … and those that cost this share of it, or more, as small ones.
const SMALL: f64 = 0.5;

/// What translation adds to a load over as many pages of either kind of memory, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// In base pages.
    pub base_ns: f64,
    /// In huge pages.
    pub huge_ns: f64,
}

/// What a curve tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveVerdict {
    /// The costs at the point where base pages are dearest.
    pub costs: Costs,
    /// The second over the first.
    pub share: f64,
    /// Whether huge pages are translated as such; none where part of them is.
    pub is_huge: Option<bool>,
}

/// What the points of a curve tell; none where base pages cost too little to tell anything by.
pub fn verdict(points: &[Costs]) -> Option<CurveVerdict> {
    let costs = *points.iter().max_by(|one, other| one.base_ns.total_cmp(&other.base_ns))?;
    let share = costs.huge_ns / costs.base_ns;
    let is_huge = match share {
        _ if share <= HUGE => Some(true),
        _ if share >= SMALL => Some(false),
        _ => None,
    };
    (costs.base_ns >= LEAST_WALK_NS && share.is_finite()).then_some(CurveVerdict { costs, share, is_huge })
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
