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
