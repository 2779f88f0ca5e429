//! The reference that is the nearest kind of machine, and the constants of a run beside it.

use hostmark_model::{HostFacts, Measured, Message, Run, Text};
use hostmark_say::say;

use super::{Counterpart, Reference, ReferenceValue, all, built_in};
use crate::constants::{self, ConstantValue};
use crate::escape::visible;

/// A reference with fewer constants of a run tells too little of it; what is usual has two at least.
const LEAST_COMMON: usize = 3;
const LEAST_USUAL: usize = 2;

/// The nearest reference, as the constants of a run stand beside it.
#[derive(Debug, Clone, Copy)]
pub struct NearestReference<'a> {
    pub reference: &'a Reference,
    values: &'a [ReferenceValue],
    /// Machines of those values.
    machine: &'a Text<String>,
}

/// The widest vector instructions that a processor names among its features: they tell generations of x86 apart.
pub(super) fn widest(features: &[String]) -> Option<&'static str> {
    let has = |name: &str| features.iter().any(|feature| feature == name);
    match () {
        () if has("avx512f") => Some("avx512"),
        () if has("avx2") => Some("avx2"),
        () if has("avx") => Some("avx"),
        () => None,
    }
}

/// The nearest kind of machine among all references; none where nothing tells which.
pub fn beside(run: &Run) -> Option<NearestReference<'static>> {
    beside_among(run, all())
}

/// Reference of what is usual for servers of this host's design; none where that is not known.
pub fn usual(host: &HostFacts) -> Option<&'static Reference> {
    built_in().iter().find(|reference| reference.design.is_some() && may_judge(host, reference))
}

pub(crate) fn beside_among<'a>(run: &Run, among: impl Iterator<Item = &'a Reference>) -> Option<NearestReference<'a>> {
    // What another tool measured is not this machine's.
    if run.imported.is_some() {
        return None;
    }
    let groups = constants::of_run(run);
    let constants = groups.iter().map(|(_, constants)| constants.len()).sum::<usize>();
    // What is usual for the kind comes first; then one that has half of the constants or more, before one that has a few.
    let mut best: Option<((bool, bool, Nearness), &Reference)> = None;
    for reference in among {
        let is_itself = reference.run.as_ref().is_some_and(|id| *id == run.id);
        if is_itself || !may_judge(&run.host, reference) {
            continue;
        }
        let has = |constant: &&ConstantValue| find(reference.values_for(&run.host), constant).is_some();
        let common = groups.iter().flat_map(|(_, constants)| constants).filter(has).count();
        let least = if reference.design.is_some() { LEAST_USUAL } else { LEAST_COMMON };
        if common < least {
            continue;
        }
        let nearness = (reference.design.is_some(), 2 * common >= constants, nearness(&run.host, reference));
        // Of two as near the first: a person's own.
        if best.as_ref().is_none_or(|(nearest, _)| nearness > *nearest) {
            best = Some((nearness, reference));
        }
    }
    best.map(|(_, reference)| NearestReference {
        reference,
        values: reference.values_for(&run.host),
        machine: reference.machine_for(&run.host),
    })
}

/// Tells whether it applies to this host: of the same architecture and, where both are known, vendor; what is usual for a design applies to
/// that design alone.
fn may_judge(host: &HostFacts, reference: &Reference) -> bool {
    let cpu = &host.cpu;
    let is_vendor = cpu.vendor.as_ref().zip(reference.vendor.as_ref()).is_none_or(|(one, other)| one == other);
    // A model's name may have it in one word. A design that is only known to be this one or a later one is not it.
    let plain = |text: &str| text.replace(' ', "").to_lowercase();
    let is_design = |design: &String| {
        !cpu.is_later_design() && cpu.named_model().is_some_and(|name| plain(&name).contains(&plain(design)))
    };
    reference.architecture == cpu.architecture && is_vendor && reference.design.as_ref().is_none_or(is_design)
}

/// Nearness, by facts in the order in which they weigh: vendor, model, instructions, native or guest, number of CPUs.
type Nearness = (bool, bool, u8, bool, i32);

fn nearness(host: &HostFacts, reference: &Reference) -> Nearness {
    let is_known = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
    let model = host.cpu.plain_model();
    let is_model = model.zip(reference.model.as_ref()).is_some_and(|(model, named)| model.contains(named.as_str()));
    let rank = |name: Option<&str>| ["avx", "avx2", "avx512"].iter().position(|known| Some(*known) == name);
    let instructions = match (rank(widest(&host.cpu.features)), rank(reference.instructions.as_deref())) {
        (Some(one), Some(other)) => 4 - one.abs_diff(other) as u8,
        _ => 1,
    };
    let cpus = host.cpus.iter().filter(|cpu| cpu.online).count().max(1) as f64;
    let apart = reference.cpus.map_or(i32::MAX, |other| ((other as f64 / cpus).log2().abs() * 10.0) as i32);
    let is_alike = reference.guest == host.virtualization.hypervisor.is_some();
    (is_known(&host.cpu.vendor, &reference.vendor), is_model, instructions, is_alike, -apart)
}

impl<'a> NearestReference<'a> {
    /// Tells whether its values are what is usual for servers of the same design, and not one machine's.
    pub fn is_usual(&self) -> bool {
        self.reference.design.is_some()
    }

    /// Value of a constant in the reference.
    pub(crate) fn value_of(&self, constant: &ConstantValue) -> Option<&'a ReferenceValue> {
        find(self.values, constant)
    }

    /// A constant as it is judged: in cycles where the reference has these.
    pub(crate) fn counterpart<'b>(&self, constant: &'b ConstantValue) -> Option<Counterpart<'b>> {
        Counterpart::of_constant(constant, &self.value_of(constant)?.quantity)
    }

    /// Machines beside which the constants stand, and the source of their values.
    pub fn source(&self) -> Message {
        let name = visible(&self.reference.name);
        match self.is_usual() {
            true => say!("usual: {machine}", machine = self.reference.machine_and_source(self.machine)),
            false => say!("beside {name}, one machine"),
        }
    }

    /// The same, with the command that explains it.
    pub fn legend(&self) -> Message {
        say!("{source}; hostmark explain {name}", source = self.source(), name = visible(&self.reference.name))
    }
}

/// Value of a constant: its cycles rather than its time.
fn find<'a>(values: &'a [ReferenceValue], constant: &ConstantValue) -> Option<&'a ReferenceValue> {
    let of_quantity = |quantity: &str| {
        let is_it = |value: &&ReferenceValue| {
            value.quantity == quantity && (constant.is_at(&value.id) || value.id == constant.case.id)
        };
        values.iter().find(is_it)
    };
    let cycles = if constant.quantity().is_empty() { of_quantity(Measured::CYCLES) } else { None };
    cycles.or_else(|| of_quantity(constant.quantity()))
}
