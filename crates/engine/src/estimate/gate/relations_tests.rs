//! Each relation between values of one run, held and broken.

use hostmark_model::{Also, Flag, Outcome, Quiet, ReasonCode, RoundRecord};

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
fn sizes_are_ordered_as_numbers_whatever_the_order_of_the_records() {
    let low_last: &[(u64, &str, &[f64])] = &[(65536, "a", &[20.0; 3]), (4096, "a", &[1.0; 3]), (16384, "a", &[5.0; 3])];
    assert!(fallen(low_last).is_empty());
    assert_eq!(fallen(&[(100_000, "a", &[5.0; 3]), (9, "a", &[8.0; 3])]), ["memory.latency@size=100000,pattern=a"]);
}

#[test]
fn only_cases_that_differ_in_nothing_else_are_compared() {
    assert!(fallen(&[(1, "a", &[50.0; 3]), (2, "b", &[5.0; 3])]).is_empty());
    let mixed: &[(u64, &str, &[f64])] =
        &[(1, "a", &[50.0; 3]), (1, "b", &[5.0; 3]), (2, "a", &[20.0; 3]), (2, "b", &[6.0; 3])];
    assert_eq!(fallen(mixed), ["memory.latency@size=2,pattern=a"]);
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

#[test]
fn records_without_the_axis_are_let_be() {
    let mut records = vec![record("memory.latency@pattern=a", &[9.0]), record("memory.latency@size=big", &[1.0])];
    let before = records.clone();
    mark_falling(&mut records, "size", |_| true);
    assert_eq!(records, before);
}

const CPUS: &[Axis] = &[crate::fixture::CPUS];
static SWITCH: Probe = Probe { limit: Limit::Switch, axes: CPUS, ..PLAIN };
static ROUND_TRIP: Probe = Probe { limit: Limit::HandOvers(2), axes: CPUS, ..PLAIN };
static HAND_OVER: Probe = Probe { limit: Limit::HandOvers(1), axes: CPUS, ..PLAIN };
static FAR: Probe = Probe { limit: Limit::DramLatency, ..PLAIN };

/// Returns the message on each case of a run, given by probe, id and round medians.
fn said(run: &[(&'static Probe, &str, &[f64])]) -> Vec<Option<String>> {
    let entries: Vec<Entry> = run.iter().map(|&(probe, id, _)| planned_case(probe, id).entry).collect();
    let mut records: Vec<CaseRecord> = run.iter().map(|&(_, id, medians)| record(id, medians)).collect();
    mark(&entries, &mut records, &host());
    let detail = |record: &CaseRecord| Some(record.measured()?.flags.first()?.detail.clone());
    records.iter().map(detail).collect()
}

/// A case by probe, id and rounds: the median of each, and the share of its looks at a shared core.
type InStates<'a> = (&'static Probe, &'a str, &'a [(f64, f64)]);

fn said_in_states(run: &[InStates]) -> Vec<Option<String>> {
    let entries: Vec<Entry> = run.iter().map(|&(probe, id, _)| planned_case(probe, id).entry).collect();
    let record = |&(_, id, rounds): &InStates| {
        let medians: Vec<f64> = rounds.iter().map(|(median, _)| *median).collect();
        let mut record = record(id, &medians);
        let Outcome::Measured(measured) = &mut record.outcome else { unreachable!("a measured case") };
        measured.rounds = rounds
            .iter()
            .map(|&(median, shared)| RoundRecord { median, shared: Some(shared), ..round_at(3e9) })
            .collect();
        measured.noise.shared =
            hostmark_stats::descriptive::mean(&rounds.iter().map(|round| round.1).collect::<Vec<_>>());
        record
    };
    let mut records: Vec<CaseRecord> = run.iter().map(record).collect();
    mark(&entries, &mut records, &host());
    records.iter().map(|record| Some(record.measured()?.flags.first()?.detail.clone())).collect()
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
    let mut records: Vec<CaseRecord> = points.iter().map(|&(chains, value)| record(&id(chains), &[value; 3])).collect();
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
        let run: Vec<(&'static Probe, &str, &[f64])> =
            cases.iter().zip(&medians).map(|((probe, id, _), medians)| (*probe, id.as_str(), &medians[..])).collect();
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
