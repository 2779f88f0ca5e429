//! Pairs the cases of two sides by id, and judges each pair.

use hostmark_model::{Better, FlagKind, Measured, Message, Outcome, Run, Text, Unit};
use hostmark_say::say;
use hostmark_stats::compare::benjamini_hochberg;
use hostmark_stats::descriptive;
use hostmark_stats::repetition::Deviation;

use super::evidence::{self, Sides, evidence};
use super::in_turn::{self, InTurn};
use super::known::{self, Claim, KnownChange};
use super::reason::ObservationUnit;
use super::scatter::Scatters;
use super::side::{self, By, OfOneRun, Records, RunCase, ids, is_voted, named, of_runs, value};
use super::{
    Against, Aspect, CaseComparison, Counts, Effect, History, Pool, ReasonKind, SideValue, Test, Verdict, Without,
    clock, differs, group, reason, tables, verdict, widened,
};
use crate::constants::rows_by_case;
use crate::difference;
use crate::format::{DISTURBED_SHARE, percent};
use crate::groups::grouped;
use crate::labels::Labels;
use crate::neighbours::COST;
use crate::words;

/// Notes that say what was executed and where: a reader must know when they differ. Others are measured themselves.
const COMPARED_NOTES: [&str; 16] = [
    "kernel",
    "isa",
    "method",
    "filesystem",
    "interface",
    "shell",
    "program",
    "congestion_control",
    "capacity_bytes",
    "send_buffer_bytes",
    "node",
    "environment",
    "governor",
    "compiler",
    "sndbuf_actual",
    "rcvbuf_actual",
];

/// Design of the comparison: how the runs of both sides were made.
pub(super) enum Design<'a> {
    /// Each by itself: what earlier runs tell says how much runs differ.
    Apart(&'a History),
    /// Pairs of runs in turn, tested at these numbers of pairs.
    InTurn(&'a [usize]),
}

/// Inputs shared by the comparison of all cases.
struct Looked<'a> {
    sides: (&'a [Run], &'a [Run]),
    /// None where the runs were made in turn.
    scatters: Option<Scatters<'a>>,
    looks: &'a [usize],
    same_within: f64,
}

impl<'a> Looked<'a> {
    /// Both sides, where their runs were made in pairs.
    fn pairs(&self) -> Option<Sides<'a>> {
        self.scatters.is_none().then_some(self.sides)
    }
}

/// The whole comparison of one side with the base.
pub(super) fn against(base: Pool, new: Pool, design: &Design, same_within: f64) -> Against {
    let (old_records, new_records) = (Records::of(base.runs), Records::of(new.runs));
    let (scatters, looks) = match design {
        Design::Apart(history) => (Some(history.of(base.runs, new.runs)), &[][..]),
        Design::InTurn(looks) => (None, *looks),
    };
    let looked = Looked { sides: (base.runs, new.runs), scatters, looks, same_within };
    let labels: Vec<(&Run, Labels)> = base.runs.iter().chain(new.runs).map(|run| (run, Labels::of(run))).collect();
    let figures = rows_by_case(base.runs.iter().chain(new.runs));
    let (mut cases, mut differences): (Vec<CaseComparison>, Vec<KnownChange>) = Default::default();
    let mut clocked: [Vec<RunCase>; 2] = Default::default();
    for id in ids(base.runs, new.runs) {
        let (old, new) = (old_records.of_case(id), new_records.of_case(id));
        let Some(first) = old.first().or(new.first()) else { continue };
        let label = labels.iter().find(|(run, _)| std::ptr::eq(*run, first.run));
        let in_cycles = side::in_cycles(old, new);
        let [old, new] = in_cycles.as_ref().map_or([old, new], |sides| sides.each_ref().map(Vec::as_slice));
        let (mut case, known) = paired(first, old, new, &looked);
        case.label = label.map(|(_, labels)| crate::words(labels.case(first.record))).unwrap_or_default();
        case.figure = figures.iter().find(|(of, _)| *of == id).map(|(_, row)| *row);
        if in_cycles.is_some() {
            told_in_cycles(&mut case);
            clocked[0].extend(old);
            clocked[1].extend(new);
        }
        cases.push(case);
        differences.push(known);
    }
    // The clock is judged with the cases, and is none of them.
    let looks = looked.scatters.is_none().then_some(looks);
    let clock = clock::clock(&clocked, looked.sides, looks, same_within).map(|(clock, known)| {
        cases.push(clock);
        differences.push(known);
    });
    widened::widen(&cases, &mut differences, same_within);
    judge(&mut cases, &differences);
    let clock = clock.and_then(|()| {
        differences.pop();
        cases.pop()
    });
    let compared = group::Compared {
        cases: &cases,
        known: &differences,
        scatters: looked.scatters.as_ref(),
        sides: looked.sides,
        same_within,
    };
    let groups = group::groups(&compared);
    let tables = group::together(&compared, &tables::tables(base.runs.iter().chain(new.runs)));
    let differs = differs::differs(base.runs, new.runs);
    Against {
        side: named(new),
        differs: differs.differences,
        same: differs.same,
        program: differs::program(base.runs, new.runs),
        said: Vec::new(),
        warnings: differs::warnings(base.runs, new.runs),
        same_within,
        clock,
        groups,
        tables,
        counts: counts(&cases),
        without: without(&cases),
        cases,
    }
}

/// A case with what its values come to, before the other cases are known.
fn paired(first: &RunCase, old: &[RunCase], new: &[RunCase], looked: &Looked) -> (CaseComparison, KnownChange) {
    let by = By::leading(old, new);
    let (mut old_value, mut new_value) = (value(old, by), value(new, by));
    let level = level(&old_value, &new_value);
    let (mut effect, mut known) = (None, KnownChange::default());
    let mut verdict = Verdict::NotComparable;
    let why = match reason::of_meaning(old, new) {
        Some(why) => Some(why),
        None => {
            effect = untested(&old_value, &new_value);
            if let Some(voted) = voted(old, new, &effect) {
                // What forbids a verdict does so here too; that there are few rounds, or that it is derived, does not.
                let why = reason::of_values(old, new, ObservationUnit::Run);
                verdict = if why.is_none() { voted } else { verdict };
                why
            } else {
                reason::of_values(old, new, level).or_else(|| {
                    let of = |by: By| ChangeEvidence::of(&first.record.id, old, new, by, looked);
                    let leading = of(by);
                    let others = by.beside(old, new).filter_map(|by| Some((by, of(by)?)));
                    let others: Vec<(By, ChangeEvidence)> = others.filter(|_| leading.is_some()).collect();
                    if let (Some(found), Some(old), Some(new)) = (&leading, &mut old_value, &mut new_value) {
                        of_runs(old, &found.values[0]);
                        of_runs(new, &found.values[1]);
                    }
                    if let Some(effect) = &mut effect {
                        effect.test = leading.as_ref().map(ChangeEvidence::test);
                        effect.ratio = effect.test.as_ref().map_or(effect.ratio, |test| test.ratio);
                        let aspect = |(by, change): &(By, ChangeEvidence)| Aspect {
                            name: by.name().to_owned(),
                            test: change.test(),
                            evidence: evidence(*by, change.claim.difference.logarithm, old, new, looked.pairs()),
                        };
                        effect.others = others.iter().map(aspect).collect();
                    }
                    known = leading.map(|found| found.known).unwrap_or_default();
                    known.others = others.iter().map(|(_, change)| change.claim).collect();
                    if known.leading.is_none() { reason::of_pairs() } else { None }
                })
            }
        }
    };
    let probe = old.iter().chain(new).find_map(|found| found.probe);
    let is_failed = why.as_ref().is_some_and(|why| why.kind == ReasonKind::Failed);
    let case = CaseComparison {
        id: first.record.id.clone(),
        typed: first.run.typed_id(&first.record.id),
        probe: first.record.probe.clone(),
        params: first.record.params.clone(),
        label: Text::default(),
        figure: None,
        section: probe.map(|probe| probe.section.clone()).unwrap_or_default(),
        unit: probe.map(|probe| probe.unit),
        better: probe.map(|probe| probe.better),
        remarks: remarks(old, new, &old_value, &new_value, known.leading.is_some_and(|claim| claim.neighbour > 0.0)),
        beside: by.estimator().and_then(|by| side::other_values(old, new, by)),
        estimator: old_value.as_ref().or(new_value.as_ref()).and(by.estimator()),
        base: old_value,
        new: new_value,
        effect,
        verdict,
        failed_runs: if is_failed { 0 } else { failed_runs(old) + failed_runs(new) },
        reason: why,
    };
    (case, known)
}

/// Number of runs of a side in which the case failed.
fn failed_runs(side: &[RunCase]) -> usize {
    side.iter().filter(|found| matches!(found.record.outcome, Outcome::Failed { .. })).count()
}

/// The verdict on a discrete quantity that rounds of both sides voted on: it is the same or another, and there is no test.
fn voted(old: &[RunCase], new: &[RunCase], effect: &Option<Effect>) -> Option<Verdict> {
    let all_voted = |side: &[RunCase]| side.iter().filter_map(RunCase::measured).all(is_voted);
    let ratio = effect.as_ref()?.ratio;
    let verdict = if ratio == 1.0 { Verdict::Same } else { Verdict::Changed };
    (all_voted(old) && all_voted(new)).then_some(verdict)
}

/// Runs are the observations where both sides have several; otherwise rounds are.
fn level(old: &Option<SideValue>, new: &Option<SideValue>) -> ObservationUnit {
    let has_several = |value: &Option<SideValue>| value.as_ref().is_some_and(|value| value.runs > 1);
    if has_several(old) && has_several(new) { ObservationUnit::Run } else { ObservationUnit::Round }
}

/// Share of looks at its core that met another thread, from which on a case may never have been alone long enough.
const SELDOM_ALONE: f64 = 0.25;

/// Largest slowdown of each side by sharing its core, on the logarithms. Where only one side knows its share, the other's may be as large.
fn neighbours(by: By, old: &[RunCase], new: &[RunCase], of_run: fn(&Measured) -> Option<f64>) -> [f64; 2] {
    let shares = [old, new].map(|side| share(side, of_run));
    let is_told = shares.iter().any(Option::is_some);
    shares.map(|share| match share.map_or(is_told, |share| share >= SELDOM_ALONE) {
        true if by == By::Quiet => COST.ln_1p(),
        _ => 0.0,
    })
}

/// Side that came out worse: 0 the base, 1 the other.
fn worse(logarithm: f64, old: &[RunCase], new: &[RunCase]) -> usize {
    let better = old.iter().chain(new).find_map(|found| found.probe).map_or(Better::Neither, |probe| probe.better);
    usize::from((logarithm > 0.0) != (better == Better::Higher))
}

/// The share of looks at the core that met another thread there, on average over the runs that tell; none where none does.
fn share(side: &[RunCase], of_run: fn(&Measured) -> Option<f64>) -> Option<f64> {
    let shares: Vec<f64> = side.iter().filter_map(|found| of_run(found.measured()?)).collect();
    descriptive::mean(&shares)
}

/// The share of all rounds together: a group is off by what its cases are off in common, even a little.
fn shared(measured: &Measured) -> Option<f64> {
    measured.noise.shared
}

/// The share of the round that was alone most, of all where none tells: a case's undisturbed value needs no more than one round.
fn least_shared(measured: &Measured) -> Option<f64> {
    measured.rounds.iter().filter_map(|round| round.shared).reduce(f64::min).or(measured.noise.shared)
}

/// The ratio of the values, with nothing to tell how sure it is.
fn untested(old: &Option<SideValue>, new: &Option<SideValue>) -> Option<Effect> {
    let (old, new) = (old.as_ref()?.value, new.as_ref()?.value);
    (old > 0.0 && new > 0.0).then(|| Effect { ratio: new / old, test: None, others: Vec::new() })
}

/// Evidence for the change of a case.
struct ChangeEvidence {
    claim: Claim,
    known: KnownChange,
    /// Standard deviation between runs, and how many tell it.
    deviation: f64,
    runs: usize,
    /// The values of either side that it is the change of.
    values: [Vec<f64>; 2],
}

impl ChangeEvidence {
    /// The runs of both sides, and how much runs differ. One run a side never tells more than that allows.
    fn of(id: &str, old: &[RunCase], new: &[RunCase], by: By, looked: &Looked) -> Option<ChangeEvidence> {
        let Some(scatters) = &looked.scatters else { return ChangeEvidence::in_turn(old, new, by, looked) };
        let of_side = |side: &[RunCase]| -> Vec<f64> {
            side.iter().filter_map(|found| by.value(found)).filter(|value| value.ln().is_finite()).collect()
        };
        let values = [of_side(old), of_side(new)];
        let [before, after] = values.each_ref().map(|side| side.iter().map(|value| value.ln()).collect::<Vec<f64>>());
        let one = by.of_one_run(&old.iter().chain(new).collect::<Vec<_>>())?;
        let OfOneRun { assumed, in_common, own, .. } = one;
        let known = scatters.of(id, by, old, new, Deviation::assumed(one.deviation().sd));
        let (deviation, runs) = known.map_or((assumed, 0), |known| (known.sd, known.runs));
        let known = known.unwrap_or_else(|| one.deviation());
        let difference = difference::between(&before, &after, known.sd.powi(2), known.freedom)?;
        let sides = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
        // Errors that stored runs tell are too near for values that are a little off.
        let (in_common, of_run) =
            if runs > 0 { (deviation, shared as fn(&_) -> _) } else { (in_common, least_shared as _) };
        let neighbour = neighbours(by, old, new, of_run)[worse(difference.logarithm, old, new)];
        let claim = Claim::of(difference, neighbour, looked.same_within, runs > 0);
        let neighbours = neighbours(by, old, new, shared);
        let known = KnownChange { leading: Some(claim), others: Vec::new(), own, in_common, sides, neighbours };
        Some(ChangeEvidence { claim, known, deviation, runs, values })
    }

    /// Pairs that were made in turn: how much they differ is all that there is to know.
    fn in_turn(old: &[RunCase], new: &[RunCase], by: By, looked: &Looked) -> Option<ChangeEvidence> {
        let Looked { sides, looks, same_within, .. } = looked;
        let (outcome, values) = in_turn::of(*sides, (old, new), by, looks, *same_within)?;
        let InTurn { difference, changed, same, pairs, .. } = outcome;
        let sides = 2.0 / pairs as f64;
        let deviation = difference.error / sides.sqrt();
        let claim = Claim::of_looks(difference, changed, same);
        let known = KnownChange { leading: Some(claim), in_common: deviation, sides, ..KnownChange::default() };
        Some(ChangeEvidence { claim, known, deviation, runs: 2 * pairs, values })
    }

    /// The test, before the other cases are known.
    fn test(&self) -> Test {
        self.claim.test(self.deviation, self.runs)
    }
}

/// Says of a case that is compared in cycles that its values are: times in cycles, rates in what a cycle does.
fn told_in_cycles(case: &mut CaseComparison) {
    case.unit = case.unit.map(|unit| match unit {
        Unit::Nanoseconds => Unit::CoreCycles,
        _ => Unit::Ratio,
    });
    if case.unit == Some(Unit::Ratio) {
        case.label = words(say!("{label}, per cycle", label = case.label));
    }
}

/// Adjusts the p values for all cases that have one, and gives these cases their verdicts. What else is compared is adjusted by itself.
fn judge(cases: &mut [CaseComparison], known: &[KnownChange]) {
    let leading = adjusted(known.iter().map(|one| one.leading));
    let mut others = adjusted(known.iter().flat_map(|one| one.others.iter().copied().map(Some))).into_iter();
    for ((case, known), leading) in cases.iter_mut().zip(known).zip(leading) {
        let better = case.better.unwrap_or(Better::Neither);
        let Some(effect) = &mut case.effect else { continue };
        for (aspect, claim) in effect.others.iter_mut().zip(&known.others) {
            if let Some(adjusted) = others.next().flatten() {
                claim.fill(&mut aspect.test, adjusted);
            }
        }
        if let (Some(test), Some(claim), Some(adjusted)) = (&mut effect.test, known.leading, leading) {
            claim.fill(test, adjusted);
            case.verdict = verdict::verdict(test, &effect.others, better);
            let shown = effect.others.iter().filter(|aspect| aspect.test.is_shown());
            case.remarks.extend(shown.filter_map(evidence::remark));
        }
    }
}

/// Adjusts the p values of "no change" and of "as much as that or more" of each difference among all, and gives the change that would have
/// been seen, and the level of their intervals.
fn adjusted(claims: impl Iterator<Item = Option<Claim>>) -> Vec<Option<[f64; 4]>> {
    let all: Vec<Option<Claim>> = claims.collect();
    let known: Vec<Claim> = all.iter().flatten().copied().collect();
    let by = |p: fn(&Claim) -> f64| benjamini_hochberg(&known.iter().map(p).collect::<Vec<f64>>());
    let (changed, same) = (by(|one| one.changed), by(|one| one.same));
    let [of_intervals, of_next] = known::levels(&changed);
    let mut results = known
        .iter()
        .zip(changed)
        .zip(same)
        .map(|((one, changed), same)| [changed, same, one.visible(of_next), of_intervals]);
    all.iter().map(|one| one.and_then(|_| results.next())).collect()
}

fn counts(cases: &[CaseComparison]) -> Counts {
    let of = |verdict: Verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    let undecided = cases.iter().filter(|case| case.verdict == Verdict::Inconclusive);
    let visible: Vec<f64> = undecided.filter_map(|case| Some(case.effect.as_ref()?.test.as_ref()?.visible)).collect();
    Counts {
        slower: of(Verdict::Slower),
        faster: of(Verdict::Faster),
        changed: of(Verdict::Changed),
        changed_shape: of(Verdict::ChangedShape),
        same: of(Verdict::Same),
        inconclusive: of(Verdict::Inconclusive),
        not_comparable: of(Verdict::NotComparable),
        partly_failed: cases.iter().filter(|case| case.failed_runs > 0).count(),
        visible: descriptive::median(&visible).filter(|visible| visible.is_finite()),
    }
}

/// Reasons why cases have no verdict, the most frequent first.
fn without(cases: &[CaseComparison]) -> Vec<Without> {
    let reasons = cases.iter().filter_map(|case| case.reason.as_ref());
    let groups = grouped(reasons.map(|reason| ((reason.kind, reason.on), ())));
    let without = |((kind, on), cases): (_, Vec<()>)| Without { kind, on, cases: cases.len() };
    let mut all: Vec<Without> = groups.into_iter().map(without).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.cases));
    all
}

/// Remarks on a pair for a reader; `is_bounded` where only what exceeds a neighbour's cost counts.
fn remarks(
    old: &[RunCase],
    new: &[RunCase],
    old_value: &Option<SideValue>,
    new_value: &Option<SideValue>,
    is_bounded: bool,
) -> Vec<Text<String>> {
    let mut remarks = Vec::new();
    let mut add = |text: Message| remarks.push(words(text));
    // A shorter profile may have taken main memory at a smaller size, where translation costs less.
    let is_of_memory = old.first().is_some_and(|found| found.record.params.get("level") == Some("dram"));
    for key in COMPARED_NOTES.into_iter().chain(is_of_memory.then_some("at")) {
        let note = |side: &[RunCase]| side.iter().find_map(|found| found.measured()?.notes.get(key).cloned());
        if let (Some(before), Some(after)) = (note(old), note(new))
            && before != after
        {
            add(say!("{key} differs: {before} → {after}"));
        }
    }
    let disturbed = |value: &Option<SideValue>| {
        value.as_ref().map_or(0.0, |value| value.disturbed as f64 / value.samples.max(1) as f64)
    };
    let (before, after) = (disturbed(old_value), disturbed(new_value));
    if before.max(after) >= DISTURBED_SHARE {
        let (before, after) = (percent(before), percent(after));
        add(say!("disturbed samples: {before} on the base, {after} on the other side"));
    }
    if is_bounded {
        let shares = [old, new].map(|side| share(side, shared));
        let told = |share: Option<f64>| share.map_or_else(|| say!("an unknown part"), |share| percent(share).into());
        let (cost, [before, after]) = (percent(COST), shares.map(told));
        add(say!(
            "another thread ran on its core {before} of the time on the base, {after} on the other side: {cost} of a change may be that"
        ));
    }
    let others =
        |side: &[RunCase]| side.iter().filter_map(|found| found.measured()?.noise.others_share).fold(0.0, f64::max);
    let (before, after) = (others(old), others(new));
    if before.max(after) > 0.0 {
        let (before, after) = (percent(before), percent(after));
        add(say!("other programs used {before} of its CPU on the base, {after} on the other side"));
    }
    let all = || old.iter().chain(new).filter_map(RunCase::measured);
    if all().any(|measured| measured.flags.iter().any(|flag| flag.kind == FlagKind::UnderResolution)) {
        add(say!("a value is below clock resolution"));
    }
    for (side, value, place) in [(old, old_value, term!("on the base")), (new, new_value, term!("on the other side"))] {
        let has = value.as_ref().map_or(0, |value| value.runs);
        if has > 0 && has < side.len() {
            let all = side.len();
            add(say!("only {has} of {all} runs have it {place}"));
        }
        let failed = failed_runs(side);
        if has > 0 && failed > 0 {
            add(say!("it failed in {failed} runs {place}"));
        }
    }
    remarks
}
