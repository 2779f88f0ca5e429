//! Levels found on a known machine's curve and on synthetic ones.

use super::*;
use crate::memory::hierarchy::exactly;
use crate::memory::hierarchy::tests::{host, record};

fn found(curve: &[(u64, f64)], caches: &[(u8, u64)]) -> Vec<(String, Bracket)> {
    let cases: Vec<CaseRecord> = curve.iter().map(|&(kib, ns)| record(kib * 1024, ns, ns)).collect();
    levels(&cases, &host(caches)).into_iter().map(|level| (level.name.key(), level.bracket)).collect()
}

fn assert_levels(found: &[(String, Bracket)], expected: &[(&str, u64)]) {
    let names: Vec<&str> = found.iter().map(|level| level.0.as_str()).collect();
    let expected_names: Vec<&str> = expected.iter().map(|level| level.0).chain(["dram"]).collect();
    assert_eq!(names, expected_names);
    for ((_, bracket), (name, kib)) in found.iter().zip(expected) {
        let size = *kib as f64 * 1024.0;
        let (fits, leaves) = (bracket.fits.unwrap(), bracket.leaves.unwrap());
        assert!(fits <= 1.05 * size && size <= 1.5 * leaves, "{name} of {kib} KiB lies in {bracket:?}");
        assert!(leaves / fits < 4.1, "{name} is not narrowed down: {bracket:?}");
    }
}

/// Results of ten quick and two standard runs in a row on a guest of a shared server: L1d 48 KiB, L2 2 MiB, and of the L3 of 260 MiB that
/// the kernel reports hardly anything. Columns: run, size, interval's low end, median, high end, best round.
const EMERALD_RAPIDS_GUEST: &str = include_str!("emerald_rapids_guest.txt");

fn recorded(line: &str) -> (String, CaseRecord) {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let number = |column: usize| columns[column].parse::<f64>().ok();
    let mut case = record(columns[1].parse().unwrap(), number(3).unwrap(), number(5).unwrap());
    let Outcome::Measured(measured) = &mut case.outcome else { unreachable!() };
    (measured.estimate.ci_low, measured.estimate.ci_high) = (number(2), number(4));
    (columns[0].to_owned(), case)
}

#[test]
fn the_middle_number_of_cycles_stands_for_a_level_of_the_core() {
    let ns = |kib: u64| if kib < 32 { 2.2 } else { 7.0 };
    let mut cases = [4, 8, 16, 64, 128, 256, 512].map(|kib| record(kib << 10, ns(kib), ns(kib)));
    for (case, cycles) in cases.iter_mut().zip([4.87, 5.2, 5.0]) {
        let Outcome::Measured(measured) = &mut case.outcome else { unreachable!() };
        measured.estimate.quiet = Some(Quiet { value: 2.2, at_hz: Some(2.3e9), ..Quiet::default() });
        measured.estimate.leading = Leading::Quiet;
        measured.also.insert(Measured::CYCLES.to_owned(), exactly(cycles));
    }
    let found = levels(&cases, &host(&[(1, 32 << 10), (2, 1 << 20)]));
    assert_eq!(found[0].case.in_cycles().map(|cycles| cycles.value()), Some(5.0), "{:?}", found[0]);
}

#[test]
fn a_disturbed_guest_shows_no_cache_of_another_size() {
    let all: Vec<(String, CaseRecord)> = EMERALD_RAPIDS_GUEST.lines().map(recorded).collect();
    let mut host = host(&[(1, 48 << 10), (2, 2 << 20), (3, 260 << 20)]);
    host.virtualization.hypervisor = Some("kvm".into());
    let runs: Vec<&[(String, CaseRecord)]> = all.chunk_by(|one, other| one.0 == other.0).collect();
    assert_eq!(runs.len(), 12);
    for run in runs {
        let cases: Vec<CaseRecord> = run.iter().map(|(_, case)| case.clone()).collect();
        let found = levels(&cases, &host);
        // Loads that take over 130 ns come from memory, whatever the host says of its L3; of that every run has a value, and what is left.
        let [first, second, third, last] = &found[..] else { panic!("{}: {found:?}", run[0].0) };
        assert_eq!(
            [first.name, second.name, third.name, last.name],
            [Name::Cache("l1d"), Name::Cache("l2"), Name::Cache("l3"), Name::Memory],
            "{}",
            run[0].0
        );
        assert!(third.bracket.leaves.is_some_and(|leaves| leaves < 64.0 * 1024.0 * 1024.0), "{third:?}");
        let shared =
            third.doubt.as_ref().is_none_or(|doubt| doubt.to_string().contains("the last cache is shared and holds"));
        assert!(shared && third.case.estimate.best_round < 0.75 * last.case.estimate.best_round, "{third:?}");
        for (level, size) in [first, second].into_iter().zip([48.0 * 1024.0, 2.0 * 1024.0 * 1024.0]) {
            let Bracket { fits, leaves } = level.bracket;
            assert!(fits.unwrap() <= size && size <= leaves.unwrap(), "{}: {level:?}", run[0].0);
            assert_eq!((level.size(), &level.doubt), (Some(size), &None));
        }
        assert!(last.doubt.is_some() && last.size().is_none());
    }
}

/// Figures of a Core i5-2520M (L1d 32 KiB, L2 256 KiB, L3 3 MiB), stride 4096: KiB and ns.
const CORE_I5_2520M: &str = include_str!("core_i5_2520m.txt");

#[test]
fn all_levels_of_a_known_machine_are_found() {
    let point = |line: &str| {
        let (kib, ns) = line.split_once(' ').unwrap();
        (kib.parse().unwrap(), ns.parse().unwrap())
    };
    let curve: Vec<(u64, f64)> = CORE_I5_2520M.lines().map(point).collect();
    let caches = [(1, 32 << 10), (2, 256 << 10), (3, 3 << 20)];
    assert_levels(&found(&curve, &caches), &[("l1d", 32), ("l2", 256), ("l3", 3072)]);
    // Without a word from the host the second and the third have no name; four plateaus are three caches and memory.
    assert_levels(&found(&curve, &[]), &[("l1d", 32), ("plateau2", 256), ("plateau3", 3072)]);
}

/// Latency at a size of a machine with these levels (capacity, ns) and memory behind them: random replacement smears each step.
fn latency(levels: &[(f64, f64)], memory_ns: f64, size: f64) -> f64 {
    let (mut reached, mut sum) = (1.0, 0.0);
    for &(capacity, ns) in levels {
        let hits = (capacity / size).min(1.0).powi(3);
        sum += reached * hits * ns;
        reached *= 1.0 - hits;
    }
    sum + reached * memory_ns
}

/// The curve of such a machine in KiB; `noise` is a factor by point.
fn synthetic(levels: &[(f64, f64)], dram: f64, noise: impl Fn(usize) -> f64) -> Vec<(u64, f64)> {
    let size = |step: usize| 4.0 * 2_f64.powf(step as f64 / 2.0);
    (0..32).map(|step| (size(step).round() as u64, latency(levels, dram, size(step)) * noise(step))).collect()
}

#[test]
fn all_levels_of_a_noisy_curve_are_found() {
    // Up to ± 6 %, and two points that a neighbour made half as slow again.
    let noise = |step: usize| match step {
        9 | 21 => 1.5,
        _ => 1.0 + 0.06 * ((step * 7919 % 13) as f64 / 6.0 - 1.0),
    };
    let curve = synthetic(&[(32.0, 1.2), (1024.0, 4.5), (16384.0, 22.0)], 95.0, noise);
    let caches = [(1, 32 << 10), (2, 1 << 20), (3, 16 << 20)];
    assert_levels(&found(&curve, &caches), &[("l1d", 32), ("l2", 1024), ("l3", 16384)]);
}

#[test]
fn a_level_that_is_missing_is_not_invented() {
    let curve = synthetic(&[(64.0, 1.4), (512.0, 5.0)], 110.0, |_| 1.0);
    assert_levels(&found(&curve, &[(1, 64 << 10), (2, 512 << 10)]), &[("l1d", 64), ("l2", 512)]);
    // Reported, but used up by others: a size beyond the L2 stands for the L3, and says that it is as slow as memory.
    let cases: Vec<CaseRecord> = curve.iter().map(|&(kib, ns)| record(kib * 1024, ns, ns)).collect();
    let used_up = levels(&cases, &host(&[(1, 64 << 10), (2, 512 << 10), (3, 36 << 20)]));
    let [_, _, third, last] = &used_up[..] else { panic!("{used_up:?}") };
    assert_eq!([third.name, last.name], [Name::Cache("l3"), Name::Memory]);
    assert!(third.doubt.as_ref().is_some_and(|doubt| doubt.to_string().contains("nothing is left")), "{third:?}");
    let inside: Vec<CaseRecord> = cases.into_iter().take(16).collect();
    let names = levels(&inside, &host(&[(1, 64 << 10), (2, 512 << 10), (3, 36 << 20)]));
    assert!(names.iter().all(|level| level.name != Name::Cache("l3")), "{names:?}");
}

#[test]
fn a_curve_that_ends_inside_the_last_cache_shows_no_dram() {
    let curve = synthetic(&[(32.0, 1.2), (1024.0, 4.5), (1e9, 22.0)], 95.0, |_| 1.0);
    let levels = found(&curve, &[(1, 32 << 10), (2, 1 << 20), (3, 384 << 20)]);
    assert_eq!(levels.iter().map(|level| level.0.as_str()).collect::<Vec<_>>(), ["l1d", "l2", "l3"]);
}

#[test]
fn memory_is_known_by_its_largest_buffer_that_has_an_interval_and_is_large_enough() {
    let curve = synthetic(&[(32.0, 1.2), (1024.0, 4.5), (16384.0, 22.0)], 95.0, |_| 1.0);
    let at = |last_cache: u64, without: usize| {
        let mut cases: Vec<CaseRecord> = curve.iter().map(|&(kib, ns)| record(kib * 1024, ns, ns)).collect();
        for (index, case) in cases.iter_mut().enumerate() {
            let Outcome::Measured(measured) = &mut case.outcome else { unreachable!() };
            let of = |factor: f64| (index + without < curve.len()).then_some(factor * measured.estimate.typical);
            (measured.estimate.ci_low, measured.estimate.ci_high) = (of(0.99), of(1.01));
        }
        let found = levels(&cases, &host(&[(1, 32 << 10), (2, 1 << 20), (3, last_cache << 20)]));
        let memory = found.last().unwrap();
        assert_eq!((memory.name, &memory.doubt), (Name::Memory, &None));
        curve.len() - 1 - cases.iter().position(|case| case.id == memory.at).unwrap()
    };
    // The curve ends at 185 MiB: four points are over 64, and three over 80.
    assert_eq!([at(16, 0), at(16, 1), at(16, 2), at(16, 30)], [0, 1, 2, 0]);
    assert_eq!([at(40, 2), at(40, 3)], [2, 0]);
}

#[test]
fn memory_has_a_value_where_the_curve_ends_on_a_ramp() {
    // What a neighbour leaves of the last cache answers for less and less, up to the largest buffer.
    let mut curve = synthetic(&[(32.0, 1.2), (1024.0, 4.5)], 17.6, |_| 1.0);
    let beyond = curve.iter().filter(|point| point.0 > 8192).count() as f64;
    for (step, point) in curve.iter_mut().filter(|point| point.0 > 8192).enumerate() {
        point.1 = 17.6 * (160.0 / 17.6_f64).powf((step + 1) as f64 / beyond);
    }
    for (last_cache_mib, is_memory) in [(32, true), (256, false)] {
        let names = found(&curve, &[(1, 32 << 10), (2, 1 << 20), (3, last_cache_mib << 20)]);
        assert_eq!(names.last().is_some_and(|last| last.0 == "dram"), is_memory, "{names:?}");
    }
}

/// A quick run on a guest that is told of 480 MiB of L3, and keeps between 8 and 64 MiB of it from one second to the next. Its last
/// plateau goes from 16 to 256 MiB.
const GRANITE_RAPIDS_GUEST: &str = include_str!("granite_rapids_guest.txt");

#[test]
fn memory_has_a_value_where_the_last_plateau_mixes_it_with_a_cache() {
    let cases: Vec<CaseRecord> = GRANITE_RAPIDS_GUEST.lines().map(|line| recorded(line).1).collect();
    let mut host = host(&[(1, 48 << 10), (2, 2 << 20), (3, 480 << 20)]);
    host.virtualization.hypervisor = Some("kvm".into());
    host.memory_look.get_or_insert_default().last_cache_bytes = Some(64 << 20);
    let found = levels(&cases, &host);
    let names: Vec<String> = found.iter().map(|level| level.name.key()).collect();
    assert_eq!(names, ["l1d", "l2", "l3", "dram"], "{found:?}");
    assert!(found[3].at.contains("268435456") && found[3].doubt.is_some(), "{:?}", found[3]);
}

#[test]
fn no_curve_has_no_levels() {
    assert!(levels(&[], &host(&[])).is_empty());
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// A curve of these levels (bytes, ns) with `memory_ns` behind them, four points an octave from 4 KiB, found as plateaus.
fn curve(caches: &[(f64, f64)], memory_ns: f64, largest: f64) -> Vec<Plateau> {
    let sizes = (0..).map(|step| 4.0 * KIB * 2_f64.powf(f64::from(step) / 4.0)).take_while(|size| *size <= largest);
    plateaus(&sizes.map(|size| (size, latency(caches, memory_ns, size))).collect::<Vec<_>>())
}

fn reported(caches: &[f64], is_claim: bool) -> ReportedCaches {
    ReportedCaches {
        caches: (1..).zip(caches).map(|(level, &bytes)| (level, (bytes > 0.0).then_some(bytes))).collect(),
        is_claim,
        found_bytes: None,
    }
}

#[track_caller]
fn assert_names(plateaus: &[Plateau], reported: &ReportedCaches, largest: f64, expected: &[&str]) {
    let found: Vec<String> = names(plateaus, reported, largest).into_iter().map(Name::key).collect();
    assert_eq!(found, expected, "{reported:?} {plateaus:?}");
}

const CACHES: [(f64, f64); 3] = [(48.0 * KIB, 1.6), (2.0 * MIB, 5.0), (24.0 * MIB, 24.0)];
const SIZES: [f64; 3] = [48.0 * KIB, 2.0 * MIB, 24.0 * MIB];

#[test]
fn levels_have_the_names_that_curve_and_host_agree_on() {
    const UP_TO_L3: &str = "l1d l2 l3 dram";
    const THIRD: &str = "l1d l2 plateau3";
    let [two, behind] = [&CACHES[..2], &[CACHES[0], CACHES[1], (400.0 * MIB, 25.0)]];
    let system = [(64.0 * KIB, 1.3), (1.0 * MIB, 4.0), (16.0 * MIB, 25.0)];
    let guest = |l3_mib: f64| reported(&[48.0 * KIB, 2.0 * MIB, l3_mib * MIB], true);
    let hardware = ReportedCaches { is_claim: false, ..guest(260.0) };
    let invented = reported(&[32.0 * KIB, 4.0 * MIB, 16.0 * MIB], true);
    let fewer = reported(&[32.0 * KIB, 4.0 * MIB], true);
    let of_system = reported(&[64.0 * KIB, 1.0 * MIB], true);
    let (no_sizes, nothing) = (reported(&[0.0; 3], true), ReportedCaches::default());
    // Caches and what is behind them, ns; the largest size, MiB; what is reported, and the names.
    type Curve<'a> = (&'a [(f64, f64)], f64, f64, &'a ReportedCaches, &'a str);
    let rows: [Curve<'_>; 17] = [
        (&CACHES, 90.0, 256.0, &reported(&SIZES, false), UP_TO_L3),
        (&CACHES, 90.0, 256.0, &reported(&SIZES, true), UP_TO_L3),
        (&CACHES, 90.0, 128.0, &reported(&SIZES, true), UP_TO_L3),
        // Neighbours use up a cache: as slow as no cache is memory, and else a plateau without a name.
        (two, 134.0, 64.0, &guest(260.0), "l1d l2 dram"),
        (two, 85.0, 64.0, &guest(260.0), THIRD),
        (two, 85.0, 1024.0, &guest(260.0), THIRD),
        // The hardware itself tells the truth: beyond twice its caches is memory, and inside them none.
        (two, 85.0, 1024.0, &hardware, "l1d l2 dram"),
        (two, 50.0, 64.0, &hardware, "l1d l2 l3"),
        // Hypervisors invent 16 MiB where the hardware has hundreds, or tell of none.
        (behind, 95.0, 128.0, &invented, "l1d l2 l3"),
        (behind, 95.0, 128.0, &fewer, THIRD),
        // A system cache behind two told levels and memory behind it; two told levels and two found ones.
        (&system, 95.0, 256.0, &of_system, "l1d l2 plateau3 dram"),
        (&system[..2], 95.0, 256.0, &of_system, "l1d l2 dram"),
        // Without sizes names go by order; where a level is not on the curve, the first alone is certain.
        (&CACHES, 90.0, 256.0, &no_sizes, UP_TO_L3),
        (two, 134.0, 256.0, &no_sizes, "l1d plateau2 dram"),
        (&CACHES, 90.0, 256.0, &nothing, "l1d plateau2 plateau3 dram"),
        (two, 120.0, 256.0, &nothing, "l1d plateau2 dram"),
        (two, 70.0, 256.0, &nothing, "l1d plateau2 plateau3"),
    ];
    for (caches, memory_ns, largest_mib, reported, expected) in rows {
        let largest = largest_mib * MIB;
        assert_names(&curve(caches, memory_ns, largest), reported, largest, &expected.split(' ').collect::<Vec<_>>());
    }
    // Far below 100 ns, and the curve ends inside the told size: one plateau more than caches is what tells.
    for (told_mib, memory_ns) in
        [260.0, 320.0, 504.0].into_iter().flat_map(|mib| [75.0, 90.0, 134.0].map(|ns| (mib, ns)))
    {
        assert_names(
            &curve(&CACHES, memory_ns, 128.0 * MIB),
            &guest(told_mib),
            128.0 * MIB,
            &["l1d", "l2", "l3", "dram"],
        );
    }
}

/// Curve of a run whose small sizes had no time.
#[test]
fn a_curve_that_begins_at_large_sizes_has_no_small_cache() {
    let largest = 640.0 * MIB;
    let late = [[23.0, 45.0, 66.0], [64.0, 640.0, 135.0]].map(|[first, last, latency]| Plateau {
        first_size: first * MIB,
        last_size: last * MIB,
        latency,
        capacity: (last < 640.0).then_some(last * MIB),
    });
    assert_names(&late, &reported(&[48.0 * KIB, 2.0 * MIB, 300.0 * MIB], true), largest, &["l3", "dram"]);
    assert_names(&late, &reported(&[48.0 * KIB, 2.0 * MIB], true), largest, &["plateau1", "dram"]);
    assert_names(&late, &reported(&[48.0 * KIB], true), largest, &["plateau1", "dram"]);
    assert_names(&late, &reported(&[], false), largest, &["plateau1", "dram"]);
}

#[test]
fn what_lies_between_a_used_up_cache_and_memory_is_not_the_cache() {
    let plateau = |latency: f64, first: f64, last: f64| Plateau {
        latency,
        first_size: first,
        last_size: last,
        capacity: (latency < 140.0).then_some(last),
    };
    // As seen beside neighbours: 4 MiB of 32 are left, and from there to 32 MiB loads find now the cache and now memory.
    let found = |third: f64, between: f64| {
        [
            plateau(1.08, 4.0 * KIB, 32.0 * KIB),
            plateau(3.8, 64.0 * KIB, 1.0 * MIB),
            plateau(third, 2.0 * MIB, 5.0 * MIB),
            plateau(between, 20.0 * MIB, 28.0 * MIB),
            plateau(148.0, 64.0 * MIB, 128.0 * MIB),
        ]
    };
    let guest = reported(&[32.0 * KIB, 1.0 * MIB, 32.0 * MIB], true);
    let largest = 128.0 * MIB;
    assert_names(&found(15.0, 75.0), &guest, largest, &["l1d", "l2", "l3", "plateau4", "dram"]);
    // What is nearer to a step before it than to memory is the cache: the step was something else.
    assert_names(&found(6.0, 15.0), &guest, largest, &["l1d", "l2", "plateau3", "l3", "dram"]);
    // Hardware of its own has no neighbours.
    let sure = ReportedCaches { is_claim: false, ..guest };
    assert_names(&found(15.0, 75.0), &sure, largest, &["l1d", "l2", "plateau3", "l3", "dram"]);
}

#[test]
fn a_slope_at_the_end_is_no_memory() {
    // Ten times more than the last cache in two octaves, and still rising: translation, or a level that is not reached.
    let sizes = (0..56).map(|step| 4.0 * KIB * 2_f64.powf(f64::from(step) / 4.0));
    let latency = |size: f64| match size {
        _ if size <= 48.0 * KIB => 1.6,
        _ if size <= 2.0 * MIB => 5.0,
        _ if size <= 8.0 * MIB => 24.0,
        _ => 24.0 * (size / (8.0 * MIB)).powf(0.6),
    };
    let curve: Vec<(f64, f64)> = sizes.map(|size| (size, latency(size))).collect();
    let (found, largest) = (plateaus(&curve), curve[curve.len() - 1].0);
    assert!(found.last().unwrap().capacity.is_some(), "{found:?}");
    for caches in [&SIZES[..], &SIZES[..2], &[]] {
        let names = names(&found, &reported(caches, true), largest);
        assert!(!names.contains(&Name::Memory), "{caches:?}: {names:?}");
    }
    assert_names(&found, &reported(&SIZES, true), largest, &["l1d", "l2", "l3"]);
}

#[test]
fn one_point_and_none_prove_nothing_that_their_time_does_not() {
    let one = |ns: f64| plateaus(&[(64.0 * MIB, ns)]);
    for is_claim in [true, false] {
        assert_names(&one(85.0), &reported(&[48.0 * KIB, 2.0 * MIB, 260.0 * MIB], true), 64.0 * MIB, &["plateau1"]);
        assert_names(&one(134.0), &reported(&SIZES, is_claim), 64.0 * MIB, &["dram"]);
        assert_names(&[], &reported(&SIZES, is_claim), 0.0, &[]);
    }
}
