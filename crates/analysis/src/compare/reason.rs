//! Reasons why a case has no verdict, in the order in which a reader would ask.

use std::collections::BTreeSet;

use hostmark_model::imported::ASKED;
use hostmark_model::{
    AxisKind, CacheFact, Flag, FlagKind, Measured, Message, ProbeInfo, is_of_small_buffer, typed_value,
};
use hostmark_say::say;

use super::side::{RunCase, SIZE, is_implausible, round_medians, without_value};
use super::{NoVerdictReason, On, ReasonKind};
use crate::consistency;
use crate::format::unit_name;
use crate::{reasons, words};

/// Least number of rounds: one alone has no error.
const LEAST_ROUNDS: usize = 2;

/// Unit that a comparison counts as one observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObservationUnit {
    /// The run of a side, by its rounds.
    Round,
    /// The values of runs, where both sides have several.
    Run,
}

/// The key under which a case notes the pages that the kernel gave.
const PAGES: &str = "pages";

fn reason(kind: ReasonKind, on: On, text: Message) -> Option<NoVerdictReason> {
    Some(NoVerdictReason { kind, on, is_open: true, text: words(text) })
}

/// The same of what `--strict` lets pass, since it is no question.
fn closed(reason: Option<NoVerdictReason>) -> Option<NoVerdictReason> {
    reason.map(|reason| NoVerdictReason { is_open: false, ..reason })
}

/// Side that something is about, which at least one has.
fn on(base: bool, new: bool) -> On {
    match (base, new) {
        (true, false) => On::Base,
        (false, true) => On::New,
        _ => On::Both,
    }
}

/// Reason why the two sides' values cannot be compared at all.
pub(super) fn of_meaning(base: &[RunCase], new: &[RunCase]) -> Option<NoVerdictReason> {
    match (base, new) {
        (_, []) => return reason(ReasonKind::OneSide, On::New, say!("only the base has it")),
        ([], _) => return reason(ReasonKind::OneSide, On::Base, say!("the base does not have it")),
        _ => {}
    }
    differing(base, new, |probe| probe.revision.to_string())
        .and_then(|(old, new)| {
            reason(
                ReasonKind::Revision,
                On::Both,
                say!("the probe's revision differs: {old} and {new} do not mean the same"),
            )
        })
        .or_else(|| {
            let (old, new) = differing(base, new, |probe| unit_name(probe.unit).en.to_owned())?;
            let text = say!("the unit differs: {old}, {new}");
            reason(ReasonKind::Unit, On::Both, text)
        })
        .or_else(|| without(base, new))
        .or_else(|| other_kernel(base, new))
        .or_else(|| contradiction(base, new))
}

/// The best kernel, where trials on one machine chose another one: a change may be that of the choice.
fn other_kernel(base: &[RunCase], new: &[RunCase]) -> Option<NoVerdictReason> {
    let first = base.first()?;
    let (hostname, model) = (&first.run.host.hostname, &first.run.host.cpu.model);
    let is_elsewhere = |found: &RunCase| (&found.run.host.hostname, &found.run.host.cpu.model) != (hostname, model);
    let is_chosen =
        first.record.params.0.iter().any(|(axis, value)| CHOSEN_BY.contains(&axis.as_str()) && value == "best");
    if !is_chosen || new.iter().chain(base).any(is_elsewhere) {
        return None;
    }
    let of_side = |side: &[RunCase]| -> BTreeSet<String> {
        side.iter().filter_map(|found| found.measured()?.notes.get("kernel").cloned()).collect()
    };
    let (old, new) = (of_side(base), of_side(new));
    let named = |side: BTreeSet<String>| Vec::from_iter(side).join(" | ");
    let is_other = old != new && !old.is_empty() && !new.is_empty();
    let text =
        is_other.then(|| say!("trials chose another kernel: {old}, {new}", old = named(old), new = named(new)))?;
    reason(ReasonKind::OtherKernel, On::Both, text)
}

/// Axes whose value `best` leaves the kernel to trials.
const CHOSEN_BY: [&str; 2] = ["kernel", "store"];

/// A side whose numbers cannot be true together.
fn contradiction(base: &[RunCase], new: &[RunCase]) -> Option<NoVerdictReason> {
    let of_side = |side: &[RunCase]| side.iter().find_map(|found| consistency::of_case(found.record, found.probe));
    let (on, side, what) = of_side(base)
        .map(|what| (On::Base, term!("the base"), what))
        .or_else(|| Some((On::New, term!("the other side"), of_side(new)?)))?;
    reason(ReasonKind::ContradictsItself, on, say!("{side} contradicts itself: {what}"))
}

/// A property of the probe that is not the same in all runs: what each side has.
fn differing(base: &[RunCase], new: &[RunCase], of: impl Fn(&ProbeInfo) -> String) -> Option<(String, String)> {
    let of_side = |side: &[RunCase]| {
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
fn without(base: &[RunCase], new: &[RunCase]) -> Option<NoVerdictReason> {
    let said = |failed: bool| if failed { term!("failed") } else { term!("skipped") };
    let kind = |failed: bool| if failed { ReasonKind::Failed } else { ReasonKind::Skipped };
    match (without_value(base), without_value(new)) {
        (None, None) => None,
        (Some((one, why)), Some((other, why_other))) if one == other && is_alike(why, why_other) => {
            let text = say!("{said} on both sides: {why}", said = said(one), why = reasons::in_both(why));
            let reason = reason(kind(one), On::Both, text);
            if one { reason } else { closed(reason) }
        }
        (Some((one, why)), Some((other, why_other))) => {
            let sides = if one == other { On::Both } else { on(one, other) };
            let text = say!(
                "{said} on the base: {why}; {other} on the other side: {why_other}",
                said = said(one),
                why = reasons::in_both(why),
                other = said(other),
                why_other = reasons::in_both(why_other)
            );
            reason(kind(one || other), sides, text)
        }
        (Some((failed, why)), None) => {
            let text = say!("{said} on the base: {why}", said = said(failed), why = reasons::in_both(why));
            reason(kind(failed), On::Base, text)
        }
        (None, Some((failed, why))) => {
            let text = say!("{said} on the other side: {why}", said = said(failed), why = reasons::in_both(why));
            reason(kind(failed), On::New, text)
        }
    }
}

/// Tells whether two reasons differ in their numbers alone: how much memory was free is another number each time.
fn is_alike(one: &str, other: &str) -> bool {
    let [one, other] =
        [one, other].map(|text| text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()));
    one.eq(other)
}

/// Reason for no verdict although both sides have values of the same meaning.
pub(super) fn of_values(base: &[RunCase], new: &[RunCase], level: ObservationUnit) -> Option<NoVerdictReason> {
    let have = |what: &dyn Fn(&RunCase, &Measured) -> bool| {
        let has = |side: &[RunCase]| side.iter().any(|found| found.measured().is_some_and(|one| what(found, one)));
        let (old, new) = (has(base), has(new));
        (old || new).then(|| on(old, new))
    };
    let doubt = |side: &[RunCase]| {
        let mut flags = side.iter().filter(|found| found.run.imported.is_some()).filter_map(RunCase::measured);
        flags.find_map(|one| one.flags.iter().find(|flag| flag.kind == FlagKind::Unconfirmed)).map(Flag::sentence)
    };
    let doubts = [doubt(base), doubt(new)];
    if let Some(what) = doubts.iter().flatten().next() {
        let on = on(doubts[0].is_some(), doubts[1].is_some());
        return reason(ReasonKind::Unconfirmed, on, say!("a value is unconfirmed: {what}"));
    }
    if let Some((key, old, new)) = asked(base, new).or_else(|| tool_versions(base, new)) {
        return reason(ReasonKind::Asked, On::Both, say!("{key} differs: {old}, {new}"));
    }
    if let Some((old, new)) = pages(base, new) {
        return reason(ReasonKind::PageSize, On::Both, say!("page size obtained differs: {old}, {new}"));
    }
    if let Some((old, new)) = cache_levels(base, new) {
        let size = base.first().and_then(|found| found.record.params.get(SIZE)).unwrap_or_default();
        let size = typed_value(AxisKind::Size, size);
        return closed(reason(
            ReasonKind::CacheLevel,
            On::Both,
            say!("{size} lies in {old} on the base, and in {new} on the other side"),
        ));
    }
    if let Some(on) = have(&|_, one| is_of_small_buffer(&one.flags)).filter(|on| *on != On::Both) {
        return closed(reason(
            ReasonKind::CacheLevel,
            on,
            say!("its buffer is under twice the last cache on one side only"),
        ));
    }
    if let Some(on) = have(&|_, one| is_implausible(one)) {
        return reason(ReasonKind::Implausible, on, say!("a value is implausible"));
    }
    if let Some(on) = have(&|found, _| found.run.imported.is_some() && level == ObservationUnit::Round) {
        return reason(ReasonKind::OneValue, on, say!("one value of another tool, without an interval"));
    }
    if level == ObservationUnit::Round {
        if let Some(on) = have(&|_, one| one.rounds.is_empty()) {
            let reason =
                reason(ReasonKind::Derived, on, say!("computed from other cases, which have verdicts of their own"));
            return if on == On::Both { closed(reason) } else { reason };
        }
        let rounds = |side: &[RunCase]| side.iter().filter_map(RunCase::measured).map(|one| one.rounds.len()).sum();
        let (old, new): (usize, usize) = (rounds(base), rounds(new));
        if old.min(new) < LEAST_ROUNDS {
            return reason(
                ReasonKind::TooFewRounds,
                on(old < LEAST_ROUNDS, new < LEAST_ROUNDS),
                say!("too few rounds: {old} and {new}, and it takes {LEAST_ROUNDS}"),
            );
        }
    }
    let values = |measured: &Measured| match level {
        ObservationUnit::Round => round_medians(measured),
        ObservationUnit::Run => vec![measured.estimate.typical, measured.estimate.value()],
    };
    if let Some(on) = have(&|_, one| values(one).iter().any(|value| *value <= 0.0)) {
        return reason(ReasonKind::NotPositive, on, say!("a value is zero or negative"));
    }
    None
}

/// Too few pairs of runs made in turn.
pub(super) fn of_pairs() -> Option<NoVerdictReason> {
    reason(
        ReasonKind::TooFewPairs,
        On::Both,
        say!("fewer pairs of runs have it on both sides than the first look takes"),
    )
}

/// The levels in which a buffer of memory lies on machines of other caches, where they are known and differ.
fn cache_levels(base: &[RunCase], new: &[RunCase]) -> Option<(&'static str, &'static str)> {
    fn of_side<'a>(side: &[RunCase<'a>]) -> Option<(&'static str, &'a [CacheFact])> {
        let found = side.first()?;
        Some((found.level?.name, &found.run.host.caches))
    }
    let ((old, old_caches), (new, new_caches)) = (of_side(base)?, of_side(new)?);
    (old != new && old_caches != new_caches).then_some((old, new))
}

/// Distinct results of `of` over the cases of a side.
fn each_once<'a>(side: &[RunCase<'a>], of: impl Fn(&RunCase<'a>) -> Option<String>) -> BTreeSet<String> {
    side.iter().filter_map(of).collect()
}

/// Texts of what two sides have.
fn joined([old, new]: [BTreeSet<String>; 2]) -> (String, String) {
    let text = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join(" | ");
    (text(old), text(new))
}

/// Difference in what another tool was asked to do: the option, and its value on each side.
fn asked<'a>(base: &[RunCase<'a>], new: &[RunCase<'a>]) -> Option<(&'a str, String, String)> {
    let noted = |found: &RunCase<'a>| Some(&found.measured().filter(|_| found.run.imported.is_some())?.notes);
    let keys = base.iter().chain(new).filter_map(noted).flat_map(|notes| notes.keys());
    let keys: BTreeSet<(&str, &String)> = keys.filter_map(|key| Some((key.strip_prefix(ASKED)?, key))).collect();
    keys.into_iter().find_map(|(option, key)| {
        let one = |found: &RunCase<'a>| Some(noted(found)?.get(key).map_or("unknown", String::as_str).to_owned());
        let [old, new] = [base, new].map(|side| each_once(side, one));
        let (old, new) = (old != new).then(|| joined([old, new]))?;
        Some((option, old, new))
    })
}

/// Versions of another tool, which may measure differently; none where a side does not tell its own.
fn tool_versions(base: &[RunCase], new: &[RunCase]) -> Option<(&'static str, String, String)> {
    /// Tools that run others, whose versions are in the cases.
    const RUNNERS: [&str; 2] = ["perfkit", "phoronix"];
    let one = |found: &RunCase| {
        let imported = found.run.imported.as_ref().filter(|imported| !RUNNERS.contains(&imported.format.as_str()));
        imported.map(|_| found.run.tool.version.clone())
    };
    let (old, new) = joined([base, new].map(|side| each_once(side, one)));
    let is_told = |name: &str, other: &str| !name.is_empty() && !other.starts_with(&format!("{name} "));
    (old != new && is_told(&old, &new) && is_told(&new, &old)).then_some(("tool version", old, new))
}

/// The pages that the two sides got, where they differ. Base pages have a size of their own on each kernel.
fn pages(base: &[RunCase], new: &[RunCase]) -> Option<(String, String)> {
    let one = |found: &RunCase| {
        let pages = found.measured()?.notes.get(PAGES)?;
        let size = match pages.as_str() {
            "base" => found.run.host.memory.page_bytes,
            "pmd" => found.run.host.memory.pmd_page_bytes.unwrap_or(0),
            _ => 0,
        };
        let size = if size > 0 { format!(" ({})", hostmark_model::size_text(size)) } else { String::new() };
        Some(format!("{pages}{size}"))
    };
    let [old, new] = [base, new].map(|side| each_once(side, one));
    let is_same = old == new && old.len() <= 1 || old.is_empty() || new.is_empty();
    (!is_same).then(|| joined([old, new]))
}
