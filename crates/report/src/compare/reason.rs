//! Why a case has no verdict, in the order in which a reader would ask.

use hostmark_model::{Lang, Measured, ProbeInfo, Text, Unit};

use super::side::{Found, is_implausible, round_medians, without_value};
use super::{Reason, ReasonKind};
use crate::consistency;
use crate::format::unit_name;
use crate::reasons;

/// Of one round alone nothing tells how far it may be off.
const LEAST_ROUNDS: usize = 2;

/// What a comparison counts as one observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// The run of a side, by its rounds.
    Round,
    /// The values of runs, where both sides have several.
    Run,
}

/// The key under which a case notes the pages that the kernel gave.
const PAGES: &str = "pages";

fn reason(kind: ReasonKind, en: impl Into<String>, zh: impl Into<String>) -> Option<Reason> {
    Some(Reason { kind, text: Text { en: en.into(), zh: zh.into() } })
}

/// What stands in the way of comparing the two sides' values at all.
pub(super) fn of_meaning(base: &[Found], new: &[Found]) -> Option<Reason> {
    match (base, new) {
        (_, []) => return reason(ReasonKind::OneSide, "only the base has it", "只有基准一方有此用例"),
        ([], _) => return reason(ReasonKind::OneSide, "the base does not have it", "基准一方没有此用例"),
        _ => {}
    }
    differing(base, new, |probe| probe.revision.to_string())
        .and_then(|(old, new)| {
            reason(
                ReasonKind::Revision,
                format!("the probe's revision differs: {old} and {new} do not mean the same"),
                format!("探针的修订号不同：{old} 与 {new} 含义不同"),
            )
        })
        .or_else(|| {
            let unit = |unit: Unit, lang| unit_name(unit, lang).to_owned();
            let (old, new) = differing(base, new, |probe| unit(probe.unit, hostmark_model::Lang::En))?;
            reason(ReasonKind::Unit, format!("the unit differs: {old}, {new}"), format!("单位不同：{old}、{new}"))
        })
        .or_else(|| without(base, new))
        .or_else(|| contradiction(base, new))
}

/// A side whose numbers cannot be true together.
fn contradiction(base: &[Found], new: &[Found]) -> Option<Reason> {
    let of_side = |side: &[Found]| side.iter().find_map(|found| consistency::of_case(found.record, found.probe));
    let (en, zh, what) = of_side(base)
        .map(|what| ("the base", "基准一方", what))
        .or_else(|| Some(("the other side", "另一方", of_side(new)?)))?;
    reason(
        ReasonKind::ContradictsItself,
        format!("{en} contradicts itself: {}", what.en),
        format!("{zh}自相矛盾：{}", what.zh),
    )
}

/// A property of the probe that is not the same in all runs: what each side has.
fn differing(base: &[Found], new: &[Found], of: impl Fn(&ProbeInfo) -> String) -> Option<(String, String)> {
    let of_side = |side: &[Found]| {
        let mut all: Vec<String> = side.iter().filter_map(|found| found.probe).map(&of).collect();
        all.sort();
        all.dedup();
        all
    };
    let (old, new) = (of_side(base), of_side(new));
    let is_one = old == new && old.len() <= 1 || old.is_empty() || new.is_empty();
    (!is_one).then(|| (old.join(" | "), new.join(" | ")))
}

/// A side without a value, and why.
fn without(base: &[Found], new: &[Found]) -> Option<Reason> {
    let said = |failed: bool| if failed { ("failed", "失败") } else { ("skipped", "已跳过") };
    let kind = |failed: bool| if failed { ReasonKind::Failed } else { ReasonKind::Skipped };
    let told = |why| reasons::told(why, Lang::Zh);
    match (without_value(base), without_value(new)) {
        (None, None) => None,
        (Some((one, why)), Some((other, why_other))) if why == why_other && one == other => {
            let (en, zh) = said(one);
            reason(kind(one), format!("{en} on both sides: {why}"), format!("双方均{zh}：{}", told(why)))
        }
        (Some((one, why)), Some((other, why_other))) => {
            let ((en, zh), (other_en, other_zh)) = (said(one), said(other));
            reason(
                kind(one || other),
                format!("{en} on the base: {why}; {other_en} on the other side: {why_other}"),
                format!("基准一方{zh}：{}；另一方{other_zh}：{}", told(why), told(why_other)),
            )
        }
        (Some((failed, why)), None) => {
            let (en, zh) = said(failed);
            reason(kind(failed), format!("{en} on the base: {why}"), format!("基准一方{zh}：{}", told(why)))
        }
        (None, Some((failed, why))) => {
            let (en, zh) = said(failed);
            reason(kind(failed), format!("{en} on the other side: {why}"), format!("另一方{zh}：{}", told(why)))
        }
    }
}

/// What forbids a verdict where both sides have values of the same meaning.
pub(super) fn of_values(base: &[Found], new: &[Found], level: Level) -> Option<Reason> {
    let sides = || base.iter().chain(new);
    let measured = || sides().filter_map(Found::measured);
    if let Some((old, new)) = pages(base, new) {
        return reason(
            ReasonKind::PageSize,
            format!("page size obtained differs: {old}, {new}"),
            format!("实际得到的页大小不同：{old}、{new}"),
        );
    }
    if measured().any(is_implausible) {
        return reason(ReasonKind::Implausible, "a value is implausible", "有不可信的数值");
    }
    if sides().any(|found| found.run.imported.is_some()) && level == Level::Round {
        return reason(
            ReasonKind::OneValue,
            "one value of another tool, without an interval",
            "其他工具的单个数值，没有区间",
        );
    }
    if level == Level::Round {
        if measured().any(|measured| measured.rounds.is_empty()) {
            return reason(
                ReasonKind::Derived,
                "computed from other cases, which have verdicts of their own",
                "由其他用例计算得出，见那些用例的判定",
            );
        }
        let rounds = |side: &[Found]| side.iter().filter_map(Found::measured).map(|one| one.rounds.len()).sum();
        let (old, new): (usize, usize) = (rounds(base), rounds(new));
        if old.min(new) < LEAST_ROUNDS {
            return reason(
                ReasonKind::TooFewRounds,
                format!("too few rounds: {old} and {new}, and it takes {LEAST_ROUNDS}"),
                format!("轮数不足：{old} 与 {new}，至少需要 {LEAST_ROUNDS}"),
            );
        }
    }
    let values = |measured: &Measured| match level {
        Level::Round => round_medians(measured),
        Level::Run => vec![measured.estimate.median],
    };
    if measured().flat_map(values).any(|value| value <= 0.0) {
        return reason(ReasonKind::NotPositive, "a value is zero or negative", "有为零或为负的数值");
    }
    None
}

/// Too few pairs of runs made in turn.
pub(super) fn of_pairs() -> Option<Reason> {
    reason(
        ReasonKind::TooFewPairs,
        "fewer pairs of runs have it on both sides than the first look takes",
        "双方均测得它的成对运行少于首次检视所需",
    )
}

/// The pages that the two sides got, where they differ. Base pages have a size of their own on each kernel.
fn pages(base: &[Found], new: &[Found]) -> Option<(String, String)> {
    let of_side = |side: &[Found]| {
        let one = |found: &Found| {
            let pages = found.measured()?.notes.get(PAGES)?;
            let size = match pages.as_str() {
                "base" => found.run.host.memory.page_bytes,
                "pmd" => found.run.host.memory.pmd_page_bytes.unwrap_or(0),
                _ => 0,
            };
            let size = if size > 0 { format!(" ({})", hostmark_model::size_text(size)) } else { String::new() };
            Some(format!("{pages}{size}"))
        };
        let mut all: Vec<String> = side.iter().filter_map(one).collect();
        all.sort();
        all.dedup();
        all
    };
    let (old, new) = (of_side(base), of_side(new));
    let is_same = old == new && old.len() <= 1 || old.is_empty() || new.is_empty();
    (!is_same).then(|| (old.join(" | "), new.join(" | ")))
}
