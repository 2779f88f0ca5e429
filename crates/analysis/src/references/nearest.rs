//! The reference that is the nearest kind of machine, and the constants of a run beside it.

use hostmark_model::{Better, HostFacts, Lang, Run, Text};

use super::{Reference, Standing, all, built_in, ratio_text};
use crate::constants::{self, ConstantValue};
use crate::escape::visible;

/// A reference with fewer constants of a run tells too little of it; what is usual has three at most, and one of them may be missing in a run.
const LEAST_COMMON: usize = 3;
const LEAST_USUAL: usize = 2;

/// The nearest reference, as the constants of a run stand beside it.
#[derive(Debug, Clone, Copy)]
pub struct NearestReference<'a> {
    pub reference: &'a Reference,
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

/// What is usual for servers of this host's design; none where that is not known.
pub fn usual(host: &HostFacts) -> Option<&'static Reference> {
    built_in().iter().find(|reference| reference.design.is_some() && may_judge(host, reference))
}

/// The same among these.
pub(crate) fn beside_among<'a>(run: &Run, among: impl Iterator<Item = &'a Reference>) -> Option<NearestReference<'a>> {
    // What another tool measured is not this machine's.
    if run.imported.is_some() {
        return None;
    }
    let told = constants::told(run);
    let constants = told.iter().map(|(_, told)| told.len()).sum::<usize>();
    // What is usual for the kind comes first; then one that has half of the constants or more, before one that has a few.
    let mut best: Option<((bool, bool, Nearness), &Reference)> = None;
    for reference in among {
        let is_itself = reference.run.as_ref().is_some_and(|id| *id == run.id);
        if is_itself || !may_judge(&run.host, reference) {
            continue;
        }
        let has = |told: &&ConstantValue| reference.of_constant(told).is_some();
        let common = told.iter().flat_map(|(_, told)| told).filter(has).count();
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
    best.map(|(_, reference)| NearestReference { reference })
}

/// Whether it says anything of this host: of the same architecture and, where both are known, vendor; what is usual for a design says
/// something of that design alone.
fn may_judge(host: &HostFacts, reference: &Reference) -> bool {
    let cpu = &host.cpu;
    let is_vendor = cpu.vendor.as_ref().zip(reference.vendor.as_ref()).is_none_or(|(one, other)| one == other);
    // A model's name may have it in one word. A design that is only known to be this one or a later one is not it.
    let plain = |text: &str| text.replace(' ', "").to_lowercase();
    let is_later = cpu.microarchitecture.as_ref().is_some_and(|name| name.starts_with('≥'));
    let is_design =
        |design: &String| !is_later && cpu.named_model().is_some_and(|name| plain(&name).contains(&plain(design)));
    reference.architecture == cpu.architecture && is_vendor && reference.design.as_ref().is_none_or(is_design)
}

/// How near, by facts in the order in which they weigh: vendor, model, instructions, native or guest, number of CPUs.
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

impl NearestReference<'_> {
    /// A constant over that of the reference: `1.3x`, with `~` before it where the methods differ, and `!` behind it where it is worse
    /// than both intervals explain.
    pub fn ratio(&self, told: &ConstantValue) -> Option<String> {
        let value = self.reference.of_constant(told)?;
        let standing = value.standing(told.estimate, told.better);
        let about = if standing == Standing::OtherMethod { "~" } else { "" };
        let ratio = ratio_text(told.estimate.value() / value.value);
        // What rounds to the same costs nobody anything, however narrow the intervals are.
        let bad = if standing == Standing::Worse && ratio != SAME { "!" } else { "" };
        Some(format!("{about}{ratio}{bad}"))
    }

    /// A constant over that of the reference; none where the reference lacks it.
    pub fn over(&self, told: &ConstantValue) -> Option<f64> {
        let ratio = told.estimate.value() / self.reference.of_constant(told)?.value;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    /// What is delivered over what the reference delivers: above 1 is better; none where the reference lacks the constant.
    pub fn better(&self, told: &ConstantValue) -> Option<f64> {
        let ratio = self.over(told)?;
        Some(if told.better == Better::Lower { ratio.recip() } else { ratio })
    }

    /// What the ratios are over: the reference, and what machine it is.
    pub fn machine(&self, lang: Lang) -> String {
        let (name, machine) = (visible(&self.reference.name), visible(self.reference.machine.get(lang)));
        match lang {
            Lang::En => format!("1.3x: over {name}, {machine}"),
            Lang::Zh => format!("1.3x：与 {name}（{machine}）之比"),
        }
    }

    /// What the ratios mean, of those that stand there, and where the reference's values come from.
    pub fn legend(&self, ratios: &[String], lang: Lang) -> String {
        let name = visible(&self.reference.name);
        let mut text = match lang {
            Lang::En => format!("1.3x: over {name} (hostmark explain {name})"),
            Lang::Zh => format!("1.3x：本机数值与 {name} 之比（hostmark explain {name}）"),
        };
        let any = |mark: char| ratios.iter().any(|ratio| ratio.contains(mark));
        for (mark, says) in [('!', WORSE), ('~', OTHERWISE)] {
            if any(mark) {
                text += says.get(lang);
            }
        }
        text
    }
}

/// The ratio of what is the same.
const SAME: &str = "1.0x";
const WORSE: Text = Text { en: "; !: worse beyond both intervals", zh: "；!：更差，且超出误差范围" };
const OTHERWISE: Text = Text { en: "; ~: another method", zh: "；~：方法不同" };
