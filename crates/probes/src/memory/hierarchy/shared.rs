//! The last cache where no plateau of the curve is its for certain: others use it, and it still answers for small sizes.

use hostmark_engine::prelude::*;

use super::levels::MeasuredLevel;
use super::naming::{Name, ReportedCaches};

/// The third cache is the last that has a row.
const LAST: &str = "l3";
/// What is less than this many times the second cache still hits that one.
const BEYOND_SECOND: f64 = 1.5;

/// Where the last cache is looked at: the point of the curve, and the largest size that it is seen to hold, bytes.
pub struct SharedCache {
    /// Size of the point.
    pub size: f64,
    /// None where the smallest size beyond the second cache already goes to memory for the most part.
    pub holds: Option<f64>,
}

impl SharedCache {
    /// The last cache that the host tells of and that none of the levels is; by the curve's sizes and latencies.
    pub fn of(curve: &[Reading], found: &[MeasuredLevel], reported: &ReportedCaches) -> Option<SharedCache> {
        let last = reported.bytes(LAST).filter(|_| found.iter().all(|level| level.name != Name::Cache(LAST)))?;
        let second = reported.bytes("l2")?;
        let beyond = |reading: &&Reading| reading.size > BEYOND_SECOND * second && reading.size <= last;
        let mut inside = curve.iter().filter(beyond);
        let (first, memory) = (inside.clone().next()?, curve.last()?);
        // From there on a load finds memory rather than the cache.
        let middle = (first.latency * memory.latency).sqrt();
        let fastest = inside.clone().map(|reading| reading.latency).fold(f64::INFINITY, f64::min);
        let is_cache = memory.latency > SLOWER * fastest;
        let until = curve.iter().find(|reading| reading.size > first.size && reading.latency > middle);
        let holds = curve.iter().rfind(|reading| until.is_none_or(|until| reading.size < until.size));
        let holds = holds.map(|reading| reading.size.min(last)).filter(|_| is_cache);
        let between = (second * holds.unwrap_or(first.size)).sqrt();
        let apart = |reading: &&Reading| (reading.size / between).ln().abs();
        let held = |reading: &&Reading| holds.is_none_or(|holds| reading.size <= holds);
        let point = inside.by_ref().filter(held).min_by(|one, other| apart(one).total_cmp(&apart(other)))?;
        Some(SharedCache { size: point.size, holds })
    }

    /// Why the value is none of a plateau.
    pub fn words(&self) -> String {
        let at = size_text(self.size as u64);
        match self.holds {
            Some(holds) => {
                format!("at {at}; the last cache is shared and holds about {} for you now", size_text(holds as u64))
            }
            None => format!("at {at}; the last cache is shared and holds less than that for you now"),
        }
    }
}

/// Memory takes this many times as long as what a cache holds.
const SLOWER: f64 = 1.6;
