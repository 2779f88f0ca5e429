//! Heat maps over pairs: of CPUs, and of the nodes of CPU and memory.

use hostmark_analysis::format::amount;
use hostmark_model::{AxisKind, Message, Text, Unit};
use hostmark_say::say;

use super::{Figure, FigureKind};
use crate::chart::{Heat, HeatCell};
use crate::runs::{Case, Probe, Runs, reading, value_and_interval};

const CORE_TO_CORE: &str = "cpu.core_to_core";
const LATENCY: &str = "memory.numa_latency";
const BANDWIDTH: &str = "memory.numa_bandwidth";

pub(in crate::html) static CORES: FigureKind = FigureKind {
    id: "core_to_core",
    probes: &[CORE_TO_CORE],
    draw: |runs| {
        let name = term!("Core to core").into();
        of_pairs(runs, (CORE_TO_CORE, "cpus"), &name, ["CPU", "CPU"].map(Message::plain), LEAST_CPUS)
    },
};

pub(in crate::html) static NODES: FigureKind = FigureKind {
    id: "nodes",
    probes: &[LATENCY, BANDWIDTH],
    draw: |runs| {
        let sides = [term!("node of the memory"), Text { en: "CPUs", zh: "CPU" }].map(Message::from);
        let names =
            [(LATENCY, term!("Latency between nodes").into()), (BANDWIDTH, term!("Bandwidth between nodes").into())];
        names.iter().flat_map(|(id, name)| of_pairs(runs, (id, "nodes"), name, sides.clone(), 2)).collect()
    },
};

/// CPUs from which on a map of their pairs says more than the table.
const LEAST_CPUS: usize = 4;

/// A map for each run with so many names at least. Pairs of CPUs have no direction.
fn of_pairs(
    runs: &Runs,
    (id, axis): (&str, &str),
    name: &Message,
    [columns, rows]: [Message; 2],
    least: usize,
) -> Vec<Figure> {
    let mirrored = axis == "cpus";
    let Some(probe) = runs.probe(id) else { return Vec::new() };
    let mut all = Vec::new();
    for run in 0..runs.all.len() {
        let pairs: Vec<(usize, usize, &Case)> = (probe.cases.iter())
            .filter(|case| case.estimate(run).is_some() && probe.is_default_but(case.params, &[axis]))
            .filter_map(|case| pair(case.params.get(axis)?).map(|(one, other)| (one, other, case)))
            .collect();
        let mut names: Vec<usize> = pairs.iter().flat_map(|(one, other, _)| [*one, *other]).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() < least {
            continue;
        }
        let at = |name: usize| names.binary_search(&name).unwrap_or(0);
        let mut cells = Vec::new();
        for (one, other, case) in &pairs {
            cells.extend(cell(probe, case, axis, run, (at(*one), at(*other))));
            if mirrored {
                cells.extend(cell(probe, case, axis, run, (at(*other), at(*one))));
            }
        }
        // The keyboard goes through cells as one reads.
        cells.sort_by_key(|cell| (cell.row, cell.column));
        let short: fn(f64) -> Message = match probe.unit() {
            Unit::BytesPerSecond => |at| amount(at, Unit::BytesPerSecond),
            _ => |at| amount(at, Unit::Nanoseconds),
        };
        let heat = Heat { columns: columns.clone(), rows: rows.clone(), names, cells, short };
        let Some(chart) = heat.draw() else { continue };
        let title = runs.of_run(run, name.clone());
        all.push(Figure { title, note: None, chart, probes: vec![id.to_owned()] });
    }
    all
}

fn cell(probe: &Probe, case: &Case, axis: &str, run: usize, (row, column): (usize, usize)) -> Option<HeatCell> {
    let estimate = case.estimate(run)?;
    let point = case.params.get(axis)?;
    let before = match probe.labels.kind(axis) {
        AxisKind::Nodes => say!("nodes {point}"),
        _ => format!("CPU {point}").into(),
    };
    let reading = reading(before, value_and_interval(estimate, probe.unit()));
    Some(HeatCell { row, column, value: estimate.value(), reading })
}

/// `3-17` as a pair of numbers.
fn pair(point: &str) -> Option<(usize, usize)> {
    let (one, other) = point.split_once('-')?;
    Some((one.parse().ok()?, other.parse().ok()?))
}
