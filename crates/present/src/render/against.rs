//! A run held against a reference: for people in a terminal, and for programs.

use hostmark_analysis::escape;
use hostmark_analysis::references::{Counterpart, Reference, ReferenceValue, Standing};
use hostmark_model::{Run, Text};
use serde::Serialize;

use super::RenderOptions;
use crate::print::console;
use crate::views;

/// A run beside a reference.
#[derive(Debug)]
pub struct Against<'a> {
    run: &'a Run,
    reference: &'a Reference,
    rows: Vec<(&'a ReferenceValue, Counterpart<'a>)>,
}

/// A run beside a reference; none where they have no value in common.
pub fn against<'a>(run: &'a Run, reference: &'a Reference) -> Option<Against<'a>> {
    let row = |value: &'a ReferenceValue| Some((value, value.in_run(run)?));
    let rows: Vec<_> = reference.values_for(&run.host).iter().filter_map(row).collect();
    (!rows.is_empty()).then_some(Against { run, reference, rows })
}

/// A row for programs.
#[derive(Debug, Serialize)]
struct ReferenceRow<'a> {
    id: &'a str,
    quantity: &'a str,
    value: f64,
    estimator: &'static str,
    interval: Option<[f64; 2]>,
    reference: f64,
    reference_interval: Option<[f64; 2]>,
    ratio: f64,
    standing: Standing,
    differs: Option<&'a Text<String>>,
    address: &'a str,
    date: &'a str,
    machine: &'a Text<String>,
    method: &'a Text<String>,
}

/// The whole for programs.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: &'a str,
    reference: &'a str,
    rows: Vec<ReferenceRow<'a>>,
}

impl<'a> Against<'a> {
    /// How each value that both have stands to the reference's.
    pub fn standings(&self) -> impl Iterator<Item = Standing> {
        self.rows.iter().map(|(value, found)| found.standing(value))
    }

    /// Values of the reference that the run lacks.
    pub fn lacking(&self) -> usize {
        self.reference.values_for(&self.run.host).len() - self.rows.len()
    }

    pub fn json(&self) -> String {
        let row = |(value, found): &(&'a ReferenceValue, Counterpart)| {
            let source = value.source(self.reference);
            ReferenceRow {
                id: &value.id,
                quantity: &value.quantity,
                value: found.estimate.value(),
                estimator: found.estimate.estimator().word(),
                interval: found.estimate.interval().map(|(low, high)| [low, high]),
                reference: value.value,
                reference_interval: value.interval,
                ratio: found.estimate.value() / value.value,
                standing: found.standing(value),
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
        console::write(&[views::against::against(self.run, self.reference, &self.rows)], options)
    }
}
