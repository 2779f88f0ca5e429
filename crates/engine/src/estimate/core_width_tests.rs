//! Detection of shared cores, on known looks.

use hostmark_model::{CoreKindFact, CpuFact, Event, RoundNoise};

use super::*;
use crate::fixture::{PLAIN, entry, host};
use crate::probe::{Entry, Probe};
use crate::record::RoundResult;

/// A host of this design: five adds a cycle.
fn golden_cove() -> HostFacts {
    let mut host = host();
    host.cpu.vendor = Some("GenuineIntel".into());
    (host.cpu.model, host.cpu.microarchitecture) = (Some("Intel Xeon Processor".into()), Some("Emerald Rapids".into()));
    host
}

fn zen_4() -> HostFacts {
    let mut host = host();
    host.cpu.model = Some("AMD EPYC 9654 (Zen 4, Genoa)".into());
    host
}

/// A round on CPU 0 with a sample between each two looks, of so many adds a cycle.
fn looked(widths: &[f64]) -> Round {
    let looks: Vec<[u64; 2]> =
        (0..).zip(widths).map(|(place, width)| [u64::from(place > 0), (width * 1e3) as u64]).collect();
    round(&vec![1.0; widths.len() - 1], RoundNoise { looks, ..RoundNoise::default() })
}

fn on(cpus: &[usize], widths: &[f64]) -> Round {
    let mut round = looked(widths);
    round.cpus = cpus.to_vec();
    round
}

/// A round of a file that has no looks: the value of each sample, and what was told of the core.
fn filed(values: &[f64], shared: Option<f64>) -> Round {
    let ns: Vec<f64> = values.iter().map(|value| 1e9 / value).collect();
    let mut round = round(&ns, RoundNoise { core_hz: Some(1e9), shared, ..RoundNoise::default() });
    round.sampled.as_mut().unwrap().values = values.iter().map(|value| value * 1e9).collect();
    round
}

fn round(ns: &[f64], noise: RoundNoise) -> Round {
    let (iterations, disturbance_flags) = (vec![1; ns.len()], vec![0; ns.len()]);
    let samples = Event::Samples { ns: ns.to_vec(), iterations, amount: 0, disturbance_flags };
    Round::of(RoundResult { round: 0, cpus: vec![0], events: vec![samples, Event::Done { noise }], others: None })
}

fn case(id: &str, rounds: Vec<Round>) -> CaseRounds {
    CaseRounds { entry: entry("net.tcp"), id: id.parse().unwrap(), rounds, skip: None }
}

/// Judges the rounds; returns the shared part of each round, and of the run.
fn judged(host: &HostFacts, rounds: &[Round]) -> (Vec<Option<f64>>, Option<f64>) {
    let mut cases = [case("net.tcp", rounds.to_vec())];
    judge(&mut cases, host);
    (cases[0].rounds.iter().map(shared).collect(), core_shared(&cases))
}

fn marks(round: &Round) -> Vec<bool> {
    let flags = &round.sampled.as_ref().unwrap().disturbance_flags;
    flags.iter().map(|flags| flags & DisturbanceFlags::SHARED != 0).collect()
}

const BESIDE: [f64; 4] = [3.0, 3.5, 2.85, 3.47];
const ALONE: [f64; 4] = [4.97, 4.98, 4.97, 4.98];

#[test]
fn a_run_that_never_had_the_core_alone_is_shared_from_its_first_look_by_what_the_design_can_do() {
    let rounds = vec![looked(&BESIDE); 5];
    assert_eq!(judged(&golden_cove(), &rounds), (vec![Some(1.0); 5], Some(1.0)));
    let mut cases = [case("net.tcp", rounds.clone())];
    judge(&mut cases, &golden_cove());
    assert!(cases[0].rounds.iter().all(|round| marks(round) == [true; 3]));
    // Of a design that is not known nobody can tell, so that nothing is called alone.
    assert_eq!(judged(&host(), &rounds), (vec![None; 5], None));
}

#[test]
fn three_looks_alone_anywhere_in_a_run_tell_what_the_core_can_do() {
    let short = [4.98, 4.97, 4.98, 3.3];
    let rounds = [looked(&BESIDE), looked(&BESIDE), looked(&short)];
    assert_eq!(judged(&host(), &rounds).0, [Some(1.0), Some(1.0), Some(0.25)]);
    // Marked are the samples on both sides of a narrow look.
    let mut cases = [case("net.tcp", vec![looked(&[5.0, 5.0, 5.0, 2.6, 5.0, 5.0])])];
    judge(&mut cases, &golden_cove());
    assert_eq!(marks(&cases[0].rounds[0]), [false, false, true, true, false]);
}

#[test]
fn the_runs_best_counts_where_it_is_more_than_the_design_has() {
    let wide = [5.97, 5.98, 5.97];
    assert_eq!(judged(&golden_cove(), &[looked(&wide), looked(&[4.7; 4])]).0, [Some(0.0), Some(1.0)]);
}

#[test]
fn a_look_that_was_interrupted_tells_no_width() {
    let interrupted = [4.97, 9.0, 4.98, 8.0, 9.1, 4.97];
    assert_eq!(judged(&golden_cove(), &[looked(&interrupted)]), (vec![Some(0.0)], Some(0.0)));
    // Several in a row, each held up by something else, as on a guest.
    let held_up = [3.95, 3.94, 9.14, 8.83, 8.55, 3.95, 3.94, 3.95];
    assert_eq!(judged(&zen_4(), &[looked(&held_up), looked(&[3.95; 4])]).0, [Some(0.0); 2]);
    // Nor that of a core which was seen at work with another.
    assert_eq!(judged(&host(), &[looked(&ALONE), looked(&[4.97, 1.0, 4.98, 1.2])]).1, None);
}

#[test]
fn an_emulator_is_not_what_it_says() {
    let slow = [looked(&[0.8, 0.9, 0.85, 0.8])];
    assert_eq!(judged(&golden_cove(), &slow), (vec![None], None));
    let mut later = golden_cove();
    later.cpu.microarchitecture = Some("≥ Sapphire Rapids".into());
    assert_eq!(judged(&later, &[looked(&BESIDE)]).1, None);
}

#[test]
fn each_kind_of_core_has_a_width_of_its_own() {
    let on = |cpu: usize, widths: &[f64]| on(&[cpu], widths);
    let mut host = host();
    let of_kind = |cpus: &[usize]| CoreKindFact { cpus: cpus.to_vec(), ..CoreKindFact::default() };
    host.cpu.kinds = vec![of_kind(&[0]), of_kind(&[1])];
    let rounds = [on(0, &ALONE), on(0, &[3.0; 4]), on(1, &[3.0; 4])];
    assert_eq!(judged(&host, &rounds).0, [Some(0.0), Some(1.0), None]);
}

#[test]
fn the_other_thread_of_the_case_itself_is_no_neighbour() {
    let mut host = golden_cove();
    host.cpus =
        (0..4).map(|id| CpuFact { id, siblings: vec![id / 2 * 2, id / 2 * 2 + 1], ..CpuFact::default() }).collect();
    assert_eq!(judged(&host, &[on(&[0, 1], &BESIDE), on(&[0, 2], &BESIDE)]).0, [None, Some(1.0)]);
}

#[test]
fn looks_around_a_round_tell_its_state_and_mark_no_sample() {
    let noise = RoundNoise { looks: vec![[0, 3000], [0, 3100]], ..RoundNoise::default() };
    let rounds = vec![looked(&ALONE), round(&[1.0; 3], noise)];
    let mut cases = [case("net.tcp", rounds)];
    judge(&mut cases, &golden_cove());
    assert_eq!(shared(&cases[0].rounds[1]), Some(1.0));
    assert!(cases[0].rounds.iter().flat_map(marks).all(|is_marked| !is_marked));
    // A file may say anything.
    for looks in [vec![[u64::MAX, u64::MAX]; 3], vec![[9, 0], [9, 0], [9, 1]], vec![[7, 5000]]] {
        judged(&golden_cove(), &[round(&[1.0], RoundNoise { looks, ..RoundNoise::default() })]);
    }
}

#[test]
fn a_file_without_looks_is_judged_by_what_its_adds_did() {
    let of = |others: Option<f64>, adds: &[(&[f64], f64)]| {
        let adds = adds.iter().map(|(widths, told)| filed(widths, Some(*told))).collect();
        static ADDS: Probe = Probe { adds: Some(&[("op", "add")]), ..PLAIN };
        let adds = CaseRounds { entry: Entry { probe: &ADDS, ..entry("net.tcp") }, ..case("net.tcp@op=add", adds) };
        let mut cases = [adds, case("net.tcp@op=mul", vec![filed(&[1.0; 3], others)])];
        judge(&mut cases, &golden_cove());
        (cases[0].rounds.iter().map(marks).collect::<Vec<_>>(), shared(&cases[1].rounds[0]), core_shared(&cases))
    };
    // Four rounds of five beside another thread, and each called alone: so were all others, of which nothing is known then.
    let (marks, other, run) =
        of(Some(0.0), &[(&BESIDE, 0.0), (&BESIDE, 0.0), (&BESIDE, 0.0), (&BESIDE, 0.0), (&ALONE, 0.0)]);
    assert_eq!((marks[0].clone(), marks[4].clone(), other), (vec![true; 4], vec![false; 4], None));
    assert_eq!(run, Some(0.8));
    // What its adds bear out stands.
    let (_, other, run) = of(Some(0.0), &[(&BESIDE, 1.0), (&ALONE, 0.0)]);
    assert_eq!((other, run), (Some(0.0), Some(1.0 / 3.0)));
}
