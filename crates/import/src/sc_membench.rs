//! Reads the table of sc-membench: bandwidth and latency of memory by size, operation and threads.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};

use super::bounded::amount;
use super::foreign::{Axis, Foreign, ImportedValue, quantity, read_lines};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "sc-membench",
    tool: "sc-membench",
    what: WHAT,
    nothing: "the file has no result",
    texts: crate::texts::sc_membench::TEXTS,
    programs: &[
        quantity("sc_membench.bandwidth", Unit::BytesPerSecond, AXES),
        quantity("sc_membench.latency", Unit::Nanoseconds, AXES),
    ],
    read,
};

const WHAT: &str = "the CSV that sc-membench prints";
const AXES: &[Axis] = &[("operation", AxisKind::Choice), ("size", AxisKind::Size), ("threads", AxisKind::Count)];

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut names: Vec<String> = Vec::new();
    read_lines(&FORMAT, input, |run, _, line| {
        let cells: Vec<&str> = line.unwrap_or_default().split(',').collect();
        if cells.contains(&"bandwidth_mb_s") {
            names = cells.iter().map(|name| (*name).to_owned()).collect();
        } else if !names.is_empty() && cells[0].starts_with(|c: char| c.is_ascii_digit()) {
            row(run, &names, &cells)?;
        }
        Ok(())
    })
}

fn row(run: &mut Foreign, names: &[String], cells: &[&str]) -> Result<(), String> {
    if cells.len() != names.len() {
        let (cells, names) = (cells.len(), names.len());
        return Err(format!(
            "the row has {cells} cells and its heading {names}: it is truncated or shifted; give {WHAT}"
        ));
    }
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
