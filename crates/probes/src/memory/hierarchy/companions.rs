//! What other probes measured of a level: bandwidth within it, its line and ways, the TLB of the same rank.

use hostmark_engine::prelude::*;

use super::levels::MeasuredLevel;
use super::naming::Name;

pub const READ: Quantity = bandwidth("read", term!("read"));
/// See [`READ`].
pub const WRITE: Quantity = bandwidth("write", term!("write"));
/// See [`READ`].
pub const COPY: Quantity = bandwidth("copy", term!("copy"));
/// Cache line.
pub const LINE: Quantity = Quantity::given("line", Unit::Bytes, Better::Neither, term!("cache line"));
pub const WAYS: Quantity = Quantity::given("ways", Unit::Count, Better::Higher, term!("ways"));
/// Base pages that the TLB of the same rank reaches.
pub const TLB: Quantity = Quantity::given("tlb", Unit::Count, Better::Higher, term!("TLB reach, pages"));
/// What a load pays beyond them.
pub const TLB_MISS: Quantity =
    Quantity::given("tlb_miss", Unit::Nanoseconds, Better::Lower, term!("cost of a TLB miss"));

const fn bandwidth(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::BytesPerSecond, Better::Higher, title)
}

/// The quantities of one of the levels `found`, each with the estimate and the interval of the case that measured it.
pub fn companions(level: &MeasuredLevel, found: &[MeasuredLevel], cases: &[CaseRecord]) -> Vec<(&'static str, Also)> {
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
