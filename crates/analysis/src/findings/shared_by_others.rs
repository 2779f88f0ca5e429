//! Others on the same physical machine: threads on the same core, and what is left of the last cache.

use hostmark_model::{Lang, Run, Unit};

use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::{percent, value};
use crate::neighbours::{SHARED, slowed};
use crate::texts::findings::shared_by_others as texts;

pub(super) static RULE: Rule = Rule {
    id: "run.neighbours",
    shown: Demonstration::Try("busy-neighbour"),
    probes: &[],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let Some(neighbours) = &run.neighbours else { return Vec::new() };
    let core = neighbours.core_shared.filter(|shared| *shared >= SHARED).map(|shared| {
        let share = percent(shared);
        let text = texts::core_text!(share);
        // Of the time in which it is shared about half is lost.
        let short = short(texts::core_short!(share));
        Conclusion { short, text, cases: Vec::new(), cost: (shared / 2.0).min(1.0) }
    });
    let cache = neighbours.last_cache.as_ref().and_then(|cache| {
        let (fastest_ns, slowest_ns) = slowed(run)?;
        let [fastest, slowest] = [fastest_ns, slowest_ns].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
        let size = value(cache.bytes as f64, Unit::Bytes, Lang::En);
        let text = texts::cache_text!(size, fastest, slowest);
        let short = short(texts::cache_short!(fastest, slowest));
        Some(Conclusion { short, text, cases: Vec::new(), cost: 1.0 - fastest_ns / slowest_ns })
    });
    core.into_iter().chain(cache).collect()
}
