//! Which plateau of a latency curve is which level of the hierarchy.

use hostmark_engine::prelude::*;

/// The probe whose curve it is.
pub const LATENCY: &str = "memory.latency";
/// A last plateau counts as DRAM when the curve goes this far beyond the largest reported cache.
const BEYOND_CACHES: f64 = 2.0;
/// No last-level cache of today's servers takes as long to answer, ns: a plateau above is DRAM, however large the cache that the
/// host reports. Guests see the whole host's, of which they may use a small part.
const SLOWER_THAN_CACHES_NS: f64 = 100.0;

/// A level that the curve shows.
#[derive(Debug, Clone)]
pub struct Level {
    /// l1d, l2, l3 or dram.
    pub name: &'static str,
    /// Between which sizes the curve proves that it ends, bytes; nothing for DRAM.
    pub bracket: Bracket,
    /// What the host reports of it, bytes.
    pub reported_bytes: Option<u64>,
    /// The measurement that stands for it: in the middle of its plateau; of DRAM the largest.
    pub case: Measured,
    /// That measurement's case.
    pub at: String,
    /// Why the name is not certain.
    pub doubt: Option<String>,
}

impl Level {
    /// What it holds, to reason with: as reported where the curve does not contradict it, else what is proven to fit.
    pub fn size(&self) -> Option<f64> {
        let is_cache = self.name != "dram";
        self.bracket.size(self.reported_bytes.map(|bytes| bytes as f64)).filter(|_| is_cache)
    }
}

struct Point<'a> {
    size: f64,
    record: &'a CaseRecord,
    measured: &'a Measured,
}

/// The levels that the cases of memory.latency show.
pub fn levels(cases: &[CaseRecord], host: &HostFacts) -> Vec<Level> {
    let mut curve: Vec<Point> = cases.iter().filter_map(point).collect();
    curve.sort_by(|one, other| one.size.total_cmp(&other.size));
    let best: Vec<(f64, f64)> = curve.iter().map(|point| (point.size, point.measured.estimate.best_round)).collect();
    let plateaus = plateaus(&best);
    let reported = reported(host);
    let capacities: Vec<Option<f64>> = plateaus.iter().map(|plateau| plateau.capacity).collect();
    let largest = best.last().map_or(0.0, |point| point.0);
    let last = Last {
        is_beyond_caches: largest >= beyond_caches(&reported),
        is_slow: plateaus.last().is_some_and(|plateau| plateau.latency >= SLOWER_THAN_CACHES_NS),
    };
    let names = name(&capacities, &reported, largest, last);
    let level = |(index, name): (usize, Option<&'static str>)| {
        let (name, plateau) = (name?, plateaus.get(index)?);
        let point = representative(&curve, plateau, name)?;
        let next = plateaus.get(index + 1).map(|plateau| plateau.latency);
        let is_unsure = plateaus.len() > 1 && next.is_none() && !last.is_beyond_caches;
        let doubt = is_unsure.then(|| doubt(name, largest));
        let bracket = if name == "dram" || is_unsure { Bracket::default() } else { bracket(&curve, plateau, next) };
        Some(Level {
            name,
            bracket,
            reported_bytes: reported.iter().find(|(of, _)| *of == name).map(|(_, bytes)| *bytes),
            case: point.measured.clone(),
            at: point.record.id.clone(),
            doubt,
        })
    };
    names.into_iter().enumerate().filter_map(level).collect()
}

/// What decides whether the last plateau is DRAM.
#[derive(Debug, Clone, Copy)]
struct Last {
    is_beyond_caches: bool,
    is_slow: bool,
}

/// Why the name of the last plateau is not certain.
fn doubt(name: &str, largest: f64) -> String {
    let ends = format!("the largest buffer ({:.0} MiB) is under twice the reported L3", largest / f64::from(1 << 20));
    match name {
        "dram" => format!("{ends}; no cache takes {SLOWER_THAN_CACHES_NS} ns"),
        _ => format!("{ends}: this may be DRAM"),
    }
}

/// What the points of the curve prove about where a plateau's level ends; those without an interval prove nothing.
fn bracket(curve: &[Point], plateau: &Plateau, next: Option<f64>) -> Bracket {
    let proving = |point: &Point| {
        let estimate = &point.measured.estimate;
        Some(capacity::Point { size: point.size, low: estimate.ci_low?, high: estimate.ci_high? })
    };
    let points: Vec<capacity::Point> = curve.iter().filter_map(proving).collect();
    Bracket::of(&points, plateau.latency, next)
}

/// The size from which on no reported cache holds the buffer.
fn beyond_caches(reported: &[(&'static str, u64)]) -> f64 {
    reported.iter().map(|(_, bytes)| *bytes as f64 * BEYOND_CACHES).fold(0.0, f64::max)
}

/// A point of the curve: random pattern, huge pages, with nobody else at it.
fn point(record: &CaseRecord) -> Option<Point<'_>> {
    let params = &record.params;
    let on_curve =
        record.probe == LATENCY && params.get("pattern") == Some("random") && params.get("page") == Some("pmd");
    let is_alone = params.get("copies").is_none_or(|copies| copies == "1");
    let size = params.get("size")?.parse().ok()?;
    (on_curve && is_alone).then_some(Point { size, record, measured: record.measured()? })
}

/// The data caches that the host reports, first level first, as the CPU that measures sees them.
fn reported(host: &HostFacts) -> Vec<(&'static str, u64)> {
    let Some(cpu) = single(host) else { return Vec::new() };
    let bytes = |level: u8| host.cache(cpu, level).map(|cache| cache.size_bytes).filter(|&bytes| bytes > 0);
    [("l1d", 1), ("l2", 2), ("l3", 3)].into_iter().filter_map(|(name, level)| Some((name, bytes(level)?))).collect()
}

/// A name for each plateau; none for one that stands between two levels.
fn name(
    capacities: &[Option<f64>],
    reported: &[(&'static str, u64)],
    largest: f64,
    last: Last,
) -> Vec<Option<&'static str>> {
    const CACHES: [&str; 3] = ["l1d", "l2", "l3"];
    let count = capacities.len();
    let has_dram = count > 1 && (last.is_beyond_caches || last.is_slow);
    let caches = if has_dram { count - 1 } else { count };
    let mut names: Vec<Option<&'static str>> = vec![None; count];
    if has_dram {
        names[count - 1] = Some("dram");
    }
    if reported.is_empty() || reported.len() == caches {
        for (name, known) in names.iter_mut().take(caches).zip(CACHES) {
            *name = Some(known);
        }
        return names;
    }
    // More or fewer than reported: each reported level takes the plateau that ends nearest, in order.
    let mut from = 0;
    for (position, (known, bytes)) in reported.iter().enumerate() {
        let last = caches.saturating_sub(reported.len() - 1 - position).max(from + 1).min(caches);
        let distance = |index: &usize| (capacities[*index].unwrap_or(largest) / *bytes as f64).ln().abs();
        let nearest = (from..last).min_by(|one, other| distance(one).total_cmp(&distance(other)));
        // A plateau that ends nearer to the next level's size is that one's.
        let is_own = |index: &usize| {
            reported.get(position + 1).is_none_or(|(_, next)| {
                distance(index) <= (capacities[*index].unwrap_or(largest) / *next as f64).ln().abs()
            })
        };
        if let Some(index) = nearest.filter(is_own) {
            names[index] = Some(known);
            from = index + 1;
        }
    }
    names
}

/// The point that stands for a plateau: in the middle of its latencies, since the last part of a level already pays for
/// translation and conflicts; of DRAM the largest, which the caches help least.
fn representative<'a, 'b>(curve: &'b [Point<'a>], plateau: &Plateau, name: &str) -> Option<&'b Point<'a>> {
    let mut on = curve.iter().filter(|point| (plateau.first_size..=plateau.last_size).contains(&point.size));
    if name == "dram" {
        return on.next_back();
    }
    let from_middle = |point: &&Point| (point.measured.estimate.best_round / plateau.latency).ln().abs();
    on.min_by(|one, other| from_middle(one).total_cmp(&from_middle(other)))
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
