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
    let mut estimate = estimate(&vec![vec![median]; 3], 0.0, Better::Lower);
    (estimate.ci_low, estimate.ci_high) = (Some(0.97 * median), Some(1.03 * median));
    estimate.best_round = best_round;
    CaseRecord {
        id: format!("memory.latency@size={size},pattern=random,page=pmd"),
        probe: "memory.latency".into(),
        params: Params(params.map(|(axis, value)| (axis.to_owned(), value)).to_vec()),
        outcome: Outcome::Measured(Box::new(Measured { estimate, ..Measured::default() })),
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
    let medians: Vec<f64> = records.iter().map(|record| record.measured().unwrap().estimate.typical).collect();
    assert_eq!(medians, [1.0, 4.0, 20.0, 90.0]);
    let kib = |level: usize, name: &str| Some(records[level].measured()?.also.get(name)?.estimate.typical / 1024.0);
    let sizes: Vec<_> = (0..4).map(|level| (kib(level, "size"), kib(level, "leaves"))).collect();
    let between = |fits, leaves| (Some(fits), Some(leaves));
    assert_eq!(sizes, [between(32.0, 64.0), between(1024.0, 2048.0), between(8192.0, 16_384.0), (None, None)]);
    assert!((0..4).all(|level| flags(&records, level).is_empty()));
}

#[test]
fn a_level_is_marked_that_the_host_reports_otherwise_that_neighbours_slowed_or_whose_buffer_is_small() {
    for (l3_median, l3_mib, level, marks) in [
        (20.0, 36, "l3", vec![FlagKind::Unconfirmed]),
        (30.0, 8, "l3", vec![FlagKind::BestRoundGap]),
        (20.0, 8, "dram", vec![]),
        // The curve ends at 256 MiB.
        (20.0, 192, "dram", vec![FlagKind::SmallBuffer]),
    ] {
        let records = derive(&curve(l3_median), &host(&[(1, 32 << 10), (2, 1 << 20), (3, l3_mib << 20)]));
        let place = records.iter().position(|record| record.id.ends_with(&format!("level={level}"))).unwrap();
        assert_eq!(flags(&records, place), marks, "{l3_median} {l3_mib} {level}");
    }
}

/// A case of another probe with this median.
fn other(id: &str, median: f64) -> CaseRecord {
    let (probe, axes) = id.split_once('@').unwrap_or((id, ""));
    let pairs = axes.split(',').filter_map(|pair| pair.split_once('='));
    let params = Params(pairs.map(|(axis, value)| (axis.to_owned(), value.to_owned())).collect());
    CaseRecord { id: id.to_owned(), probe: probe.to_owned(), params, outcome: record(0, median, median).outcome }
}

#[test]
fn what_other_probes_measured_stands_beside_its_level() {
    let mut cases = curve(20.0);
    for (kib, rate) in [(4_u64, 9e11), (16, 8e11), (32, 7e11), (512, 4e11), (1024, 3e11), (2048, 2e11), (262_144, 1e10)]
    {
        cases.push(other(&format!("memory.read@size={},kernel=best,page=pmd,threads=1", kib << 10), rate));
        cases.push(other(&format!("memory.read@size={},kernel=best,page=pmd,threads=2", kib << 10), 2.0 * rate));
        cases.push(other(&format!("memory.copy@size={},kernel=best,page=pmd,threads=1", kib << 10), rate));
    }
    cases.push(other("memory.line@sharers=1", 64.0));
    cases.push(other("memory.associativity", 8.0));
    let mut tlb = other("memory.tlb@level=2,page=base", 1536.0);
    let Outcome::Measured(measured) = &mut tlb.outcome else { unreachable!() };
    measured.also.insert("miss".into(), exactly(18.0));
    cases.extend([other("memory.tlb@level=1,page=base", 64.0), other("memory.tlb@level=1,page=pmd", 32.0), tlb]);
    let records = derive(&cases, &host(&[(1, 32 << 10), (2, 1 << 20), (3, 8 << 20)]));
    let also = |level: usize, name: &str| Some(records[level].measured()?.also.get(name)?.estimate.typical);
    let reads: Vec<Option<f64>> = (0..4).map(|level| also(level, "read")).collect();
    // Well inside each level: not where it ends.
    assert_eq!(reads, [Some(8e11), Some(4e11), Some(2e11), Some(1e10)]);
    // A copy needs room for two buffers.
    let copies: Vec<Option<f64>> = (0..4).map(|level| also(level, "copy")).collect();
    assert_eq!(copies, [Some(9e11), Some(7e11), Some(2e11), Some(1e10)]);
    assert_eq!((also(0, "line"), also(0, "ways"), also(1, "ways")), (Some(64.0), Some(8.0), None));
    assert_eq!((also(0, "tlb"), also(1, "tlb"), also(1, "tlb_miss")), (Some(64.0), Some(1536.0), Some(18.0)));
    assert_eq!((also(2, "tlb"), also(0, "write")), (None, None));
}

#[test]
fn without_latencies_every_level_is_skipped_with_the_reason() {
    let records = derive(&[other("memory.line@sharers=1", 64.0)], &host(&[]));
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|record| matches!(&record.outcome, Outcome::Skipped { reason } if !reason.is_empty())));
}

#[test]
fn levels_without_a_curve_say_why_it_was_not_measured() {
    let mut cases = curve(20.0);
    for case in &mut cases {
        case.outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    }
    let records = derive(&cases, &host(&[(1, 32 << 10)]));
    let reasons: Vec<&Reason> = records.iter().filter_map(|record| record.outcome.reason()).collect();
    assert!(reasons.len() >= 4, "{records:?}");
    for reason in reasons {
        assert_eq!(
            (reason.code, reason.to_string().as_str()),
            (Some(ReasonCode::TimeBudget), "memory.latency: no time left")
        );
    }
}
