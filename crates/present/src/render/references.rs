//! The references as a person asks for them: all names, one with the source of every value, and what all have of a probe.

use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{between, value as shown};
use hostmark_analysis::references::{Citation, Reference, ReferenceValue, all};
use hostmark_analysis::spoken;
use hostmark_model::{CaseId, Lang, Measured, ProbeInfo, Text, Unit};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use crate::wrap::hanging;

/// Values of a reference that a probe's page shows at most, the first of it: they are at the probe's defaults or next to them.
const MOST_OF_PROBE: usize = 3;

/// A text in as many lines as it needs, behind `first` and then indented by as much.
fn paragraph(out: &mut String, first: &str, text: &str, width: usize) {
    *out += &hanging(first, &visible(text), width);
}

/// A source in words, the machine left out. Its address stands on a line of its own, unbroken, so that it can be followed.
fn source(out: &mut String, indent: &str, of: &Citation, options: &RenderOptions) {
    let says = spoken(&say!("{date}; {method}", date = of.date, method = of.method), options.lang);
    *out += &format!("{indent}{}\n", visible(of.address));
    paragraph(out, indent, &says, options.width.max(40));
}

/// All names, each with its machine.
pub fn list(options: &RenderOptions) -> String {
    let (lang, width) = (options.lang, options.width.max(40));
    let names = all().map(|reference| visible(&reference.name).width()).max().unwrap_or(0).min(width / 3);
    let mut out = String::new();
    for reference in all() {
        let name = visible(&reference.name);
        let first = format!("  {name}{}  ", " ".repeat(names.saturating_sub(name.width())));
        let Reference { machine, date, values, .. } = reference;
        let says = say!("{machine}; {date}; values: {count}", count = values.len());
        paragraph(&mut out, &first, &spoken(&says, lang), width);
    }
    out.push('\n');
    paragraph(&mut out, "", HOW.get(lang), width);
    out
}

const HOW: Text = term!(
    "hostmark explain NAME has every value with its source, hostmark compare --against NAME compares a run with it."
);

/// A reference with the source of every value.
pub fn page(reference: &Reference, probes: &[ProbeInfo], options: &RenderOptions) -> String {
    let (lang, width) = (options.lang, options.width.max(40));
    let mut out = String::new();
    let Reference { name, machine, .. } = reference;
    paragraph(&mut out, "", &spoken(&say!("{name}: {machine}"), lang), width);
    source(&mut out, "  ", &reference.source(), options);
    out.push('\n');
    write_values(&mut out, reference, &reference.values, probes, options);
    for class in &reference.classes {
        out.push('\n');
        paragraph(&mut out, "", class.machine.get(lang), width);
        write_values(&mut out, reference, &class.values, probes, options);
    }
    out
}

fn write_values(
    out: &mut String,
    reference: &Reference,
    values: &[ReferenceValue],
    probes: &[ProbeInfo],
    options: &RenderOptions,
) {
    let (lang, width) = (options.lang, options.width.max(40));
    for value in values {
        let says = format!("{} {}", typed(value, probes), value.quantity);
        paragraph(out, "  ", &format!("{}   {}", says.trim_end(), number(value, probes, lang)), width);
        if let Some(differs) = &value.differs {
            let says = spoken(&say!("Measured otherwise: {differs}."), lang);
            paragraph(out, "      ", &says, width);
        }
        let own = value.source(reference);
        if own != reference.source() {
            source(out, "      ", &own, options);
            if let Some(machine) = &value.machine {
                paragraph(out, "      ", machine.get(lang), width);
            }
        }
    }
}

/// A value with its unit and its interval.
fn number(value: &ReferenceValue, probes: &[ProbeInfo], lang: Lang) -> String {
    let unit = unit(value, probes).unwrap_or(Unit::Count);
    let number = shown(value.value, unit, lang);
    let [interval, half] =
        [value.interval, value.half].map(|ends| ends.map(|[low, high]| between((low, high), value.value, unit)));
    match (interval, half) {
        (Some(interval), None) => format!("{number} [{interval}]"),
        (Some(interval), Some(half)) => spoken(&say!("{number} [{interval}], half of them {half}"), lang),
        (None, _) => spoken(&say!("{number} (no interval)"), lang),
    }
}

/// The id of its case as people type it.
fn typed(value: &ReferenceValue, probes: &[ProbeInfo]) -> String {
    let name = value.id.split('@').next();
    let probe = probes.iter().find(|probe| Some(probe.id.as_str()) == name);
    probe.map_or_else(|| value.id.clone(), |probe| probe.typed_id(&value.id))
}

fn unit(value: &ReferenceValue, probes: &[ProbeInfo]) -> Option<Unit> {
    let id: CaseId = value.id.parse().ok()?;
    let info = probes.iter().find(|info| info.id == id.probe)?;
    match value.quantity.as_str() {
        "" | Measured::CYCLES => Some(value.unit_beside(info.unit)),
        name => info.also.iter().find(|also| also.name == name).map(|also| also.unit),
    }
}

/// Values of a probe in references, with their sources; empty where none has any.
pub fn figures(probe: &ProbeInfo, options: &RenderOptions) -> String {
    let (lang, width) = (options.lang, options.width.max(40));
    let mut out = String::new();
    for reference in all() {
        let is_its = |value: &&ReferenceValue| value.id.split('@').next() == Some(probe.id.as_str());
        let mut values = reference.values.iter().filter(is_its);
        let first: Vec<&ReferenceValue> = values.by_ref().take(MOST_OF_PROBE).collect();
        let Some(one) = first.first() else { continue };
        let numbers: Vec<String> = first
            .iter()
            .map(|value| {
                let id = probe.typed_id(&value.id);
                let at = id.split_once('@').map_or("", |(_, at)| at);
                let number = number(value, std::slice::from_ref(probe), lang);
                format!("{at} {} {number}", value.quantity).split_whitespace().collect::<Vec<&str>>().join(" ")
            })
            .collect();
        let (Reference { name, machine, .. }, more) = (reference, values.count());
        let mut says = say!("{name} ({machine}): {numbers}", numbers = numbers.join("; "));
        if more > 0 {
            says = say!("{says}; {more} more cases not shown");
        }
        paragraph(&mut out, "  ", &spoken(&says, lang), width);
        let own = one.source(reference);
        out += &format!("      {}\n", visible(&format!("{} ({})", own.address, own.date)));
    }
    let title = spoken(&say!("Reference values of {probe}", probe = probe.id), lang);
    if out.is_empty() { out } else { format!("{}\n{out}\n", visible(&title)) }
}
