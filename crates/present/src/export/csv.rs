//! One row for each case and quantity, for spreadsheets and data frames; a case without a value has a row too.

use std::borrow::Cow;

use hostmark_analysis::escape::csv as safe;
use hostmark_model::{CaseRecord, Estimate, Measured, Outcome, Reason, Run};

use super::{ExportFormat, Render};
use crate::RenderOptions;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    description: term!("a row for each case and quantity, in base units"),
    render: Render::One(render),
};

const COLUMNS: [&str; 23] = [
    "run",
    "host",
    "case",
    "probe",
    "params",
    "quantity",
    "unit",
    "typical",
    "ci_low",
    "ci_high",
    "rounds",
    "n",
    "flags",
    "outcome",
    "reason",
    "quiet",
    "repetition_low",
    "repetition_high",
    "value",
    "estimator",
    "code",
    "range_low",
    "range_high",
];
/// Name of the value itself, beside the further quantities' own names.
const VALUE: &str = "value";

fn render(run: &Run, _: &RenderOptions) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in run.cases.iter().flat_map(|case| rows(run, case)) {
        let cells: Vec<Cow<str>> = row.iter().map(|cell| quoted(cell)).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

/// Quotes a cell where a reader would split it (RFC 4180).
fn quoted(cell: &str) -> Cow<'_, str> {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")).into(),
        false => cell.into(),
    }
}

fn rows(run: &Run, case: &CaseRecord) -> Vec<Vec<String>> {
    let params: Vec<String> = case.params.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let row = |quantity: &str, numbers: [String; 12], flags: &str, outcome: &str, reason: Option<&Reason>| {
        let [typical, low, high, rounds, n, range_low, range_high, led @ ..] = numbers;
        let unit = unit(run, case, quantity);
        let start = [&run.name, &run.host.hostname, &case.id, &case.probe, &params.join(";")].map(|text| safe(text));
        let [name, host, id, probe, params] = start;
        let text = reason.map_or("", |reason| reason);
        let [quantity, flags, outcome, text] = [quantity, flags, outcome, text].map(safe);
        let code = reason.and_then(|reason| reason.code).map(|code| code.to_string());
        let end = [flags, outcome, text];
        let start = [name, host, id, probe, params, quantity, unit, typical, low, high, rounds, n];
        start.into_iter().chain(end).chain(led).chain([code.unwrap_or_default(), range_low, range_high]).collect()
    };
    let without = |outcome, reason| vec![row(VALUE, Default::default(), "", outcome, Some(reason))];
    match &case.outcome {
        Outcome::Skipped { reason } => without("skipped", reason),
        Outcome::Failed { reason } => without("failed", reason),
        Outcome::Measured(measured) => {
            let flags = flags(measured);
            let also = measured.also.keys().filter_map(|name| Some((name.as_str(), measured.companion(name)?)));
            let all = std::iter::once((VALUE, Cow::Borrowed(&measured.estimate))).chain(also);
            all.map(|(name, estimate)| row(name, numbers(&estimate), &flags, "measured", None)).collect()
        }
    }
}

/// The shortest texts that read back as the same numbers; what is not known is empty.
fn numbers(estimate: &Estimate) -> [String; 12] {
    let Estimate { typical, ci_low, ci_high, rounds, n, quiet, repetition, .. } = estimate;
    let known = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let (next_low, next_high) = repetition.map(|next| (next.low, next.high)).unzip();
    let (range_low, range_high) = range(estimate).map(|[low, high]| (low, high)).unzip();
    [
        typical.to_string(),
        known(*ci_low),
        known(*ci_high),
        rounds.to_string(),
        n.to_string(),
        known(range_low),
        known(range_high),
        known(quiet.map(|quiet| quiet.value)),
        known(next_low),
        known(next_high),
        estimate.value().to_string(),
        estimate.estimator().word().to_owned(),
    ]
}

/// The range of a value that has no interval: of its rounds, or of the values that another tool told.
pub(super) fn range(estimate: &Estimate) -> Option<[f64; 2]> {
    let told = (estimate.n > 1).then_some([estimate.min, estimate.max]);
    estimate.stated().range.or(told).filter(|_| estimate.interval().is_none())
}

fn flags(measured: &Measured) -> String {
    measured.flags.iter().map(|flag| word(&flag.kind)).collect::<Vec<_>>().join(";")
}

fn unit(run: &Run, case: &CaseRecord, quantity: &str) -> String {
    let probe = run.probes.iter().find(|probe| probe.id == case.probe);
    let of_also = |name: &str| probe?.also.iter().find(|also| also.name == name).map(|also| also.unit);
    let unit = if quantity == VALUE { probe.map(|probe| probe.unit) } else { of_also(quantity) };
    unit.map(|unit| word(&unit)).unwrap_or_default()
}

/// A variant as the run file writes it.
fn word(variant: &impl serde::Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostmark_model::{HostFacts, load_run};
    use serde_json::json;

    #[test]
    fn a_case_without_a_value_has_a_row_and_what_needs_quotes_has_them() {
        let run = json!({
            "schema": "hostmark.run/1", "id": "i", "name": "a,b", "started": "s", "finished": null,
            "tool": { "version": "1", "target": "t", "libc": "l", "static": false },
            "settings": { "profile": "quick", "seed": 1, "filters": [], "rounds": 3, "limit_s": 60.0, "cpu": 0, "set": {},
                          "clock": { "source": "tsc", "hz": 1.0, "reason": null, "drift": null } },
            "host": HostFacts { hostname: "h".into(), ..HostFacts::default() }, "disturbances": [], "findings": [], "probes": [],
            "cases": [
                { "id": "x.y@s=1,t=2", "probe": "x.y", "params": { "s": "1", "t": "2" },
                  "outcome": { "skipped": { "reason": "no \"huge\" pages", "code": "huge_pages" } } },
                { "id": "x.z", "probe": "x.z", "params": {}, "outcome": { "failed": { "reason": "it broke" } } },
            ],
        });
        let text = render(&load_run(&run.to_string()).unwrap(), &RenderOptions::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], COLUMNS.join(","));
        assert_eq!(
            lines[1],
            r#""a,b",h,"x.y@s=1,t=2",x.y,s=1;t=2,value,,,,,,,,skipped,"no ""huge"" pages",,,,,,huge_pages,,"#
        );
        assert_eq!(lines[2], r#""a,b",h,x.z,x.z,,value,,,,,,,,failed,it broke,,,,,,,,"#);
        assert_eq!(lines.len(), 3);
    }
}
