//! Causes of a guest's cost: operations that leave guest mode or walk two page tables, beside others that do neither.

use std::collections::BTreeMap;

use hostmark_model::{CaseId, Params, Text, size_text};
use hostmark_say::say;

use super::groups::Pair;
use super::{ClaimVerdict, LabelledFigure, LayerConclusion, of_parts, percentage, ratio};
use crate::format::number;
use crate::guest::{exits, shares};
use crate::overhead::Environment;
use crate::propagated::{Propagated, propagated_ratio};

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
pub(super) fn of(guest: &Environment, pairs: &[Pair]) -> Vec<LayerConclusion> {
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
