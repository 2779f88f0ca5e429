//! Latency of a load over the traffic of the other CPUs.

use hostmark_analysis::format::amount;
use hostmark_model::{Message, Unit};
use hostmark_say::say;

use super::{Figure, FigureKind};
use crate::chart::scale::ScaleKind;
use crate::chart::{LineChart, LinePoint, Series};
use crate::runs::{Runs, distinct, interval, value_and_interval};

const LOADED: &str = "memory.loaded_latency";

pub(in crate::html) static KIND: FigureKind = FigureKind { id: "loaded_latency", probes: &[LOADED], draw };

fn draw(runs: &Runs) -> Vec<Figure> {
    let Some(probe) = runs.probe(LOADED) else { return Vec::new() };
    let mixes = distinct(probe.cases.iter().map(|case| case.params.get("mix").unwrap_or("")));
    let mut series = Vec::new();
    for run in 0..runs.all.len() {
        for mix in &mixes {
            let of_mix = probe.measured(run).filter(|(case, _)| case.params.get("mix").unwrap_or("") == *mix);
            let point = |(case, estimate): (&crate::runs::Case, &hostmark_model::Estimate)| {
                let injected = case.record(run)?.measured()?.also.get("injected")?.estimate.value();
                let shown = value_and_interval(estimate, probe.unit());
                let delay = case.params.get("delay").unwrap_or("");
                let beside = amount(injected, Unit::BytesPerSecond);
                let reading = say!("{beside}, delay {delay}: {shown}");
                Some(LinePoint { x: injected, y: estimate.value(), interval: interval(estimate), reading })
            };
            let mut points: Vec<LinePoint> = of_mix.filter_map(point).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            if !points.is_empty() {
                series.push(Series::joining(runs.of_run(run, Message::plain(*mix)), points));
            }
        }
    }
    let line = LineChart::of(
        (term!("traffic of the other CPUs").into(), ScaleKind::Value(Unit::BytesPerSecond)),
        (term!("latency of a load").into(), ScaleKind::Value(Unit::Nanoseconds)),
        series,
    );
    let Some(chart) = line.draw() else { return Vec::new() };
    let name = term!("Memory latency by load").into();
    vec![Figure { title: name, note: None, chart, probes: vec![LOADED.to_owned()] }]
}
