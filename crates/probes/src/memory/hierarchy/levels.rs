//! The levels of the hierarchy that a latency curve shows.

use hostmark_engine::prelude::*;

use super::naming::{Last, NO_CACHE_IS_AS_SLOW, Name, ReportedCaches, last, names};
use super::shared::{self, SharedCache};

/// The probe whose curve it is.
pub const LATENCY: &str = "memory.latency";

/// A level that the curve shows.
#[derive(Debug, Clone)]
pub struct MeasuredLevel {
    /// What it is.
    pub name: Name,
    /// Between which sizes the curve proves that it ends, bytes; nothing for memory.
    pub bracket: Bracket,
    /// What the host reports of it, bytes.
    pub reported_bytes: Option<u64>,
    /// The measurement that stands for it: in the middle of its plateau; of memory the largest that has an interval.
    pub case: Measured,
    /// That measurement's case.
    pub at: String,
    /// How it is known to be memory.
    pub evidence: Option<&'static str>,
    /// Why its name is not certain, or why it has none.
    pub doubt: Option<Message>,
}

impl MeasuredLevel {
    /// What it holds, to reason with: as reported where the curve does not contradict it, else what is proven to fit.
    pub fn size(&self) -> Option<f64> {
        let is_memory = self.name == Name::Memory;
        self.bracket.size(self.reported_bytes.map(|bytes| bytes as f64)).filter(|_| !is_memory)
    }
}

struct CurveCase<'a> {
    size: f64,
    record: &'a CaseRecord,
    measured: &'a Measured,
}

impl CurveCase<'_> {
    /// The best round, as noise on a shared host only adds; how well it is known is told by the interval of all rounds.
    fn reading(&self) -> Reading {
        let estimate = &self.measured.estimate;
        let width = estimate.ci_low.zip(estimate.ci_high).map(|(low, high)| (high / low).ln());
        let error = width.filter(|width| width.is_finite()).map_or(0.0, |width| width / INTERVAL_ERRORS);
        Reading { size: self.size, latency: estimate.best_round, error }
    }
}

/// A 95 % interval is so many standard errors wide.
const INTERVAL_ERRORS: f64 = 4.0;

/// The levels that the cases of memory.latency show, fastest first.
pub fn levels(cases: &[CaseRecord], host: &HostFacts) -> Vec<MeasuredLevel> {
    let mut curve: Vec<CurveCase> = cases.iter().filter_map(point).collect();
    curve.sort_by(|one, other| one.size.total_cmp(&other.size));
    let readings: Vec<Reading> = curve.iter().map(CurveCase::reading).collect();
    let plateaus = plateaus_of(&readings);
    let reported = ReportedCaches::of(host);
    let largest = readings.last().map_or(0.0, |reading| reading.size);
    let names = names(&plateaus, &reported, largest);
    let level = |(index, plateau): (usize, &Plateau)| {
        let name = *names.get(index)?;
        let point = representative(&curve, plateau, name, reported.enough().min(largest))?;
        let next = plateaus.get(index + 1).map(|plateau| plateau.latency);
        let evidence = match last(&plateaus, &reported, largest) {
            Last::Memory(evidence) if name == Name::Memory => Some(evidence),
            _ => None,
        };
        Some(MeasuredLevel {
            name,
            bracket: if name == Name::Memory { Bracket::default() } else { bracket(&curve, plateau.latency, next) },
            reported_bytes: reported.bytes(&name.key()).map(|bytes| bytes as u64),
            case: point.measured.clone(),
            at: point.record.id.clone(),
            evidence,
            doubt: doubt(name, &reported, plateau, largest),
        })
    };
    let mut found: Vec<MeasuredLevel> = plateaus.iter().enumerate().filter_map(level).collect();
    if let Some(point) = curve.last().filter(|point| is_memory_on_a_ramp(point, &plateaus, &reported)) {
        found.push(MeasuredLevel {
            name: Name::Memory,
            bracket: Bracket::default(),
            reported_bytes: None,
            case: point.measured.clone(),
            at: point.record.id.clone(),
            evidence: Some(NO_CACHE_IS_AS_SLOW),
            doubt: Some(say!("the latency still rises at the largest buffer")),
        });
    }
    let is_memory = |level: &MeasuredLevel| level.name == Name::Memory;
    if found.iter().all(|level| level.name != Name::Cache(shared::LAST))
        && let Some(shared) = SharedCache::of(&readings, &reported)
        && (shared.holds.is_some() || found.iter().any(is_memory))
        && let Some(point) = curve.iter().find(|point| point.size == shared.size)
    {
        // The plateau on which it lies, but for one that may be memory, is no level of its own.
        let is_its = |plateau: &Plateau| plateau.first_size <= point.size && point.size <= plateau.last_size;
        let own = plateaus.iter().position(|plateau| plateau.capacity.is_some() && is_its(plateau));
        let own = own.and_then(|index| names.get(index)).filter(|name| matches!(name, Name::Unnamed(_)));
        found.retain(|level| own != Some(&level.name));
        let (latency, next) = (point.measured.estimate.best_round, readings.last().map(|last| last.latency));
        let is_faster = |level: &&MeasuredLevel| !is_memory(level) && level.case.estimate.best_round < latency;
        let place = found.iter().take_while(is_faster).count();
        found.insert(
            place,
            MeasuredLevel {
                name: Name::Cache(shared::LAST),
                bracket: bracket(&curve, latency, next),
                reported_bytes: reported.bytes(shared::LAST).map(|bytes| bytes as u64),
                case: point.measured.clone(),
                at: point.record.id.clone(),
                evidence: None,
                doubt: Some(shared.words()),
            },
        );
    }
    found
}

/// Whether the last point, which is on no plateau, lies in memory: where a neighbour leaves two states of the last cache, the
/// curve has no flat end, and a buffer beyond the cache that takes longer than any cache is memory all the same.
fn is_memory_on_a_ramp(last: &CurveCase, plateaus: &[Plateau], reported: &ReportedCaches) -> bool {
    let is_beyond = reported.enough() > 0.0 && last.size >= reported.enough();
    let is_flat = plateaus.iter().any(|plateau| plateau.last_size >= last.size);
    is_beyond && !is_flat && last.measured.estimate.best_round >= SLOWER_THAN_CACHES_NS
}

/// Why the curve does not show the level of this name.
pub fn absent(key: &str, found: &[MeasuredLevel], cases: &[CaseRecord]) -> Reason {
    let mut curve = cases.iter().filter(|case| case.probe == LATENCY).peekable();
    let why = curve.peek().and_then(|case| case.outcome.reason());
    if curve.all(|case| case.measured().is_none()) {
        return match why {
            Some(reason) => reason.clone().with_text(say!("{what}: {error}", what = LATENCY, error = reason)),
            None => ReasonCode::MissingInput.because(say!("memory.latency was not measured")),
        };
    }
    let unnamed = found.iter().rfind(|level| matches!(level.name, Name::Unnamed(_)));
    ReasonCode::Inconclusive.because(match (key, unnamed) {
        ("dram", Some(level)) => {
            say!("no plateau of the curve is memory for certain: {name} may be", name = level.name.key())
        }
        ("dram", None) => say!("no buffer was large enough to be sure of missing the last-level cache"),
        _ => {
            say!(
                "the latency curve shows {plateaus} plateaus, and none of them is {key} for certain",
                plateaus = found.len()
            )
        }
    })
}

/// Why a name is not certain, or why there is none.
fn doubt(name: Name, reported: &ReportedCaches, plateau: &Plateau, largest: f64) -> Option<Message> {
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let last = reported.caches.iter().rev().find_map(|(_, bytes)| *bytes);
    match name {
        Name::Memory => last.filter(|_| largest < reported.enough()).map(|reported| {
            say!(
                "the largest buffer ({largest:.0} MiB) is under twice the reported last cache ({reported:.0} MiB)",
                largest = mib(largest),
                reported = mib(reported)
            )
        }),
        Name::Unnamed(_) if plateau.capacity.is_none() => {
            Some(say!("a cache or memory: neither its size nor its time tells"))
        }
        Name::Unnamed(_) if reported.is_claim && last.is_some_and(|reported| plateau.first_size < reported) => {
            Some(say!("within the reported last cache, which neighbours may use: neither its size nor its time tells"))
        }
        Name::Unnamed(_) => Some(say!("no reported cache is of its size")),
        Name::Cache(_) => None,
    }
}

/// What the points of the curve prove about where a level of this latency ends; those without an interval prove nothing.
fn bracket(curve: &[CurveCase], latency: f64, next: Option<f64>) -> Bracket {
    let proving = |point: &CurveCase| {
        let estimate = &point.measured.estimate;
        Some(capacity::LatencyPoint { size: point.size, low: estimate.ci_low?, high: estimate.ci_high? })
    };
    let points: Vec<capacity::LatencyPoint> = curve.iter().filter_map(proving).collect();
    Bracket::of(&points, latency, next)
}

/// A point of the curve: random pattern, huge pages, with nobody else at it.
fn point(record: &CaseRecord) -> Option<CurveCase<'_>> {
    let params = &record.params;
    let on_curve =
        record.probe == LATENCY && params.get("pattern") == Some("random") && params.get("page") == Some("pmd");
    let is_alone = params.get("copies").is_none_or(|copies| copies == "1");
    let size = params.get("size")?.parse().ok()?;
    (on_curve && is_alone).then_some(CurveCase { size, record, measured: record.measured()? })
}

/// The point that stands for a plateau: in the middle of its latencies, since the last part of a level already pays for
/// translation and conflicts; of memory the largest, which the caches help least, but of those from `enough` on one with an interval.
fn representative<'a, 'b>(
    curve: &'b [CurveCase<'a>],
    plateau: &Plateau,
    name: Name,
    enough: f64,
) -> Option<&'b CurveCase<'a>> {
    let mut on = curve.iter().filter(|point| (plateau.first_size..=plateau.last_size).contains(&point.size));
    if name == Name::Memory {
        let is_known = |point: &&CurveCase| point.size >= enough && point.measured.estimate.ci_low.is_some();
        return on.clone().rfind(is_known).or_else(|| on.next_back());
    }
    let from_middle = |point: &&CurveCase| (point.measured.estimate.best_round / plateau.latency).ln().abs();
    on.min_by(|one, other| from_middle(one).total_cmp(&from_middle(other)))
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
