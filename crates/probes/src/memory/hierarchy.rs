//! Probe memory.hierarchy: the levels of the memory hierarchy as memory.latency shows them, beside what the host reports.

use hostmark_engine::prelude::*;

mod companions;
mod levels;
mod measured;
mod naming;
mod shared;

use companions::companions;
use levels::{LATENCY, absent, levels};
use measured::measured;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[
        measured::FITS,
        measured::LEAVES,
        Quantity::CORE_CYCLES,
        companions::READ,
        companions::WRITE,
        companions::COPY,
        companions::LINE,
        companions::WAYS,
        companions::TLB,
        companions::TLB_MISS,
    ],
    related: &["memory.latency", "memory.tlb", "memory.line", "memory.associativity", "memory.parallelism"],
    axes: &[Axis::choice("level", "l1d", Points::Listed { quick: LEVELS, standard: &[], thorough: &[] })],
    replaces: &["cache"],
    section: crate::section::HIERARCHY,
    measure: Measure::Derive {
        from: &[
            Source::along(LATENCY, &["size"]),
            Source::along("memory.read", &["size"]),
            Source::along("memory.write", &["size"]),
            Source::along("memory.copy", &["size"]),
            Source::along("memory.line", &[]),
            Source::along("memory.associativity", &[]),
            Source::along("memory.tlb", &["level"]),
        ],
        derive,
    },
    ..crate::texts::memory::HIERARCHY
};

fn derive(cases: &[CaseRecord], host: &HostFacts) -> Vec<CaseRecord> {
    let found = levels(cases, host);
    let record = |key: String, outcome: Outcome| CaseRecord {
        id: format!("memory.hierarchy@level={key}"),
        probe: "memory.hierarchy".into(),
        params: Params(vec![("level".into(), key)]),
        outcome,
    };
    let mut records: Vec<CaseRecord> = found
        .iter()
        .map(|level| {
            record(level.name.key(), Outcome::Measured(Box::new(measured(level, companions(level, &found, cases)))))
        })
        .collect();
    for (place, key) in LEVELS.iter().enumerate() {
        if records.iter().all(|record| record.params.get("level") != Some(*key)) {
            let skipped = Outcome::Skipped { reason: absent(key, &found, cases) };
            records.insert(place.min(records.len()), record((*key).into(), skipped));
        }
    }
    records
}

/// The levels that have a name, on every machine in this order.
const LEVELS: &[&str] = &["l1d", "l2", "l3", "dram"];

#[cfg(test)]
#[path = "hierarchy_tests.rs"]
mod tests;
