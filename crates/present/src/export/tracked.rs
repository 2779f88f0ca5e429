//! Formats of the services that follow benchmarks from build to build: github-action-benchmark, Bencher, and Go's benchmark text, which
//! benchstat reads.

use std::collections::BTreeMap;

use hostmark_analysis::escape;
use hostmark_model::{Better, CaseRecord, FlagKind, Measured, ProbeInfo, Run, Unit};
use serde_json::{Value, json};

use super::{ExportFormat, Render};

/// For `tool: customSmallerIsBetter` of github-action-benchmark.
pub(super) const GITHUB: ExportFormat = ExportFormat {
    name: "github-action-benchmark",
    description: term!("JSON for github-action-benchmark (customSmallerIsBetter); of rates the time of one"),
    render: Render::One(|run, _| pretty(github(run))),
};
pub(super) const BENCHER: ExportFormat = ExportFormat {
    name: "bencher",
    description: term!("JSON for Bencher: latency, throughput or bandwidth of each case"),
    render: Render::One(|run, _| pretty(bencher(run))),
};
pub(super) const GO: ExportFormat = ExportFormat {
    name: "go-bench",
    description: term!("Go's benchmark text, a line for each round: for benchstat"),
    render: Render::One(|run, _| go(run)),
};

pub(super) const NAMES: [&str; 3] = [GITHUB.name, BENCHER.name, GO.name];

fn pretty(value: Value) -> String {
    // Keys are texts, so that there is nothing that could fail.
    escape::json(&serde_json::to_string_pretty(&value).unwrap_or_default()) + "\n"
}

/// The cases that have a value to rely on, and of which one direction is good, each with its probe.
fn judged(run: &Run) -> impl Iterator<Item = (&CaseRecord, &ProbeInfo, &Measured)> {
    run.cases.iter().filter_map(|case| {
        let probe = run.probes.iter().find(|probe| probe.id == case.probe)?;
        let measured = case.measured().filter(|measured| measured.estimate.value().is_finite())?;
        let is_doubtful = |kind| matches!(kind, FlagKind::Implausible | FlagKind::Unconfirmed);
        let is_sure = !measured.flags.iter().any(|flag| is_doubtful(flag.kind));
        (probe.better != Better::Neither && is_sure).then_some((case, probe, measured))
    })
}

/// All values smaller for better, as one file has one direction: of a rate the time of one, of other values their reciprocal.
fn github(run: &Run) -> Value {
    let entry = |(case, probe, measured): (&CaseRecord, &ProbeInfo, &Measured)| {
        let plain = symbol(probe.unit);
        let (cost, unit): (fn(f64) -> f64, String) = match (probe.better, plain.strip_suffix("/s")) {
            (Better::Higher, Some(thing)) => (|value| NS_PER_S / value, format!("ns/{thing}")),
            (Better::Higher, None) => (|value| 1.0 / value, format!("1/{plain}")),
            _ => (|value| value, plain.to_owned()),
        };
        let value = Some(cost(measured.estimate.value())).filter(|value| value.is_finite())?;
        let mut entry = json!({ "name": case.id, "unit": unit, "value": value });
        if let Some((low, high)) = measured.estimate.interval() {
            let (one, other) = (cost(low), cost(high));
            entry["range"] = json!(format!("{:.4} … {:.4}", one.min(other), one.max(other)));
        }
        Some(entry)
    };
    judged(run).filter_map(entry).collect()
}

const NS_PER_S: f64 = 1e9;

/// Symbol of a unit; of a rate it ends with `/s`.
pub(super) fn symbol(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::BytesPerSecond => "B/s",
        Unit::OperationsPerSecond => "op/s",
        Unit::Hertz => "cycle/s",
        Unit::CoreCycles | Unit::ReferenceCycles => "cycles",
        Unit::Bytes => "bytes",
        Unit::Joules => "J",
        Unit::Count | Unit::Ratio => "count",
    }
}

/// The measures of Bencher's own names where it has one.
fn bencher(run: &Run) -> Value {
    let measure = |probe: &ProbeInfo| match probe.unit {
        Unit::Nanoseconds => "latency",
        Unit::OperationsPerSecond => "throughput",
        Unit::BytesPerSecond => "bandwidth",
        Unit::Hertz => "frequency",
        Unit::CoreCycles | Unit::ReferenceCycles => "cycles",
        Unit::Bytes => "bytes",
        Unit::Joules => "energy",
        Unit::Count | Unit::Ratio => "count",
    };
    let entry = |(case, probe, measured): (&CaseRecord, &ProbeInfo, &Measured)| {
        let mut metric = json!({ "value": measured.estimate.value() });
        if let Some((low, high)) = measured.estimate.interval() {
            metric["lower_value"] = json!(low);
            metric["upper_value"] = json!(high);
        }
        (case.id.clone(), json!({ measure(probe): metric }))
    };
    Value::Object(judged(run).map(entry).collect())
}

/// A line for each round, so that benchstat has the scatter: <https://go.dev/design/14313-benchmark-format>.
fn go(run: &Run) -> String {
    let model = escape::visible(run.host.cpu.model.as_deref().unwrap_or("unknown"));
    let mut text = format!("goos: linux\npkg: hostmark\ncpu: {model}\n");
    let mut better: BTreeMap<&str, &str> = BTreeMap::new();
    let mut lines = String::new();
    for (case, probe, measured) in judged(run) {
        let unit = if probe.unit == Unit::Nanoseconds { "ns/op" } else { symbol(probe.unit) };
        better.insert(unit, if probe.better == Better::Higher { "higher" } else { "lower" });
        let name = go_name(case);
        for round in measured.rounds.iter().filter(|round| round.median.is_finite()) {
            lines += &format!("{name} {} {} {unit}\n", round.disturbance_flags.len().max(1), round.median);
        }
    }
    for (unit, better) in better {
        text += &format!("Unit {unit} better={better}\n");
    }
    text + &lines
}

/// The case as a benchmark with its parameters as keys. It ends with a number of threads, since benchstat takes what stands behind the
/// last hyphen for one.
fn go_name(case: &CaseRecord) -> String {
    let mut letters = case.probe.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let of_axis = |(axis, value): &(String, String)| format!("/{axis}={value}");
    let params: String = case.params.0.iter().map(of_axis).collect();
    let name = format!("{}{}{params}-1", first.into_iter().collect::<String>(), letters.as_str());
    format!("Benchmark{}", escape::visible(&name).replace(char::is_whitespace, "_"))
}
