//! Pairs the cases of two sides by id, and judges each pair.

use hostmark_model::{Better, FlagKind, Run, Text};
use hostmark_stats::compare::{benjamini_hochberg, welch};

use super::side::{Found, Records, ids, is_voted, named, round_medians, run_value, value};
use super::{
    Against, CaseComparison, Counts, Effect, History, Level, Pool, Test, Value, Verdict, differs, reason, verdict,
};
use crate::format::{DISTURBED_SHARE, percent};
use crate::labels::Labels;

/// Notes that say what was executed and where: a reader must know when they differ. Others are measured themselves.
const TELLING: [&str; 11] = [
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
];

/// The whole comparison of one side with the base.
pub(super) fn against(base: Pool, new: Pool, history: &History) -> Against {
    let (old_records, new_records) = (Records::of(base.runs), Records::of(new.runs));
    let floors = history.of(base.runs, new.runs);
    let labels: Vec<(&Run, Labels)> = base.runs.iter().chain(new.runs).map(|run| (run, Labels::of(run))).collect();
    let mut cases: Vec<CaseComparison> = Vec::new();
    for id in ids(base.runs, new.runs) {
        let (old, new) = (old_records.of_case(id), new_records.of_case(id));
        let Some(first) = old.first().or(new.first()) else { continue };
        let label = labels.iter().find(|(run, _)| std::ptr::eq(*run, first.run));
        let mut case = paired(first, old, new);
        case.label = label.map(|(_, labels)| labels.case(first.record)).unwrap_or_default();
        if let (Some(effect), None) = (&mut case.effect, &case.reason)
            && let Some(test) = &mut effect.test
        {
            test.floor = floors.floor(id, test.level, old, new);
        }
        cases.push(case);
    }
    judge(&mut cases);
    let differs = differs::differs(base.runs, new.runs);
    Against {
        side: named(new),
        differs: differs.differences,
        same: differs.same,
        program: differs::program(base.runs, new.runs),
        warnings: differs::warnings(base.runs, new.runs),
        counts: counts(&cases),
        cases,
    }
}

/// A case with what its values come to, before the other cases are known.
fn paired(first: &Found, old: &[Found], new: &[Found]) -> CaseComparison {
    let (old_value, new_value) = (value(old), value(new));
    let level = level(&old_value, &new_value);
    let mut effect = None;
    let mut verdict = Verdict::NotComparable;
    let meaning = reason::of_meaning(old, new);
    let why = match meaning {
        Some(why) => Some(why),
        None => {
            effect = untested(&old_value, &new_value);
            if let Some(voted) = voted(old, new, &effect) {
                // What forbids a verdict does so here too; that there are few rounds, or that it is derived, does not.
                let why = reason::of_values(old, new, Level::Run);
                verdict = if why.is_none() { voted } else { verdict };
                why
            } else {
                reason::of_values(old, new, level).or_else(|| {
                    effect = tested(old, new, level);
                    None
                })
            }
        }
    };
    let probe = old.iter().chain(new).find_map(|found| found.probe);
    CaseComparison {
        id: first.record.id.clone(),
        probe: first.record.probe.clone(),
        params: first.record.params.clone(),
        label: Text::default(),
        section: probe.map(|probe| probe.section.clone()).unwrap_or_default(),
        unit: probe.map(|probe| probe.unit),
        better: probe.map(|probe| probe.better),
        remarks: remarks(old, new, &old_value, &new_value),
        base: old_value,
        new: new_value,
        effect,
        verdict,
        reason: why,
    }
}

/// The verdict on a discrete quantity that rounds of both sides voted on: it is the same or another, and there is no test.
fn voted(old: &[Found], new: &[Found], effect: &Option<Effect>) -> Option<Verdict> {
    let all_voted = |side: &[Found]| side.iter().filter_map(Found::measured).all(is_voted);
    let ratio = effect.as_ref()?.ratio;
    let verdict = if ratio == 1.0 { Verdict::NoDifference } else { Verdict::Changed };
    (all_voted(old) && all_voted(new)).then_some(verdict)
}

/// Runs are the observations where both sides have several; otherwise rounds are.
fn level(old: &Option<Value>, new: &Option<Value>) -> Level {
    let has_several = |value: &Option<Value>| value.as_ref().is_some_and(|value| value.runs > 1);
    if has_several(old) && has_several(new) { Level::Run } else { Level::Round }
}

/// The ratio of the values, with nothing to tell how sure it is.
fn untested(old: &Option<Value>, new: &Option<Value>) -> Option<Effect> {
    let (old, new) = (old.as_ref()?.median, new.as_ref()?.median);
    (old > 0.0 && new > 0.0).then(|| Effect { ratio: new / old, test: None })
}

/// The ratio with its interval.
fn tested(old: &[Found], new: &[Found], level: Level) -> Option<Effect> {
    let observations = |side: &[Found]| -> Vec<f64> {
        let measured = side.iter().filter_map(Found::measured);
        match level {
            Level::Run => measured.map(run_value).collect(),
            Level::Round => measured.flat_map(round_medians).collect(),
        }
    };
    let found = welch(&observations(old), &observations(new))?;
    let floor = super::Floor { fraction: 0.0, source: super::FloorSource::Runs, runs: None };
    let test = Test { low: found.low, high: found.high, p_value: found.p_value, adjusted_p_value: 1.0, level, floor };
    Some(Effect { ratio: found.ratio, test: Some(test) })
}

/// Adjusts the p values for all cases that have one, and gives these cases their verdicts.
fn judge(cases: &mut [CaseComparison]) {
    let p_value = |case: &CaseComparison| Some(case.effect.as_ref()?.test.as_ref()?.p_value);
    let tested: Vec<usize> = (0..cases.len()).filter(|&index| p_value(&cases[index]).is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|&index| p_value(&cases[index])).collect();
    for (&index, adjusted) in tested.iter().zip(benjamini_hochberg(&p_values)) {
        let case = &mut cases[index];
        let medians = untested(&case.base, &case.new).map_or(1.0, |effect| effect.ratio);
        let better = case.better.unwrap_or(Better::Neither);
        let Some(effect) = &mut case.effect else { continue };
        let Some(test) = &mut effect.test else { continue };
        test.adjusted_p_value = adjusted;
        let test = test.clone();
        case.verdict = verdict::verdict(effect, &test, medians, better);
    }
}

fn counts(cases: &[CaseComparison]) -> Counts {
    let of = |verdict: Verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    Counts {
        slower: of(Verdict::Slower),
        faster: of(Verdict::Faster),
        changed: of(Verdict::Changed),
        no_difference: of(Verdict::NoDifference),
        not_comparable: of(Verdict::NotComparable),
    }
}

/// What a reader should know of a pair.
fn remarks(old: &[Found], new: &[Found], old_value: &Option<Value>, new_value: &Option<Value>) -> Vec<Text<String>> {
    let mut remarks = Vec::new();
    let mut say = |en: String, zh: String| remarks.push(Text { en, zh });
    for key in TELLING {
        let note = |side: &[Found]| side.iter().find_map(|found| found.measured()?.notes.get(key).cloned());
        if let (Some(before), Some(after)) = (note(old), note(new))
            && before != after
        {
            say(format!("{key} differs: {before} → {after}"), format!("{key} 不同：{before} → {after}"));
        }
    }
    let share = |value: &Option<Value>| {
        value.as_ref().map_or(0.0, |value| value.disturbed as f64 / value.samples.max(1) as f64)
    };
    let (before, after) = (share(old_value), share(new_value));
    if before.max(after) >= DISTURBED_SHARE {
        let (before, after) = (percent(before), percent(after));
        say(
            format!("disturbed samples: {before} on the base, {after} on the other side"),
            format!("受扰样本：基准一方 {before}，另一方 {after}"),
        );
    }
    let others =
        |side: &[Found]| side.iter().filter_map(|found| found.measured()?.noise.others_share).fold(0.0, f64::max);
    let (before, after) = (others(old), others(new));
    if before.max(after) > 0.0 {
        let (before, after) = (percent(before), percent(after));
        say(
            format!("other programs used {before} of its CPU on the base, {after} on the other side"),
            format!("其他程序占用其 CPU：基准一方 {before}，另一方 {after}"),
        );
    }
    let all = || old.iter().chain(new).filter_map(Found::measured);
    if all().any(|measured| measured.flags.iter().any(|flag| flag.kind == FlagKind::UnderResolution)) {
        say("a value is under what the clock can tell apart".into(), "有低于时钟分辨能力的数值".into());
    }
    for (side, value, en, zh) in
        [(old, old_value, "on the base", "基准一方"), (new, new_value, "on the other side", "另一方")]
    {
        let has = value.as_ref().map_or(0, |value| value.runs);
        if has > 0 && has < side.len() {
            let all = side.len();
            say(format!("only {has} of {all} runs have it {en}"), format!("{zh} {all} 次运行中只有 {has} 次测得"));
        }
    }
    remarks
}
