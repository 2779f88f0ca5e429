//! What the plateaus of a latency curve are called, by what the host tells and by what no cache and no memory can do.

use hostmark_engine::prelude::*;

/// The caches that have a name of their own, by level.
const NAMES: [&str; 3] = ["l1d", "l2", "l3"];
/// Memory counts as reached when the curve goes this far beyond the largest cache that the host tells of.
const BEYOND_CACHES: f64 = 2.0;
/// How a plateau that takes as long as [`SLOWER_THAN_CACHES_NS`] is known to be memory.
pub const NO_CACHE_IS_AS_SLOW: &str = "no cache is as slow";
/// No memory of a server or desktop answers as soon, ns: a plateau below is a cache, however small those that the host tells of.
const FASTER_THAN_MEMORY_NS: f64 = 40.0;
/// Where the host tells of no cache at all, so many plateaus are three caches and memory: no processor has more.
const MOST_PLATEAUS: usize = NAMES.len() + 1;
/// A told size and a plateau's end may differ by this factor and be of one cache; see [`Bracket`].
const TOLERANCE: f64 = 1.5;

/// No first cache of a server is smaller, bytes.
const SMALLEST_FIRST: f64 = 16384.0;

/// What a plateau is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// l1d, l2 or l3: a cache that the host tells of, and the first level of all, which needs no telling.
    Cache(&'static str),
    Memory,
    /// The plateau of this number, the fastest being 1: nothing tells what it is.
    Unnamed(usize),
}

impl Name {
    /// Its value on the axis `level`.
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
    pub is_claim: bool,
    /// What a run found that the last one does not hold, where that is less.
    pub found_bytes: Option<f64>,
}

impl ReportedCaches {
    /// As `host` tells it.
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

    /// The size of the cache of this name.
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

/// What the plateau at the end of the curve is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Memory, and how that is known.
    Memory(&'static str),
    Cache,
    /// One of the two.
    Unknown,
}

/// Whether the last plateau is memory; `largest` is the last size of the curve.
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

/// A name for each plateau.
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

/// Whether a level of so many bytes can have begun the plateau.
fn begins_within(plateau: &Plateau, bytes: f64) -> bool {
    plateau.first_size <= TOLERANCE * bytes
}

/// Which plateau is which level of the told caches: all by their order where there are as many; else each takes the plateau that
/// ends nearest to its size, in order. Of a cache that neighbours use up a part answers as fast as ever, and behind it loads find
/// now the cache and now memory: what is nearer to memory than to the plateau before it is no cache.
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

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
