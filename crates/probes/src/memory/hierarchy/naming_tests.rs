//! What plateaus are called on machines that tell the truth, too much, too little and nothing.

use super::*;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// A curve of these levels (bytes, ns) with `memory_ns` behind them, eight points an octave from 4 KiB, found as plateaus.
/// After a level's end the misses grow with the part that does not fit.
fn curve(caches: &[(f64, f64)], memory_ns: f64, largest: f64) -> Vec<Plateau> {
    let latency = |size: f64| {
        let (mut reached, mut sum) = (1.0, 0.0);
        for &(capacity, ns) in caches {
            let hits = (capacity / size).min(1.0).powi(3);
            sum += reached * hits * ns;
            reached *= 1.0 - hits;
        }
        sum + reached * memory_ns
    };
    let sizes = (0..).map(|step| 4.0 * KIB * 2_f64.powf(f64::from(step) / 4.0)).take_while(|size| *size <= largest);
    plateaus(&sizes.map(|size| (size, latency(size))).collect::<Vec<_>>())
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
fn three_caches_and_memory_have_their_names_on_hardware_and_in_guests() {
    for (largest, is_claim) in [(256.0 * MIB, false), (256.0 * MIB, true), (128.0 * MIB, true)] {
        assert_names(
            &curve(&CACHES, 90.0, largest),
            &reported(&SIZES, is_claim),
            largest,
            &["l1d", "l2", "l3", "dram"],
        );
    }
}

/// As where the small sizes had no time.
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
fn a_slice_of_a_reported_cache_is_that_cache_and_what_follows_it_is_memory() {
    // Far below 100 ns, and the curve ends inside the told size: one plateau more than caches is what tells.
    for reported_mib in [260.0, 320.0, 504.0] {
        let reported = reported(&[48.0 * KIB, 2.0 * MIB, reported_mib * MIB], true);
        for memory_ns in [75.0, 90.0, 134.0] {
            let plateaus = curve(&CACHES, memory_ns, 128.0 * MIB);
            assert_names(&plateaus, &reported, 128.0 * MIB, &["l1d", "l2", "l3", "dram"]);
        }
    }
}

#[test]
fn a_reported_cache_that_neighbours_use_up_does_not_lend_its_name_to_memory() {
    let reported = reported(&[48.0 * KIB, 2.0 * MIB, 260.0 * MIB], true);
    // As slow as no cache is: memory.
    assert_names(&curve(&CACHES[..2], 134.0, 64.0 * MIB), &reported, 64.0 * MIB, &["l1d", "l2", "dram"]);
    // It may be either: a plateau without a name, even where the curve goes beyond what is told.
    for largest in [64.0 * MIB, 1024.0 * MIB] {
        assert_names(&curve(&CACHES[..2], 85.0, largest), &reported, largest, &["l1d", "l2", "plateau3"]);
    }
    // The hardware itself tells the truth: beyond twice its caches is memory, and inside them none.
    let sure = ReportedCaches { is_claim: false, ..reported };
    assert_names(&curve(&CACHES[..2], 85.0, 1024.0 * MIB), &sure, 1024.0 * MIB, &["l1d", "l2", "dram"]);
    assert_names(&curve(&CACHES[..2], 50.0, 64.0 * MIB), &sure, 64.0 * MIB, &["l1d", "l2", "l3"]);
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
fn a_cache_that_is_reported_too_small_is_not_memory() {
    // Hypervisors invent 16 MiB where the hardware has hundreds.
    let reported = reported(&[32.0 * KIB, 4.0 * MIB, 16.0 * MIB], true);
    let caches = [CACHES[0], CACHES[1], (400.0 * MIB, 25.0)];
    assert_names(&curve(&caches, 95.0, 128.0 * MIB), &reported, 128.0 * MIB, &["l1d", "l2", "l3"]);
    // Nor where none is told for it, so that there is a plateau more than caches.
    let fewer = ReportedCaches { caches: reported.caches[..2].to_vec(), ..reported };
    assert_names(&curve(&caches, 95.0, 128.0 * MIB), &fewer, 128.0 * MIB, &["l1d", "l2", "plateau3"]);
}

#[test]
fn a_plateau_that_nobody_reports_has_no_name() {
    // A system cache behind two told levels, and memory behind it.
    let reported = reported(&[64.0 * KIB, 1.0 * MIB], true);
    let caches = [(64.0 * KIB, 1.3), (1.0 * MIB, 4.0), (16.0 * MIB, 25.0)];
    let plateaus = curve(&caches, 95.0, 256.0 * MIB);
    assert_names(&plateaus, &reported, 256.0 * MIB, &["l1d", "l2", "plateau3", "dram"]);
    // Two told levels and two found ones: the names go by order, and memory is one more.
    let plateaus = curve(&caches[..2], 95.0, 256.0 * MIB);
    assert_names(&plateaus, &reported, 256.0 * MIB, &["l1d", "l2", "dram"]);
}

#[test]
fn levels_that_are_reported_without_a_size_are_named_by_their_order() {
    let unsized_ = reported(&[0.0, 0.0, 0.0], true);
    assert_names(&curve(&CACHES, 90.0, 256.0 * MIB), &unsized_, 256.0 * MIB, &["l1d", "l2", "l3", "dram"]);
    // One of them is not on the curve, and nothing tells which: the first alone is certain.
    let plateaus = curve(&CACHES[..2], 134.0, 256.0 * MIB);
    assert_names(&plateaus, &unsized_, 256.0 * MIB, &["l1d", "plateau2", "dram"]);
}

#[test]
fn where_nothing_gets_the_first_level_and_what_only_memory_can_be_are_named() {
    let nothing = ReportedCaches::default();
    let largest = 256.0 * MIB;
    assert_names(&curve(&CACHES, 90.0, largest), &nothing, largest, &["l1d", "plateau2", "plateau3", "dram"]);
    assert_names(&curve(&CACHES[..2], 120.0, largest), &nothing, largest, &["l1d", "plateau2", "dram"]);
    assert_names(&curve(&CACHES[..2], 70.0, largest), &nothing, largest, &["l1d", "plateau2", "plateau3"]);
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
