//! Relations between values of one run that physics forbids.

use hostmark_host::Placement;
use hostmark_model::{AxisKind, CaseRecord, FlagKind, HostFacts, Leading, Measured, Params, Unit};
use hostmark_say::say;
use hostmark_stats::descriptive;

use super::{flag, remark};
use crate::probe::{Entry, Limit, Probe};

/// A latency that falls by more than this as its buffer grows is marked, and so is one of memory that is below one of the
/// caches by more.
const FALL: f64 = 1.10;
/// The same between two probes, whose memory may be backed by other pages.
const FALL_ELSEWHERE: f64 = 1.25;
/// A hand-over takes a switch from one party to the other. Two probes do not switch alike, so only what takes less than this
/// share of the cheapest switch of the run, that of its best round in the same state of the core, is marked.
const SHARE_OF_SWITCH: f64 = 0.7;
/// The same where the states are not known: beside another thread a core does at least half as much.
const SHARE_OF_ANY_SWITCH: f64 = 0.35;
/// Cases whose shares of looks at a shared core differ by no more than this were measured in one state.
const OF_ONE_STATE: f64 = 0.25;
/// Share of the largest number's value that a smaller number reaches where the curve is flat.
const SATURATED: f64 = 0.97;
/// A buffer of this share of a cache lies in it.
const SHARE_OF_CACHE: f64 = 0.5;
/// A clock that lies outside of those that were seen by no more than this may be one of them.
const CLOCK_TOLERANCE: f64 = 0.02;
/// Cycles of the CPU's counter, which is no core's clock.
const OF_THE_COUNTER: [&str; 2] = ["reference_cycles", "batch_cycles"];

/// Marks values that others of the run rule out.
pub(super) fn mark(entries: &[Entry], records: &mut [CaseRecord], host: &HostFacts) {
    let mut entries_left = entries;
    for of_probe in records.chunk_by_mut(|one, other| one.probe == other.probe) {
        let Some(entry) = entries_left.first() else { break };
        match entry.probe.limit {
            Limit::Rising(axis) => mark_falling(of_probe, axis, |_| true),
            Limit::RisingOf(axis, (other, values)) => {
                mark_falling(of_probe, axis, |params| params.get(other).is_some_and(|value| values.contains(&value)))
            }
            Limit::Saturating(axis) => mark_unsaturated(of_probe, axis),
            _ => {}
        }
        entries_left = entries_left.get(of_probe.len()..).unwrap_or_default();
    }
    mark_under_a_switch(entries, records);
    mark_under_a_cache(entries, records, host);
}

/// The measured cases of one probe by their other axes, and in each group by the point on `axis`, with their places.
fn along(records: &[CaseRecord], axis: &str) -> Vec<(Params, u64, usize)> {
    let mut order: Vec<(Params, u64, usize)> = records
        .iter()
        .enumerate()
        .filter_map(|(index, record)| {
            let point = record.params.get(axis)?.parse().ok()?;
            record.measured()?;
            Some((record.params.with(axis, ""), point, index))
        })
        .collect();
    order.sort();
    order
}

/// Says of the value at the largest point of `axis`, all other axes alike, that it is a lower bound, where no smaller point
/// has about as much. `records`: the cases of one probe.
fn mark_unsaturated(records: &mut [CaseRecord], axis: &str) {
    let order = along(records, axis);
    for series in order.chunk_by(|one, other| one.0 == other.0) {
        let Some(((_, point, largest), smaller)) = series.split_last() else { continue };
        let estimate = |index: usize| records[index].measured().map(|measured| &measured.estimate);
        let by = estimate(*largest).map(hostmark_model::Estimate::estimator).unwrap_or_default();
        let value = |index: usize| estimate(index).and_then(|known| known.by(by)).map_or(0.0, |stated| stated.value);
        if smaller.iter().any(|&(_, _, index)| value(index) >= SATURATED * value(*largest)) {
            continue;
        }
        let why =
            if smaller.is_empty() { say!("no smaller number was measured") } else { say!("it still rises there") };
        let detail = say!("at least this: {point} {axis} are the most that were measured, and {why}");
        remark(&mut records[*largest], FlagKind::Unconfirmed, detail);
    }
}

/// The share of looks at the core of a case that met another thread there.
fn shared(record: &CaseRecord) -> Option<f64> {
    record.measured()?.noise.shared
}

/// Tells whether two values were measured beside about equally busy neighbours, by their shares of looks at a shared core, where these
/// are known: of one on a core alone and one on a shared core either may be the smaller.
fn are_of_one_state(one: Option<f64>, other: Option<f64>) -> bool {
    one.zip(other).is_none_or(|(one, other)| (one - other).abs() <= OF_ONE_STATE)
}

/// Marks values that fall, beyond both intervals and 10 %, as `axis` grows while all other axes stay.
/// `records`: the cases of one probe; `rises`: of which this is known.
fn mark_falling(records: &mut [CaseRecord], axis: &str, rises: impl Fn(&Params) -> bool) {
    let order = along(records, axis);
    let all = order.chunk_by(|one, other| one.0 == other.0).filter(|series| rises(&series[0].0));
    for (series, by) in all.flat_map(|series| Leading::EACH.map(|by| (series, by))) {
        let mut before: Vec<(f64, usize)> = Vec::new();
        for &(_, _, index) in series {
            let Some((low, high)) = ends(&records[index], by) else { continue };
            let like =
                before.iter().filter(|(_, other)| are_of_one_state(shared(&records[index]), shared(&records[*other])));
            // Of those that are alike the first.
            let highest = like.rev().max_by(|one, other| one.0.total_cmp(&other.0));
            if let Some((_, of)) = highest.filter(|(highest, _)| high * FALL < *highest) {
                let of = &records[*of].id;
                let detail = say!("lower than {of}, though {axis} is larger: one of the two is wrong");
                flag(&mut records[index], detail);
            }
            before.push((low, index));
        }
    }
}

/// Marks hand-overs between two parties on one CPU that take far less than the cheapest switch between two while the core was in the
/// same state: alone, or beside another thread. Most of their rounds do, where the median does: that others did not, as an interval may
/// tell, is no excuse.
fn mark_under_a_switch(entries: &[Entry], records: &mut [CaseRecord]) {
    let is_switch = |(entry, record): &(&Entry, &CaseRecord)| {
        entry.probe.limit == Limit::Switch && is_good(record) && shares_a_cpu(entry.probe, record)
    };
    // The best round of each on a core alone, on a shared one, and of all.
    let best = |record: &CaseRecord| {
        let measured = record.measured()?;
        let of = |is_shared| rounds_in(measured, is_shared).into_iter().reduce(f64::min);
        Some(([of(false), of(true), Some(measured.estimate.best_round)], record.id.clone()))
    };
    let switches = entries.iter().zip(&*records).filter(is_switch).filter_map(|(_, record)| best(record));
    let switches: Vec<([Option<f64>; 3], String)> = switches.filter(|(best, _)| best[2] > Some(0.0)).collect();
    let cheapest = |state: usize| {
        let each = switches.iter().filter_map(|(best, id)| Some((best[state]?, id.as_str())));
        each.min_by(|one, other| one.0.total_cmp(&other.0))
    };
    for (entry, record) in entries.iter().zip(records) {
        let Limit::HandOvers(count) = entry.probe.limit else { continue };
        let Some(measured) = record.measured().filter(|_| shares_a_cpu(entry.probe, record)) else { continue };
        let in_state = |is_shared: bool| {
            let value = descriptive::median(&rounds_in(measured, is_shared))?;
            Some((value, cheapest(usize::from(is_shared))?, SHARE_OF_SWITCH))
        };
        let mut known: Vec<(f64, (f64, &str), f64)> = [false, true].into_iter().filter_map(in_state).collect();
        if known.is_empty() {
            known.extend(cheapest(2).map(|switch| (measured.estimate.typical, switch, SHARE_OF_ANY_SWITCH)));
        }
        let times = f64::from(count);
        if let Some((_, (_, of), _)) =
            known.into_iter().find(|(value, (switch, _), share)| *value < switch * times * share)
        {
            let times = if count == 1 { say!("a switch") } else { say!("{count} switches") };
            flag(record, say!("takes {times}, and is far below what {of} says: one of the two is wrong"));
        }
    }
}

/// The medians of the rounds whose core was shared all the while, or alone; none of a single one, which may have
/// changed its state between two looks.
fn rounds_in(measured: &Measured, is_shared: bool) -> Vec<f64> {
    let medians = measured.medians_where(is_shared);
    if medians.len() < 2 { Vec::new() } else { medians }
}

/// Marks latencies of memory that are below those of the last cache.
fn mark_under_a_cache(entries: &[Entry], records: &mut [CaseRecord], host: &HostFacts) {
    let cached_bytes = host.largest_last_level_cache_bytes() as f64 * SHARE_OF_CACHE;
    let is_cached = |(entry, record): &(&Entry, &CaseRecord)| {
        let Some(axis) = entry.probe.limit.rising() else { return false };
        let size = record.params.get(axis).and_then(|size| size.parse::<f64>().ok());
        let is_usual = record.params.with(axis, "") == entry.default_params().with(axis, "");
        is_usual && is_good(record) && size.is_some_and(|size| size <= cached_bytes)
    };
    for by in Leading::EACH {
        let of_cache = entries.iter().zip(&*records).filter(is_cached);
        let of_cache: Vec<(f64, Option<f64>, String)> =
            of_cache.filter_map(|(_, record)| Some((ends(record, by)?.0, shared(record), record.id.clone()))).collect();
        for (entry, record) in entries.iter().zip(&mut *records) {
            let like = of_cache.iter().filter(|(_, of_cached, _)| are_of_one_state(shared(record), *of_cached));
            let Some((cache, _, of)) = like.max_by(|one, other| one.0.total_cmp(&other.0)) else { continue };
            if entry.probe.limit == Limit::DramLatency
                && ends(record, by).is_some_and(|(_, high)| high * FALL_ELSEWHERE < *cache)
            {
                flag(record, say!("lower than {of}, which a cache holds: one of the two is wrong"));
            }
        }
    }
}

/// The core clocks that a value and the same in cycles imply, hertz, by either estimator.
fn implied_hz(unit: Unit, measured: &Measured) -> Vec<f64> {
    let of = |name: &&str, by: Leading| {
        let (value, in_cycles) = (measured.estimate.by(by)?.value, measured.companion(name)?.by(by)?.value);
        let hz = if unit == Unit::Nanoseconds { in_cycles / value * 1e9 } else { value / in_cycles };
        (value > 0.0 && in_cycles > 0.0).then_some(hz)
    };
    let names = || Measured::OF_THE_VALUE.iter().filter(|name| !OF_THE_COUNTER.contains(name));
    Leading::EACH.into_iter().flat_map(|by| names().filter_map(move |name| of(name, by))).collect()
}

/// Marks values whose like in cycles takes a clock that no core of the run had. `seen`: the slowest and the fastest of it.
pub(super) fn mark_clocks(unit: Unit, record: &mut CaseRecord, seen: [f64; 2]) {
    let [slowest, fastest] = seen;
    let is_seen = |hz: f64| hz >= slowest * (1.0 - CLOCK_TOLERANCE) && hz <= fastest * (1.0 + CLOCK_TOLERANCE);
    let implied = record.measured().map(|measured| implied_hz(unit, measured)).unwrap_or_default();
    if let Some(hz) = implied.into_iter().find(|&hz| !is_seen(hz)) {
        let [hz, slowest, fastest] = [hz, slowest, fastest].map(|hz| hz / 1e9);
        flag(record, say!("it implies a core clock of {hz:.2} GHz, and the run saw {slowest:.2} to {fastest:.2} GHz"));
    }
}

/// Tells whether both parties of a case run on one CPU, and so take turns.
fn shares_a_cpu(probe: &Probe, record: &CaseRecord) -> bool {
    let placement = probe.axis_of(AxisKind::Placement);
    placement.is_some_and(|axis| record.params.get(axis.name) == Some(Placement::SameCpu.name()))
}

/// Tells whether a value is free of doubtful flags.
fn is_good(record: &CaseRecord) -> bool {
    let is_doubted = |kind| matches!(kind, FlagKind::Implausible | FlagKind::UnderResolution);
    record.measured().is_some_and(|measured| !measured.flags.iter().any(|flag| is_doubted(flag.kind)))
}

/// The ends of a value's interval, by one estimator; without one those of its rounds.
fn ends(record: &CaseRecord, by: Leading) -> Option<(f64, f64)> {
    let stated = record.measured()?.estimate.by(by)?;
    let [least, most] = stated.range.unwrap_or([stated.value; 2]);
    Some(stated.of_this_run.unwrap_or((least, most)))
}

#[cfg(test)]
#[path = "relations_tests.rs"]
mod tests;
