//! Probe memory.hierarchy: the levels of the memory hierarchy as memory.latency shows them, beside what the host reports.

use hostmark_engine::prelude::*;

use levels::{LATENCY, MeasuredLevel, Name, absent, levels};

mod levels;

pub static PROBE: Probe = Probe {
    also: &[FITS, LEAVES, Quantity::CORE_CYCLES, READ, WRITE, COPY, LINE, WAYS, TLB, TLB_MISS],
    axes: &[Axis::choice("level", "l1d", Points::quick(LEVELS))],
    section: super::HIERARCHY,
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

/// The largest size that is proven to fit.
pub const FITS: Quantity = Quantity::given("size", Unit::Bytes, Better::Higher, term!("largest size that fits"));
/// The smallest size that is proven not to fit.
const LEAVES: Quantity =
    Quantity::given("leaves", Unit::Bytes, Better::Neither, term!("smallest size that does not fit"));
/// A median this much over the best round is the neighbours' doing, or the placement of pages.
const GAP: f64 = 1.10;

/// The representative case's measurement, with the level's size and further quantities beside it.
pub fn measured(level: &MeasuredLevel, beside: Vec<(&'static str, Also)>) -> Measured {
    let mut measured = level.case.clone();
    measured.also.extend(beside.into_iter().map(|(name, also)| (name.to_owned(), also)));
    let mut flag = |kind, detail: Message| measured.flags.push(Flag::new(kind, detail));
    let estimate = &level.case.estimate;
    if estimate.typical > GAP * estimate.best_round {
        let detail = say!(
            "the best round was {typical:.0} % faster",
            typical = (1.0 - estimate.best_round / estimate.typical) * 100.0
        );
        flag(FlagKind::BestRoundGap, detail);
    }
    let Bracket { fits, leaves } = level.bracket;
    if let Some(doubt) = &level.doubt {
        let is_memory = level.name == Name::Memory;
        flag(if is_memory { FlagKind::SmallBuffer } else { FlagKind::Unconfirmed }, doubt.clone());
    } else if let Some(reported) = level.reported_bytes {
        let size = |bytes: Option<f64>| size_text(bytes.unwrap_or(0.0) as u64);
        let size_reported = size_text(reported);
        if level.bracket.is_over(reported as f64) {
            let detail = say!("{fits} fit, and the host reports {size_reported}", fits = size(fits));
            flag(FlagKind::Unconfirmed, detail);
        } else if level.bracket.is_under(reported as f64) {
            flag(
                FlagKind::Unconfirmed,
                say!(
                    "{leaves} do not fit, and the host reports {size_reported}: neighbours probably use the rest",
                    leaves = size(leaves)
                ),
            );
        }
    } else if level.name != Name::Memory {
        flag(FlagKind::Unconfirmed, say!("the host reports no such cache"));
    }
    for (name, size) in [(FITS.name, fits), (LEAVES.name, leaves)] {
        measured.also.extend(size.map(|size| (name.to_owned(), exactly(size))));
    }
    measured.notes.insert("at".into(), level.at.clone());
    measured.notes.extend(level.evidence.map(|evidence| ("memory_because".into(), evidence.into())));
    measured
}

/// A quantity that the curve gives as one number, without an interval.
pub fn exactly(value: f64) -> Also {
    Also { estimate: estimate(&[vec![value]], 0.0, Better::Neither) }
}

pub const READ: Quantity = bandwidth("read", term!("read"));
/// See [`READ`].
pub const WRITE: Quantity = bandwidth("write", term!("write"));
/// See [`READ`].
pub const COPY: Quantity = bandwidth("copy", term!("copy"));
pub const LINE: Quantity = Quantity::given("line", Unit::Bytes, Better::Neither, term!("cache line"));
pub const WAYS: Quantity = Quantity::given("ways", Unit::Count, Better::Higher, term!("ways"));
/// Base pages that the TLB of the same rank reaches.
pub const TLB: Quantity = Quantity::given("tlb", Unit::Count, Better::Higher, term!("TLB reach, pages"));
/// Cost of a load beyond them.
const TLB_MISS: Quantity = Quantity::given("tlb_miss", Unit::Nanoseconds, Better::Lower, term!("cost of a TLB miss"));

const fn bandwidth(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::BytesPerSecond, Better::Higher, title)
}

/// The quantities of one of the levels `found`, each with the estimate and the interval of the case that measured it.
fn companions(level: &MeasuredLevel, found: &[MeasuredLevel], cases: &[CaseRecord]) -> Vec<(&'static str, Also)> {
    let mut all = Vec::new();
    let mut keep = |quantity: &Quantity, estimate: Option<&Estimate>| {
        all.extend(estimate.map(|estimate| (quantity.name, Also { estimate: estimate.clone() })));
    };
    for (quantity, probe, buffers) in
        [(READ, "memory.read", 1.0), (WRITE, "memory.write", 1.0), (COPY, "memory.copy", 2.0)]
    {
        keep(&quantity, within(level, found, cases, (probe, buffers)));
    }
    let first = |probe: &str, axes: &[(&str, &str)]| {
        let is_it = |case: &&CaseRecord| {
            case.probe == probe && axes.iter().all(|(axis, value)| case.params.get(axis) == Some(value))
        };
        cases.iter().find(is_it)?.measured()
    };
    let rank = match level.name {
        Name::Cache("l1d") => "1",
        Name::Cache("l2") => "2",
        _ => return all,
    };
    if rank == "1" {
        // Where prefetching hides the line, two CPUs that share it still tell.
        let line = |sharers| first("memory.line", &[("sharers", sharers)]);
        keep(&LINE, line("1").or_else(|| line("2")).map(|measured| &measured.estimate));
        keep(&WAYS, first("memory.associativity", &[]).map(|measured| &measured.estimate));
    }
    let tlb = first("memory.tlb", &[("level", rank), ("page", "base")]);
    keep(&TLB, tlb.map(|measured| &measured.estimate));
    keep(&TLB_MISS, tlb.and_then(|measured| measured.also.get("miss")).map(|also| &also.estimate));
    all
}

/// The bandwidth, of a probe that goes over so many buffers of its size, at the largest size that lies well inside the level: over the level before, and at most half of it; beyond the caches the largest of all. One with an interval goes before.
fn within<'a>(
    level: &MeasuredLevel,
    found: &[MeasuredLevel],
    cases: &'a [CaseRecord],
    (probe, buffers): (&str, f64),
) -> Option<&'a Estimate> {
    let before = found.iter().take_while(|other| other.name != level.name).filter_map(MeasuredLevel::size);
    let most = if level.name == Name::Memory { f64::INFINITY } else { level.size()? / 2.0 };
    let least = before.fold(0.0, f64::max);
    let is_plain = |case: &CaseRecord| {
        let usual = [("kernel", "best"), ("page", "pmd"), ("threads", "1")];
        case.probe == probe && usual.iter().all(|(axis, value)| case.params.get(axis) == Some(value))
    };
    let sized = |case: &'a CaseRecord| {
        let size: f64 = case.params.get("size")?.parse().ok()?;
        (is_plain(case) && buffers * size > least && buffers * size <= most)
            .then_some((size, &case.measured()?.estimate))
    };
    let is_known = |estimate: &Estimate| estimate.ci_low.is_some();
    let sized = cases.iter().filter_map(sized);
    let best = sized.max_by(|one, other| is_known(one.1).cmp(&is_known(other.1)).then(one.0.total_cmp(&other.0)));
    best.map(|(_, estimate)| estimate)
}

#[cfg(test)]
#[path = "hierarchy_tests.rs"]
mod tests;
