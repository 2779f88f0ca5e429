//! Conclusions on an environment beside the first, case by case: groups of cases, and the causes of a guest's costs.

use std::collections::{BTreeMap, HashSet};

use hostmark_model::{CaseId, Message, Params, Text, size_text};
use hostmark_say::say;

use super::super::Environment;
use super::super::environment::EnvironmentKind;
use super::super::pairs::compared;
use super::super::value::{ComparableValue, middle};
use super::{ClaimVerdict, LabelledFigure, LayerConclusion, of_parts, percentage, ratio};
use crate::format::number;
use crate::groups::grouped;
use crate::guest::{exits, shares};
use crate::propagated::{Propagated, propagated_ratio};

/// A case that two environments have: its time in the other one, and in the first.
pub(super) struct Pair {
    pub(super) id: String,
    /// The same with sizes as people type them.
    pub(super) typed: String,
    pub(super) times: [Propagated; 2],
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
            let times = [value.propagated_time(), base.propagated_time()];
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
        let over = match pairs.as_slice() {
            [one] => one.over,
            several => propagated_ratio(&times(several), median_ratio)?.beyond_one(),
        };
        Some(GroupOverhead { name, over, pairs })
    }

    fn label(&self) -> Message {
        let (name, count, shown) = (self.name, self.pairs.len(), percentage(&self.over));
        say!("{name} {shown} of {count:case}")
    }
}

fn times(pairs: &[&Pair]) -> Vec<Propagated> {
    pairs.iter().flat_map(|pair| pair.times).collect()
}

/// The dearest first; those of which nothing can be said are left out.
fn groups(pairs: &[Pair]) -> Vec<GroupOverhead<'_>> {
    let all = grouped(pairs.iter().map(|pair| (pair.group(), pair)));
    let mut all: Vec<GroupOverhead> =
        all.into_iter().filter_map(|(name, pairs)| GroupOverhead::of(name, pairs)).collect();
    all.sort_by(|one, other| other.over.value.total_cmp(&one.over.value));
    all
}

/// Most expensive group, its distance from the next one, and its most expensive case.
pub(super) fn most_expensive(other: &Environment, kind: EnvironmentKind, pairs: &[Pair]) -> Option<LayerConclusion> {
    let groups = groups(pairs);
    let [first, second, rest @ ..] = groups.as_slice() else { return None };
    let both = [times(&first.pairs), times(&second.pairs)].concat();
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

/// Probe and the cost of a guest that it pays.
struct GuestCost {
    probe: &'static str,
    claim: Text,
}

/// A call that no hypervisor sees: what is dearer than this by more is so for a cause of its own.
const STAYS: &str = "syscall.null";

static CAUSES: [GuestCost; 3] = [
    GuestCost {
        probe: "clock.sleep",
        claim: term!("Timers lose more than calls that stay in the guest (arming and interrupt are exits)"),
    },
    GuestCost {
        probe: "sched.ipi",
        claim: term!(
            "Interrupts between CPUs lose more than calls that stay in the guest (sending and receiving are exits)"
        ),
    },
    GuestCost {
        probe: "paging.fault",
        claim: term!("Page faults lose more than calls that stay in the guest (two page tables are filled and walked)"),
    },
];

/// Known causes of a guest's cost.
pub(super) fn causes(guest: &Environment, pairs: &[Pair]) -> Vec<LayerConclusion> {
    let each = CAUSES.iter().filter_map(|cause| beside(guest, cause, pairs));
    nested_paging(guest, pairs).into_iter().chain(each).chain(of_exits(guest)).collect()
}

/// Ratio of the slowdowns of two cases in the guest.
fn more(one: &Pair, other: &Pair) -> Option<Propagated> {
    let times = [one.times, other.times].concat();
    propagated_ratio(&times, |times| Some(times[0] / times[1] / (times[2] / times[3])))
}

/// A claim that one case's overhead is greater than another's.
fn greater(claim: Text, guest: &Environment, [one, other]: [&Pair; 2], names: [&str; 2]) -> Option<LayerConclusion> {
    let (more, name) = (more(one, other)?, guest.name);
    let (times, [of_one, of_other]) = (ratio(&more, 2), [percentage(&one.over), percentage(&other.over)]);
    let [first, second] = names;
    let label = say!("{first} {of_one} against {second} {of_other}, {times} times as long");
    let claim = say!("{claim}, {name}");
    let part = LabelledFigure::of(label, more.beyond_one());
    of_parts(&claim, &[part], vec![one.id.clone(), other.id.clone()])
}

fn beside(guest: &Environment, cause: &GuestCost, pairs: &[Pair]) -> Option<LayerConclusion> {
    // A probe's default case comes first.
    let of = |probe: &str| pairs.iter().find(|pair| pair.id.split('@').next() == Some(probe));
    let (one, other) = (of(cause.probe)?, of(STAYS)?);
    greater(cause.claim, guest, [one, other], [&one.id, STAYS])
}

/// Loads at random whose pages no TLB holds, beside those that the first cache holds: of the same pages, else nothing is said.
fn nested_paging(guest: &Environment, pairs: &[Pair]) -> Option<LayerConclusion> {
    const PROBE: &str = "memory.latency";
    const SIZE: &str = "size";
    /// Factor between two sizes of which one fits the TLB and the other does not.
    const APART: u64 = 1024;
    const CLAIM: Text = term!("Nested paging costs: loads that miss the TLB lose more than loads that hit");
    let mut kinds: BTreeMap<String, Vec<(u64, &Pair)>> = BTreeMap::new();
    for pair in pairs {
        let Ok(CaseId { probe, params }) = pair.id.parse::<CaseId>() else { continue };
        let size = params.get(SIZE).and_then(|size| size.parse().ok());
        let Some(size) = size.filter(|_| probe == PROBE && is_random(&params)) else { continue };
        let rest: Vec<String> =
            params.0.iter().filter(|(axis, _)| axis != SIZE).map(|(axis, at)| format!("{axis}={at}")).collect();
        kinds.entry(rest.join(",")).or_default().push((size, pair));
    }
    let spans = kinds.into_values().filter_map(|mut sizes| {
        sizes.sort_by_key(|(size, _)| *size);
        let (least, most) = (*sizes.first()?, *sizes.last()?);
        (most.0 / least.0.max(1) >= APART).then_some((least, most))
    });
    let ((least, small), (most, large)) = spans.max_by_key(|((least, _), (most, _))| most / least.max(&1))?;
    let names = [most, least].map(|size| format!("{PROBE} {}", size_text(size)));
    greater(CLAIM, guest, [large, small], [&names[0], &names[1]])
}

/// Tells whether loads are spread over all pages: the default of the pattern.
fn is_random(params: &Params) -> bool {
    params.get("pattern").is_none_or(|pattern| pattern == "random")
}

/// Meanings of the reasons in KVM's statistics.
const MEANINGS: [(&str, Text); 6] = [
    ("halt_exits", term!("idle CPUs; halt polling decides what that costs")),
    ("io_exits", term!("ports of emulated devices")),
    ("mmio_exits", term!("registers of emulated devices")),
    ("irq_exits", term!("interrupts of the host, timers among them")),
    ("pf_taken", term!("pages that the host had still to give")),
    ("hypercalls", term!("requests to the hypervisor")),
];

/// Number of VM exits while the guest was measured, and their reasons.
fn of_exits(guest: &Environment) -> Option<LayerConclusion> {
    /// Reasons that are told at most.
    const MOST: usize = 4;
    let exits_of: Vec<_> = guest.runs.iter().filter_map(|run| Some((run, &run.guest.as_ref()?.exits))).collect();
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for (reason, count) in exits_of.iter().flat_map(|(_, exits)| exits.iter()) {
        let known = sum.entry(reason.clone()).or_default();
        *known = known.saturating_add(*count);
    }
    let (all, reasons) = exits(&sum);
    let (most, _) = *reasons.first()?;
    let meaning = MEANINGS.iter().find(|(reason, _)| *reason == most).map(|(_, meaning)| *meaning);
    let wall_s: Option<f64> = exits_of.iter().map(|(run, _)| run.time.as_ref().map(|time| time.wall_s)).sum();
    let rate = wall_s.filter(|wall_s| *wall_s > 0.0).map(|wall_s| number(all as f64 / wall_s));
    let (name, shown, runs) = (guest.name, shares(all, &reasons, MOST), exits_of.len());
    let (meaning, count) = (meaning.unwrap_or(Text::name("–")), number(all as f64));
    let text = match rate {
        Some(rate) => {
            say!("Most exits are {most} ({meaning}), {name}: {count} exits in {runs:run}, {rate} a second, {shown}")
        }
        None => say!("Most exits are {most} ({meaning}), {name}: {count} exits in {runs:run}, {shown}"),
    };
    Some(LayerConclusion { verdict: ClaimVerdict::So, text, short: None, cases: Vec::new(), cost: 0.0 })
}
