//! The levels of the memory hierarchy: their names, and what the host says of them.

use hostmark_model::{CacheFact, CacheKind, CaseRecord, Estimate, Run};

/// The probe that measures the levels.
pub const HIERARCHY: &str = "memory.hierarchy";

/// How far a measured size may be from the reported one before the two are said to differ.
pub const SIZE_TOLERANCE: f64 = 0.25;

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

    /// The size that was measured.
    pub fn measured_size(self, run: &Run) -> Option<&Estimate> {
        let also = self.case(run)?.measured()?.also.get("size")?;
        (also.estimate.median > 0.0).then_some(&also.estimate)
    }

    /// A further quantity that was measured of this level: `read`, `line`, `ways`, `tlb` …
    pub fn also<'a>(&self, run: &'a Run, name: &str) -> Option<&'a Estimate> {
        let estimate = &self.case(run)?.measured()?.also.get(name)?.estimate;
        (estimate.median > 0.0).then_some(estimate)
    }

    /// The size to reason with: measured, else reported; bytes.
    pub fn size(self, run: &Run) -> Option<f64> {
        let reported = || self.reported(run).map(|cache| cache.size_bytes as f64);
        self.measured_size(run).map(|size| size.median).or_else(reported)
    }
}

/// Whether a measured size is so far from the reported one that one of them needs an explanation.
pub fn sizes_differ(measured: f64, reported: f64) -> bool {
    reported > 0.0 && (measured / reported - 1.0).abs() > SIZE_TOLERANCE
}

/// The size of the last cache before memory: measured, else reported; bytes.
pub fn last_cache_size(run: &Run) -> Option<f64> {
    LEVELS.iter().rev().filter(|level| level.cache.is_some()).find_map(|level| level.size(run))
}

/// The level that a buffer of `bytes` lies in by what the host reports; none where it reports no cache.
pub fn level_of_size(run: &Run, bytes: f64) -> Option<&'static Level> {
    let known: Vec<_> = LEVELS.iter().filter_map(|l| Some((l, l.reported(run)?.size_bytes as f64))).collect();
    let holds = known.iter().find(|(_, size)| bytes <= *size).map(|(level, _)| *level);
    holds.or(if known.is_empty() { None } else { LEVELS.last() })
}
