//! References: values of other machines, each with its source, the manuals' cycles, and this machine's values beside them.

mod verdict;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::LazyLock;

use hostmark_model::{
    Better, CaseId, CaseRecord, Estimate, Flag, HostFacts, Measured, Message, Outcome, Run, Text, Unit, json_fault,
};
use hostmark_say::say;
use serde::Deserialize;
use verdict::NOT_MEASURED;
pub use verdict::{NONE_LEFT, NearestReference, ReferenceVerdict, Standing, Tone, beside, usual};

use crate::constants::{self, ConstantValue, is_of_core};
use crate::escape::visible;
use crate::lmbench::case_at;
use crate::{reasons, words};

pub const SCHEMA: &str = "hostmark.reference/1";
/// A file with more values is none.
const MOST_VALUES: usize = 20_000;
/// A text in it has no more bytes.
const LONGEST_TEXT: usize = 4096;

/// A machine, and what was measured on it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reference {
    #[serde(default)]
    pub name: String,
    pub machine: Text<String>,
    /// `x86_64` or `aarch64`; empty where the source does not tell.
    #[serde(default)]
    pub architecture: String,
    /// The processor's vendor, as the processor says it.
    #[serde(default)]
    pub vendor: Option<String>,
    /// The processor's model, or the part of its name by which it is known.
    #[serde(default)]
    pub model: Option<String>,
    /// Name of the processor's design, where the values are what is usual for servers of that design and of no other.
    #[serde(default)]
    pub design: Option<String>,
    /// True where it is a virtual machine.
    #[serde(default)]
    pub guest: bool,
    #[serde(default)]
    pub cpus: Option<usize>,
    /// The widest vector instructions: avx, avx2 or avx512.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Address of its source, unless a value says otherwise.
    pub address: String,
    /// Date of measurement or publication.
    pub date: String,
    /// Author of the measurements, in a word or two.
    #[serde(default)]
    pub by: Option<String>,
    pub method: Text<String>,
    pub values: Vec<ReferenceValue>,
    /// The same of machines with so many CPUs alone.
    #[serde(default)]
    pub classes: Vec<Class>,
    #[serde(skip)]
    pub run: Option<String>,
}

/// Values of a reference for machines with so many CPUs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Class {
    pub cpus: [usize; 2],
    pub machine: Text<String>,
    pub values: Vec<ReferenceValue>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReferenceValue {
    /// The case of hostmark that it stands beside: its id, or the probe and the axes on which it is not at its default.
    pub id: String,
    /// The further quantity of the case that is meant; empty for its value.
    #[serde(default)]
    pub quantity: String,
    /// Value in the base unit of the probe; of its `cycles` in cycles.
    pub value: f64,
    /// Range of the value; a published number has none.
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
    /// Range of half of several machines.
    #[serde(default)]
    pub half: Option<[f64; 2]>,
    /// Difference from hostmark's method; none where there is none.
    #[serde(default)]
    pub differs: Option<Text<String>>,
    /// Address of its source, if not the others'.
    #[serde(default)]
    pub address: Option<String>,
    /// Date of measurement or publication, if not the others'.
    #[serde(default)]
    pub date: Option<String>,
    /// The machine, if it is another.
    #[serde(default)]
    pub machine: Option<Text<String>>,
    /// Method, if not the others'.
    #[serde(default)]
    pub method: Option<Text<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Citation<'a> {
    pub address: &'a str,
    /// Date of measurement or publication.
    pub date: &'a str,
    pub machine: &'a Text<String>,
    pub method: &'a Text<String>,
}

impl Citation<'_> {
    /// Tells whether the citation is complete.
    pub fn is_whole(&self) -> bool {
        let is_given = |text: &Text<String>| !text.en.trim().is_empty() && !text.zh.trim().is_empty();
        !self.address.trim().is_empty()
            && !self.date.trim().is_empty()
            && is_given(self.machine)
            && is_given(self.method)
    }
}

impl ReferenceValue {
    /// A number of a case, and nothing else.
    fn of(id: &str, value: f64) -> ReferenceValue {
        ReferenceValue {
            id: id.to_owned(),
            quantity: String::new(),
            value,
            interval: None,
            half: None,
            differs: None,
            address: None,
            date: None,
            machine: None,
            method: None,
        }
    }

    pub fn source<'a>(&'a self, of: &'a Reference) -> Citation<'a> {
        Citation {
            address: self.address.as_deref().unwrap_or(&of.address),
            date: self.date.as_deref().unwrap_or(&of.date),
            machine: self.machine.as_ref().unwrap_or(&of.machine),
            method: self.method.as_ref().unwrap_or(&of.method),
        }
    }

    /// Tells whether it is what most of several servers deliver, and not a maker's or a document's figure.
    pub(crate) fn is_of_servers(&self) -> bool {
        self.half.is_some()
    }

    /// The case of a run beside which it stands.
    fn case_in<'a>(&self, run: &'a Run) -> Option<&'a CaseRecord> {
        let exact = || run.cases.iter().find(|case| case.id == self.id && case.peer().is_none());
        exact().or_else(|| {
            let id: CaseId = self.id.parse().ok()?;
            let at: Vec<(&str, &str)> =
                id.params.0.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect();
            case_at(run, &id.probe, &at)
        })
    }

    pub fn in_run<'a>(&self, run: &'a Run) -> Option<Counterpart<'a>> {
        Counterpart::of(run, self.case_in(run)?, &self.quantity)
    }

    /// Reason why a run lacks it, also in words.
    pub fn why_missing(&self, run: &Run) -> (Standing, Message) {
        match self.case_in(run).map(|case| &case.outcome) {
            Some(Outcome::Measured(_)) => (Standing::NoCycles, verdict::NO_CYCLES.into()),
            Some(Outcome::Skipped { reason } | Outcome::Failed { reason }) => {
                (Standing::NotMeasured, reasons::brief(reason))
            }
            None => (Standing::NotMeasured, NOT_MEASURED.into()),
        }
    }
}

/// Value of a case in a run.
#[derive(Debug, Clone)]
pub struct Counterpart<'a> {
    pub estimate: Cow<'a, Estimate>,
    pub flags: &'a [Flag],
    pub unit: Unit,
    pub better: Better,
}

impl<'a> Counterpart<'a> {
    /// A constant itself or, of this quantity, its cycles; none where these are not known.
    fn of_constant(constant: &'a ConstantValue, quantity: &str) -> Option<Counterpart<'a>> {
        let flags = constant.case.measured().map_or(&[][..], |measured| &measured.flags);
        if quantity == Measured::CYCLES {
            let estimate = constant.in_core_cycles()?;
            return Some(Counterpart { estimate, flags, unit: Unit::CoreCycles, better: Better::Lower });
        }
        let ConstantValue { estimate, unit, better, .. } = *constant;
        Some(Counterpart { estimate: Cow::Borrowed(estimate), flags, unit, better })
    }

    fn of(run: &'a Run, case: &'a CaseRecord, quantity: &str) -> Option<Counterpart<'a>> {
        let info = run.probes.iter().find(|info| info.id == case.probe)?;
        let measured = case.measured()?;
        let (estimate, unit, better) = match quantity {
            "" => (Cow::Borrowed(&measured.estimate), info.unit, info.better),
            Measured::CYCLES => (measured.companion(quantity)?, Unit::CoreCycles, Better::Lower),
            name => {
                let also = info.also.iter().find(|also| also.name == name)?;
                (measured.companion(name)?, also.unit, also.better)
            }
        };
        (estimate.value() > 0.0).then_some(Counterpart { estimate, flags: &measured.flags, unit, better })
    }
}

impl Reference {
    /// Source of its values, unless a value says otherwise.
    pub fn source(&self) -> Citation<'_> {
        Citation { address: &self.address, date: &self.date, machine: &self.machine, method: &self.method }
    }

    /// Reads a reference, or a run as one.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, as the rest of a sentence.
    pub fn parse(text: &str, name: &str, address: &str) -> Result<Reference, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
        }
        let head: Head = serde_json::from_str(text)
            .map_err(|error| format!("is neither a run nor a reference ({})", json_fault(&error)))?;
        match head.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(schema) if schema.starts_with("hostmark.run/") => {
                let run = hostmark_model::load_run(text).map_err(|error| error.to_string())?;
                return Ok(of_run(&run, name, address));
            }
            Some(other) => return Err(format!("has the schema '{}', and no reference has", shortened(other))),
            None => return Err("names no schema, as hostmark.run/1 or hostmark.reference/1".to_owned()),
        }
        let mut read: Reference =
            serde_json::from_str(text).map_err(|error| format!("is no reference ({})", json_fault(&error)))?;
        name.clone_into(&mut read.name);
        read.check()?;
        Ok(read)
    }

    fn check(&self) -> Result<(), String> {
        let all = || self.values.iter().chain(self.classes.iter().flat_map(|class| &class.values));
        if all().count() > MOST_VALUES {
            return Err(format!("has {} values, more than {MOST_VALUES}", all().count()));
        }
        for value in all() {
            let id = shortened(&value.id);
            if value.id.parse::<CaseId>().is_err() {
                return Err(format!("has '{id}', which is no case's id"));
            }
            let is_fine = |number: f64| number.is_finite() && number > 0.0;
            if !is_fine(value.value) {
                return Err(format!("has a value of {id} that is no positive number"));
            }
            let is_around = |[low, high]: [f64; 2]| is_fine(low) && low <= value.value && value.value <= high;
            let mut around = value.interval.into_iter().chain(value.half);
            if around.any(|interval| !is_around(interval) || !interval[1].is_finite()) {
                return Err(format!("has an interval of {id} that is not around its value"));
            }
            let source = value.source(self);
            if !source.is_whole() {
                return Err(format!("does not tell address, date, machine and method of {id}"));
            }
            let differs = value.differs.iter().flat_map(|text| [&text.en, &text.zh]);
            let texts = [&source.machine.en, &source.machine.zh, &source.method.en, &source.method.zh];
            let longest = texts.into_iter().chain(differs).map(String::len).max().unwrap_or(0);
            if longest.max(source.address.len()).max(source.date.len()) > LONGEST_TEXT {
                return Err(format!("has a text of more than {LONGEST_TEXT} bytes at {id}"));
            }
        }
        Ok(())
    }

    /// Values for machines with as many CPUs as a host; none where it does not tell them apart.
    pub fn class_of(&self, host: &HostFacts) -> Option<&Class> {
        let cpus = host.cpus.iter().filter(|cpu| cpu.online).count();
        self.classes.iter().find(|class| (class.cpus[0]..=class.cpus[1]).contains(&cpus))
    }

    /// The machines that a host stands beside, in words.
    pub(crate) fn machine_for(&self, host: &HostFacts) -> &Text<String> {
        self.class_of(host).map_or(&self.machine, |class| &class.machine)
    }

    /// Machines in words, who measured them, and when.
    pub(crate) fn machine_and_source(&self, machine: &Text<String>) -> Message {
        let machine = Text { en: visible(&machine.en), zh: visible(&machine.zh) };
        let year = visible(self.date.split('-').next().unwrap_or_default());
        match &self.by {
            Some(by) => say!("{machine} ({by}, {year})", by = visible(by)),
            None => say!("{machine} ({year})"),
        }
    }

    pub fn values_for(&self, host: &HostFacts) -> &[ReferenceValue] {
        self.class_of(host).map_or(&self.values, |class| &class.values)
    }
}

/// The beginning of something that a file says.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

thread_local! {
    /// A person's own references: they stand before those of the program.
    static OWN: Cell<&'static [Reference]> = const { Cell::new(&[]) };
}

/// Brings a person's own references along, for what this thread prints from now on; they stay in memory.
pub fn bring(own: Vec<Reference>) {
    OWN.set(own.leak());
}

/// All references, a person's own first.
pub fn all() -> impl Iterator<Item = &'static Reference> {
    OWN.get().iter().chain(built_in())
}

pub fn named(name: &str) -> Option<&'static Reference> {
    all().find(|reference| reference.name == name)
}

/// A value over that of a reference: two digits are what such a ratio can bear.
pub fn ratio_text(ratio: f64) -> String {
    match ratio {
        // Nothing real is off by so much; a file may say anything.
        9999.5.. => format!("{ratio:.0e}x"),
        9.95.. => format!("{ratio:.0}x"),
        0.995.. => format!("{ratio:.1}x"),
        0.0095.. => format!("{ratio:.2}x"),
        _ => format!("{ratio:.0e}x"),
    }
}

/// A run as a reference of this name, to be found at `address`.
pub fn of_run(run: &Run, name: &str, address: &str) -> Reference {
    let host = &run.host;
    let groups = constants::of_run(run);
    let constants: Vec<&constants::ConstantValue> = groups.iter().flat_map(|(_, constants)| constants).collect();
    let shown: HashSet<&str> = constants
        .iter()
        .filter(|constant| constant.quantity().is_empty())
        .map(|constant| constant.case.id.as_str())
        .collect();
    let of_constant = |constant: &&constants::ConstantValue| match constant.in_core_cycles() {
        Some(cycles) if is_of_core(&constant.key()) => value(constant.key(), Measured::CYCLES, &cycles),
        _ => value(constant.key(), constant.quantity(), constant.estimate),
    };
    let rest = run.cases.iter().filter(|case| case.peer().is_none() && !shown.contains(case.id.as_str()));
    let of_case = |case: &hostmark_model::CaseRecord| value(case.id.clone(), "", &case.measured()?.estimate);
    let values = constants.iter().filter_map(of_constant).chain(rest.filter_map(of_case)).collect();
    let model = host.cpu.plain_model();
    let cpus = host.cpus.iter().filter(|cpu| cpu.online).count();
    let hostname = &host.hostname;
    let named = model.clone().unwrap_or_else(|| host.cpu.architecture.clone());
    let is_guest = host.virtualization.hypervisor.is_some();
    let profile = run.settings.profile.name();
    let method = format!("hostmark {}, {profile}", run.tool.version);
    Reference {
        name: name.to_owned(),
        machine: words(match is_guest {
            true => say!("{hostname}: {named}, {cpus} CPUs, a guest"),
            false => say!("{hostname}: {named}, {cpus} CPUs"),
        }),
        architecture: host.cpu.architecture.clone(),
        vendor: host.cpu.vendor.clone(),
        model,
        design: None,
        guest: is_guest,
        cpus: Some(cpus).filter(|cpus| *cpus > 0),
        instructions: verdict::widest(&host.cpu.features).map(str::to_owned),
        address: address.to_owned(),
        date: run.started.clone(),
        by: None,
        method: words(&method),
        values,
        classes: Vec::new(),
        run: Some(run.id.clone()),
    }
}

fn value(id: String, quantity: &str, estimate: &Estimate) -> Option<ReferenceValue> {
    let value = estimate.value();
    (value.is_finite() && value > 0.0).then(|| ReferenceValue {
        quantity: quantity.to_owned(),
        interval: estimate.interval().map(|(low, high)| [low, high]),
        ..ReferenceValue::of(&id, value)
    })
}

macro_rules! files {
    ($($name:literal),+) => { &[$(($name, include_str!(concat!("../../references/", $name, ".json")))),+] };
}

/// Their names and texts. A test holds the directory to it.
const FILES: &[(&str, &str)] = files![
    "broadwell-stream",
    "celeron-1037u",
    "emerald-rapids-kvm",
    "graviton2",
    "graviton4",
    "i7-6500u",
    "i7-6500u-kvm",
    "lmbench-result",
    "usual-broadwell-ep",
    "usual-cascade-lake",
    "usual-cooper-lake",
    "usual-emerald-rapids",
    "usual-granite-rapids",
    "usual-haswell-ep",
    "usual-ice-lake-sp",
    "usual-neoverse-n1",
    "usual-neoverse-n2",
    "usual-neoverse-v2",
    "usual-neoverse-v3",
    "usual-sapphire-rapids",
    "usual-skylake-sp",
    "usual-zen-2-rome",
    "usual-zen-3-milan",
    "usual-zen-4-genoa",
    "usual-zen-5-turin",
    "x220"
];

/// The references that come with the program, by name.
pub fn built_in() -> &'static [Reference] {
    static READ: LazyLock<Vec<Reference>> = LazyLock::new(|| {
        // What could not be read a test would have found.
        let mut all: Vec<Reference> =
            FILES.iter().filter_map(|(name, text)| Reference::parse(text, name, name).ok()).collect();
        all.iter_mut().for_each(complete_by_manual);
        all
    });
    &READ
}

/// The cycles that a load from L1d and from L2 takes at least in a design, and the page of its maker's manual: Intel's optimization manual
/// (248966) and AMD's guides (56305, 56665, 57647, 58455). A chain through registers takes the simplest address: 4 cycles, not 5. Arm's
/// clocks are not known from the base: that chain has further instructions.
fn documented_cycles(design: &str) -> Option<(u32, u32, &'static str)> {
    include_str!("designs.tsv").lines().find_map(|line| {
        let mut columns = line.split('\t');
        columns.next().filter(|name| *name == design)?;
        Some((columns.next()?.parse().ok()?, columns.next()?.parse().ok()?, columns.next()?))
    })
}

/// The year of the manuals.
const DATE: &str = "2024";
/// A latency is a whole number of cycles: what is nearer to another one is another latency.
const HALF: f64 = 0.5;
/// Published chains through L2 take up to so many more than the manuals' least.
const MORE_OF_SECOND: f64 = 3.0;

const FIRST: &str = "memory.hierarchy@level=l1d";
const SECOND: &str = "memory.hierarchy@level=l2";
const CLOCK: &str = "cpu.frequency@load=scalar,threads=1";

/// Puts what is known of the design in the place of L1d's time: cycles of L1d and L2, and the clock.
pub(super) fn complete_by_manual(reference: &mut Reference) {
    let Some((first, second, address)) = reference.design.as_deref().and_then(documented_cycles) else { return };
    let documented = |id: &str, least: u32, more: f64| ReferenceValue {
        quantity: Measured::CYCLES.to_owned(),
        interval: Some([f64::from(least) - HALF, f64::from(least) + more + HALF]),
        address: Some(address.to_owned()),
        date: Some(DATE.to_owned()),
        method: Some(BY_MANUAL.to_owned_text()),
        ..ReferenceValue::of(id, f64::from(least))
    };
    let clock = |time: &ReferenceValue| {
        let hz = |ns: f64| f64::from(first) * 1e9 / ns;
        let turned = |[low, high]: [f64; 2]| [hz(high), hz(low)];
        ReferenceValue {
            interval: time.interval.map(turned),
            half: time.half.map(turned),
            method: Some(crate::texts::references::designs::CLOCK.to_owned_text()),
            ..ReferenceValue::of(CLOCK, hz(time.value))
        }
    };
    for values in
        std::iter::once(&mut reference.values).chain(reference.classes.iter_mut().map(|class| &mut class.values))
    {
        let time = values.iter().position(|value| value.id == FIRST && value.quantity.is_empty());
        let clock = time.map(|at| clock(&values.remove(at)));
        let core = [documented(FIRST, first, 0.0), documented(SECOND, second, MORE_OF_SECOND)];
        values.splice(0..0, core);
        values.extend(clock);
    }
}

const BY_MANUAL: Text =
    term!("load-to-use latency by the maker's optimization manual, which gives the least; L2 up to 3 cycles more");

#[cfg(test)]
mod tests {
    use super::ratio_text;

    #[test]
    fn a_ratio_has_two_digits() {
        let shown = [0.004, 0.53, 0.996, 1.04, 1.26, 9.9, 17.3, 9999.0, 1.8e299].map(ratio_text);
        assert_eq!(shown, ["4e-3x", "0.53x", "1.0x", "1.0x", "1.3x", "9.9x", "17x", "9999x", "2e299x"]);
    }
}
