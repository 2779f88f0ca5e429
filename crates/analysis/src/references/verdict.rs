//! The nearest reference of a machine, and the verdict on a value beside it: the one judgement of what is usual everywhere.

use hostmark_model::{
    Better, HostFacts, Lang, Measured, Message, Run, Text, Unit, is_of_disturbed, is_of_small_buffer,
};
use hostmark_say::say;
use serde::Serialize;

use super::{Counterpart, Reference, ReferenceValue, all, built_in};
use crate::constants::{self, ConstantValue, is_of_core};
use crate::escape::visible;
use crate::format::{UNSTEADY, between, in_short, likely_ends, scale_for};
use crate::words;

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

/// Tells whether it applies to this host: same architecture and, if known, vendor; what is usual for a design, to that alone.
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

/// Least slowdown that is worth a mark.
const MUCH: f64 = 1.25;
const MARK: &str = " !";

/// Relation of a value to a reference's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Value within the reference's interval.
    Within,
    /// Value better than both intervals explain.
    Better,
    /// Value worse than both intervals explain.
    Worse,
    /// Value better by less than its interval.
    PerhapsBetter,
    /// Value worse by less than its interval.
    PerhapsWorse,
    /// Rounds reach from within to far beyond.
    Unsteady,
    /// Value worse, and flagged as disturbed.
    Disturbed,
    /// One of them has no interval.
    NoInterval,
    OtherMethod,
    /// The last cache may hold part of what was to be memory.
    SmallBuffer,
    /// Times of the core at two clocks.
    OtherClock,
    /// The run does not know its cycles.
    NoCycles,
    NotMeasured,
    /// Neither direction is good.
    NoDirection,
}

impl Standing {
    /// Tells whether it is known to deliver no less than the reference.
    pub fn is_fine(self) -> bool {
        matches!(self, Standing::Within | Standing::Better | Standing::PerhapsBetter)
    }

    /// Reason for no verdict; none where there is one.
    pub fn why_none(self) -> Option<Text> {
        Some(match self {
            Standing::NoInterval => term!("no verdict, no interval"),
            Standing::OtherMethod => term!("no verdict, other method"),
            Standing::SmallBuffer => term!("no verdict, may be in the last cache"),
            Standing::OtherClock => term!("no verdict, other clock"),
            Standing::NoCycles => NO_CYCLES,
            Standing::NotMeasured => NOT_MEASURED,
            Standing::NoDirection => term!("neither is better"),
            _ => return None,
        })
    }
}

/// A last cache that is as slow as memory.
pub const NONE_LEFT: Text = term!("as DRAM: neighbours fill it");
/// A value that is worse and was disturbed.
const DISTURBED: Text = term!("disturbed");
pub(super) const NO_CYCLES: Text = term!("cycles not known");
/// A value that a run does not have.
pub(super) const NOT_MEASURED: Text = term!("not measured");

#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceVerdict {
    /// `44 % slower !`, `as usual`.
    pub words: Text<String>,
    pub tone: Tone,
    /// Delivered rate over the near end of the usual range: above 1 is better; 1 where intervals explain the difference.
    pub better: f64,
    pub standing: Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Plain,
    /// Slower, or not to be told.
    Doubtful,
    Bad,
}

impl Tone {
    /// Class in a page's style sheet.
    pub fn name(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Plain => "plain",
            Tone::Doubtful => "doubtful",
            Tone::Bad => "bad",
        }
    }
}

const AS_USUAL: Text = term!("as usual");
/// Beyond what is usual, by less than the interval: from so much on.
const PERHAPS: f64 = 0.02;
const PERHAPS_SLOWER: Text = term!("perhaps slower");
const PERHAPS_FASTER: Text = term!("perhaps faster");
const SAME: Text = term!("same");

/// Distance of a value beyond an end, above 1, in words; none where it rounds to nothing.
fn amount(beyond: f64, side: Side) -> Option<Text<String>> {
    let percent = ((beyond - 1.0) * 100.0).round();
    let over = if percent > MOST_PERCENT { ">" } else { "" };
    let percent = percent.min(MOST_PERCENT);
    (percent >= 1.0).then(|| {
        words(match side {
            Side::Slower => say!("{over}{percent} % slower"),
            Side::Faster => say!("{over}{percent} % faster"),
        })
    })
}

/// Largest percentage in words: no real value is off by more, but a file may say anything.
const MOST_PERCENT: f64 = 9999.0;

/// The side of an end on which a value lies.
#[derive(Debug, Clone, Copy)]
enum Side {
    Slower,
    Faster,
}

impl ReferenceVerdict {
    pub(crate) fn unmarked(&self, lang: Lang) -> &str {
        self.words.get(lang).trim_end_matches(MARK)
    }
}

impl ReferenceValue {
    /// Range of the value: `12.7 … 15.1 ns`; none of a published number.
    pub fn range(&self, unit: Unit) -> Option<Message> {
        let [low, high] = self.interval?;
        Some(scale_for(self.value, unit).with_suffix(between((low, high), self.value, unit)))
    }

    /// Reason for no verdict on the value found.
    fn bars(&self, found: &Counterpart) -> Option<Standing> {
        Some(match () {
            () if found.better == Better::Neither => Standing::NoDirection,
            () if self.differs.is_some() => Standing::OtherMethod,
            () if is_of_small_buffer(found.flags) => Standing::SmallBuffer,
            () if self.interval.is_none() => Standing::NoInterval,
            () if self.quantity.is_empty() && is_of_core(&self.id) => Standing::OtherClock,
            () => return None,
        })
    }

    /// Verdict on a value beside it. It is slower or faster where it lies beyond the interval by more than its own; `about` stands
    /// before values without a verdict. A value within is as usual beside servers of a design, and the same beside one machine.
    pub fn verdict(&self, found: &Counterpart, is_usual: bool) -> ReferenceVerdict {
        let value = found.estimate.value();
        let same = if is_usual { AS_USUAL } else { SAME };
        let verdict = |standing, words: Text<String>, tone, better| ReferenceVerdict { words, tone, better, standing };
        // How many times as bad as a number, above 1 for what is worse.
        let over = |number: f64| if found.better == Better::Higher { number / value } else { value / number };
        let (known, ends) = match (self.bars(found), self.interval, likely_ends(&found.estimate)) {
            (None, Some(known), Some(ends)) => (known, ends),
            (bar, ..) => return about(over(self.value), same, bar.unwrap_or(Standing::NoInterval)),
        };
        let ([low, high], (from, to)) = (known, ends);
        let (is_above, is_below) = (from > high, to < low);
        if !is_above && !is_below {
            if found.estimate.is_unsteady() {
                return verdict(Standing::Unsteady, UNSTEADY.to_owned_text(), Tone::Doubtful, 1.0);
            }
            // 1 within the range.
            let outside = over(value.max(low).min(high)).ln();
            let (standing, words) = if outside.abs() < PERHAPS {
                (Standing::Within, same)
            } else if outside > 0.0 {
                (Standing::PerhapsWorse, PERHAPS_SLOWER)
            } else {
                (Standing::PerhapsBetter, PERHAPS_FASTER)
            };
            return verdict(standing, words.to_owned_text(), Tone::Plain, 1.0);
        }
        let beyond = over(if is_above { high } else { low });
        match (amount(beyond, Side::Slower), amount(beyond.recip(), Side::Faster)) {
            (Some(_), _) if is_of_disturbed(found.flags) => {
                verdict(Standing::Disturbed, DISTURBED.to_owned_text(), Tone::Doubtful, 1.0)
            }
            (Some(Text { en, zh }), _) if beyond >= MUCH => {
                verdict(Standing::Worse, Text { en: en + MARK, zh: zh + MARK }, Tone::Bad, beyond.recip())
            }
            (Some(words), _) => verdict(Standing::Worse, words, Tone::Doubtful, beyond.recip()),
            (None, Some(words)) => verdict(Standing::Better, words, Tone::Good, beyond.recip()),
            (None, None) => verdict(Standing::Within, same.to_owned_text(), Tone::Plain, 1.0),
        }
    }

    /// The unit of its number beside a case in `unit`.
    pub fn unit_beside(&self, unit: Unit) -> Unit {
        if self.quantity == Measured::CYCLES { Unit::CoreCycles } else { unit }
    }
}

impl NearestReference<'_> {
    /// Verdict on a constant. None where the reference lacks it, or neither direction is good.
    pub fn verdict(&self, constant: &ConstantValue) -> Option<ReferenceVerdict> {
        let known = self.value_of(constant)?;
        let verdict = match Counterpart::of_constant(constant, &known.quantity) {
            Some(found) if constant.is_as_memory => {
                let verdict = known.verdict(&found, self.is_usual());
                ReferenceVerdict { words: NONE_LEFT.to_owned_text(), tone: Tone::Doubtful, ..verdict }
            }
            Some(found) => known.verdict(&found, self.is_usual()),
            None => ReferenceVerdict {
                words: NO_CYCLES.to_owned_text(),
                tone: Tone::Plain,
                better: 1.0,
                standing: Standing::NoCycles,
            },
        };
        Some(verdict).filter(|verdict| verdict.standing != Standing::NoDirection)
    }

    /// Usual range of a constant in the scale of the value beside it: `13 … 15`; with its unit where that is another. None beside one machine.
    pub fn range_beside(&self, constant: &ConstantValue) -> Option<Message> {
        let known = self.value_of(constant).filter(|_| self.is_usual())?;
        let [low, high] = known.interval?;
        let (scale, unit) = (constant.scale(), known.unit_beside(constant.unit));
        if unit == constant.shown().1 {
            return Some(Message::plain(in_short((low, high), scale)));
        }
        let scale = scale_for(known.value, unit);
        Some(scale.with_suffix(in_short((low, high), scale)))
    }

    /// The worst and the best of the reference's range and a constant beside it: rates over that of the range's middle. None without a verdict.
    pub fn strip(&self, constant: &ConstantValue) -> Option<[f64; 3]> {
        let known = self.value_of(constant)?;
        let found = Counterpart::of_constant(constant, &known.quantity).filter(|found| known.bars(found).is_none())?;
        let [low, high] = known.interval?;
        let ratio = |value: f64| value / (low * high).sqrt();
        let places = [low, high, found.estimate.value()].map(ratio);
        Some(match found.better {
            Better::Higher => places,
            _ => [1, 0, 2].map(|at: usize| places[at].recip()),
        })
    }

    /// Heading of the column beside the values.
    pub fn column(&self) -> Message {
        match self.is_usual() {
            true => term!("similar servers").into(),
            false => say!("beside {name}", name = visible(&self.reference.name)),
        }
    }
}

/// Rough ratio in place of a verdict.
fn about(worse: f64, same: Text, standing: Standing) -> ReferenceVerdict {
    let known = amount(worse, Side::Slower)
        .or_else(|| amount(worse.recip(), Side::Faster))
        .unwrap_or_else(|| same.to_owned_text());
    let words = match standing {
        // The time of a core at another clock says nothing of the core.
        Standing::OtherClock => term!("no reference").to_owned_text(),
        _ => words(say!("about {words}", words = known)),
    };
    ReferenceVerdict { words, tone: Tone::Plain, better: worse.recip(), standing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_is_reported_in_percent_however_far_it_is() {
        let said = |beyond| amount(beyond, Side::Slower).map(|words| words.en);
        assert_eq!(said(1.004), None);
        assert_eq!(said(1.048).as_deref(), Some("5 % slower"));
        assert_eq!(said(1.494).as_deref(), Some("49 % slower"));
        assert_eq!(said(1.5).as_deref(), Some("50 % slower"));
        assert_eq!(said(17.3).as_deref(), Some("1630 % slower"));
        assert_eq!(amount(1.6, Side::Faster).map(|words| words.zh).as_deref(), Some("快 60%"));
        assert_eq!(said(1e299).as_deref(), Some(">9999 % slower"));
        assert_eq!(said(0.5), None);
    }
}
