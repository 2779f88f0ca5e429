//! Speed-ups of made-up cases, exactly.

use super::*;
use crate::cpu::parallelism::tests::record as made;

/// A case of a probe with these round medians.
fn case(id: &str, params: &[(&str, &str)], medians: &[f64]) -> CaseRecord {
    CaseRecord { id: id.into(), ..made(id, params, medians) }
}

fn call(copies: &str, medians: &[f64]) -> CaseRecord {
    case("syscall.null", &[("copies", copies)], medians)
}

fn derived(cases: &[CaseRecord]) -> Vec<CaseRecord> {
    derive(cases, &HostFacts::default())
}

fn value(record: &CaseRecord) -> f64 {
    record.measured().unwrap().estimate.typical
}

#[test]
fn every_probe_with_copies_is_a_source() {
    let all = crate::CATALOGUE.iter().flat_map(|group| group.probes.iter().map(move |probe| (group.name, probe)));
    let with_copies = all.filter(|(_, (_, probe))| probe.axes.iter().any(|axis| axis.kind == AxisKind::Copies));
    let mut found: Vec<String> = with_copies.map(|(group, (name, _))| format!("{group}.{name}")).collect();
    let mut listed = SOURCES.to_vec();
    found.sort();
    listed.sort_unstable();
    assert_eq!(found, listed);
    assert!(is_rate("cpu.sieve") && !is_rate("syscall.null"));
}

#[test]
fn copies_that_do_not_slow_down_scale_perfectly() {
    let records = derived(&[call("1", &[100.0; 3]), call("2", &[100.0; 3]), call("4", &[125.0; 3])]);
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let expected = ["cpu.scaling@source=syscall.null,copies=2", "cpu.scaling@source=syscall.null,copies=4"];
    assert_eq!((ids, value(&records[0]), value(&records[1])), (expected.to_vec(), 2.0, 3.2));
    // Two copies are each as fast as one, four are not; it stands with the most.
    assert!(!records[0].measured().unwrap().also.contains_key(WITHIN));
    assert_eq!(records[1].measured().unwrap().also[WITHIN].estimate.typical, 2.0);
}

#[test]
fn one_alone_is_held_against_copies_by_its_typical_value_whatever_leads() {
    let mut alone = call("1", &[100.0; 3]);
    let quiet = Quiet { value: 80.0, low: None, high: None, range: None, at_hz: None };
    let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
    measured.estimate = measured.estimate.clone().led_by(Some(quiet));
    let estimate =
        |alone: CaseRecord| derived(&[alone, call("2", &[100.0; 3])])[0].measured().unwrap().estimate.clone();
    let of_rounds = estimate(alone.clone());
    assert_eq!((of_rounds.value(), of_rounds.estimator()), (2.0, Leading::Typical));
    // Where no round of the one has its like, too.
    let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
    measured.rounds.clear();
    assert_eq!(estimate(alone).value(), 2.0);
}

#[test]
fn disturbed_samples_of_the_copies_are_not_its_own() {
    let mut many = call("2", &[100.0; 3]);
    let Outcome::Measured(measured) = &mut many.outcome else { unreachable!("a measured case") };
    (measured.noise.disturbed, measured.noise.left_out) = (9, 4);
    let records = derived(&[call("1", &[100.0; 3]), many]);
    assert_eq!(records[0].measured().unwrap().noise, Noise::default());
}

#[test]
fn a_rate_scales_by_what_each_copy_still_does() {
    let sieve = |copies: &str, rate: f64| case("cpu.sieve", &[("threads", "1"), ("copies", copies)], &[rate; 3]);
    let threads = case("cpu.sieve", &[("threads", "2"), ("copies", "1")], &[1900.0; 3]);
    let records = derived(&[sieve("1", 1000.0), threads, sieve("2", 600.0)]);
    assert_eq!(records[1].id, "cpu.scaling@source=cpu.sieve,copies=2");
    assert_eq!(value(&records[1]), 1.2);
    assert_eq!(records[1].measured().unwrap().also[WITHIN].estimate.typical, 1.0);
    // The default case comes first, and says why it has no value.
    assert!(matches!(&records[0].outcome, Outcome::Skipped { reason } if reason.contains("syscall.null")));
}

#[test]
fn each_round_is_compared_with_one_alone_in_its_replicate() {
    // Both drift together; the third round of one alone is lost.
    let mut alone = call("1", &[100.0, 110.0, 120.0, 130.0, 140.0, 150.0]);
    let many = call("2", &[100.0, 112.0, 125.0, 130.0, 145.0, 150.0]);
    let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
    measured.rounds.remove(2);
    let records = derived(&[alone, many]);
    let estimate = &records[0].measured().unwrap().estimate;
    assert_eq!((estimate.typical, estimate.rounds, estimate.range), (2.0, 5, Some([2.0 * 140.0 / 145.0, 2.0])));
    assert!(estimate.ci_low.unwrap() <= 2.0 * 110.0 / 112.0 && estimate.ci_high == Some(2.0));
}

#[test]
fn without_a_replicate_in_common_the_two_values_alone_decide() {
    let (mut alone, many) = (call("1", &[100.0; 3]), call("2", &[125.0; 3]));
    let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
    measured.rounds.clear();
    let records = derived(&[alone, many]);
    let estimate = &records[0].measured().unwrap().estimate;
    assert_eq!((estimate.typical, estimate.ci_low, estimate.range), (1.6, None, None));
}

#[test]
fn what_is_missing_is_said() {
    let mut alone = call("1", &[100.0; 3]);
    alone.outcome = Outcome::Failed { reason: ReasonCode::CheckFailed.because("it broke") };
    let reason = |cases: &[CaseRecord]| match &derived(cases)[0].outcome {
        Outcome::Skipped { reason } => reason.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(&*reason(&[alone, call("2", &[100.0; 3])]), "one copy alone was not measured");
    let mut two = call("2", &[100.0; 3]);
    two.outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    assert_eq!(&*reason(&[call("1", &[100.0; 3]), two]), "syscall.null: no time left");
    assert_eq!(&*reason(&[call("1", &[100.0; 3])]), "syscall.null needs two CPUs for two copies");
    let two = HostFacts {
        cpus: (0..2).map(|id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() }).collect(),
        ..HostFacts::default()
    };
    let records = derive(&[call("1", &[100.0; 3])], &two);
    let expected =
        Outcome::Skipped { reason: ReasonCode::MissingInput.because("syscall.null was not measured with two copies") };
    assert_eq!(records[0].outcome, expected);
    assert_eq!(derived(&[]).len(), 1);
}
