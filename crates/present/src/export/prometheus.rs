//! Prometheus' text format as node_exporter's textfile collector takes it: gauges without timestamps, in base units.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use hostmark_analysis::escape::visible;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{CaseRecord, Outcome, Run, Unit};

use super::{ExportFormat, Render};
use crate::RenderOptions;

/// Format for a monitoring system that keeps the values.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "prometheus",
    description: term!("Prometheus text for node_exporter's textfile collector"),
    render: Render::One(render),
};

/// Labels that Prometheus or its exporters give themselves.
const TAKEN: [&str; 8] = ["job", "instance", "le", "quantile", RUN, SERIES, HOST, ESTIMATOR];
/// Labels of every line: files of several runs may lie in one folder.
const RUN: &str = "run";
/// Label in place of the run's name for a turn of a series: turns continue each other's lines.
const SERIES: &str = "series";
const HOST: &str = "host";
/// The label that says which value it is: quiet or typical. The kind of a case decides, so that no series changes its name.
const ESTIMATOR: &str = "estimator";
/// Ends of names that belong to other kinds of metric.
const OF_OTHER_KINDS: [&str; 4] = ["_total", "_count", "_sum", "_bucket"];

/// Units that a name spells out.
const SHORT: [(&str, &str); 14] = [
    ("s", "second"),
    ("sec", "second"),
    ("ms", "millisecond"),
    ("us", "microsecond"),
    ("ns", "nanosecond"),
    ("m", "minute"),
    ("h", "hour"),
    ("d", "day"),
    ("b", "byte"),
    ("kb", "kilobyte"),
    ("mb", "megabyte"),
    ("gb", "gigabyte"),
    ("tb", "terabyte"),
    ("pb", "petabyte"),
];

/// The values of one name; all of them stand together.
struct MetricFamily {
    name: String,
    help: String,
    lines: Vec<(String, f64)>,
}

/// All families, in the order in which they first came.
#[derive(Default)]
struct Families {
    all: Vec<MetricFamily>,
    places: HashMap<String, usize>,
    seen: HashSet<(String, String)>,
}

impl Families {
    fn add(&mut self, name: &str, help: &str, labels: &str, value: f64) {
        // The same labels twice would make the collector refuse the whole file.
        if !value.is_finite() || !self.seen.insert((name.to_owned(), labels.to_owned())) {
            return;
        }
        let line = (labels.to_owned(), value);
        match self.places.get(name) {
            Some(&place) => self.all[place].lines.push(line),
            None => {
                self.places.insert(name.to_owned(), self.all.len());
                self.all.push(MetricFamily { name: name.to_owned(), help: help.to_owned(), lines: vec![line] });
            }
        }
    }
}

fn render(run: &Run, _: &RenderOptions) -> String {
    let mut families = Families::default();
    about(run, &mut families);
    for case in &run.cases {
        of_case(run, case, &mut families);
    }
    let name = match &run.series {
        Some(series) => written(SERIES, &series.name),
        None => written(RUN, &run.name),
    };
    let of_run = format!("{name},{}", written(HOST, &run.host.hostname));
    let mut text = String::new();
    for MetricFamily { name, help, lines } in families.all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} gauge", visible(&help).replace('\\', "\\\\"));
        for (labels, value) in lines {
            let comma = if labels.is_empty() { "" } else { "," };
            let _ = writeln!(text, "{name}{{{labels}{comma}{of_run}}} {value}");
        }
    }
    text + "# EOF\n" // A comment to Prometheus; readers of OpenMetrics refuse a text without it.
}

fn about(run: &Run, families: &mut Families) {
    let profile = serde_json::to_value(run.settings.profile).ok();
    let profile = profile.as_ref().and_then(|profile| profile.as_str()).unwrap_or_default();
    let info = [
        ("kernel", run.host.kernel.release.as_str()),
        ("version", &run.tool.version),
        ("note", run.note.as_deref().unwrap_or_default()),
        ("profile", if run.imported.is_some() { "" } else { profile }),
    ];
    families.add("hostmark_run_info", "The run that the values are of.", &labels(&[], &info), 1.0);
    if let Some(time) = run.finished.as_deref().and_then(Timestamp::parse) {
        let name = "hostmark_run_finished_timestamp_seconds";
        families.add(name, "When the run had finished.", "", time.seconds() as f64);
    }
    if let Some(trust) = &run.trust {
        let grade = labels(&[], &[("grade", trust.grade.letter())]);
        families.add("hostmark_run_trust_info", "How far the run can be trusted: A, B, C, D or F.", &grade, 1.0);
        let help = "Nine of ten values of another run are expected within this part of the values.";
        trust.within.into_iter().for_each(|within| families.add("hostmark_run_trust_within_ratio", help, "", within));
    }
    for outcome in ["measured", "skipped", "failed"] {
        let is_it = |case: &&CaseRecord| word(&case.outcome) == outcome;
        let count = run.cases.iter().filter(is_it).count();
        let help = "Cases of the run by how they ended.";
        families.add("hostmark_run_cases", help, &labels(&[], &[("outcome", outcome)]), count as f64);
    }
    let mut causes: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for outcome in run.cases.iter().map(|case| &case.outcome) {
        if let Some(reason) = outcome.reason() {
            let code = reason.code.map(|code| code.to_string()).unwrap_or_default();
            *causes.entry((word(outcome), code)).or_default() += 1;
        }
    }
    for ((outcome, code), count) in causes {
        let help = "Cases of the run without a value by why.";
        let labels = labels(&[], &[("outcome", outcome), ("code", &code)]);
        families.add("hostmark_run_unmeasured_cases", help, &labels, count as f64);
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Measured(_) => "measured",
        Outcome::Skipped { .. } => "skipped",
        Outcome::Failed { .. } => "failed",
    }
}

fn of_case(run: &Run, case: &CaseRecord, families: &mut Families) {
    let (Some(measured), Some(probe)) = (case.measured(), run.probes.iter().find(|probe| probe.id == case.probe))
    else {
        return;
    };
    let mut all = vec![(String::new(), probe.unit, probe.title.en.clone(), Cow::Borrowed(&measured.estimate))];
    for also in &probe.also {
        if let Some(estimate) = measured.companion(&also.name) {
            let title = format!("{}: {}", probe.title.en, also.title.en);
            // The unit stands at the end once, and is the base one.
            let name = also.name.strip_suffix("_ns").or_else(|| also.name.strip_suffix(base(also.unit).0));
            all.push((format!("_{}", name.unwrap_or(&also.name)), also.unit, title, estimate));
        }
    }
    for (quantity, unit, title, estimate) in all {
        let agreement = estimate.agreement;
        let (suffix, scale) = base(unit);
        let stated = estimate.stated();
        let labels = labels(&case.params.0, &[(ESTIMATOR, stated.estimator.word())]);
        let mut add = |part: &str, of: &str, value: f64| {
            let name = metric(&format!("hostmark_{}{quantity}{part}{suffix}", case.probe));
            families.add(&name, &format!("{title}{of}."), &labels, value * scale);
        };
        add("", "", stated.value);
        if let Some((low, high)) = stated.interval() {
            add("_interval_low", ", lower end of the 95 % interval", low);
            add("_interval_high", ", upper end of the 95 % interval", high);
        }
        if let Some([low, high]) = super::csv::range(&estimate) {
            add("_range_low", ", lower end of the range of its values", low);
            add("_range_high", ", upper end of the range of its values", high);
        }
        if let Some(share) = agreement {
            let name = name(&format!("hostmark_{}{quantity}_agreement_ratio", case.probe));
            families.add(&name, &format!("{title}, share of rounds that agree on it."), &labels, share);
        }
    }
}

/// Suffix of a name, and the size of the stored unit in Prometheus' base unit.
fn base(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Nanoseconds => ("_seconds", 1e-9),
        Unit::CoreCycles => ("_core_cycles", 1.0),
        Unit::ReferenceCycles => ("_reference_cycles", 1.0),
        Unit::BytesPerSecond => ("_bytes_per_second", 1.0),
        Unit::OperationsPerSecond => ("_operations_per_second", 1.0),
        Unit::Bytes => ("_bytes", 1.0),
        Unit::Hertz => ("_hertz", 1.0),
        Unit::Joules => ("_joules", 1.0),
        Unit::Count => ("", 1.0),
        Unit::Ratio => ("_ratio", 1.0),
    }
}

/// The name of a metric: no part of it is a short unit, as `promtool check metrics` wants it.
fn metric(text: &str) -> String {
    let spelt = |part: &str| {
        SHORT.iter().find(|(short, _)| *short == part).map_or(part.to_owned(), |(_, unit)| (*unit).to_owned())
    };
    name(text).split('_').map(spelt).collect::<Vec<String>>().join("_")
}

/// A name of letters, digits and underscores, with an end that no other kind of metric claims.
fn name(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut name: String = text.chars().map(fits).collect();
    if OF_OTHER_KINDS.iter().any(|end| name.ends_with(end)) {
        name.push_str("_value");
    }
    name
}

/// A label and its value.
pub(super) fn written(label: &str, value: &str) -> String {
    format!("{label}=\"{}\"", visible(value).replace('\\', "\\\\").replace('"', "\\\""))
}

/// A case's points as labels, and labels of our own.
fn labels(points: &[(String, String)], own: &[(&str, &str)]) -> String {
    let mut seen = HashSet::new();
    let one = |(axis, value): &(String, String)| {
        let mut label = name(axis);
        if TAKEN.contains(&label.as_str()) || !label.starts_with(|c: char| c.is_ascii_alphabetic()) {
            label = format!("axis_{label}");
        }
        seen.insert(label.clone()).then(|| written(&label, value))
    };
    let own = own.iter().map(|(label, value)| written(label, value));
    points.iter().filter_map(one).chain(own).collect::<Vec<String>>().join(",")
}
