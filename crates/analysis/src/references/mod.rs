//! References: what other machines delivered, as data with a source for every value, and this machine's values held against them.

mod built_in;
mod designs;
mod nearest;
mod of_run;
mod verdict;

use std::borrow::Cow;
use std::cell::Cell;

use hostmark_model::{
    Better, CaseId, CaseRecord, Estimate, Flag, HostFacts, Measured, Message, Outcome, Run, Text, Unit, json_fault,
};
use hostmark_say::say;
use serde::Deserialize;

use crate::constants::ConstantValue;
use crate::escape::visible;
use crate::lmbench::case_at;
use crate::reasons;
use verdict::NOT_MEASURED;

pub use built_in::built_in;
pub use nearest::{NearestReference, beside, usual};
pub use of_run::of_run;
pub use verdict::{NONE_LEFT, ReferenceVerdict, Standing, Tone};

/// The schema of a reference's file.
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
    /// The run that it was made of.
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

    /// Checks for impossible values.
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

    /// Values to compare a host with.
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

#[cfg(test)]
mod tests {
    use super::ratio_text;

    #[test]
    fn a_ratio_has_two_digits() {
        let shown = [0.004, 0.53, 0.996, 1.04, 1.26, 9.9, 17.3, 9999.0, 1.8e299].map(ratio_text);
        assert_eq!(shown, ["4e-3x", "0.53x", "1.0x", "1.0x", "1.3x", "9.9x", "17x", "9999x", "2e299x"]);
    }
}
