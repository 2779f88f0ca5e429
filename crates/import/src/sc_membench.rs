//! Reads the table of sc-membench: bandwidth and latency of memory by size, operation and threads.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};

use super::bounded::{amount, each_line};
use super::foreign::{Foreign, ForeignQuantity, ImportedValue, Source, no_result};
use super::{ImportError, ImportFormat};
use crate::texts::sc_membench as texts;

/// sc-membench's table.
pub(super) const FORMAT: ImportFormat = ImportFormat { name: "sc-membench", description: texts::DESCRIPTION, read };

const AXES: &[(&str, AxisKind)] =
    &[("operation", AxisKind::Choice), ("size", AxisKind::Size), ("threads", AxisKind::Count)];

static SOURCE: Source = Source {
    format: "sc-membench",
    tool: "sc-membench",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        ForeignQuantity {
            id: "sc_membench.bandwidth",
            title: texts::BANDWIDTH_TITLE,
            unit: Unit::BytesPerSecond,
            axes: AXES,
            also: &[],
            what: texts::BANDWIDTH,
        },
        ForeignQuantity {
            id: "sc_membench.latency",
            title: texts::LATENCY_TITLE,
            unit: Unit::Nanoseconds,
            axes: AXES,
            also: &[],
            what: texts::LATENCY,
        },
    ],
};

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let what = "the CSV that sc-membench prints";
    let mut run = Foreign::of(&SOURCE);
    let mut names: Vec<String> = Vec::new();
    let lines = each_line(input, what, |line, text| {
        let cells: Vec<&str> = text.split(',').collect();
        if cells.contains(&"bandwidth_mb_s") {
            names = cells.iter().map(|name| (*name).to_owned()).collect();
        } else if !names.is_empty() && text.starts_with(|c: char| c.is_ascii_digit()) {
            row(&mut run, &names, &cells).map_err(|what| ImportError { line, what })?;
        }
        Ok(())
    })?;
    run.finish(lines, || no_result(what))
}

fn row(run: &mut Foreign, names: &[String], cells: &[&str]) -> Result<(), String> {
    let cell = |name: &str| names.iter().position(|known| known == name).and_then(|at| cells.get(at));
    let number = |name: &str| amount(cell(name).copied().unwrap_or_default(), name);
    let size = if cell("size_kb").is_some() { number("size_kb")? * 1024.0 } else { number("size_bytes")? };
    let operation = cell("operation").copied().unwrap_or_default();
    let (probe, value) = match operation {
        "latency" => ("sc_membench.latency", number("latency_ns")?),
        _ => ("sc_membench.bandwidth", number("bandwidth_mb_s")? * f64::from(1 << 20)),
    };
    let value = ImportedValue::new(probe, vec![value]).at("operation", operation).at("size", size);
    run.keep(value.at("threads", number("threads")?).note("seconds", number("elapsed_s")?))
}
