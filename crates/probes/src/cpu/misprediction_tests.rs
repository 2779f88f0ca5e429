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
    assert_eq!(measured.estimate.typical, 10.0);
    // At 2 GHz a nanosecond is two cycles; both parts are kept as they were.
    let also = |name: &str| measured.also[name].estimate.typical;
    assert_eq!((also("cycles"), also("random"), also("predicted")), (20.0, 6.0, 1.0));
}

#[test]
fn beside_quiet_parts_it_is_made_of_these_at_one_clock() {
    let led = |pattern: &str, rounds: &[f64], value: f64, slower: f64| {
        let mut record = record("cpu.branch", &[("pattern", pattern)], rounds);
        let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
        let (low, high) = (Some(value - 0.25), Some(value + 0.5));
        let quiet = Quiet { value, low, high, range: Some([value, value + 1.0]), at_hz: None };
        let quiet = Quiet { at_hz: Some(3e9 / slower), ..quiet.map(|number| number * slower) };
        (measured.estimate.quiet, measured.estimate.leading) = (Some(quiet), Leading::Quiet);
        record
    };
    let parts = [led("1048576", &[5.0, 6.0, 7.0], 4.0, 1.0), led("2", &[1.0; 3], 1.0, 2.0)];
    let found = derive(&parts, &HostFacts::default());
    let measured = found[0].measured().unwrap();
    let stated = measured.estimate.stated();
    assert_eq!((stated.value, stated.of_this_run, stated.range), (6.0, Some((4.5, 7.5)), Some([4.0, 8.0])));
    let cycles = measured.companion("cycles").unwrap().stated();
    assert_eq!((cycles.value, cycles.of_this_run), (18.0, Some((13.5, 22.5))));
}

#[test]
fn a_difference_below_zero_is_kept_and_marked() {
    let found = derived(&[1.0, 1.0, 1.0], &[1.5, 1.5, 1.5]);
    let measured = found[0].measured().unwrap();
    assert_eq!(measured.estimate.typical, -1.0);
    assert!(measured.flags.iter().any(|flag| flag.kind == FlagKind::UnderResolution));
}

#[test]
fn without_both_parts_nothing_is_reported() {
    let random = [record("cpu.branch", &[("pattern", "1048576")], &[5.0; 3])];
    assert!(derive(&random, &HostFacts::default()).is_empty());
}
