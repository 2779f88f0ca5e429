//! Context switch over the number of processes, a line for each footprint.

use hostmark_model::Unit;

use super::{Figure, FigureKind, title};
use crate::chart::LineChart;
use crate::chart::scale::ScaleKind;
use crate::html::figures::generic::{Along, series_along};
use crate::runs::Runs;

const SWITCH: &str = "sched.context_switch";

pub(in crate::html) static KIND: FigureKind = FigureKind { id: "context_switch", probes: &[SWITCH], draw };

fn draw(runs: &Runs) -> Vec<Figure> {
    let Some(probe) = runs.probe(SWITCH) else { return Vec::new() };
    let line = LineChart::of(
        (title("processes in the ring, number", "环中的进程，个数"), ScaleKind::Count),
        (title("context switch", "上下文切换"), ScaleKind::Value(Unit::Nanoseconds)),
        series_along(runs, probe, &Along { axis: "processes", least: 2, but: &["processes", "footprint"] }),
    );
    let Some(chart) = line.draw() else { return Vec::new() };
    let name = title("Context switch by processes and footprint", "各进程数与占用大小的上下文切换");
    vec![Figure { title: name, note: None, chart, probes: vec![SWITCH.to_owned()] }]
}
