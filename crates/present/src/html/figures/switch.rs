//! Context switch over the number of processes, a line for each footprint.

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
        (term!("processes in the ring, number").into(), ScaleKind::Count),
        (term!("context switch").into(), ScaleKind::Value(Unit::Nanoseconds)),
        series_along(runs, probe, &Along { axis: "processes", least: 2, but: &["processes", "footprint"] }),
    );
    let Some(chart) = line.draw() else { return Vec::new() };
    let name = term!("Context switch by processes and footprint").into();
    vec![Figure { title: name, note: None, chart, probes: vec![SWITCH.to_owned()] }]
}
