//! Context switch over the number of processes, a line for each footprint.

use hostmark_analysis::bilingual::fixed;
use hostmark_model::Unit;

use super::{Figure, FigureKind};
use crate::chart::LineChart;
use crate::chart::scale::ScaleKind;
use crate::html::figures::generic::{Along, series_along};
use crate::runs::Runs;

const SWITCH: &str = "sched.context_switch";

pub(in crate::html) static KIND: FigureKind = FigureKind { id: "context_switch", probes: &[SWITCH], draw };

fn draw(runs: &Runs) -> Vec<Figure> {
    let Some(probe) = runs.probe(SWITCH) else { return Vec::new() };
    let line = LineChart::of(
        (fixed(term!("processes in the ring, number")), ScaleKind::Count),
        (fixed(term!("context switch")), ScaleKind::Value(Unit::Nanoseconds)),
        series_along(runs, probe, &Along { axis: "processes", least: 2, but: &["processes", "footprint"] }),
    );
    let Some(chart) = line.draw() else { return Vec::new() };
    let name = fixed(term!("Context switch by processes and footprint"));
    vec![Figure { title: name, note: None, chart, probes: vec![SWITCH.to_owned()] }]
}
