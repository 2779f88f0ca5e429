//! One line of JSON for each case, whole in itself: for jq, data frames and databases.

use std::collections::BTreeMap;

use hostmark_analysis::escape;
use hostmark_model::{CaseRecord, Estimate, Outcome, Reason, Run, Unit};
use serde::Serialize;
use serde_json::{Value, json};

use super::{ExportFormat, Render};
use crate::RenderOptions;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "jsonl",
    description: term!("a line of JSON for each case, in base units"),
    render: Render::One(render),
};

/// A case with what a line needs of its run.
#[derive(Serialize)]
struct CaseLine<'a> {
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    host: &'a str,
    started: &'a str,
    tool: &'a str,
    case: &'a str,
    probe: &'a str,
    revision: Option<u32>,
    params: &'a hostmark_model::Params,
    unit: Option<Unit>,
    outcome: &'static str,
    #[serde(flatten)]
    reason: Option<&'a Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimator: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<&'a Estimate>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    also: BTreeMap<&'a str, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<&'a [Vec<f64>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<&'a [hostmark_model::Flag]>,
}

fn render(run: &Run, _: &RenderOptions) -> String {
    // A line has no key but texts, so that there is nothing that could fail.
    let text = |case| escape::json(&serde_json::to_string(&line(run, case)).unwrap_or_default()) + "\n";
    run.cases.iter().map(text).collect()
}

fn line<'a>(run: &'a Run, case: &'a CaseRecord) -> CaseLine<'a> {
    let probe = run.probes.iter().find(|probe| probe.id == case.probe);
    let mut line = CaseLine {
        run: &run.name,
        note: run.note.as_deref(),
        host: &run.host.hostname,
        started: &run.started,
        tool: &run.tool.version,
        case: &case.id,
        probe: &case.probe,
        revision: probe.map(|probe| probe.revision),
        params: &case.params,
        unit: probe.map(|probe| probe.unit),
        outcome: "measured",
        reason: None,
        value: None,
        estimator: None,
        estimate: None,
        also: BTreeMap::new(),
        samples: None,
        notes: None,
        flags: None,
    };
    match &case.outcome {
        Outcome::Skipped { reason } => (line.outcome, line.reason) = ("skipped", Some(reason)),
        Outcome::Failed { reason } => (line.outcome, line.reason) = ("failed", Some(reason)),
        Outcome::Measured(measured) => {
            let unit = |name: &str| probe?.also.iter().find(|also| also.name == name).map(|also| also.unit);
            let also = |name: &'a String| {
                let estimate = measured.companion(name)?;
                let (value, estimator) = (estimate.value(), estimate.estimator().word());
                Some((
                    name.as_str(),
                    json!({ "unit": unit(name), "value": value, "estimator": estimator, "estimate": *estimate }),
                ))
            };
            line.value = Some(measured.estimate.value());
            line.estimator = Some(measured.estimate.estimator().word());
            line.estimate = Some(&measured.estimate);
            line.also = measured.also.keys().filter_map(also).collect();
            line.samples = Some(&measured.samples);
            line.notes = Some(&measured.notes);
            line.flags = Some(&measured.flags);
        }
    }
    line
}
