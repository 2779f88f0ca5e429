//! The hierarchy derived from made-up cases.

use super::*;

/// A host of one CPU with these caches (level, bytes).
pub fn host(caches: &[(u8, u64)]) -> HostFacts {
    let cache = |&(level, size_bytes): &(u8, u64)| CacheFact {
        level,
        kind: CacheKind::Unified,
        size_bytes,
        shared_cpus: vec![0],
        ..CacheFact::default()
    };
    HostFacts {
        cpus: vec![CpuFact { online: true, allowed: true, ..CpuFact::default() }],
        caches: caches.iter().map(cache).collect(),
        ..HostFacts::default()
    }
}

/// A case of memory.latency with this median and best round.
pub fn record(size: u64, median: f64, best_round: f64) -> CaseRecord {
    let params = [("size", size.to_string()), ("pattern", "random".into()), ("page", "pmd".into())];
    let mut estimate = estimate(&vec![vec![median]; 3], 0.0, Better::Lower, 0);
    estimate.best_round = best_round;
    CaseRecord {
        id: format!("memory.latency@size={size},pattern=random,page=pmd"),
        probe: "memory.latency".into(),
        params: Params(params.map(|(axis, value)| (axis.to_owned(), value)).to_vec()),
        outcome: Outcome::Measured(Box::new(Measured {
            estimate,
            also: Default::default(),
            samples: Vec::new(),
            histogram: None,
            rounds: Vec::new(),
            noise: Noise::default(),
            notes: Default::default(),
            flags: Vec::new(),
        })),
    }
}

fn curve(l3_median: f64) -> Vec<CaseRecord> {
    let level = |size: u64| match size {
        0..=32 => (1.0, 1.0),
        33..=1024 => (4.0, 4.0),
        1025..=8192 => (l3_median, 20.0),
        _ => (90.0, 90.0),
    };
    (2..=18).map(|power| 1_u64 << power).map(|kib| record(kib << 10, level(kib).0, level(kib).1)).collect()
}

fn flags(records: &[CaseRecord], level: usize) -> Vec<FlagKind> {
    records[level].measured().unwrap().flags.iter().map(|flag| flag.kind).collect()
}

#[test]
fn each_level_has_its_latency_and_its_size() {
    let records = derive(&curve(20.0), &host(&[(1, 32 << 10), (2, 1 << 20), (3, 8 << 20)]));
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids[0], "memory.hierarchy@level=l1d");
    let medians: Vec<f64> = records.iter().map(|record| record.measured().unwrap().estimate.median).collect();
    assert_eq!(medians, [1.0, 4.0, 20.0, 90.0]);
    assert!(records[..3].iter().all(|record| record.measured().unwrap().also.contains_key("size")));
    assert!(!records[3].measured().unwrap().also.contains_key("size"));
    assert!((0..4).all(|level| flags(&records, level).is_empty()));
}

#[test]
fn a_size_that_the_host_reports_otherwise_is_marked() {
    let records = derive(&curve(20.0), &host(&[(1, 32 << 10), (2, 1 << 20), (3, 36 << 20)]));
    assert_eq!(flags(&records, 2), [FlagKind::Unconfirmed]);
}

#[test]
fn a_level_that_neighbours_slowed_says_so() {
    let records = derive(&curve(30.0), &host(&[(1, 32 << 10), (2, 1 << 20), (3, 8 << 20)]));
    assert_eq!(flags(&records, 2), [FlagKind::BestRoundGap]);
}

#[test]
fn without_latencies_every_level_is_skipped_with_the_reason() {
    let records = derive(&[], &host(&[]));
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|record| matches!(&record.outcome, Outcome::Skipped { reason } if !reason.is_empty())));
}
