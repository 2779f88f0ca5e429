//! Other programs that used the CPUs of cases while these were measured.

use std::collections::BTreeMap;

use hostmark_model::{CaseRecord, FlagKind, Measured, RoundRecord, Run, Text, counted};
use hostmark_say::say;

use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::format::percent;
use crate::texts::findings::contention as texts;
use crate::words;

/// Least share of the rounds that is worth a finding: less was a moment, which the cases' own marks show.
const NOTABLE: f64 = 0.02;
/// The cases that are named, those that lost most first.
const MOST_CASES: usize = 5;

pub(super) static RULE: Rule = Rule {
    id: "run.contention",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw,
};

/// Share of the marked cases' CPUs that others used, on average over their rounds.
fn share(measured: &Measured) -> Option<f64> {
    let is_marked = measured.flags.iter().any(|flag| flag.kind == FlagKind::Contended);
    measured.noise.others_share.filter(|share| is_marked && share.is_finite())
}

fn draw(run: &Run) -> Vec<Conclusion> {
    let mut marked: Vec<(f64, &CaseRecord)> =
        run.cases.iter().filter_map(|case| Some((share(case.measured()?)?, case))).collect();
    let measured = || run.cases.iter().filter_map(CaseRecord::measured);
    let judged = measured().flat_map(|measured| &measured.rounds).filter(|round| round.others.is_some()).count();
    let hit = |measured: &Measured| measured.noise.contended_rounds.map_or(0.0, f64::from);
    let rounds: f64 = measured().map(hit).sum();
    if marked.is_empty() || judged == 0 || rounds < NOTABLE * judged as f64 {
        return Vec::new();
    }
    // What the run lost: nothing in the rounds that others did not disturb.
    let lost: f64 = measured().map(|measured| hit(measured) * share(measured).unwrap_or(0.0)).sum();
    let (cost, on_average) = (lost / judged as f64, lost / rounds);
    marked.sort_by(|one, other| other.0.total_cmp(&one.0));
    let cases = marked.iter().take(MOST_CASES).map(|(_, case)| case.id.clone()).collect();
    let (count, all, share) = (marked.len(), measured().count(), percent(on_average));
    let cpus = most_used(run).map_or_else(Text::default, |cpu| words(say!(", CPU {cpu} most")));
    let of_all = counted(all, "case");
    let text = texts::text!(share, count, all = Text { en: &of_all, zh: &all.to_string() }, cpus);
    let short = short(texts::short!(share, count, all = Text { en: &of_all, zh: &all.to_string() }));
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
