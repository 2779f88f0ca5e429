//! Bandwidth over size: of each operation, with the ranges of the caches; of each by kernel and by threads.

use hostmark_model::{Message, Unit};
use hostmark_say::say;

use super::{Figure, FigureKind};
use crate::chart::scale::ScaleKind;
use crate::chart::{LineChart, Series};
use crate::html::figures::generic::{Along, series_along};
use crate::html::figures::latency::{borders_of, reference_along_size};
use crate::runs::{Probe, Runs};

const OPERATIONS: [&str; 4] = ["memory.read", "memory.write", "memory.copy", "memory.fill"];

pub(in crate::html) static KIND: FigureKind = FigureKind { id: "bandwidth_by_size", probes: &OPERATIONS, draw };

fn line(series: Vec<Series>) -> LineChart {
    LineChart::of(
        (term!("size of the buffer").into(), ScaleKind::Size),
        (term!("bandwidth").into(), ScaleKind::Value(Unit::BytesPerSecond)),
        series,
    )
}

/// The operations over size, with the ranges of the caches and the reads of the nearest reference.
pub(super) fn leading(runs: &Runs) -> Option<Figure> {
    let known: Vec<_> = OPERATIONS.iter().filter_map(|id| runs.probe(id)).collect();
    let (borders, beyond) = borders_of(runs);
    let behind =
        known.iter().find(|probe| probe.id == OPERATIONS[0]).and_then(|probe| reference_along_size(runs, probe));
    let line = LineChart { borders, beyond, behind, ..line(together(runs, &known)) };
    let probes = known.iter().map(|probe| probe.id.to_owned()).collect();
    let name = term!("Memory bandwidth by size").into();
    Some(Figure { title: name, note: None, chart: line.draw()?, probes })
}

/// The default line of each of these operations.
fn together(runs: &Runs, known: &[&Probe]) -> Vec<Series> {
    let mut together = Vec::new();
    for probe in known {
        // One line a run: the probe's name is its label.
        let lines = series_along(runs, probe, &Along { axis: "size", least: 3, but: &["size"] });
        together.extend(
            lines
                .into_iter()
                .map(|series| Series { label: Message::joined([series.label, probe.title()], " "), ..series }),
        );
    }
    together
}

fn draw(runs: &Runs) -> Vec<Figure> {
    let mut all = Vec::new();
    let known: Vec<_> = OPERATIONS.iter().filter_map(|id| runs.probe(id)).collect();
    for probe in &known {
        let name = probe.title();
        for (axis, by) in [("kernel", term!("by size and kernel")), ("threads", term!("by size and threads"))] {
            let lines = series_along(runs, probe, &Along { axis: "size", least: 2, but: &["size", axis] });
            if lines.len() > runs.all.len() {
                let title = say!("{probe} {by}", probe = name);
                all.extend(figure(lines, title, vec![probe.id.to_owned()]));
            }
        }
    }
    all
}

fn figure(series: Vec<Series>, name: Message, probes: Vec<String>) -> Option<Figure> {
    let line = line(series);
    Some(Figure { title: name, note: None, chart: line.draw()?, probes })
}
