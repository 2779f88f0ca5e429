//! The levels that a latency curve shows, named by what the host tells and by what no cache and no memory can do.

use hostmark_engine::prelude::*;

/// The probe whose curve it is.
pub const LATENCY: &str = "memory.latency";

#[derive(Debug, Clone)]
pub struct MeasuredLevel {
    pub name: Name,
    /// Bounds of the size at which it ends, proven by the curve, bytes; nothing for memory.
    pub bracket: Bracket,
    pub reported_bytes: Option<u64>,
    /// The measurement that stands for it: in the middle of its plateau; of memory the largest that has an interval.
    pub case: Measured,
    /// Id of that measurement's case.
    pub at: String,
    pub evidence: Option<&'static str>,
    /// Reason why its name is not certain, or why it has none.
    pub doubt: Option<Message>,
}

impl MeasuredLevel {
    /// Returns the size to reason with: as reported where the curve does not contradict it, else what is proven to fit.
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
    let is_memory = |level: &MeasuredLevel| level.name == Name::Memory;
    if let Some(point) = curve.last().filter(|point| ends_in_memory(point, &reported))
        && !found.iter().any(is_memory)
    {
        // A plateau until there mixes the last cache with memory.
        if plateaus.last().is_some_and(|plateau| plateau.last_size >= point.size) {
            found.retain(|level| Some(&level.name) != names.last());
        }
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
    if found.iter().all(|level| level.name != Name::Cache(LAST))
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
                name: Name::Cache(LAST),
                bracket: bracket(&curve, latency, next),
                reported_bytes: reported.bytes(LAST).map(|bytes| bytes as u64),
                case: point.measured.clone(),
                at: point.record.id.clone(),
                evidence: None,
                doubt: Some(shared.words()),
            },
        );
    }
    found
}

/// Tells whether the last point lies in memory though no plateau does: where a neighbour leaves two states of the last
/// cache, the curve has no flat end, and a buffer beyond the cache that takes longer than any cache is memory all the same.
fn ends_in_memory(last: &CurveCase, reported: &ReportedCaches) -> bool {
    let is_beyond = reported.enough() > 0.0 && last.size >= reported.enough();
    is_beyond && last.measured.estimate.best_round >= SLOWER_THAN_CACHES_NS
}

/// Reason why the curve does not show the level of this name.
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
        _ => say!("{level} could not be told apart from the levels beside it in this run", level = key.to_uppercase()),
    })
}

/// Reason why a name is not certain, or why there is none.
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

/// Returns the bounds that the curve's points prove for the end of a level of this latency; points without an interval prove nothing.
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

/// The point that stands for a plateau: the middle of its values, as the last part of a level pays for translation and conflicts, and the
/// fastest of many is too fast; of memory the largest point from `enough` on with an interval.
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
    // Nearest to the median latency; where the core alone decides, to the median number of cycles.
    let cycles = |point: &CurveCase| Some(point.measured.in_cycles()?.value());
    let all_cycles: Option<Vec<f64>> = on.clone().map(cycles).collect();
    let middle = all_cycles.and_then(|mut all| median_in_place(&mut all));
    let from_middle = |point: &&CurveCase| match (middle, cycles(point)) {
        (Some(middle), Some(own)) => (own / middle).ln().abs(),
        _ => (point.measured.estimate.best_round / plateau.latency).ln().abs(),
    };
    on.min_by(|one, other| from_middle(one).total_cmp(&from_middle(other)))
}

/// The caches that have a name of their own, by level.
const NAMES: [&str; 3] = ["l1d", "l2", "l3"];
/// Memory counts as reached when the curve goes this far beyond the largest cache that the host tells of.
const BEYOND_CACHES: f64 = 2.0;
/// Evidence that a plateau that takes as long as [`SLOWER_THAN_CACHES_NS`] is memory.
const NO_CACHE_IS_AS_SLOW: &str = "no cache is as slow";
/// No memory of a server or desktop answers as soon, ns: a plateau below is a cache, however small those that the host tells of.
const FASTER_THAN_MEMORY_NS: f64 = 40.0;
/// Number of plateaus that are three caches and memory where the host tells of no cache at all: no processor has more.
const MOST_PLATEAUS: usize = NAMES.len() + 1;
/// A told size and a plateau's end may differ by this factor and be of one cache; see [`Bracket`].
const TOLERANCE: f64 = 1.5;

/// No first cache of a server is smaller, bytes.
const SMALLEST_FIRST: f64 = 16384.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// l1d, l2 or l3: a cache that the host tells of, and the first level of all, which needs no telling.
    Cache(&'static str),
    Memory,
    /// The plateau of this number, the fastest being 1: nothing tells what it is.
    Unnamed(usize),
}

impl Name {
    /// Returns its value on the axis `level`.
    pub fn key(self) -> String {
        match self {
            Name::Cache(name) => name.into(),
            Name::Memory => "dram".into(),
            Name::Unnamed(number) => format!("plateau{number}"),
        }
    }
}

/// The data caches that the host tells of, as the CPU that measures sees them.
#[derive(Debug, Clone, Default)]
pub struct ReportedCaches {
    /// First level first; bytes, where they are told.
    pub caches: Vec<(u8, Option<f64>)>,
    /// A hypervisor tells it, which may tell what it likes; else the hardware itself.
    is_claim: bool,
    /// Size that a run found too large for the last cache, where that is less.
    found_bytes: Option<f64>,
}

impl ReportedCaches {
    pub fn of(host: &HostFacts) -> ReportedCaches {
        let reported = |cpu, level| host.cache(cpu, level).map(|cache| (level, Some(cache.size_bytes as f64)));
        let sized = |(level, bytes): (u8, Option<f64>)| (level, bytes.filter(|bytes| *bytes > 0.0));
        let caches = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| reported(cpu, level)));
        let found = host.memory_look.as_ref().and_then(|look| look.last_cache_bytes);
        ReportedCaches {
            caches: caches.map(sized).collect(),
            is_claim: host.virtualization.hypervisor.is_some(),
            found_bytes: found.map(|bytes| bytes as f64),
        }
    }

    pub fn bytes(&self, name: &str) -> Option<f64> {
        self.caches.iter().find(|(level, _)| called(*level) == Some(name))?.1
    }

    /// A buffer of so many bytes, or larger, lies in memory for the most part; of any size where no cache is told.
    pub fn enough(&self) -> f64 {
        BEYOND_CACHES * self.largest().unwrap_or(0.0).min(self.found_bytes.unwrap_or(f64::INFINITY))
    }

    fn largest(&self) -> Option<f64> {
        self.caches.iter().filter_map(|(_, bytes)| *bytes).reduce(f64::max)
    }
}

fn called(level: u8) -> Option<&'static str> {
    NAMES.get(usize::from(level).checked_sub(1)?).copied()
}

/// Kind of the plateau at the end of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Memory, and how that is known.
    Memory(&'static str),
    Cache,
    Unknown,
}

/// Tells whether the last plateau is memory; `largest` is the last size of the curve.
pub fn last(plateaus: &[Plateau], reported: &ReportedCaches, largest: f64) -> Last {
    let Some(last) = plateaus.last() else { return Last::Unknown };
    if last.capacity.is_some() {
        // Something slower follows, even if the curve ends before it is flat.
        return Last::Cache;
    }
    let caches = reported.caches.len();
    let is_beyond = reported.largest().is_some() && largest >= reported.enough();
    if last.latency >= SLOWER_THAN_CACHES_NS {
        return Last::Memory(NO_CACHE_IS_AS_SLOW);
    }
    if last.latency < FASTER_THAN_MEMORY_NS {
        return Last::Cache;
    }
    if plateaus.len() > caches && caches > 0 {
        return Last::Memory("one plateau more than caches are told");
    }
    if caches == 0 && plateaus.len() >= MOST_PLATEAUS {
        return Last::Memory("no processor has so many levels of cache");
    }
    if is_beyond && !reported.is_claim {
        return Last::Memory("the curve goes beyond twice the caches");
    }
    let is_inside = reported.largest().is_some_and(|reported| last.last_size <= reported);
    if is_inside && !reported.is_claim { Last::Cache } else { Last::Unknown }
}

pub fn names(plateaus: &[Plateau], reported: &ReportedCaches, largest: f64) -> Vec<Name> {
    let mut names: Vec<Name> = (1..=plateaus.len()).map(Name::Unnamed).collect();
    let last = last(plateaus, reported, largest);
    let caches = if last == Last::Cache { names.len() } else { names.len().saturating_sub(1) };
    let memory_ns = plateaus.last().filter(|_| matches!(last, Last::Memory(_))).map(|memory| memory.latency);
    for (index, level) in caches_of(&plateaus[..caches], reported, largest, memory_ns) {
        names[index] = called(level).map_or(names[index], Name::Cache);
    }
    if let (Last::Memory(_), Some(name)) = (last, names.last_mut()) {
        *name = Name::Memory;
    }
    // A curve from its smallest sizes on begins with the level that answers first, which needs nobody's word.
    if caches > 0 && names.len() > 1 && begins_within(&plateaus[0], reported.bytes(NAMES[0]).unwrap_or(SMALLEST_FIRST))
    {
        names[0] = Name::Cache(NAMES[0]);
    }
    // Where small sizes have no value, what is seen first is no small cache.
    for (index, name) in names.iter_mut().enumerate() {
        if reported.bytes(&name.key()).is_some_and(|bytes| !begins_within(&plateaus[index], bytes)) {
            *name = Name::Unnamed(index + 1);
        }
    }
    names
}

/// Tells whether a level of so many bytes can have begun the plateau.
fn begins_within(plateau: &Plateau, bytes: f64) -> bool {
    plateau.first_size <= TOLERANCE * bytes
}

/// Assigns plateaus to the reported caches: all by their order where there are as many; else each takes the plateau that ends
/// nearest to its size, in order. A cache that neighbours partly use answers as fast as ever, and behind it loads find now the
/// cache and now memory: what is nearer to memory than to the plateau before it is no cache.
fn caches_of(
    plateaus: &[Plateau],
    reported: &ReportedCaches,
    largest: f64,
    memory_ns: Option<f64>,
) -> Vec<(usize, u8)> {
    let levels = &reported.caches;
    if levels.len() == plateaus.len() {
        return levels.iter().enumerate().map(|(index, (level, _))| (index, *level)).collect();
    }
    let end = |index: usize| plateaus[index].capacity;
    let distance = |index: usize, bytes: f64| (end(index).unwrap_or(largest) / bytes).ln().abs();
    // A plateau that goes on to the end of the curve is that of no smaller cache.
    let may_be = |index: usize, bytes: f64| end(index).is_some() || largest <= TOLERANCE * bytes;
    let mut found = Vec::new();
    let mut from = 0;
    for (position, (level, bytes)) in levels.iter().enumerate() {
        let Some(bytes) = *bytes else { continue };
        let after = levels[position + 1..].iter().filter(|(_, bytes)| bytes.is_some()).count();
        let until = plateaus.len().saturating_sub(after).max(from + 1).min(plateaus.len());
        let is_shared = reported.is_claim && after == 0;
        let is_mixed = |index: usize| {
            let before = index.checked_sub(1).filter(|before| is_shared && *before >= from);
            let apart = |one: f64, other: f64| (one / other).ln().abs();
            before.zip(memory_ns).is_some_and(|(before, memory_ns)| {
                let latency = plateaus[index].latency;
                apart(latency, memory_ns) < apart(latency, plateaus[before].latency)
            })
        };
        let until = (from..until).find(|index| is_mixed(*index)).unwrap_or(until);
        let nearest = (from..until).min_by(|one, other| distance(*one, bytes).total_cmp(&distance(*other, bytes)));
        // A plateau that ends nearer to the next level's size is that one's.
        let next = levels[position + 1..].iter().find_map(|(_, bytes)| *bytes);
        let is_own = |index: &usize| next.is_none_or(|next| distance(*index, bytes) <= distance(*index, next));
        if let Some(index) = nearest.filter(is_own).filter(|index| may_be(*index, bytes)) {
            found.push((index, *level));
            from = index + 1;
        }
    }
    found
}

/// The third cache is the last that has a row.
pub const LAST: &str = "l3";
/// Multiple of the second cache below which a size still hits that one.
const BEYOND_SECOND: f64 = 1.5;

/// Point of the curve at which the last cache is looked at, and the largest size that it is seen to hold, bytes.
pub struct SharedCache {
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

    /// Reason why the value is none of a plateau.
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

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
