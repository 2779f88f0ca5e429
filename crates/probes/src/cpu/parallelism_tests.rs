//! Parallelism from made-up latencies and throughputs.

use super::*;

/// A case whose rounds have these medians.
pub fn record(probe: &str, params: &[(&str, &str)], medians: &[f64]) -> CaseRecord {
    let params = Params(params.iter().map(|&(axis, value)| (axis.to_owned(), value.to_owned())).collect());
    let rounds: Vec<Vec<f64>> = medians.iter().map(|&median| vec![median]).collect();
    let mut record = crate::cpu::derived(probe, params, &[], (rounds, None), Better::Lower);
    if let Outcome::Measured(measured) = &mut record.outcome {
        let round = |(round, &median): (usize, &f64)| RoundRecord {
            round: round as u32,
            median,
            core_hz: Some(2e9),
            cpus: vec![0],
            iterations: 1,
            settled: true,
            ..RoundRecord::default()
        };
        measured.rounds = medians.iter().enumerate().map(round).collect();
    }
    record
}

#[test]
fn what_both_measured_has_their_product_and_nothing_else_has_one() {
    let add = [("type", "i64"), ("op", "add")];
    let mul = [("type", "f64"), ("op", "mul")];
    let cases = [
        record("cpu.latency", &add, &[1.0, 1.0, 1.25, 1.0, 1.0]),
        record("cpu.latency", &mul, &[2.0; 5]),
        record("cpu.throughput", &add, &[4e9, 5e9, 4e9, 5e9, 5e9]),
    ];
    let found = derive(&cases, &HostFacts::default());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id, "cpu.parallelism@type=i64,op=add");
    let estimate = &found[0].measured().unwrap().estimate;
    assert_eq!((estimate.typical, estimate.min, estimate.max), (5.0, 4.0, 5.0));
    assert!(estimate.ci_low.unwrap() < 5.0 && estimate.ci_high.unwrap() >= 5.0);
}
