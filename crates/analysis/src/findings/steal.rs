//! Rules on what other programs and other guests of the same machine took: CPU time, cores, caches.

use std::collections::BTreeMap;

use hostmark_model::{CaseRecord, FlagKind, Measured, Message, RoundRecord, Run, Text, counted};
use hostmark_say::say;

use super::evidence::{Proven, believed};
use super::{Conclusion, DISTURBED, Demonstration, Doubt, NOTHING, QUOTA_OF_ONE, Rule, WRONG, YIELDS};
use crate::duration::duration_s;
use crate::format::{bytes_text, number, percent, time_text};
use crate::levels::{HIERARCHY, LEVELS};
use crate::neighbours::{SHARED, slowed};
use crate::texts::findings as texts;
use crate::words;

/// Steal is counted in ticks of 10 ms: ten of them are no chance.
const LEAST_NS: f64 = 100e6;
/// One lost time slice in a hundred is seen in tails, and soon in medians.
const NOTABLE_STEAL: f64 = 0.01;
/// The cases that are named, those that lost most first.
const MOST_CASES: usize = 5;

pub(super) static STEAL: Rule = Rule {
    id: "run.steal",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::steal::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw: steal,
};

/// Stolen time of a case per CPU that it used, ns.
pub fn stolen_ns(case: &CaseRecord) -> Option<f64> {
    let measured = case.measured()?;
    let cpus = measured.rounds.iter().map(|round| round.cpus.len()).max().unwrap_or(1).max(1);
    measured.noise.steal_ns.filter(|ns| ns.is_finite() && *ns > 0.0).map(|ns| ns / cpus as f64)
}

/// Makes steal unknown in a run whose counter `is_broken`, or jumped in a round: the other rounds' is that counter's too. Returns true then.
pub fn forget_broken(cases: &mut [CaseRecord], is_broken: bool) -> bool {
    let known = |is_known| move |round: &RoundRecord| round.steal_ns.is_some() == is_known;
    let any = |is_known| cases.iter().filter_map(CaseRecord::measured).flat_map(|one| &one.rounds).any(known(is_known));
    let is_broken = is_broken || any(true) && any(false);
    for measured in cases.iter_mut().filter(|_| is_broken).filter_map(CaseRecord::measured_mut) {
        measured.noise.steal_ns = None;
        measured.rounds.iter_mut().for_each(|round| round.steal_ns = None);
    }
    is_broken
}

/// The share of a run's time that the hypervisor gave to others; none where that is too little to say so.
pub(crate) fn stolen_share(run: &Run) -> Option<f64> {
    let total_ns: f64 = run.cases.iter().filter_map(stolen_ns).sum();
    let whole_ns = duration_s(run).map(|seconds| seconds * 1e9).filter(|ns| *ns > 0.0)?;
    // More than there was is a broken counter.
    let share = Some(total_ns / whole_ns).filter(|share| *share <= 1.0)?;
    (total_ns >= LEAST_NS && share >= NOTABLE_STEAL).then_some(share)
}

fn steal(run: &Run) -> Vec<Conclusion> {
    let Some(cost) = stolen_share(run) else { return Vec::new() };
    let mut stolen: Vec<(f64, &CaseRecord)> =
        run.cases.iter().filter_map(|case| Some((stolen_ns(case)?, case))).collect();
    let total_ns: f64 = stolen.iter().map(|(ns, _)| ns).sum();
    let whole_ns = duration_s(run).unwrap_or(0.0) * 1e9;
    stolen.sort_by(|one, other| other.0.total_cmp(&one.0));
    let cases = stolen.iter().take(MOST_CASES).map(|(_, case)| case.id.clone()).collect();
    let (share, [time, whole]) = (percent(cost), [total_ns, whole_ns].map(time_text));
    let text = texts::steal::text!(time, whole, share);
    let short = texts::steal::short!(share, time, whole);
    vec![Conclusion { short, text, cases, cost }]
}

/// Least share of the rounds that is worth a finding: less was a moment, which the cases' own marks show.
const CONTENDED_ROUNDS: f64 = 0.02;

pub(super) static CONTENTION: Rule = Rule {
    id: "run.contention",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::contention::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw: contention,
};

/// Share of the marked cases' CPUs that others used, on average over their rounds.
fn used_by_others(measured: &Measured) -> Option<f64> {
    let is_marked = measured.flags.iter().any(|flag| flag.kind == FlagKind::Contended);
    measured.noise.others_share.filter(|share| is_marked && share.is_finite())
}

fn contention(run: &Run) -> Vec<Conclusion> {
    let mut marked: Vec<(f64, &CaseRecord)> =
        run.cases.iter().filter_map(|case| Some((used_by_others(case.measured()?)?, case))).collect();
    let measured = || run.cases.iter().filter_map(CaseRecord::measured);
    let judged = measured().flat_map(|measured| &measured.rounds).filter(|round| round.others.is_some()).count();
    let hit = |measured: &Measured| measured.noise.contended_rounds.map_or(0.0, f64::from);
    let rounds: f64 = measured().map(hit).sum();
    if marked.is_empty() || judged == 0 || rounds < CONTENDED_ROUNDS * judged as f64 {
        return Vec::new();
    }
    // What the run lost: nothing in the rounds that others did not disturb.
    let lost: f64 = measured().map(|measured| hit(measured) * used_by_others(measured).unwrap_or(0.0)).sum();
    let (cost, on_average) = (lost / judged as f64, lost / rounds);
    marked.sort_by(|one, other| other.0.total_cmp(&one.0));
    let cases = marked.iter().take(MOST_CASES).map(|(_, case)| case.id.clone()).collect();
    let (count, all, share) = (marked.len(), measured().count(), percent(on_average));
    let cpus = most_used(run).map_or_else(Text::default, |cpu| words(say!(", CPU {cpu} most")));
    let of_all = counted(all, "case");
    let text = texts::contention::text!(share, count, all = Text { en: &of_all, zh: &all.to_string() }, cpus);
    let short = texts::contention::short!(share, count, all = Text { en: &of_all, zh: &all.to_string() });
    vec![Conclusion { short, text, cases, cost }]
}

/// The CPU of which others used most, over the rounds of one CPU.
fn most_used(run: &Run) -> Option<usize> {
    let mut of_cpu: BTreeMap<usize, f64> = BTreeMap::new();
    let rounds = run.cases.iter().filter_map(CaseRecord::measured).flat_map(|measured| &measured.rounds);
    for RoundRecord { cpus, others, .. } in rounds {
        if let (Some(first), Some(others)) = (cpus.first(), others)
            && cpus.iter().all(|cpu| cpu == first)
        {
            *of_cpu.entry(*first).or_default() += others.share;
        }
    }
    of_cpu.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).map(|(cpu, _)| cpu)
}

/// Least distance of the typical value from the best round.
const BEHIND_BEST: f64 = 0.10;

pub(super) static ROUNDS_DIFFER: Rule = Rule {
    id: "memory.rounds_differ",
    shown: Demonstration::Run,
    probes: &[HIERARCHY],
    cure: Some(texts::neighbours::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: rounds_differ,
};

pub(super) fn rounds_differ(run: &Run) -> Vec<Conclusion> {
    let (mut levels, mut cases) = (Vec::new(), Vec::new());
    let (mut cost, mut worst) = (0.0_f64, Text::default());
    for level in LEVELS {
        let Some(case) = level.case(run) else { continue };
        let Some(measured) = case.measured() else { continue };
        let (typical, best) = (measured.estimate.typical, measured.estimate.best_round);
        let behind = 1.0 - best / typical;
        // The flag stands for the same rule; a run from before it says the same by its numbers.
        let is_flagged = measured.flags.iter().any(|flag| flag.kind == FlagKind::BestRoundGap);
        if best > 0.0 && behind > 0.0 && (behind > BEHIND_BEST || is_flagged) {
            let name = level.name;
            let [best, typical] = [best, typical].map(time_text);
            if behind > cost {
                cost = behind;
                worst = texts::neighbours::short!(name, best, typical);
            }
            let behind = percent(behind);
            levels.push(say!("{name} {best} in the best round, {typical} median ({behind})"));
            cases.push(case.id.clone());
        }
    }
    if cases.is_empty() {
        return Vec::new();
    }
    let text = texts::neighbours::text!(levels = words(Message::joined(levels, term!(", ", "findings"))));
    vec![Conclusion { short: worst, text, cases, cost }]
}

pub(super) static SHARED_BY_OTHERS: Rule = Rule {
    id: "run.neighbours",
    shown: Demonstration::Try("busy-neighbour"),
    probes: &[],
    cure: Some(texts::shared_by_others::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: shared_by_others,
};

fn shared_by_others(run: &Run) -> Vec<Conclusion> {
    let Some(neighbours) = &run.neighbours else { return Vec::new() };
    let core = neighbours.core_shared.filter(|shared| *shared >= SHARED).map(|shared| {
        let share = percent(shared);
        let text = texts::shared_by_others::core_text!(share);
        // Of the time in which it is shared about half is lost.
        let short = texts::shared_by_others::core_short!(share);
        Conclusion { short, text, cases: Vec::new(), cost: (shared / 2.0).min(1.0) }
    });
    let cache = neighbours.last_cache.as_ref().and_then(|cache| {
        let (fastest_ns, slowest_ns) = slowed(run)?;
        let [fastest, slowest] = [fastest_ns, slowest_ns].map(time_text);
        let size = bytes_text(cache.bytes as f64);
        let text = texts::shared_by_others::cache_text!(size, fastest, slowest);
        let short = texts::shared_by_others::cache_short!(fastest, slowest);
        Some(Conclusion { short, text, cases: Vec::new(), cost: 1.0 - fastest_ns / slowest_ns })
    });
    core.into_iter().chain(cache).collect()
}

const NOISE_PROBE: &str = "sched.noise";
const SECOND_NS: f64 = 1e9;
/// A thousand ticks a second, each with all exits that a guest pays, take no more than this share.
const NOTABLE_NOISE: f64 = 0.02;
/// Gaps of ticks and interrupts are shorter, time slices of other programs longer. ns
const INTERRUPT_NS: f64 = 100e3;
const SLICE_NS: f64 = 1e6;

pub(super) static NOISE: Rule = Rule {
    id: "sched.noisy_cpu",
    shown: Demonstration::Explain("sched.noise"),
    probes: &[NOISE_PROBE],
    cure: Some(texts::noise::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| noise(run).into_iter().collect(),
};

fn noise(run: &Run) -> Option<Conclusion> {
    let case = run.cases.iter().find(|case| case.probe == NOISE_PROBE)?;
    let lost_ns = Proven::of_case(case).filter(|lost| lost.low > NOTABLE_NOISE * SECOND_NS)?;
    let cost = (lost_ns.value / SECOND_NS).min(1.0);
    let also = |name: &str| believed(case)?.also.get(name).map(|also| also.estimate.value());
    let (gaps, typical, longest) = (also("gaps")?, also("typical")?, also("longest")?);
    let why = match typical {
        ns if ns < INTERRUPT_NS => texts::noise::why_interrupts!(),
        ns if ns < SLICE_NS => texts::noise::why_threads!(),
        _ => texts::noise::why_slices!(),
    };
    let (share, gaps) = (percent(cost), number(gaps));
    let [typical, longest] = [typical, longest].map(time_text);
    let text = texts::noise::text!(share, gaps, typical, longest, why);
    let short = texts::noise::short!(share, gaps, longest);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
