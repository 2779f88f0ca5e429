//! What the table by size and stride concludes from planted curves, and that it says nothing where a curve proves nothing.

use hostmark_analysis::references::named;
use hostmark_model::{CacheFact, CacheKind, Flag, FlagKind, Lang, Outcome, Run};

use crate::synthetic;
use crate::tables::{run_on, shown};

/// A machine of these caches, KiB and ways, that is no guest; each load takes what `ns` says of KiB and stride, ±0.4 %.
fn planted(caches: &[(u64, u32)], ns: impl Fn(u64, u64) -> f64) -> Run {
    let cache = |(level, &(kib, ways)): (u8, &(u64, u32))| CacheFact {
        level,
        kind: CacheKind::Unified,
        size_bytes: kib << 10,
        line_bytes: Some(64),
        shared_cpus: vec![0],
        ways: Some(ways),
    };
    let mut run = run_on("size-stride", |run| {
        run.host.caches = (1..).zip(caches).map(cache).collect();
        run.host.virtualization.hypervisor = None;
    });
    for case in &mut run.cases {
        let at = |axis| case.params.get(axis).unwrap().parse::<u64>().unwrap();
        *case = synthetic::value(&case.id, ns(at("size") / 1024, at("pattern")));
    }
    run
}

/// The sentences below the lists of a stride.
fn said(run: &Run, stride: u64) -> Vec<String> {
    let text = shown(run, "size-stride", Lang::En).replace("\n        ", " ");
    let lists = text.split("=====").flat_map(|list| list.split("\n    Cache Latency"));
    let of_stride = lists.filter(|list| list.contains(&format!("stride = {stride:>5}")));
    of_stride.flat_map(str::lines).filter(|line| line.contains(" the latency ")).map(|l| l.trim().to_owned()).collect()
}

const X220: &[(u64, u32)] = &[(32, 8), (256, 8), (3072, 12)];

/// A curve of plateaus: the first whose size, KiB, is not exceeded.
fn stairs(steps: &'static [(u64, f64)]) -> impl Fn(u64, u64) -> f64 {
    move |kib, _| steps.iter().find(|(to, _)| kib <= *to).unwrap().1
}

const ALL: u64 = u64::MAX;

#[test]
fn a_step_where_the_reported_first_cache_ends_names_it_and_its_latency() {
    let run = planted(X220, stairs(&[(32, 1.22), (ALL, 3.66)]));
    let sentence = "between 32 KiB and 48 KiB the latency triples, from 1.22 to 3.66 ns: L1d has 32 KiB, and a load from it takes 1.22 ns";
    assert_eq!(said(&run, 64), [sentence]);
    let chinese = shown(&run, "size-stride", Lang::Zh);
    assert!(chinese.contains("32 KiB 与 48 KiB 之间延迟升至 3.0 倍（1.22 → 3.66 ns）：L1d 为 32 KiB"), "{chinese}");
}

#[test]
fn a_first_cache_of_48_kib_is_called_so_and_never_one_of_32() {
    let curve = || stairs(&[(48, 1.51), (ALL, 4.53)]);
    let sentences = said(&planted(&[(48, 12), (2048, 16)], curve()), 64);
    let step =
        |from: u64, to: u64| format!("between {from} KiB and {to} KiB the latency triples, from 1.51 to 4.53 ns");
    assert_eq!(sentences, [step(48, 72) + ": L1d has 48 KiB, and a load from it takes 1.51 ns"]);
    // The host tells 32 KiB, or nothing: the step is there, and no cache is named.
    for (caches, step) in [(X220, step(48, 64)), (&[], step(32, 64))] {
        assert_eq!(said(&planted(caches, curve()), 64), [step]);
    }
}

#[test]
fn at_a_wide_stride_the_lines_count() {
    let sentences = said(&planted(X220, stairs(&[(64, 1.2), (ALL, 4.8)])), 8192);
    let sentence = "L1d of 32 KiB holds 8 lines of this stride and not 24, and a load from it takes 1.20 ns";
    assert!(
        sentences[0].starts_with("between 64 KiB and 192 KiB") && sentences[0].ends_with(sentence),
        "{sentences:?}"
    );
}

#[test]
fn each_cache_has_its_step() {
    let sentences = said(&planted(X220, stairs(&[(32, 1.3), (256, 4.0), (3072, 11.0), (ALL, 52.0)])), 4096);
    for name in ["L1d has 32 KiB, and a load", "L2 has 256 KiB, and at this stride", "L3 has 3 MiB, and at this stride"]
    {
        assert!(sentences.iter().any(|sentence| sentence.contains(name)), "{name}: {sentences:#?}");
    }
}

#[test]
fn of_the_reference_document_it_draws_the_conclusions_that_the_document_draws() {
    let reference = named("x220").unwrap();
    let run = planted(X220, |kib, stride| {
        let id = format!("memory.latency@size={},pattern={stride}", kib << 10);
        reference.values.iter().find(|value| value.id == id).unwrap_or_else(|| panic!("{id}")).value
    });
    for stride in [64, 1024, 4096, 8192, 16384] {
        let sentences = said(&run, stride);
        assert!(sentences[0].contains("triples, from 1.34 to ") && sentences[0].contains(": L1d "), "{sentences:#?}");
        assert!(sentences[0].ends_with("a load from it takes 1.34 ns"), "{sentences:#?}");
    }
    let (at_4096, at_8192) = (said(&run, 4096), said(&run, 8192));
    assert!(at_4096[1].ends_with("L3 has 3 MiB, and at this stride a load from it takes 11.1 ns"), "{at_4096:#?}");
    let second = "L2 has 256 KiB, and at this stride a load from it takes 4.02 ns";
    assert!(at_8192.iter().any(|one| one.ends_with(second)), "{at_8192:#?}");
}

#[test]
fn nothing_is_said_of_a_slope_a_flat_list_a_fall_and_of_a_cache_half_of_which_is_slow() {
    let slope = |kib: u64, _| 1.3 + (kib as f64).powf(0.7);
    let fall = |kib: u64, _| if kib == 48 || kib == 128 { 4.0 } else { 1.3 };
    let conflicts = stairs(&[(160, 4.0), (192, 5.0), (224, 6.0), (256, 6.9), (ALL, 12.0)]);
    for (what, run) in [
        ("slope", planted(X220, slope)),
        ("flat", planted(X220, |_, _| 1.3)),
        ("fall", planted(X220, fall)),
        ("conflicts", planted(X220, conflicts)),
    ] {
        let text = shown(&run, "size-stride", Lang::En);
        assert!(!text.contains(" the latency "), "{what}: {text}");
    }
}

#[test]
fn a_value_in_doubt_proves_nothing() {
    let mut run = planted(X220, stairs(&[(32, 1.22), (ALL, 3.66)]));
    for case in &mut run.cases {
        let Outcome::Measured(measured) = &mut case.outcome else { panic!() };
        measured.flags.push(Flag::new(FlagKind::Contended, "others used 46 % of its CPU"));
    }
    assert_eq!(said(&run, 64), Vec::<String>::new());
    // Intervals that overlap are no step either.
    let mut run = planted(X220, stairs(&[(32, 1.22), (ALL, 3.66)]));
    for case in &mut run.cases {
        let Outcome::Measured(measured) = &mut case.outcome else { panic!() };
        let estimate = &mut measured.estimate;
        (estimate.ci_low, estimate.ci_high) = (Some(0.5 * estimate.typical), Some(2.0 * estimate.typical));
    }
    assert_eq!(said(&run, 64), Vec::<String>::new());
}
