//! JSON: the run file itself, which `load_run` reads back as it was, and a line for each case.

use std::collections::BTreeMap;
use std::io::{Error, Result, Write};

use hostmark_analysis::escape;
use hostmark_model::{CaseRecord, Estimate, Outcome, Reason, Run, Unit};
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value, json};

use super::{ExportFormat, Render};
use crate::RenderOptions;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "json",
    description: term!("the run file itself, with every sample"),
    render: Render::One(render),
};

fn render(run: &Run, _: &RenderOptions) -> String {
    written(run).unwrap_or_else(|error| format!("{}\n", serde_json::json!({ "error": error.to_string() })))
}

/// A value as JSON for programs, with an indent. Only a key that is no string could fail, and there is none.
pub(super) fn pretty(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    escape::json(&text.unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string())) + "\n"
}

/// A value as JSON text. Only a key that is no string could fail, and the model has none.
fn written(value: &impl Serialize) -> Result<String> {
    let mut text = Vec::new();
    let layout = Layout { depth: 0, last: Last::Opened, is_in_list: false };
    value.serialize(&mut Serializer::with_formatter(&mut text, layout)).map_err(Error::from)?;
    text.push(b'\n');
    String::from_utf8(text).map_err(Error::other)
}

/// Layout of a run file. A list of plain values stands on one line: a sample a line would bury the rest of the file, and a diff of it. No
/// character of a string steers a terminal.
struct Layout {
    depth: usize,
    last: Last,
    /// The value that comes next belongs to a list.
    is_in_list: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Last {
    Opened,
    Plain,
    Block,
}

impl Layout {
    fn line<W: ?Sized + Write>(&self, to: &mut W) -> Result<()> {
        write!(to, "\n{:1$}", "", 2 * self.depth)
    }

    fn open<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> Result<()> {
        if self.is_in_list {
            self.line(to)?;
        }
        (self.depth, self.last, self.is_in_list) = (self.depth + 1, Last::Opened, false);
        to.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8], on_one_line: &[Last]) -> Result<()> {
        self.depth -= 1;
        if !on_one_line.contains(&self.last) {
            self.line(to)?;
        }
        self.last = Last::Block;
        to.write_all(bracket)
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.close(to, b"]", &[Last::Opened, Last::Plain])
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> Result<()> {
        let comma: &[u8] = if self.last == Last::Block { b"," } else { b", " };
        (self.last, self.is_in_list) = (Last::Plain, true);
        if is_first { Ok(()) } else { to.write_all(comma) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.close(to, b"}", &[Last::Opened])
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> Result<()> {
        if !is_first {
            to.write_all(b",")?;
        }
        self.line(to)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        (self.last, self.is_in_list) = (Last::Plain, false);
        to.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> Result<()> {
        if text.contains(escape::steers) { write!(to, "{}", escape::json(text)) } else { to.write_all(text.as_bytes()) }
    }
}

pub(super) const LINES_FORMAT: ExportFormat = ExportFormat {
    name: "jsonl",
    description: term!("a line of JSON for each case, in base units"),
    render: Render::One(render_lines),
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

fn render_lines(run: &Run, _: &RenderOptions) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_plain_values_are_joined() {
        let value = serde_json::json!({"a": [1, 2.5, "x]", "y["], "b": [[1], []], "c": [{"d": [true]}], "e": []});
        let text = written(&value).unwrap();
        assert!(text.contains("\"a\": [1, 2.5, \"x]\", \"y[\"],\n  \"b\": [\n    [1],\n    []\n  ],\n"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
