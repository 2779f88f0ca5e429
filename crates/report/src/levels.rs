//! The levels of the memory hierarchy: their names, and what the host says of them.

use hostmark_model::{CacheFact, CacheKind, CaseRecord, Estimate, Lang, ProbeInfo, Run, Text, Unit};
use hostmark_stats::capacity::Bracket;

use crate::format::value;

/// The probe that measures the levels.
pub const HIERARCHY: &str = "memory.hierarchy";

/// From this revision on the probe tells sizes as points that prove them; before it interpolated between points.
const PROVES_SIZES: u32 = 2;

/// A level of the memory hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Its value on the axis `level`.
    pub key: &'static str,
    /// Its name for people.
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
    /// The level with this key.
    pub fn of(key: &str) -> Option<&'static Level> {
        LEVELS.iter().find(|level| level.key == key)
    }

    /// The cache that the host reports for this level, at the CPU that measured.
    pub fn reported(self, run: &Run) -> Option<&CacheFact> {
        let number = self.cache?;
        let anywhere = || run.host.caches.iter().find(|c| c.level == number && c.kind != CacheKind::Instruction);
        run.host.cache(run.settings.cpu, number).or_else(anywhere).filter(|cache| cache.size_bytes > 0)
    }

    /// The case that measured this level.
    pub fn case(self, run: &Run) -> Option<&CaseRecord> {
        run.cases.iter().find(|case| case.probe == HIERARCHY && case.params.get("level") == Some(self.key))
    }

    /// What was proven about its size, bytes; none where nothing was.
    pub fn bracket(self, run: &Run) -> Option<Bracket> {
        if !proves_sizes(run) {
            return None;
        }
        let bytes = |name| self.also(run, name).map(|estimate| estimate.median);
        let bracket = Bracket { fits: bytes("size"), leaves: bytes("leaves") };
        (bracket != Bracket::default()).then_some(bracket)
    }

    /// A further quantity that was measured of this level: `read`, `line`, `ways`, `tlb` …
    pub fn also<'a>(&self, run: &'a Run, name: &str) -> Option<&'a Estimate> {
        let estimate = &self.case(run)?.measured()?.also.get(name)?.estimate;
        (estimate.median > 0.0).then_some(estimate)
    }

    /// The size to reason with, bytes: as reported unless the measurement contradicts it, else what is proven to fit.
    pub fn size(self, run: &Run) -> Option<f64> {
        let reported = self.reported(run).map(|cache| cache.size_bytes as f64);
        self.bracket(run).unwrap_or_default().size(reported)
    }
}

/// Whether the run's sizes are points that prove them, and no interpolation.
pub fn proves_sizes(run: &Run) -> bool {
    let proves = |info: &ProbeInfo| info.id == HIERARCHY && info.revision >= PROVES_SIZES;
    run.probes.iter().any(proves)
}

/// The bracket for people: `between 45 and 64 KiB`, `at least 16 MiB`; in English and Chinese.
pub fn bracket_text(bracket: &Bracket) -> Option<Text<String>> {
    let size = |bytes: f64| value(bytes, Unit::Bytes, Lang::En);
    Some(match (bracket.fits, bracket.leaves) {
        (Some(fits), Some(leaves)) => {
            let (fits, leaves) = (size(fits), size(leaves));
            Text { en: format!("between {fits} and {leaves}"), zh: format!("介于 {fits} 与 {leaves} 之间") }
        }
        (Some(fits), None) => Text { en: format!("at least {}", size(fits)), zh: format!("至少 {}", size(fits)) },
        (None, Some(leaves)) => Text { en: format!("under {}", size(leaves)), zh: format!("小于 {}", size(leaves)) },
        (None, None) => return None,
    })
}

/// The size of the last cache before memory, bytes; see [`Level::size`].
pub fn last_cache_size(run: &Run) -> Option<f64> {
    LEVELS.iter().rev().filter(|level| level.cache.is_some()).find_map(|level| level.size(run))
}

/// The level that a buffer of `bytes` lies in by what the host reports; none where it reports no cache.
pub fn level_of_size(run: &Run, bytes: f64) -> Option<&'static Level> {
    let known: Vec<_> = LEVELS.iter().filter_map(|l| Some((l, l.reported(run)?.size_bytes as f64))).collect();
    let holds = known.iter().find(|(_, size)| bytes <= *size).map(|(level, _)| *level);
    holds.or(if known.is_empty() { None } else { LEVELS.last() })
}

/// A cache line where the host does not tell.
const USUAL_LINE_BYTES: u64 = 64;

/// The lines that a walk over `bytes` touches which goes on by `stride` bytes each time.
pub fn lines_of(run: &Run, bytes: u64, stride: u64) -> u64 {
    let line = LEVELS.iter().find_map(|level| level.reported(run)?.line_bytes).unwrap_or(USUAL_LINE_BYTES);
    (bytes / stride.max(line).max(1)).max(1)
}

/// The level that holds the lines of such a walk, by its sets and ways: a stride of many lines leaves most sets empty. None
/// where the host does not tell them of a cache on the way there.
pub fn level_of_lines(run: &Run, bytes: u64, stride: u64) -> Option<&'static Level> {
    let known: Vec<_> = LEVELS.iter().filter_map(|level| Some((level, level.reported(run)?))).collect();
    for (level, cache) in &known {
        if holds(cache, bytes, stride)? {
            return Some(level);
        }
    }
    if known.is_empty() { None } else { LEVELS.last() }
}

/// Whether a cache holds every line of the walk. Of a cache whose ways are not told nothing is known; a stride that is no
/// whole number of lines has no period that this could count by.
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
