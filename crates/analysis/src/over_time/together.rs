//! With what a slow time came together: what others took of the machine then, and did not at other times.

use hostmark_stats::descriptive::{median, quantile};
use serde::Serialize;

use super::{Company, Turn};

/// What others took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The hypervisor gave the CPU to other guests.
    Steal,
    /// A quota stopped it.
    Throttling,
    /// Other programs of this system used the CPUs.
    Others,
    /// Another thread ran on its core.
    CoreShared,
    /// The last cache took longer, as others use it.
    LastCache,
}

/// Something that was more than at other times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Together {
    pub cause: Cause,
    /// Its median then and at other times: shares of the time, or ns of the last cache.
    pub then: f64,
    pub otherwise: f64,
}

/// How a cause is read, and how much more of it is something: a difference of shares, or of logarithms.
type Read = (Cause, fn(&Company) -> Option<f64>, f64);

/// All causes, those first that explain the most.
const CAUSES: [Read; 5] = [
    (Cause::Throttling, |company| company.throttled, 0.02),
    (Cause::Steal, |company| company.steal, 0.02),
    (Cause::Others, |company| company.others, 0.05),
    (Cause::CoreShared, |company| company.core_shared, 0.05),
    // A fifth more.
    (Cause::LastCache, |company| company.last_cache_ns, 0.2),
];
/// At other times it is mostly less: nine of ten turns.
const MOSTLY: f64 = 0.9;

/// What was more in these turns than in the others.
pub(super) fn together(turns: &[Turn], then: &[usize], others: &[usize]) -> Vec<Together> {
    let of = |(cause, read, least): &Read| {
        let values = |which: &[usize]| -> Vec<f64> {
            which.iter().filter_map(|turn| read(&turns.get(*turn)?.company)).collect()
        };
        let (now, usual) = (values(then), values(others));
        let (now, middle, most) = (median(&now)?, median(&usual)?, quantile(&usual, MOSTLY)?);
        let more = if *cause == Cause::LastCache { now / middle - 1.0 } else { now - middle };
        (more >= *least && now > most).then_some(Together { cause: *cause, then: now, otherwise: middle })
    };
    CAUSES.iter().filter_map(of).collect()
}
