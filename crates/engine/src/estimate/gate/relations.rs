//! Relations between values of one run that physics forbids.

use hostmark_host::Placement;
use hostmark_model::{AxisKind, CaseRecord, FlagKind, HostFacts, Leading, Measured, Params, Unit};
use hostmark_say::say;
use hostmark_stats::descriptive;

use super::{flag, remark};
use crate::probe::{Entry, Limit, Probe};

/// A latency that falls by more than this as its buffer grows is marked, and one of memory below one of the caches by more.
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

/// Marks a probe's value at the largest point of `axis` as a lower bound, where no smaller point has about as much.
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

/// Marks values of a probe that fall, beyond both intervals and 10 %, as `axis` alone grows. `rises`: of which this is known.
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

/// Marks hand-overs on one CPU that take far less than the cheapest switch while the core was in the same state, alone or beside another
/// thread. Where the median does, most rounds do, whatever an interval says of the others.
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

/// The medians of the rounds whose core was shared throughout, or alone; none of a single one, which may have changed unseen.
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
mod tests {
    use hostmark_model::{Also, Flag, Measured, Outcome, Quiet, ReasonCode, RoundRecord};

    use super::*;
    use crate::fixture::{PLAIN, entry, host, planned_case, record, round_at};
    use crate::probe::Axis;

    /// The records that are marked, of (size, pattern, round medians).
    fn fallen(points: &[(u64, &str, &[f64])]) -> Vec<String> {
        let id = |size: u64, pattern: &str| format!("memory.latency@size={size},pattern={pattern}");
        let mut records: Vec<CaseRecord> =
            points.iter().map(|&(size, pattern, medians)| record(&id(size, pattern), medians)).collect();
        mark_falling(&mut records, "size", |_| true);
        let marked = records.iter().filter(|record| !record.measured().unwrap().flags.is_empty());
        marked.map(|record| record.id.clone()).collect()
    }

    #[test]
    fn a_value_that_falls_beyond_a_tenth_is_marked() {
        assert!(fallen(&[(1, "a", &[10.0; 3]), (2, "a", &[10.0; 3]), (3, "a", &[9.1; 3])]).is_empty());
        assert_eq!(
            fallen(&[(1, "a", &[10.0; 3]), (2, "a", &[9.0; 3]), (3, "a", &[11.0; 3])]),
            ["memory.latency@size=2,pattern=a"]
        );
    }

    #[test]
    fn only_cases_that_differ_in_nothing_else_are_compared_by_their_size_as_a_number() {
        let low_last: &[(u64, &str, &[f64])] =
            &[(65536, "a", &[20.0; 3]), (4096, "a", &[1.0; 3]), (16384, "a", &[5.0; 3])];
        assert!(fallen(low_last).is_empty());
        assert_eq!(fallen(&[(100_000, "a", &[5.0; 3]), (9, "a", &[8.0; 3])]), ["memory.latency@size=100000,pattern=a"]);
        assert!(fallen(&[(1, "a", &[50.0; 3]), (2, "b", &[5.0; 3])]).is_empty());
        let mixed: &[(u64, &str, &[f64])] =
            &[(1, "a", &[50.0; 3]), (1, "b", &[5.0; 3]), (2, "a", &[20.0; 3]), (2, "b", &[6.0; 3])];
        assert_eq!(fallen(mixed), ["memory.latency@size=2,pattern=a"]);
        let mut without = vec![record("memory.latency@pattern=a", &[9.0]), record("memory.latency@size=big", &[1.0])];
        let before = without.clone();
        mark_falling(&mut without, "size", |_| true);
        assert_eq!(without, before, "records without the axis are let be");
    }

    #[test]
    fn a_value_may_fall_where_the_probe_knows_no_reason_why_not() {
        static PROBE: Probe = Probe { limit: Limit::RisingOf("size", ("pattern", &["a"])), ..PLAIN };
        let points = [(1, "a", 50.0), (2, "a", 20.0), (1, "b", 50.0), (2, "b", 20.0)];
        let mut records: Vec<CaseRecord> = (points.iter())
            .map(|(size, pattern, ns)| record(&format!("memory.latency@size={size},pattern={pattern}"), &[*ns; 3]))
            .collect();
        let entries: Vec<Entry> = records.iter().map(|_| Entry { probe: &PROBE, ..entry("memory.latency") }).collect();
        mark(&entries, &mut records, &host());
        let marked = records.iter().filter(|record| !record.measured().unwrap().flags.is_empty());
        assert_eq!(marked.map(|record| record.id.as_str()).collect::<Vec<_>>(), ["memory.latency@size=2,pattern=a"]);
    }

    #[test]
    fn intervals_that_could_touch_are_no_fall() {
        // Of 10 and 8 the first may well be 7, by its interval or by its rounds where these are too few for one.
        assert!(fallen(&[(1, "a", &[7.0, 10.0, 13.0, 10.0, 10.0]), (2, "a", &[8.0; 5])]).is_empty());
        assert!(fallen(&[(1, "a", &[7.0, 10.0, 13.0]), (2, "a", &[8.0; 3])]).is_empty());
        assert!(fallen(&[(1, "a", &[10.0; 3]), (2, "a", &[7.0, 8.0, 9.2])]).is_empty());
        // A single round counts as it is.
        assert_eq!(fallen(&[(1, "a", &[10.0]), (2, "a", &[8.0])]), ["memory.latency@size=2,pattern=a"]);
    }

    #[test]
    fn each_is_compared_with_the_highest_before_it_and_both_are_named() {
        let mut records = vec![
            record("memory.latency@size=1,pattern=a", &[10.0; 3]),
            record("memory.latency@size=2,pattern=a", &[4.0; 3]),
            record("memory.latency@size=3,pattern=a", &[8.0; 3]),
        ];
        records[0].outcome = Outcome::Skipped { reason: ReasonCode::TooLittleMemory.because("no memory") };
        mark_falling(&mut records, "size", |_| true);
        assert!(records[1..].iter().all(|record| record.measured().unwrap().flags.is_empty()));
        records[0] = record("memory.latency@size=1,pattern=a", &[10.0; 3]);
        mark_falling(&mut records, "size", |_| true);
        for falling in &records[1..] {
            let flags = &falling.measured().unwrap().flags;
            let detail = "lower than memory.latency@size=1,pattern=a, though size is larger: one of the two is wrong";
            assert_eq!((flags[0].kind, flags[0].detail.as_str()), (FlagKind::Implausible, detail));
        }
    }

    const CPUS: &[Axis] = &[crate::fixture::CPUS];
    static SWITCH: Probe = Probe { limit: Limit::Switch, axes: CPUS, ..PLAIN };
    static ROUND_TRIP: Probe = Probe { limit: Limit::HandOvers(2), axes: CPUS, ..PLAIN };
    static HAND_OVER: Probe = Probe { limit: Limit::HandOvers(1), axes: CPUS, ..PLAIN };
    static FAR: Probe = Probe { limit: Limit::DramLatency, ..PLAIN };

    /// Returns the message on each case of a run, given by probe, id and round medians.
    fn said(run: &[(&'static Probe, &str, &[f64])]) -> Vec<Option<String>> {
        changed(run, |_, _| ())
    }

    /// The same of a run whose cases are changed, by their number.
    fn changed(run: &[(&'static Probe, &str, &[f64])], change: impl Fn(usize, &mut Measured)) -> Vec<Option<String>> {
        let entries: Vec<Entry> = run.iter().map(|&(probe, id, _)| planned_case(probe, id).entry).collect();
        let mut records: Vec<CaseRecord> = run.iter().map(|&(_, id, medians)| record(id, medians)).collect();
        for (case, record) in records.iter_mut().enumerate() {
            let Outcome::Measured(measured) = &mut record.outcome else { unreachable!("a measured case") };
            change(case, measured);
        }
        mark(&entries, &mut records, &host());
        records.iter().map(|record| Some(record.measured()?.flags.first()?.detail.clone())).collect()
    }

    /// A case by probe, id and rounds: the median of each, and the share of its looks at a shared core.
    type InStates<'a> = (&'static Probe, &'a str, &'a [(f64, f64)]);

    fn said_in_states(run: &[InStates]) -> Vec<Option<String>> {
        let medians: Vec<Vec<f64>> =
            run.iter().map(|(.., rounds)| rounds.iter().map(|(median, _)| *median).collect()).collect();
        let plain: Vec<_> =
            run.iter().zip(&medians).map(|(&(probe, id, _), medians)| (probe, id, &medians[..])).collect();
        changed(&plain, |case, measured| {
            let round = |&(median, shared): &(f64, f64)| RoundRecord { median, shared: Some(shared), ..round_at(3e9) };
            measured.rounds = run[case].2.iter().map(round).collect();
            let shares: Vec<f64> = run[case].2.iter().map(|round| round.1).collect();
            measured.noise.shared = hostmark_stats::descriptive::mean(&shares);
        })
    }

    #[test]
    fn a_hand_over_on_one_cpu_takes_a_switch() {
        const ALONE: [(f64, f64); 3] = [(1000.0, 0.0); 3];
        let switches: [InStates; 3] = [
            (&SWITCH, "sched.context_switch@processes=2,cpus=same_cpu", &ALONE),
            (&SWITCH, "sched.context_switch@processes=8,cpus=same_cpu", &[(1400.0, 0.0); 3]),
            // Nobody is switched away from on two CPUs.
            (&SWITCH, "sched.context_switch@processes=2,cpus=free", &[(1.0, 0.0); 3]),
        ];
        let of = |probe, id: &str, rounds: &[(f64, f64)]| {
            said_in_states(&[&switches[..], &[(probe, id, rounds)]].concat()).remove(3)
        };
        let alone = |probe, id: &str, ns: f64| of(probe, id, &[(ns, 0.0); 3]);
        let cheapest = "sched.context_switch@processes=2,cpus=same_cpu";
        let detail = format!("takes 2 switches, and is far below what {cheapest} says: one of the two is wrong");
        assert_eq!(alone(&ROUND_TRIP, "ipc.pipe@cpus=same_cpu", 900.0), Some(detail.clone()));
        // What is not far below two switches may be the other probe's fault.
        assert_eq!(alone(&ROUND_TRIP, "ipc.pipe@cpus=same_cpu", 1500.0), None);
        assert!(alone(&HAND_OVER, "ipc.file_lock@cpus=same_cpu", 299.0).unwrap().starts_with("takes a switch, "));
        assert_eq!(alone(&HAND_OVER, "ipc.file_lock@cpus=same_cpu", 750.0), None);
        // Two CPUs need no switch.
        assert_eq!(alone(&ROUND_TRIP, "ipc.pipe@cpus=same_cache", 100.0), None);
        // Of rounds in two states those in the switch's are held against it.
        let mixed = [(900.0, 0.0), (880.0, 0.0), (2000.0, 1.0), (2100.0, 1.0), (2050.0, 1.0)];
        assert_eq!(of(&ROUND_TRIP, "ipc.pipe@cpus=same_cpu", &mixed), Some(detail));
    }

    #[test]
    fn a_switch_beside_another_thread_rules_out_nothing_of_a_core_alone() {
        let switch: InStates =
            (&SWITCH, "sched.context_switch@cpus=same_cpu", &[(1950.0, 1.0), (1990.0, 1.0), (2300.0, 1.0)]);
        let pipe = |rounds: &'static [(f64, f64)]| {
            said_in_states(&[switch, (&ROUND_TRIP, "ipc.pipe@cpus=same_cpu", rounds)]).remove(1)
        };
        assert_eq!(pipe(&[(2675.0, 0.0), (2680.0, 0.0), (2660.0, 0.0)]), None);
        assert!(pipe(&[(2675.0, 1.0), (2680.0, 1.0), (2660.0, 1.0)]).is_some());
        // Of a single round its looks may have missed the change, and where no state is known half of the time is enough.
        assert_eq!(pipe(&[(2675.0, 1.0), (2680.0, 0.0), (4660.0, 0.5)]), None);
        let blind = |ns: f64| {
            said(&[
                (&SWITCH, "sched.context_switch@cpus=same_cpu", &[1950.0; 3]),
                (&ROUND_TRIP, "ipc.pipe@cpus=same_cpu", &[ns; 3]),
            ])
            .remove(1)
        };
        assert!(blind(2675.0).is_none() && blind(1300.0).is_some());
    }

    #[test]
    fn a_latency_beside_another_thread_rules_out_nothing_of_a_core_alone() {
        static LATENCY: Probe = Probe { limit: Limit::Rising("size"), ..PLAIN };
        let of = |shared: [f64; 2]| {
            let small: &[(f64, f64)] = &[(10.0, shared[0]); 3];
            let large: &[(f64, f64)] = &[(8.0, shared[1]); 3];
            said_in_states(&[(&LATENCY, "memory.latency@size=1", small), (&LATENCY, "memory.latency@size=2", large)])
                .remove(1)
        };
        assert!(of([0.0, 0.0]).is_some() && of([0.9, 0.8]).is_some() && of([1.0, 0.0]).is_none());
    }

    #[test]
    fn a_switch_that_is_doubted_or_not_there_proves_nothing() {
        let pipe: (&'static Probe, &str, &[f64]) = (&ROUND_TRIP, "ipc.pipe@cpus=same_cpu", &[900.0; 3]);
        assert_eq!(said(&[pipe]), [None]);
        // A difference that came to nothing.
        assert_eq!(said(&[(&SWITCH, "sched.context_switch@cpus=same_cpu", &[-5.0; 3]), pipe]), [None, None]);
        // A round that switched as fast as the round trip would have it.
        let wide: (&'static Probe, &str, &[f64]) =
            (&SWITCH, "sched.context_switch@cpus=same_cpu", &[400.0, 1000.0, 2000.0]);
        assert_eq!(said(&[wide, pipe]), [None, None]);
    }

    /// Returns the messages on speed-ups by the number of chains.
    fn said_of_chains(points: &[(u64, f64)]) -> Vec<Option<String>> {
        let id = |chains: u64| format!("memory.latency@size=64,chains={chains}");
        let mut records: Vec<CaseRecord> =
            points.iter().map(|&(chains, value)| record(&id(chains), &[value; 3])).collect();
        mark_unsaturated(&mut records, "chains");
        let said =
            |record: &CaseRecord| record.measured().unwrap().flags.first().map(|flag| (flag.kind, flag.detail.clone()));
        assert!(records.iter().filter_map(said).all(|(kind, _)| kind == FlagKind::Unconfirmed));
        records.iter().map(|record| Some(said(record)?.1)).collect()
    }

    #[test]
    fn a_value_that_still_rises_at_the_largest_number_is_at_least_that_much() {
        let rising = said_of_chains(&[(32, 20.0), (8, 7.9), (16, 14.0)]);
        assert_eq!(
            rising[0].as_deref(),
            Some("at least this: 32 chains are the most that were measured, and it still rises there")
        );
        assert_eq!(rising[1..], [None, None]);
        assert_eq!(said_of_chains(&[(8, 7.9), (16, 13.8), (32, 14.0)]), [None, None, None], "flat from 16 on");
        assert_eq!(said_of_chains(&[(16, 15.0), (32, 12.0)]), [None, None], "it falls");
        let alone = said_of_chains(&[(32, 20.0)]).remove(0).unwrap();
        assert!(alone.ends_with("and no smaller number was measured"), "{alone}");
    }

    #[test]
    fn memory_is_no_faster_than_the_last_cache() {
        let latency = entry("memory.latency").probe;
        let curve = |inside: f64| -> Vec<(&'static Probe, String, f64)> {
            let point = |size: u64, pattern: &str| format!("memory.latency@size={size},pattern={pattern}");
            vec![
                (latency, point(65536, "random"), 2.0),
                (latency, point(2 << 20, "random"), inside),
                // Another pattern, and a size of which the cache of 4 MiB holds a part: neither is the cache's latency.
                (latency, point(2 << 20, "stride"), 300.0),
                (latency, point(4 << 20, "random"), 200.0),
            ]
        };
        let of = |inside: f64, far: f64| {
            let far_id = "memory.numa_latency".to_owned();
            let cases = [curve(inside), vec![(&FAR, far_id, far)]].concat();
            let medians: Vec<[f64; 3]> = cases.iter().map(|case| [case.2; 3]).collect();
            let run: Vec<(&'static Probe, &str, &[f64])> = cases
                .iter()
                .zip(&medians)
                .map(|((probe, id, _), medians)| (*probe, id.as_str(), &medians[..]))
                .collect();
            said(&run).remove(4)
        };
        let inside = "memory.latency@size=2097152,pattern=random";
        let detail = format!("lower than {inside}, which a cache holds: one of the two is wrong");
        assert_eq!(of(60.0, 40.0), Some(detail));
        assert_eq!((of(60.0, 50.0), of(60.0, 90.0)), (None, None));
    }

    /// The same record with a quiet value, which leads.
    fn led(record: CaseRecord, value: f64) -> CaseRecord {
        let Outcome::Measured(mut measured) = record.outcome else { unreachable!("a measured case") };
        let quiet = Quiet { value, low: None, high: None, range: Some([value; 2]), at_hz: None };
        measured.estimate = measured.estimate.led_by(Some(quiet));
        CaseRecord { outcome: Outcome::Measured(measured), ..record }
    }

    #[test]
    fn values_of_either_estimator_are_held_against_their_like() {
        let fallen = |points: [(f64, f64); 2]| {
            let ids = ["memory.latency@size=1", "memory.latency@size=2"];
            let mut records: Vec<CaseRecord> =
                (ids.iter().zip(points)).map(|(id, (typical, quiet))| led(record(id, &[typical; 3]), quiet)).collect();
            mark_falling(&mut records, "size", |_| true);
            records[1].measured().unwrap().flags.len()
        };
        assert_eq!(fallen([(10.0, 10.0), (12.0, 8.0)]), 1, "the one that leads");
        assert_eq!(fallen([(12.0, 8.0), (10.0, 9.0)]), 1, "the other");
        assert_eq!(fallen([(12.0, 8.0), (8.0, 6.0)]), 1, "both are one fall");
        assert_eq!(fallen([(12.0, 8.0), (12.0, 9.0)]), 0, "9 of the one is no fall from 12 of the other");

        let under = |quiet: f64| {
            let point = |size: u64| format!("memory.latency@size={size},pattern=random");
            let cases = [point(2 << 20), "memory.numa_latency".to_owned()];
            let entries = [planned_case(entry("memory.latency").probe, &cases[0]), planned_case(&FAR, &cases[1])];
            let mut records = [led(record(&cases[0], &[70.0; 3]), 60.0), led(record(&cases[1], &[90.0; 3]), quiet)];
            mark(&entries.map(|case| case.entry), &mut records, &host());
            records[1].measured().unwrap().flags.len()
        };
        assert_eq!((under(80.0), under(40.0)), (0, 1));
    }

    #[test]
    fn a_value_and_its_like_in_cycles_imply_a_clock_that_the_run_saw() {
        /// 10 ns that are so many cycles, and where it leads a quiet value that is so many.
        fn planted(cycles: f64, quiet: Option<(f64, Option<f64>)>) -> Vec<Flag> {
            let mut planted = record("memory.latency@size=1", &[10.0; 3]);
            if let Some((value, _)) = quiet {
                planted = led(planted, value);
            }
            let Outcome::Measured(measured) = &mut planted.outcome else { unreachable!("a measured case") };
            let mut also = record("memory.latency@size=1", &[cycles; 3]);
            if let Some((_, Some(cycles))) = quiet {
                also = led(also, cycles);
            }
            let estimate = also.measured().unwrap().estimate.clone();
            measured.also.insert("cycles".into(), Also { estimate });
            mark_clocks(Unit::Nanoseconds, &mut planted, [2.7e9, 3.1e9]);
            planted.measured().unwrap().flags.clone()
        }
        // 2.7 to 3.1 GHz were seen, which are known to 2 %.
        assert!([26.5, 27.0, 31.0, 31.6].iter().all(|cycles| planted(*cycles, None).is_empty()));
        assert_eq!((planted(26.4, None).len(), planted(31.7, None).len()), (1, 1));
        let flag = planted(34.0, None).remove(0);
        let detail = "it implies a core clock of 3.40 GHz, and the run saw 2.70 to 3.10 GHz";
        assert_eq!((flag.kind, flag.detail.as_str()), (FlagKind::Implausible, detail));
        // A quiet time beside typical cycles, as tables had it once.
        assert!(planted(30.0, Some((5.0, Some(15.0)))).is_empty() && planted(30.0, Some((5.0, None))).is_empty());
        assert_eq!(planted(30.0, Some((5.0, Some(30.0)))).len(), 1);
        assert_eq!(planted(60.0, Some((5.0, Some(15.0)))).len(), 1, "the one that does not lead");
    }
}
