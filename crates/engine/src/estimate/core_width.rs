//! Detection of threads that share the core: the width that each look at the core saw, compared with what such a core does alone.
//!
//! A run judges its rounds when it is over: looks of all of them tell together what the core can do, and a neighbour may have been there
//! from the first one. Where only a shared core was ever seen, its design tells what it does alone; of a design that is not known, a core is
//! never called alone (docs/decisions/0051-what-a-core-can-do.md). A design of which the least is known does that or more.

use hostmark_model::{DisturbanceFlags, HostFacts, RoundNoise};
use hostmark_stats::descriptive;

use crate::record::{CaseRounds, Round, Sampled};
use crate::sampling::sample::MOST_SAMPLES;

/// Work of a core in a cycle by design, where every core of a machine is alike: adds of two 64-bit registers (uops.info's tables, and
/// Arm's software optimization guides), and bytes that it loads, the load ports times the widest vector that each takes in (Intel's
/// optimization manual, AMD's software optimization guides, Arm's). The first whose name is in the model's counts.
const DESIGNS: &[(&str, f64, f64)] = &[
    ("Sapphire Rapids", 5.0, 128.0),
    ("Emerald Rapids", 5.0, 128.0),
    ("Granite Rapids", 5.0, 128.0),
    ("Ice Lake", 4.0, 128.0),
    ("Tiger Lake", 4.0, 128.0),
    ("Rocket Lake", 4.0, 128.0),
    ("Cascade Lake", 4.0, 128.0),
    ("Cooper Lake", 4.0, 128.0),
    ("Comet Lake", 4.0, 64.0),
    ("Coffee Lake", 4.0, 64.0),
    ("Kaby Lake", 4.0, 64.0),
    ("Skylake", 4.0, 128.0),
    ("Broadwell", 4.0, 64.0),
    ("Haswell", 4.0, 64.0),
    ("Ivy Bridge", 3.0, 32.0),
    ("Sandy Bridge", 3.0, 32.0),
    ("Westmere", 3.0, 16.0),
    ("Nehalem", 3.0, 16.0),
    ("Zen 5", 6.0, 128.0),
    ("Zen", 4.0, 64.0),
    ("Dhyana", 4.0, 32.0),
    ("Neoverse N1", 3.0, 32.0),
    ("Neoverse N2", 4.0, 48.0),
    ("Neoverse V1", 4.0, 64.0),
    ("Neoverse V2", 6.0, 48.0),
];
/// A thread with less than this part of the core's width shares it: two that fill it have half each, others seldom over 0.75.
const SHARED: f64 = 0.8;
/// Number of successive looks that tell a width: an interrupted chain makes its look too wide, interrupted adds too narrow.
const IN_A_ROW: usize = 3;
/// Share within which they agree on a core alone; those of chains that were held up, each by something else, do not.
const ALIKE: f64 = 0.02;
/// Width that is more than ten chains of adds can do.
const MOST: f64 = 10.5;
/// Adds of the widest known design: a later design than the one that is named may do as many.
const WIDEST: f64 = 6.0;
/// Plausible width of a core, as parts of what its design does: less is another design's, an emulator's; so is more.
const OF_DESIGN: std::ops::Range<f64> = 0.45..1.2;
/// Shares that a file tells lie so far below what its adds saw: they were held against a core that was shared itself.
const REFUTED: f64 = 0.25;

/// Widths that a run's looks saw, by kind of core.
#[derive(Debug, Default)]
pub struct CoreWidths(Vec<Seen>);

/// Adds a cycle that looks at cores of one kind saw.
#[derive(Debug)]
struct Seen {
    kind: Option<usize>,
    most: f64,
    least: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Whole {
    width: f64,
    /// True where a core that was never seen to do less was alone.
    is_certain: bool,
}

impl CoreWidths {
    /// Takes the looks of a round on `cpu` into account.
    pub(crate) fn add(&mut self, host: &HostFacts, cpu: Option<&usize>, widths: &[f64]) {
        let Some(kind) = cpu.map(|&cpu| host.kind_of_core(cpu)) else { return };
        let usable: Vec<f64> = widths.iter().copied().filter(|width| (0.0..MOST).contains(width)).collect();
        let ends = |row: &[f64]| Some((descriptive::min(row)?, descriptive::max(row)?));
        let rows = || usable.windows(IN_A_ROW).filter_map(ends);
        let most = rows().filter(|(low, high)| *high <= *low * (1.0 + ALIKE)).map(|(low, _)| low).reduce(f64::max);
        let least = rows().map(|(_, high)| high).reduce(f64::min);
        // Of looks that never agree the least is all that is known.
        let most = most.or_else(|| rows().map(|(low, _)| low).reduce(f64::min));
        let Some((most, least)) = most.zip(least) else { return };
        match self.0.iter_mut().find(|seen| seen.kind == kind) {
            Some(seen) => (seen.most, seen.least) = (seen.most.max(most), seen.least.min(least)),
            None => self.0.push(Seen { kind, most, least }),
        }
    }

    /// The share of the looks of a round on `cpu` that met another thread there, by what was seen until then.
    pub fn look(&mut self, host: &HostFacts, cpu: usize, noise: &RoundNoise) -> Option<f64> {
        let widths = looks(noise);
        self.add(host, Some(&cpu), &widths);
        let whole = self.whole(host, Some(&cpu)).filter(|whole| whole.is_certain && !widths.is_empty())?;
        Some(share(&whole.narrow(&widths)))
    }

    fn whole(&self, host: &HostFacts, cpu: Option<&usize>) -> Option<Whole> {
        let kind = host.kind_of_core(*cpu?);
        let seen = self.0.iter().find(|seen| seen.kind == kind)?;
        let of_design =
            least_design(host).map(|(_, adds, _)| *adds).filter(|width| OF_DESIGN.contains(&(seen.most / width)));
        // Between these a later design may be shared or alone.
        let is_either =
            |least: f64| host.cpu.is_later_design() && (SHARED * least..SHARED * WIDEST).contains(&seen.most);
        let width = seen.most.max(of_design.unwrap_or(0.0));
        let is_certain = of_design.is_some_and(|least| !is_either(least)) || seen.least < SHARED * width;
        Some(Whole { width, is_certain })
    }

    /// Marks the samples of a round that were taken on a shared core, and tells the share of looks that saw another thread there.
    pub(crate) fn mark(&self, host: &HostFacts, does_adds: bool, round: &mut Round) {
        // A thread of the case itself may be the other one.
        let whole = self.whole(host, round.cpus.first()).filter(|_| !has_siblings(host, &round.cpus));
        let Some(sampled) = &mut round.sampled else { return };
        let looks = looks(&sampled.noise);
        let widths = if looks.is_empty() && does_adds { adds(sampled) } else { looks };
        if widths.is_empty() {
            return;
        }
        let narrow = whole.map_or(vec![false; widths.len()], |whole| whole.narrow(&widths));
        sampled.noise.shared = whole.filter(|whole| whole.is_certain).map(|_| share(&narrow));
        for (flags, is_shared) in sampled.disturbance_flags.iter_mut().zip(beside(&sampled.noise.looks, &narrow)) {
            *flags = *flags & !DisturbanceFlags::SHARED | if is_shared { DisturbanceFlags::SHARED } else { 0 };
        }
    }
}

impl Whole {
    /// Tells for each width whether another thread had a part of the core.
    fn narrow(self, widths: &[f64]) -> Vec<bool> {
        widths.iter().map(|width| *width < SHARED * self.width).collect()
    }
}

/// The share of them that are so.
fn share(narrow: &[bool]) -> f64 {
    narrow.iter().filter(|is_narrow| **is_narrow).count() as f64 / narrow.len().max(1) as f64
}

/// Tells for each sample whether the look before or after it was narrow; without looks, whether the sample was.
fn beside(looks: &[[u64; 2]], narrow: &[bool]) -> Vec<bool> {
    let between = looks.iter().skip(1).zip(narrow.windows(2));
    // A file may say anything.
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).min(MOST_SAMPLES);
    match looks {
        [] => narrow.to_vec(),
        _ => {
            between.flat_map(|([samples, _], pair)| std::iter::repeat_n(pair[0] || pair[1], count(*samples))).collect()
        }
    }
}

/// Adds a cycle that the looks of a round saw, in order.
pub(crate) fn looks(noise: &RoundNoise) -> Vec<f64> {
    noise.looks.iter().map(|[_, thousandth]| *thousandth as f64 / 1e3).collect()
}

/// Adds a cycle of each sample that did nothing else; infinite where that is not known.
fn adds(sampled: &Sampled) -> Vec<f64> {
    // Where the clock changed beside a sample, that of the round is near enough.
    let of_round = sampled.noise.core_hz.unwrap_or(0.0);
    let hz = sampled.core_hz().into_iter().map(|hz| if hz > 0.0 { hz } else { of_round });
    let all = sampled.values.iter().zip(&sampled.disturbance_flags).zip(hz);
    let width = |((value, flags), hz): ((&f64, &u8), f64)| {
        let is_known = hz > 0.0 && !DisturbanceFlags(*flags).is_disturbed();
        if is_known { value / hz } else { f64::INFINITY }
    };
    all.map(width).collect()
}

/// Work of a core in a cycle by the host's design, where it is known and all cores are alike.
pub(super) fn design(host: &HostFacts) -> Option<&'static (&'static str, f64, f64)> {
    least_design(host).filter(|_| !host.cpu.is_later_design())
}

/// The same, or of a later design the one that it is not before.
fn least_design(host: &HostFacts) -> Option<&'static (&'static str, f64, f64)> {
    let model = host.cpu.named_model().filter(|_| host.cpu.kinds.is_empty())?;
    DESIGNS.iter().find(|(name, ..)| model.contains(name))
}

/// Tells whether two of these CPUs are threads of one core, according to the kernel.
fn has_siblings(host: &HostFacts, cpus: &[usize]) -> bool {
    let facts = host.cpus.iter().filter(|known| cpus.contains(&known.id));
    facts.flat_map(|known| known.siblings.iter().filter(|sibling| **sibling != known.id)).any(|cpu| cpus.contains(cpu))
}

/// Judges all rounds of a run by all of their looks, and by the samples that are such adds themselves.
pub(crate) fn judge(cases: &mut [CaseRounds], host: &HostFacts) {
    let mut seen = CoreWidths::default();
    for case in &*cases {
        for (round, sampled) in case.rounds.iter().filter_map(|round| Some((round, round.sampled.as_ref()?))) {
            let adds = if does_adds(case) { adds(sampled) } else { Vec::new() };
            for widths in [looks(&sampled.noise), adds] {
                seen.add(host, round.cpus.first(), &widths);
            }
        }
    }
    let (mut recorded, mut own) = (Vec::new(), Vec::new());
    for case in &mut *cases {
        let does_adds = does_adds(case);
        for round in &mut case.rounds {
            let of_file = shared(round).filter(|_| does_adds && !has_looks(round));
            seen.mark(host, does_adds, round);
            recorded.extend(of_file);
            own.extend(shared(round).filter(|_| of_file.is_some()));
        }
    }
    let mean = |shares: &[f64]| descriptive::mean(shares).unwrap_or(0.0);
    if mean(&recorded) + REFUTED < mean(&own) {
        let others = cases.iter_mut().filter(|case| !does_adds(case));
        let without = others.flat_map(|case| &mut case.rounds).filter(|round| !has_looks(round));
        without.filter_map(|round| round.sampled.as_mut()).for_each(|sampled| sampled.noise.shared = None);
    }
}

/// Tells whether samples of the case are independent adds, as looks are.
fn does_adds(case: &CaseRounds) -> bool {
    let is_at = |point: &[(&str, &str)]| point.iter().all(|(axis, value)| case.id.params.get(axis) == Some(value));
    case.entry.probe.adds.is_some_and(is_at)
}

fn has_looks(round: &Round) -> bool {
    round.sampled.as_ref().is_some_and(|sampled| !sampled.noise.looks.is_empty())
}

fn shared(round: &Round) -> Option<f64> {
    round.sampled.as_ref()?.noise.shared
}

/// The share of looks at a core in which another thread ran on it too, on average over the rounds; none where no round tells.
pub(crate) fn core_shared(cases: &[CaseRounds]) -> Option<f64> {
    let shares: Vec<f64> = cases.iter().flat_map(|case| &case.rounds).filter_map(shared).collect();
    descriptive::mean(&shares)
}

#[cfg(test)]
mod tests {
    use hostmark_model::{CoreKindFact, CpuFact, Event, RoundNoise};

    use super::*;
    use crate::fixture::{PLAIN, entry, host};
    use crate::probe::{Entry, Probe};
    use crate::record::RoundResult;

    /// A host of this design: five adds a cycle.
    fn golden_cove() -> HostFacts {
        let mut host = host();
        host.cpu.vendor = Some("GenuineIntel".into());
        (host.cpu.model, host.cpu.microarchitecture) =
            (Some("Intel Xeon Processor".into()), Some("Emerald Rapids".into()));
        host
    }

    /// A guest whose numbers are those of another design.
    fn later() -> HostFacts {
        let mut host = golden_cove();
        host.cpu.microarchitecture = Some("≥ Sapphire Rapids".into());
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
        assert_eq!(judged(&later(), &slow), (vec![None], None));
    }

    #[test]
    fn of_a_later_design_a_core_tells_that_did_less_than_any_or_as_much_as_one_alone() {
        assert_eq!(judged(&later(), &[looked(&BESIDE)]).1, Some(1.0));
        assert_eq!(judged(&later(), &[looked(&ALONE), looked(&[4.97, 4.98, 4.97, 3.1])]).0, [Some(0.0), Some(0.25)]);
        // One of six adds may be shared with a little, one of five would be alone.
        assert_eq!(judged(&later(), &[looked(&[4.5; 4])]).1, None);
        assert_eq!(judged(&later(), &[looked(&[4.5; 4]), looked(&[5.97; 4])]).0, [Some(1.0), Some(0.0)]);
        assert!(DESIGNS.iter().all(|(_, adds, _)| *adds <= WIDEST) && design(&later()).is_none());
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
}
