//! The levels of the memory hierarchy: their names, and what the host says of them.

use hostmark_model::{CacheFact, CacheKind, CaseRecord, Estimate, Lang, Message, Run, Text, Unit};
use hostmark_say::say;
use hostmark_stats::capacity::Bracket;

use crate::format::value;

/// The probe that measures the levels.
pub const HIERARCHY: &str = "memory.hierarchy";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Value of the axis `level`.
    pub key: &'static str,
    pub name: &'static str,
    /// The kernel's number of the cache; none for memory.
    pub cache: Option<u8>,
}

/// All levels, the fastest first.
pub const LEVELS: &[Level] = &[
    Level { key: "l1d", name: "L1d", cache: Some(1) },
    Level { key: "l2", name: "L2", cache: Some(2) },
    Level { key: "l3", name: "L3", cache: Some(3) },
    Level { key: "dram", name: "DRAM", cache: None },
];

impl Level {
    pub fn of(key: &str) -> Option<&'static Level> {
        LEVELS.iter().find(|level| level.key == key)
    }

    /// The cache that the host reports for this level, at the CPU that measured.
    pub fn reported(self, run: &Run) -> Option<&CacheFact> {
        let number = self.cache?;
        let anywhere = || run.host.caches.iter().find(|c| c.level == number && c.kind != CacheKind::Instruction);
        run.host.cache(run.settings.cpu, number).or_else(anywhere).filter(|cache| cache.size_bytes > 0)
    }

    pub fn case(self, run: &Run) -> Option<&CaseRecord> {
        run.cases.iter().find(|case| case.probe == HIERARCHY && case.params.get("level") == Some(self.key))
    }

    /// Bounds of the level's size that were proven, bytes; none where nothing was.
    pub fn bracket(self, run: &Run) -> Option<Bracket> {
        bracket_of(self.case(run)?)
    }

    pub fn is_found(self, run: &Run) -> bool {
        self.case(run).is_some_and(|case| case.measured().is_some())
    }

    /// Tells whether the cache may hold less, and whether it may hold more, than the host reports; `is_last` of the reported caches.
    fn may_differ(self, run: &Run, is_last: bool) -> (bool, bool) {
        let Some(reported) = self.reported(run).map(|cache| cache.size_bytes as f64) else { return (true, true) };
        if self.is_found(run) {
            let bracket = self.bracket(run).unwrap_or_default();
            return (bracket.is_under(reported), bracket.is_over(reported));
        }
        match LEVELS.iter().any(|level| level.is_found(run)) {
            // It was looked for, and is not to be seen.
            true => (true, LEVELS.last().is_none_or(|memory| !memory.is_found(run))),
            // Of the last cache a guest may have any part; the others are its CPU's own.
            false => (is_last && is_guest(run), is_last && is_guest(run)),
        }
    }

    /// A further quantity that was measured of this level: `read`, `line`, `ways`, `tlb` …
    pub fn also<'a>(&self, run: &'a Run, name: &str) -> Option<&'a Estimate> {
        let estimate = &self.case(run)?.measured()?.also.get(name)?.estimate;
        (estimate.value() > 0.0).then_some(estimate)
    }

    /// The size to reason with, bytes: as reported unless the measurement contradicts it, else what is proven to fit.
    pub fn size(self, run: &Run) -> Option<f64> {
        let reported = self.reported(run).map(|cache| cache.size_bytes as f64);
        self.bracket(run).unwrap_or_default().size(reported)
    }
}

/// Bounds of the size of a case's level that were proven, bytes; none where nothing was.
pub fn bracket_of(case: &CaseRecord) -> Option<Bracket> {
    let also = &case.measured()?.also;
    let bytes = |name| also.get(name).map(|also| also.estimate.value()).filter(|bytes| *bytes > 0.0);
    let bracket = Bracket { fits: bytes("size"), leaves: bytes("leaves") };
    (bracket != Bracket::default()).then_some(bracket)
}

/// Name of a plateau that could not be identified.
pub const UNNAMED: Text = term!("unnamed");

/// The plateaus of the curve that have no name, fastest first.
pub fn unnamed(run: &Run) -> impl Iterator<Item = &CaseRecord> {
    run.cases.iter().filter(|case| {
        case.probe == HIERARCHY && case.measured().is_some() && case.params.get("level").is_some_and(is_unnamed)
    })
}

/// Tells whether a value of the axis `level` is a plateau without a name.
pub fn is_unnamed(key: &str) -> bool {
    key.starts_with("plateau")
}

/// The bracket for people: `between 45 and 64 KiB`, `at least 16 MiB`.
pub fn bracket_text(bracket: &Bracket) -> Option<Message> {
    let size = |bytes: f64| value(bytes, Unit::Bytes, Lang::En);
    Some(match (bracket.fits, bracket.leaves) {
        (Some(fits), Some(leaves)) => {
            let (fits, leaves) = (size(fits), size(leaves));
            say!("between {fits} and {leaves}")
        }
        (Some(fits), None) => say!("at least {fits}", fits = size(fits)),
        (None, Some(leaves)) => say!("under {leaves}", leaves = size(leaves)),
        (None, None) => return None,
    })
}

/// The size of the last cache before memory, bytes; see [`Level::size`]. Caches that were not found hold nothing of memory.
pub fn last_cache_size(run: &Run) -> Option<f64> {
    let is_memory_found = LEVELS.iter().any(|level| level.cache.is_none() && level.is_found(run));
    let caches = LEVELS.iter().filter(|level| level.cache.is_some() && (!is_memory_found || level.is_found(run)));
    let nameless = unnamed(run).filter_map(|case| bracket_of(case)?.size(None));
    caches.filter_map(|level| level.size(run)).chain(nameless).reduce(f64::max)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    In(&'static Level),
    /// Place between two levels, in a plateau without a name, or in a cache that only a hypervisor reports.
    Uncertain,
}

impl Location {
    pub fn is_memory(self) -> bool {
        matches!(self, Location::In(level) if level.cache.is_none())
    }

    pub fn name(self) -> &'static str {
        self.level().map_or("–", |level| level.name)
    }

    pub fn level(self) -> Option<&'static Level> {
        match self {
            Location::In(level) => Some(level),
            Location::Uncertain => None,
        }
    }
}

/// Finder of the level that holds a buffer of some bytes, by the levels found, else by the host's report; none where that has no cache.
pub fn place_of_size(run: &Run) -> impl Fn(f64) -> Option<Location> + use<> {
    let reported: Vec<(&Level, f64)> =
        LEVELS.iter().filter_map(|l| Some((l, l.reported(run)?.size_bytes as f64))).collect();
    let is_searched = LEVELS.iter().any(|level| level.is_found(run));
    let is_guest = is_guest(run);
    let found = LEVELS.iter().filter(|level| level.cache.is_some() && level.is_found(run)).map(|level| {
        let bracket = level.bracket(run).unwrap_or_default();
        let told = reported.iter().find(|(known, _)| known.key == level.key).map(|(_, size)| *size);
        // Where the host is not contradicted, its size is the border; else only what is proven is known.
        match told.filter(|told| !bracket.is_over(*told) && !bracket.is_under(*told)) {
            Some(told) => (level, told, told),
            None => (level, bracket.fits.or(bracket.leaves).unwrap_or(0.0), bracket.leaves.unwrap_or(f64::INFINITY)),
        }
    });
    let found: Vec<(&Level, f64, f64)> = found.collect();
    let nameless: Vec<Option<f64>> = unnamed(run).map(|case| bracket_of(case)?.leaves).collect();
    let memory = LEVELS.last().filter(|level| level.is_found(run));
    move |bytes| {
        if !is_searched {
            let (last, _) = reported.last()?;
            let holds = reported.iter().find(|(_, size)| bytes <= *size).map(|(level, _)| *level);
            let is_sure = |level: &&Level| !is_guest || (level.cache.is_some() && level.key != last.key);
            return Some(holds.or(LEVELS.last()).filter(is_sure).map_or(Location::Uncertain, Location::In));
        }
        if let Some((level, fits, _)) = found.iter().find(|(_, fits, leaves)| bytes <= *fits || bytes < *leaves) {
            return Some(if bytes <= *fits { Location::In(level) } else { Location::Uncertain });
        }
        let is_past = nameless.iter().all(|leaves| leaves.is_some_and(|leaves| bytes >= leaves));
        Some(memory.filter(|_| is_past).map_or(Location::Uncertain, Location::In))
    }
}

fn is_guest(run: &Run) -> bool {
    run.host.virtualization.hypervisor.is_some()
}

/// A cache line where the host does not tell.
const USUAL_LINE_BYTES: u64 = 64;

/// The lines that a walk over `bytes` touches which goes on by `stride` bytes each time.
pub fn lines_of(run: &Run, bytes: u64, stride: u64) -> u64 {
    let line = LEVELS.iter().find_map(|level| level.reported(run)?.line_bytes).unwrap_or(USUAL_LINE_BYTES);
    (bytes / stride.max(line).max(1)).max(1)
}

/// The level that holds the lines of such a walk, by its sets and ways: a stride of many lines leaves most sets empty. None
/// where the host does not tell them of a cache on the way there, or where a cache is not what the host tells.
pub fn level_of_lines(run: &Run, bytes: u64, stride: u64) -> Option<&'static Level> {
    let known: Vec<_> = LEVELS.iter().filter_map(|level| Some((level, level.reported(run)?))).collect();
    let mut may_lie_before = false;
    for (position, (level, cache)) in known.iter().enumerate() {
        let (may_hold_less, may_hold_more) = level.may_differ(run, position + 1 == known.len());
        if holds(cache, bytes, stride)? {
            return Some(*level).filter(|_| !may_hold_less && !may_lie_before);
        }
        may_lie_before |= may_hold_more;
    }
    if known.is_empty() { None } else { LEVELS.last().filter(|_| !may_lie_before) }
}

/// Tells whether a cache holds every line of the walk; none if its associativity is unknown, or the stride has no period.
fn holds(cache: &CacheFact, bytes: u64, stride: u64) -> Option<bool> {
    let line = cache.line_bytes.filter(|line| *line > 0)?;
    let ways = cache.ways.map(u64::from).filter(|ways| *ways > 0)?;
    let stride = stride.max(line);
    if stride % line != 0 {
        return None;
    }
    let sets = cache.size_bytes.checked_div(line.checked_mul(ways)?)?.max(1);
    let used = sets / gcd(stride / line, sets);
    Some(bytes / stride <= ways * used)
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of lines of 64 bytes.
    fn cache(size_kib: u64, ways: Option<u32>) -> CacheFact {
        CacheFact { level: 1, size_bytes: size_kib << 10, line_bytes: Some(64), ways, ..CacheFact::default() }
    }

    #[test]
    fn a_walk_fits_as_long_as_the_sets_that_it_touches_have_ways_for_its_lines() {
        // 64 sets of 8 ways: a way is 4 KiB.
        let first = cache(32, Some(8));
        let fits = |bytes: u64, stride| holds(&first, bytes << 10, stride).unwrap();
        for stride in [1, 64, 128, 512, 4096] {
            assert!(fits(32, stride) && !fits(36, stride), "{stride}");
        }
        // One set of 8 ways holds 8 lines, however far they lie apart.
        assert!(fits(64, 8192) && !fits(72, 8192) && fits(128, 16384) && !fits(144, 16384));
        // 65 lines are prime to 64 sets, and use all of them.
        assert!(fits(2000, 65 * 64) && !fits(2100, 65 * 64));
        // 2048 sets of 16 ways, of which strides of 4 and 16 KiB touch every 64th and every 256th: no more, no less than 2 MiB.
        let second = cache(2048, Some(16));
        for stride in [4096, 16384] {
            assert_eq!([2048, 2064].map(|kib| holds(&second, kib << 10, stride)), [Some(true), Some(false)]);
        }
    }

    #[test]
    fn without_ways_or_lines_and_between_lines_nothing_is_known() {
        let no_line = CacheFact { line_bytes: None, ..cache(32, Some(8)) };
        for cache in [cache(32, None), cache(32, Some(0)), no_line] {
            assert_eq!(holds(&cache, 4096, 4096), None);
        }
        assert_eq!(holds(&cache(32, Some(8)), 4096, 96), None);
    }
}
