//! Environments' greatest costs: the groups of cases, by the median of how much longer their cases take than natively.

use std::collections::HashSet;

use hostmark_model::Message;
use hostmark_say::say;

use super::{LabelledFigure, LayerConclusion, of_parts, percentage, ratio};
use crate::overhead::Environment;
use crate::overhead::kind::EnvironmentKind;
use crate::overhead::pairs::compared;
use crate::overhead::value::{ComparableValue, middle};
use crate::propagated::{Propagated, propagated_ratio};

/// A time with its interval.
type Time = (f64, Option<(f64, f64)>);

/// A case that two environments have: its time in the other one, and in the first.
pub(super) struct Pair {
    pub(super) id: String,
    /// The same with sizes as people type them.
    pub(super) typed: String,
    pub(super) times: [Time; 2],
    /// Fraction by which it takes longer, with the interval that the tables show.
    pub(super) over: Propagated,
}

/// Every case of costs that may be compared and was disturbed on neither side.
pub(super) fn pairs(first: &Environment, other: &Environment) -> Vec<Pair> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut all: Vec<Pair> = Vec::new();
    for case in other.runs.iter().flat_map(|run| &run.cases).filter(|case| case.measured().is_some()) {
        if !seen.insert(case.id.as_str()) {
            continue;
        }
        let (Ok(base), Ok(value)) = (ComparableValue::of(first, &case.id), ComparableValue::of(other, &case.id)) else {
            continue;
        };
        let is_sound = |value: &ComparableValue| value.is_cost() && !value.is_doubted && value.value > 0.0;
        if is_sound(&base) && is_sound(&value) && compared(first, other, &case.id, &value, &base).is_ok() {
            let times = [value.time(), base.time()].map(|time| (time.value, time.interval));
            let Ok(over) = value.time().over(&base.time()) else { continue };
            all.push(Pair { id: case.id.clone(), typed: other.typed_id(&case.id), times, over });
        }
    }
    all
}

impl Pair {
    fn group(&self) -> &str {
        self.id.split(['.', '@']).next().unwrap_or_default()
    }
}

/// The median of the ratios of times that stand in turn.
fn median_ratio(times: &[f64]) -> Option<f64> {
    middle(times.chunks_exact(2).map(|pair| pair[0] / pair[1])).filter(|ratio| *ratio > 0.0)
}

/// A group with what its cases come to.
struct GroupOverhead<'a> {
    name: &'a str,
    pairs: Vec<&'a Pair>,
    over: Propagated,
}

impl<'a> GroupOverhead<'a> {
    fn of(name: &'a str, pairs: Vec<&'a Pair>) -> Option<GroupOverhead<'a>> {
        let times: Vec<Time> = pairs.iter().flat_map(|pair| pair.times).collect();
        let over = match pairs.as_slice() {
            [one] => one.over,
            _ => propagated_ratio(&times, median_ratio)?.beyond_one(),
        };
        Some(GroupOverhead { name, over, pairs })
    }

    fn times(&self) -> Vec<Time> {
        self.pairs.iter().flat_map(|pair| pair.times).collect()
    }

    fn label(&self) -> Message {
        let (name, count, shown) = (self.name, self.pairs.len(), percentage(&self.over));
        say!("{name} {shown} of {count:case}")
    }
}

/// The dearest first; those of which nothing can be said are left out.
fn groups(pairs: &[Pair]) -> Vec<GroupOverhead<'_>> {
    let mut all: Vec<(&str, Vec<&Pair>)> = Vec::new();
    for pair in pairs {
        match all.iter_mut().find(|(name, _)| *name == pair.group()) {
            Some((_, known)) => known.push(pair),
            None => all.push((pair.group(), vec![pair])),
        }
    }
    let mut all: Vec<GroupOverhead> =
        all.into_iter().filter_map(|(name, pairs)| GroupOverhead::of(name, pairs)).collect();
    all.sort_by(|one, other| other.over.value.total_cmp(&one.over.value));
    all
}

/// Most expensive group, its distance from the next one, and its most expensive case.
pub(super) fn most_expensive(other: &Environment, kind: EnvironmentKind, pairs: &[Pair]) -> Option<LayerConclusion> {
    let groups = groups(pairs);
    let [first, second, rest @ ..] = groups.as_slice() else { return None };
    let both: Vec<Time> = first.times().into_iter().chain(second.times()).collect();
    let middle = first.pairs.len() * 2;
    let more =
        propagated_ratio(&both, |times| Some(median_ratio(&times[..middle])? / median_ratio(&times[middle..])?))?;
    let others = std::iter::once(second).chain(rest).map(GroupOverhead::label);
    let (shown, others) = (ratio(&more, 2), Message::joined(others, term!(", ", "list")));
    let case = first.pairs.iter().max_by(|one, other| one.over.value.total_cmp(&other.over.value))?;
    let (at_most, typed) = (percentage(&case.over), &case.typed);
    let parts = [
        LabelledFigure::of(first.label(), first.over),
        LabelledFigure::of(say!("{shown} times the next, {others}; at most {at_most} in {typed}"), more.beyond_one()),
    ];
    let (name, group, layer) = (other.name, first.name, layer(other, kind));
    let claim = say!("{layer} costs most in {group}, {name}");
    let cases = first.pairs.iter().chain(&second.pairs).map(|pair| pair.id.clone()).collect();
    of_parts(&claim, &parts, cases)
}

/// Layer between the first environment and another one.
fn layer(other: &Environment, kind: EnvironmentKind) -> Message {
    match kind {
        _ if other.is_emulated() => term!("QEMU's emulation").into(),
        EnvironmentKind::Guest => term!("The hypervisor").into(),
        EnvironmentKind::Container => term!("The container").into(),
        EnvironmentKind::First | EnvironmentKind::Free | EnvironmentKind::Other => Message::plain(other.name),
    }
}

/// Share of the native memory bandwidth that is left, beside the report's least.
pub(super) fn bandwidth(other: &Environment, pairs: &[Pair]) -> Option<LayerConclusion> {
    /// Least share of native in a published report on memory in KVM: 94.72 %, by Add.
    const LEAST: f64 = 0.9472;
    let is_stream = |pair: &&Pair| pair.id.starts_with("memory.stream@");
    let mut cases = Vec::new();
    let mut parts = Vec::new();
    for pair in pairs.iter().filter(is_stream) {
        let [there, native] = pair.times;
        let Some(kept) = propagated_ratio(&[native, there], median_ratio) else { continue };
        let times = |times: &[f64]| Some(times[0] / times[1] / LEAST);
        let Some(figure) = propagated_ratio(&[native, there], times) else { continue };
        let shown = ratio(&kept, 4);
        let kernel = pair.id.split_once("kernel=").map_or(pair.id.as_str(), |(_, kernel)| kernel);
        let kernel = kernel.split(',').next().unwrap_or_default();
        let label = Message::joined([Message::plain(kernel), shown], " ");
        parts.push(LabelledFigure::of(label, figure.beyond_one()));
        cases.push(pair.id.clone());
    }
    let name = other.name;
    let claim = say!("STREAM keeps at least 94.72 % of native, as in a published report on KVM, {name}");
    of_parts(&claim, &parts, cases)
}
