//! Detection of threads that share the core: the width that each look at the core saw, compared with what such a core does alone.
//!
//! A run judges its rounds when it is over: looks of all of them tell together what the core can do, and a neighbour may have been there
//! from the first one. Where only a shared core was ever seen, its design tells what it does alone; of a design that is not known, a core is
//! never called alone (docs/decisions/0051-what-a-core-can-do.md).

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
/// A thread that has less than this part of the core's width shares it: two threads that fill it have half each, and one beside
/// whatever another does seldom over three quarters.
const SHARED: f64 = 0.8;
/// Number of successive looks of a round that tell a width: an interruption of the chain makes its look wider than the core is, an
/// interruption of the adds narrower.
const IN_A_ROW: usize = 3;
/// Share within which they agree on a core alone; those of chains that were held up, each by something else, do not.
const ALIKE: f64 = 0.02;
/// Width that is more than ten chains of adds can do.
const MOST: f64 = 10.5;
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
        let of_design = design(host).map(|(_, adds, _)| *adds).filter(|width| OF_DESIGN.contains(&(seen.most / width)));
        let width = seen.most.max(of_design.unwrap_or(0.0));
        Some(Whole { width, is_certain: of_design.is_some() || seen.least < SHARED * width })
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
fn design(host: &HostFacts) -> Option<&'static (&'static str, f64, f64)> {
    let model = host.cpu.named_model().filter(|_| host.cpu.kinds.is_empty() && !host.cpu.is_later_design())?;
    DESIGNS.iter().find(|(name, ..)| model.contains(name))
}

/// Bytes that a core of the host's design loads in a cycle at most.
pub(super) fn loaded_bytes_by_design(host: &HostFacts) -> Option<f64> {
    design(host).map(|(.., bytes)| *bytes)
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
pub(crate) fn does_adds(case: &CaseRounds) -> bool {
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
#[path = "core_width_tests.rs"]
mod tests;
