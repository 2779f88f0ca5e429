//! Causes of slow times: load of others that is higher then than at other times.

use hostmark_stats::descriptive::{median, quantile};
use serde::Serialize;

use super::{Company, Turn};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The hypervisor gave the CPU to other guests.
    Steal,
    Throttling,
    /// Other programs of this system used the CPUs.
    Others,
    /// Another thread ran on its core.
    CoreShared,
    /// The last cache took longer, as others use it.
    LastCache,
    /// The processors were hotter.
    Temperature,
    /// Waits for a CPU that no other cause explains: a quota that cannot be seen from inside.
    Waited,
}

/// Cause that was higher than at other times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Together {
    pub cause: Cause,
    /// Median then and at other times: shares of the time, ns of the last cache, or degrees Celsius.
    pub then: f64,
    pub otherwise: f64,
}

/// Reader of a cause, and the least increase that counts: a difference of shares or degrees, or a share of the last cache's time.
type Read = (Cause, fn(&Company) -> Option<f64>, f64);

/// All causes, those first that explain the most.
const CAUSES: [Read; 7] = [
    (Cause::Throttling, |company| company.throttled, 0.02),
    (Cause::Steal, |company| company.steal, 0.02),
    (Cause::Others, |company| company.others, 0.05),
    (Cause::CoreShared, |company| company.core_shared, 0.05),
    // A fifth more.
    (Cause::LastCache, |company| company.last_cache_ns, 0.2),
    // A program more makes a processor some degrees hotter, and slows nothing by that.
    (Cause::Temperature, |company| company.celsius, 10.0),
    (Cause::Waited, |company| company.waited, 0.05),
];
/// Share of the other turns in which the cause must be lower.
const MOSTLY: f64 = 0.9;

/// Causes that are higher in these turns than in the others.
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
    let mut found: Vec<Together> = CAUSES.iter().filter_map(of).collect();
    // Whoever has a CPU makes others wait for it.
    let is_had = found.iter().any(|one| matches!(one.cause, Cause::Throttling | Cause::Steal | Cause::Others));
    found.retain(|one| one.cause != Cause::Waited || !is_had);
    found
}

/// The causes of which any turn tells.
pub(super) fn recorded(turns: &[Turn]) -> Vec<Cause> {
    let is_told = |(_, read, _): &&Read| turns.iter().any(|turn| read(&turn.company).is_some());
    CAUSES.iter().filter(is_told).map(|(cause, ..)| *cause).collect()
}
