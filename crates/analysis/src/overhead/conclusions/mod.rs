//! Conclusions of a published report on native and guest file I/O: each claim is a function that says whether it provably holds here.

mod guests;
mod layers;

use hostmark_model::{Message, Params, Text};
use hostmark_say::say;

use super::environment::EnvironmentKind;
use super::sheet::{Base, Figure, Sheet};
use super::sheet::{FILE, IRQ, Space};
use super::value::ComparableValue;
use super::{Environment, over};
use crate::propagated::{Propagated, joined, propagated_ratio};
use crate::typography::{COLON, SEMICOLON};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// All intervals lie on the side that the claim names.
    So,
    /// An interval lies on the other side.
    NotSo,
    /// An interval reaches over both, or there is none that proves anything.
    Unknown,
    /// Claim that needs further runs or cases.
    Needs,
}

impl ClaimVerdict {
    pub fn label(self) -> Text {
        match self {
            ClaimVerdict::So => term!("so here"),
            ClaimVerdict::NotSo => term!("not so here"),
            ClaimVerdict::Unknown => term!("cannot be told"),
            ClaimVerdict::Needs => term!("needs more"),
        }
    }
}

/// A claim, and what these runs say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerConclusion {
    pub verdict: ClaimVerdict,
    pub text: Message,
    /// Measurement in a line, whatever the verdict, where one run can prove or refute it.
    pub(crate) short: Option<Message>,
    pub(crate) cases: Vec<String>,
    /// The share of its time that a program loses by it.
    pub(crate) cost: f64,
}

impl LayerConclusion {
    fn in_short(self, short: Message) -> LayerConclusion {
        LayerConclusion { short: Some(short), ..self }
    }

    /// Sets the short form to the greatest of the figures.
    fn by_greatest(self, shorts: Vec<(f64, Message)>) -> LayerConclusion {
        let greatest = shorts.into_iter().max_by(|one, other| one.0.abs().total_cmp(&other.0.abs()));
        greatest.map_or(self.clone(), |(_, short)| self.in_short(short))
    }
}

/// Greatest costs of each environment beside the first, and their reasons.
pub(super) fn of_environments(environments: &[Environment], kinds: &[EnvironmentKind]) -> Vec<LayerConclusion> {
    let Some((first, others)) = environments.split_first() else { return Vec::new() };
    let mut all = Vec::new();
    for (other, kind) in others.iter().zip(kinds.iter().skip(1)) {
        let pairs = guests::pairs(first, other);
        all.extend(guests::most_expensive(other, *kind, &pairs));
        // An emulator has neither exits nor nested page tables.
        if *kind == EnvironmentKind::Guest && !other.is_emulated() {
            all.extend(guests::bandwidth(other, &pairs));
            all.extend(guests::causes(other, &pairs));
        }
    }
    all
}

/// Every claim that these runs say anything of.
pub(super) fn draw(sheets: &[Sheet], kinds: &[EnvironmentKind]) -> Vec<LayerConclusion> {
    let sheets: Vec<Claims> = sheets.iter().map(|sheet| Claims::of(sheet, kinds)).collect();
    let of_file = || sheets.iter().filter(|claims| std::ptr::eq(claims.sheet.family, &FILE));
    let mut all: Vec<LayerConclusion> = Vec::new();
    all.extend(of_file().filter_map(layers::of_writes));
    all.extend(of_file().filter_map(layers::write_ratio));
    all.extend(of_file().flat_map(layers::of_reads));
    all.extend(sheets.iter().flat_map(layers::of_kernel));
    all.extend(sheets.iter().flat_map(layers::of_binding));
    all.extend(of_file().flat_map(layers::of_interrupts));
    all
}

struct Claims<'a> {
    sheet: &'a Sheet<'a>,
    kinds: &'a [EnvironmentKind],
    /// The time of an operation in each figure, with its interval; not a number where there is none.
    times: Vec<Propagated>,
}

/// Number of runs from which on they show how much a value varies.
const TELLING_RUNS: usize = 3;

/// Figure that is above zero where a claim holds.
struct LabelledFigure {
    /// Name of the two compared values.
    label: Message,
    figure: Propagated,
    /// The interval that both values' own give it, where their rounds may have met two states: it proves less than their scatter.
    of_both: Option<(f64, f64)>,
}

impl LabelledFigure {
    fn of(label: Message, figure: Propagated) -> LabelledFigure {
        LabelledFigure { label, figure, of_both: None }
    }

    /// Interval that certainly holds it.
    fn certain(&self) -> Option<(f64, f64)> {
        let wider = |one: (f64, f64), other: (f64, f64)| (one.0.min(other.0), one.1.max(other.1));
        self.figure.interval.map(|interval| self.of_both.into_iter().fold(interval, wider))
    }
}

impl<'a> Claims<'a> {
    fn of(sheet: &'a Sheet<'a>, kinds: &'a [EnvironmentKind]) -> Claims<'a> {
        let time = |figure: &Figure| match &figure.value {
            // The interval of what others disturbed is not that of the machine.
            Ok(value) if value.is_doubted => Propagated { interval: None, ..value.propagated_time() },
            Ok(value) => value.propagated_time(),
            Err(_) => Propagated { value: f64::NAN, interval: None },
        };
        Claims { sheet, kinds, times: sheet.figures.iter().map(time).collect() }
    }

    /// Index of an operation's time; none where it was not measured, or may not be compared.
    fn index(&self, environment: usize, operation: usize, side: Space, point: &Params) -> Option<usize> {
        let is_meant = |figure: &Figure| {
            (figure.environment, figure.operation, figure.side) == (environment, operation, side)
                && figure.point == *point
                && figure.unlike.is_none()
        };
        let index = self.sheet.figures.iter().position(is_meant)?;
        (self.times[index].value > 0.0).then_some(index)
    }

    /// The base, where it lies inside the kernel: over user space no layer's overhead is told.
    fn kernel_base(&self) -> Option<&Base> {
        self.sheet.base.as_ref().filter(|base| base.side == Space::Kernel)
    }

    fn base(&self, operation: usize) -> Option<usize> {
        let base = self.kernel_base()?;
        self.index(0, operation, base.side, &base.point)
    }

    /// The points of the percentages of a side of an environment: all but the base.
    fn columns(&self, environment: usize, side: Space) -> Vec<Params> {
        let points = self.sheet.points(side);
        points.into_iter().filter(|point| !self.sheet.is_base(environment, side, point)).collect()
    }

    /// Fraction by which one figure lies over another, with the tables' interval; for files without rounds that of both intervals.
    fn over(&self, index: usize, base: usize) -> Option<Propagated> {
        let [value, under] = [index, base].map(|index| self.sheet.figures[index].value.as_ref().ok());
        let (value, under) = value.zip(under)?;
        let figure = value.time().over(&under.time()).ok()?;
        let of_both = || self.propagated_ratio(|times| Some(times[index] / times[base]))?.beyond_one().interval;
        let is_sound = !value.is_doubted && !under.is_doubted;
        Some(Propagated { interval: figure.interval.or_else(of_both).filter(|_| is_sound), ..figure })
    }

    /// The interval that those of both figures give their quotient; none where runs enough tell how much the values vary.
    fn of_both(&self, index: usize, base: usize) -> Option<(f64, f64)> {
        let is_of_few = |index: usize| {
            self.sheet.figures[index]
                .value
                .as_ref()
                .is_ok_and(|value: &ComparableValue| value.runs.len() < TELLING_RUNS)
        };
        let ratio = || self.propagated_ratio(|times| Some(times[index] / times[base]));
        if is_of_few(index) && is_of_few(base) { ratio()?.beyond_one().interval } else { None }
    }

    fn joined(&self, make: impl Fn(&[f64]) -> Option<f64>) -> Option<Propagated> {
        joined(&self.times, make)
    }

    fn propagated_ratio(&self, make: impl Fn(&[f64]) -> Option<f64>) -> Option<Propagated> {
        propagated_ratio(&self.times, make)
    }

    fn ids(&self, indices: &[usize]) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for index in indices {
            let id = &self.sheet.figures[*index].id;
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        ids
    }

    fn named(&self, claim: Message) -> Message {
        let name = self.sheet.family.name;
        say!("{claim} ({name})")
    }
}

fn verdict(parts: &[LabelledFigure]) -> ClaimVerdict {
    let intervals = || parts.iter().map(LabelledFigure::certain);
    match () {
        () if intervals().any(|interval| interval.is_some_and(|(_, high)| high < 0.0)) => ClaimVerdict::NotSo,
        () if intervals().all(|interval| interval.is_some_and(|(low, _)| low > 0.0)) => ClaimVerdict::So,
        () => ClaimVerdict::Unknown,
    }
}

/// A claim that stands on parts; none without any.
fn of_parts(claim: &Message, parts: &[LabelledFigure], cases: Vec<String>) -> Option<LayerConclusion> {
    let labels = Message::joined(parts.iter().map(|part| &part.label), SEMICOLON);
    (!parts.is_empty()).then(|| LayerConclusion {
        verdict: verdict(parts),
        text: Message::joined([claim.clone(), labels], COLON),
        short: None,
        cases,
        cost: 0.0,
    })
}

/// A claim that these runs cannot answer, and what would.
fn needs(claim: &Message, what: Text) -> LayerConclusion {
    let text = say!("{claim}: {what}");
    LayerConclusion { verdict: ClaimVerdict::Needs, text, short: None, cases: Vec::new(), cost: 0.0 }
}

const NEEDS_KERNEL: Text = term!("needs the same measured inside the kernel, by hostmark's kernel module");
const NEEDS_GUEST: Text = term!("needs a guest's run beside it (guest=RUN)");

/// A number with its interval, which `end` writes as it does the number.
fn with_interval(number: Message, figure: &Propagated, end: impl Fn(f64) -> String) -> Message {
    match figure.interval.map(|(low, high)| (end(low), end(high))) {
        Some((low, high)) => say!("{number} ({low} … {high})"),
        None => say!("{number} (no reliable interval)"),
    }
}

fn hundredths(fraction: f64) -> String {
    over(fraction).trim_end_matches(" %").to_owned()
}

fn percentage(figure: &Propagated) -> Message {
    with_interval(Message::plain(over(figure.value)), figure, hundredths)
}

/// A difference of two fractions in percentage points.
fn points(figure: &Propagated) -> Message {
    let value = hundredths(figure.value);
    with_interval(say!("{value} points"), figure, hundredths)
}

/// A ratio with its interval, to so many digits behind the point.
fn ratio(figure: &Propagated, digits: usize) -> Message {
    let shown = |ratio: f64| format!("{ratio:.digits$}");
    with_interval(Message::plain(shown(figure.value)), figure, shown)
}

/// Tells whether a point has interrupts off.
fn is_without_irq(point: &Params) -> bool {
    point.get(IRQ) == Some("off")
}
