//! Each limit, on both of its sides.

use hostmark_model::Better;

use super::*;
use crate::estimate::estimate;
use crate::fixture::{PLAIN, entry, params, record};

const GHZ_3: Option<f64> = Some(3e9);

fn flags(limit: Limit, value: f64, core_hz: Option<f64>) -> Vec<String> {
    let probe = Probe { limit, axes: entry("memory.stream").probe.axes, ..PLAIN };
    let estimate = estimate(&[vec![value]], 0.0, Better::Lower, 1);
    let flags = check(&probe, &params(&[("threads", "2"), ("passes", "1")]), &estimate, core_hz);
    assert!(flags.iter().all(|flag| flag.kind == FlagKind::Implausible));
    flags.into_iter().map(|flag| flag.detail).collect()
}

#[test]
fn a_dependent_operation_takes_a_cycle() {
    for limit in [Limit::CyclesPerOp, Limit::Rising("size")] {
        assert_eq!(flags(limit, 0.30, GHZ_3), ["0.90 core cycles for a dependent operation, which takes at least 1"]);
        // Frequency and value are each known to about a percent: 0.98 cycles is a cycle.
        assert!(flags(limit, 0.98 / 3.0, GHZ_3).is_empty());
        assert!(flags(limit, 1.0, GHZ_3).is_empty());
        // A latency that does not stand out from the noise is not one.
        assert_eq!(flags(limit, -1.0, GHZ_3).len(), 1);
    }
}

#[test]
fn ports_move_so_many_bytes_a_cycle_and_thread() {
    // Two threads at 3 GHz: 192 bytes a cycle each are 1152 GB/s.
    assert!(flags(Limit::BytesPerCycle, 1152e9, GHZ_3).is_empty());
    assert!(flags(Limit::BytesPerCycle, 1152e9 * 1.02, GHZ_3).is_empty());
    assert_eq!(
        flags(Limit::BytesPerCycle, 1500e9, GHZ_3),
        ["250 bytes a core cycle, and no core's ports move more than 192"]
    );
}

#[test]
fn without_a_frequency_or_a_limit_nothing_is_said() {
    for core_hz in [None, Some(0.0)] {
        for limit in [Limit::CyclesPerOp, Limit::BytesPerCycle, Limit::Rising("size")] {
            assert!(flags(limit, 1e15, core_hz).is_empty() && flags(limit, 1e-15, core_hz).is_empty());
        }
    }
    assert!(flags(Limit::None, 1e15, GHZ_3).is_empty() && flags(Limit::None, 1e-15, GHZ_3).is_empty());
}

/// The records that are marked, of (size, pattern, round medians).
fn fallen(points: &[(u64, &str, &[f64])]) -> Vec<String> {
    let id = |size: u64, pattern: &str| format!("memory.latency@size={size},pattern={pattern}");
    let mut records: Vec<CaseRecord> =
        points.iter().map(|&(size, pattern, medians)| record(&id(size, pattern), medians)).collect();
    mark_falling(&mut records, "size");
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
fn intervals_that_could_touch_are_no_fall() {
    // 10 ± 7 and 8 ± 0: the first may well be 7.
    assert!(fallen(&[(1, "a", &[7.0, 10.0, 13.0]), (2, "a", &[8.0; 3])]).is_empty());
    assert!(fallen(&[(1, "a", &[10.0; 3]), (2, "a", &[7.0, 8.0, 9.0])]).is_empty());
    // Without an interval the value itself counts.
    assert_eq!(fallen(&[(1, "a", &[10.0]), (2, "a", &[8.0])]), ["memory.latency@size=2,pattern=a"]);
}

#[test]
fn each_is_compared_with_the_highest_before_it_and_both_are_named() {
    let mut records = vec![
        record("memory.latency@size=1,pattern=a", &[10.0; 3]),
        record("memory.latency@size=2,pattern=a", &[4.0; 3]),
        record("memory.latency@size=3,pattern=a", &[8.0; 3]),
    ];
    records[0].outcome = Outcome::Skipped { reason: "no memory".into() };
    mark_falling(&mut records, "size");
    assert!(records[1..].iter().all(|record| record.measured().unwrap().flags.is_empty()));
    records[0] = record("memory.latency@size=1,pattern=a", &[10.0; 3]);
    mark_falling(&mut records, "size");
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
    mark_falling(&mut records, "size");
    assert_eq!(records, before);
}
