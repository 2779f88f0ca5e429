//! The flags of a run's cases, and which of them say something about the run.

use std::collections::{BTreeMap, HashSet};

use hostmark_model::{CaseRecord, FlagKind, Run};

/// A flag that at least this many cases carry is told once for the run and not beside each value …
const COMMON_CASES: usize = 8;
/// … when it is on at least one of this many.
const COMMON_SHARE: usize = 5;

pub(crate) struct Flags {
    /// Number of measured cases by flag.
    pub(crate) counts: BTreeMap<FlagKind, usize>,
    /// Flags of so many cases that they say something about the run and nothing about a case.
    pub(crate) common: HashSet<FlagKind>,
    pub(crate) measured: usize,
}

impl Flags {
    pub(crate) fn of(run: &Run) -> Flags {
        let mut counts: BTreeMap<FlagKind, usize> = BTreeMap::new();
        let mut measured = 0;
        for values in run.cases.iter().filter_map(CaseRecord::measured) {
            measured += 1;
            let kinds: HashSet<FlagKind> = values.flags.iter().map(|flag| flag.kind).collect();
            kinds.into_iter().for_each(|kind| *counts.entry(kind).or_insert(0) += 1);
        }
        let is_common = |(kind, count): (&FlagKind, &usize)| {
            (!is_of_the_value(*kind) && *count >= COMMON_CASES && count * COMMON_SHARE >= measured).then_some(*kind)
        };
        let common = counts.iter().filter_map(is_common).collect();
        Flags { counts, common, measured }
    }
}

/// Tells whether a flag of this kind is about a value itself, however many have it.
pub(crate) fn is_of_the_value(kind: FlagKind) -> bool {
    needs_detail(kind) || matches!(kind, FlagKind::UnderResolution | FlagKind::FromCache)
}

/// Tells whether a remark of this kind says little without its detail.
pub(crate) fn needs_detail(kind: FlagKind) -> bool {
    matches!(kind, FlagKind::Implausible | FlagKind::Unconfirmed | FlagKind::SmallBuffer | FlagKind::PartlyUsed)
}
