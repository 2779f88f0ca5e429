//! The cost of a wrong guess from made-up costs of branches.

use super::*;
use crate::cpu::parallelism::tests::record;

fn derived(random: &[f64], predicted: &[f64]) -> Vec<CaseRecord> {
    let cases = [
        record("cpu.branch", &[("pattern", "1048576")], random),
        record("cpu.branch", &[("pattern", "4096")], &[100.0; 3]),
        record("cpu.branch", &[("pattern", "2")], predicted),
    ];
    derive(&cases, &HostFacts::default())
}

#[test]
fn half_of_the_guesses_bear_the_whole_difference() {
    let found = derived(&[5.0, 6.0, 7.0], &[1.0, 1.0, 1.0]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id, "cpu.misprediction");
    let measured = found[0].measured().unwrap();
    assert_eq!(measured.estimate.median, 10.0);
    // At 2 GHz a nanosecond is two cycles; both parts are kept as they were.
    let also = |name: &str| measured.also[name].estimate.median;
    assert_eq!((also("cycles"), also("random"), also("predicted")), (20.0, 6.0, 1.0));
}

#[test]
fn a_difference_below_zero_is_kept_and_marked() {
    let found = derived(&[1.0, 1.0, 1.0], &[1.5, 1.5, 1.5]);
    let measured = found[0].measured().unwrap();
    assert_eq!(measured.estimate.median, -1.0);
    assert!(measured.flags.iter().any(|flag| flag.kind == FlagKind::UnderResolution));
}

#[test]
fn without_both_parts_nothing_is_told() {
    let random = [record("cpu.branch", &[("pattern", "1048576")], &[5.0; 3])];
    assert!(derive(&random, &HostFacts::default()).is_empty());
}
