//! A run held against a reference: for people in a terminal, and for programs.

use hostmark_analysis::escape;
use hostmark_analysis::references::{Reference, Standing};
use hostmark_model::{Run, Text};
use serde::Serialize;

use super::RenderOptions;
use crate::print::console;
use crate::views;
use crate::views::constants::AgainstRow;

/// A run beside a reference.
#[derive(Debug)]
pub struct Against<'a> {
    run: &'a Run,
    reference: &'a Reference,
    rows: Vec<AgainstRow<'a>>,
}

/// A run beside a reference; none where they have no value in common. Of what is usual every value of a
/// probe that the run was asked for has a row, also where it lacks it.
pub fn against<'a>(run: &'a Run, reference: &'a Reference) -> Option<Against<'a>> {
    let mut rows: Vec<AgainstRow> =
        reference.values_for(&run.host).iter().map(|value| (value, value.in_run(run))).collect();
    let is_any = rows.iter().any(|(_, found)| found.is_some());
    let is_asked_for = |id: &str| run.probes.iter().any(|info| id.split('@').next() == Some(info.id.as_str()));
    rows.retain(|(value, found)| found.is_some() || reference.design.is_some() && is_asked_for(&value.id));
    is_any.then_some(Against { run, reference, rows })
}

/// Relation of a value to the reference's.
fn standing(reference: &Reference, (value, found): &AgainstRow, run: &Run) -> Standing {
    match found {
        Some(found) => value.verdict(found, reference.design.is_some()).standing,
        None => value.why_missing(run).0,
    }
}

#[derive(Debug, Serialize)]
struct ReferenceRow<'a> {
    id: &'a str,
    quantity: &'a str,
    value: Option<f64>,
    estimator: Option<&'static str>,
    interval: Option<[f64; 2]>,
    reference: f64,
    reference_interval: Option<[f64; 2]>,
    ratio: Option<f64>,
    standing: Standing,
    differs: Option<&'a Text<String>>,
    address: &'a str,
    date: &'a str,
    machine: &'a Text<String>,
    method: &'a Text<String>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: &'a str,
    reference: &'a str,
    rows: Vec<ReferenceRow<'a>>,
}

impl<'a> Against<'a> {
    /// Relation of each row's value to the reference's.
    pub fn standings(&self) -> impl Iterator<Item = Standing> {
        self.rows.iter().map(|row| standing(self.reference, row, self.run))
    }

    pub fn json(&self) -> String {
        let row = |row: &AgainstRow<'a>| {
            let (value, found) = row;
            let found = found.as_ref();
            let source = value.source(self.reference);
            ReferenceRow {
                id: &value.id,
                quantity: &value.quantity,
                value: found.map(|found| found.estimate.value()),
                estimator: found.map(|found| found.estimate.estimator().word()),
                interval: found.and_then(|found| found.estimate.interval()).map(|(low, high)| [low, high]),
                reference: value.value,
                reference_interval: value.interval,
                ratio: found.map(|found| found.estimate.value() / value.value),
                standing: standing(self.reference, row, self.run),
                differs: value.differs.as_ref(),
                address: source.address,
                date: source.date,
                machine: source.machine,
                method: source.method,
            }
        };
        let document = Document {
            schema: "hostmark.against/1",
            run: &self.run.name,
            reference: &self.reference.name,
            rows: self.rows.iter().map(row).collect(),
        };
        escape::json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
    }

    pub fn table(&self, options: &RenderOptions) -> String {
        console::write(&[views::constants::against(self.run, self.reference, &self.rows)], options)
    }
}
