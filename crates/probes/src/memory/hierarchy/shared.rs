//! The last cache where no plateau of the curve is its for certain: others use it, and it still answers for small sizes.

use super::naming::ReportedCaches;
use hostmark_engine::prelude::*;

/// The third cache is the last that has a row.
pub const LAST: &str = "l3";
/// What is less than this many times the second cache still hits that one.
const BEYOND_SECOND: f64 = 1.5;

/// Where the last cache is looked at: the point of the curve, and the largest size that it is seen to hold, bytes.
pub struct SharedCache {
    /// Size of the point.
    pub size: f64,
    /// The largest size that is not memory for the most part; none where all beyond the second cache are as slow as memory.
    pub holds: Option<f64>,
}

impl SharedCache {
    /// The last cache that the host tells of, by the curve's sizes and latencies.
    pub fn of(curve: &[Reading], reported: &ReportedCaches) -> Option<SharedCache> {
        let last = reported.bytes(LAST)?;
        let second = reported.bytes("l2")?;
        let is_inside = |reading: &&Reading| reading.size > BEYOND_SECOND * second && reading.size <= last;
        let inside: Vec<&Reading> = curve.iter().filter(is_inside).collect();
        let (first, memory) = (inside.first()?, curve.last()?);
        if memory.latency < SLOWER * first.latency {
            return Some(SharedCache { size: first.size, holds: None });
        }
        // Beyond that a load finds memory rather than the cache.
        let middle = (first.latency * memory.latency).sqrt();
        let held = inside.iter().take_while(|reading| reading.latency <= middle);
        let holds = held.clone().last()?.size;
        let between = (second * holds).sqrt();
        let apart = |reading: &Reading| (reading.size / between).ln().abs();
        let point = held.min_by(|one, other| apart(one).total_cmp(&apart(other)))?;
        Some(SharedCache { size: point.size, holds: Some(holds) })
    }

    /// Why the value is none of a plateau.
    pub fn words(&self) -> Message {
        let at = size_text(self.size as u64);
        match self.holds {
            Some(holds) => say!(
                "at {at}; the last cache is shared and holds about {holds} for you now",
                holds = size_text(holds as u64)
            ),
            None => say!("at {at}, as slow as memory; nothing is left of the last cache for you now"),
        }
    }
}

/// Memory takes this many times as long as what a cache holds.
const SLOWER: f64 = 1.6;
