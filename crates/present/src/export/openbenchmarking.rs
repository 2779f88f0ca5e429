//! The result file of OpenBenchmarking and the Phoronix Test Suite (composite.xml): an entry for each case with a value.

use std::borrow::Cow;
use std::fmt::Write;

use hostmark_analysis::escape::{visible, xml};
use hostmark_analysis::format::unit_name;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Better, CaseRecord, Estimate, HostFacts, Leading, Measured, Run, Unit, size_text};

use super::{ExportFormat, Render};
use crate::RenderOptions;

/// Format for viewers of such files.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "openbenchmarking",
    description: term!("a composite.xml of OpenBenchmarking / Phoronix Test Suite"),
    render: Render::One(render),
};

/// Longest texts that the suite's schema allows: of a file, a result and a system.
const LONGEST_TITLE: usize = 126;
const LONGEST_DESCRIPTION: usize = 2048;
const LONGEST_RESULT: usize = 50;
const LONGEST_IDENTIFIER: usize = 128;
/// Date of a file without one.
const NO_DATE: &str = "1970-01-01 00:00:00";

fn render(run: &Run, _: &RenderOptions) -> String {
    let mut out = Xml { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), depth: 0 };
    out.group("PhoronixTestSuite", |out| {
        let date = date(&run.started);
        let tool =
            if run.imported.is_some() { run.tool.version.clone() } else { format!("hostmark {}", run.tool.version) };
        out.group("Generated", |out| {
            out.leaf("Title", &shortened(if run.name.is_empty() { &run.id } else { &run.name }, LONGEST_TITLE));
            out.leaf("LastModified", &date);
            out.leaf("TestClient", &tool);
            out.leaf("Description", &shortened(&format!("{tool} on {}", run.host.hostname), LONGEST_DESCRIPTION));
            out.leaf("Notes", &notes(run));
            out.leaf("InternalTags", "");
            out.leaf("ReferenceID", &run.id);
            out.leaf("PreSetEnvironmentVariables", "");
        });
        out.group("System", |out| {
            out.leaf("Identifier", &identifier(run));
            out.leaf("Hardware", &hardware(&run.host));
            out.leaf("Software", &software(&run.host));
            out.leaf("User", "");
            out.leaf("TimeStamp", &date);
            out.leaf("TestClientVersion", &tool);
            out.leaf("Notes", "");
        });
        for case in &run.cases {
            if let Some(measured) = case.measured() {
                results(out, run, case, measured, &tool);
            }
        }
    });
    out.text
}

/// XML that is written from its root on.
struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    fn group(&mut self, name: &str, inside: impl FnOnce(&mut Xml)) {
        let indent = "  ".repeat(self.depth);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{indent}<{name}>");
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        let _ = writeln!(self.text, "{indent}</{name}>");
    }

    fn leaf(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "{}<{name}>{}</{name}>", "  ".repeat(self.depth), xml(value));
    }
}

/// The value of a case, and each of its further quantities, as results of their own.
fn results(out: &mut Xml, run: &Run, case: &CaseRecord, measured: &Measured, tool: &str) {
    let Some(probe) = run.probes.iter().find(|probe| probe.id == case.probe) else { return };
    // Viewers hold the value against the raw ones: a quiet value is none of the rounds' medians, and stands alone.
    let raw: Vec<f64> = match measured.rounds.len() {
        _ if measured.estimate.estimator() == Leading::Quiet => vec![measured.estimate.value()],
        0 => measured.samples.iter().flatten().copied().collect(),
        _ => measured.rounds.iter().map(|round| round.median).collect(),
    };
    let mut all = vec![("", probe.unit, probe.better, Cow::Borrowed(&measured.estimate), raw)];
    for also in &probe.also {
        if let Some(estimate) = measured.companion(&also.name) {
            let raw = vec![estimate.value()];
            all.push((also.title.en.as_str(), also.unit, also.better, estimate, raw));
        }
    }
    for (quantity, unit, better, estimate, raw) in all {
        out.group("Result", |out| {
            // The files of test profiles are named by group/name-version.
            out.leaf("Identifier", &format!("local/hostmark-{}-{}.0.0", case.probe.replace('.', "-"), probe.revision));
            out.leaf("Title", &format!("{:-<2}", shortened(&probe.title.en, LONGEST_RESULT)));
            out.leaf("AppVersion", tool);
            out.leaf("Arguments", &case.id);
            out.leaf("Description", &description(run, case, quantity, estimate.estimator()));
            out.leaf("Scale", scale(unit));
            out.leaf("Proportion", if better == Better::Lower { "LIB" } else { "HIB" });
            out.leaf("DisplayFormat", "BAR_GRAPH");
            out.group("Data", |out| out.group("Entry", |out| entry(out, run, &estimate, &raw)));
        });
    }
}

fn entry(out: &mut Xml, run: &Run, estimate: &Estimate, raw: &[f64]) {
    let raw: Vec<String> = raw.iter().map(|&value| number(value)).collect();
    out.leaf("Identifier", &identifier(run));
    out.leaf("Value", &number(estimate.value()));
    out.leaf("RawString", &raw.join(":"));
}

/// Six significant digits, all digits before the point kept: viewers show a value as it stands.
fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    let places = (5.0 - digits).clamp(0.0, 30.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The system's name, which ties entries to it.
fn identifier(run: &Run) -> String {
    shortened(if run.host.hostname.is_empty() { "unknown host" } else { &run.host.hostname }, LONGEST_IDENTIFIER)
}

/// The beginning of a text that a viewer takes up to a length, as it is written.
fn shortened(text: &str, most: usize) -> String {
    visible(text).chars().take(most).collect()
}

/// `size: 32 KiB - threads: 1 - estimator: quiet`, as these files write it.
fn description(run: &Run, case: &CaseRecord, quantity: &str, estimator: Leading) -> String {
    let probe = run.probes.iter().find(|probe| probe.id == case.probe);
    let is_size = |axis: &str| {
        let known = probe.and_then(|probe| probe.axes.iter().find(|known| known.name == axis));
        known.is_some_and(|axis| axis.kind == hostmark_model::AxisKind::Size)
    };
    let point = |(axis, value): &(String, String)| match value.parse() {
        Ok(bytes) if is_size(axis) => format!("{axis}: {}", size_text(bytes)),
        _ => format!("{axis}: {value}"),
    };
    let points = case.params.0.iter().map(point).chain((!quantity.is_empty()).then(|| quantity.to_owned()));
    points.chain([format!("estimator: {}", estimator.word())]).collect::<Vec<_>>().join(" - ")
}

fn scale(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "Nanoseconds",
        Unit::BytesPerSecond => "Bytes/s",
        Unit::OperationsPerSecond => "Operations/s",
        Unit::Bytes => "Bytes",
        Unit::Hertz => "Hertz",
        _ => unit_name(unit).en,
    }
}

/// `2026-11-21T06:15:00Z` as these files write a time.
fn date(time: &str) -> String {
    let time = Timestamp::parse(time);
    time.map_or(NO_DATE.to_owned(), |time| time.to_string().replace('T', " ").replace('Z', ""))
}

fn notes(run: &Run) -> String {
    let without = run.cases.iter().filter(|case| case.measured().is_none()).count();
    let values = "Values are in base units: each result's description names its estimator, quiet (of an undisturbed core) or \
                  typical (the median of the rounds, with those of each round as raw values).";
    let note = run.note.iter().map(|note| format!("{note} · "));
    let without = (without > 0).then(|| format!(" {without} cases have no value and are not here."));
    note.chain([values.to_owned()]).chain(without).collect()
}

fn hardware(host: &HostFacts) -> String {
    let mut facts = Vec::new();
    if let Some(model) = &host.cpu.model {
        facts.push(format!("Processor: {model} ({} CPUs)", host.cpus.len()));
    }
    if host.memory.total_bytes > 0 {
        facts.push(format!("Memory: {}", size_text(host.memory.total_bytes)));
    }
    if let Some(product) = &host.firmware.product {
        facts.push(format!("Motherboard: {product}"));
    }
    facts.join(", ")
}

fn software(host: &HostFacts) -> String {
    let mut facts = Vec::new();
    if !host.kernel.release.is_empty() {
        facts.push(format!("Kernel: {} ({})", host.kernel.release, host.cpu.architecture));
    }
    if let Some(hypervisor) = &host.virtualization.hypervisor {
        facts.push(format!("System Layer: {hypervisor}"));
    }
    facts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn six_digits_of_a_value_stand_and_none_before_its_point_is_lost() {
        for (value, text) in [
            (9.884236785217114, "9.88424"),
            (3075171488.250621, "3075171488"),
            (0.5399182068465388, "0.539918"),
            (1.23456789e-7, "0.000000123457"),
            (1527.0, "1527"),
            (64.0, "64"),
            (1200.0, "1200"),
            (-2.5, "-2.5"),
            (0.0, "0"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
