//! What a load takes over the traffic that the other CPUs make beside it.

use hostmark_analysis::format::value;
use hostmark_model::Unit;

use super::{Figure, FigureKind};
use crate::chart::scale::ScaleKind;
use crate::chart::{LineChart, LinePoint, Series};
use crate::runs::{Runs, distinct, interval, value_and_interval};
use hostmark_analysis::bilingual::{each, fixed, same};

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
                let reading = each(|lang| {
                    let beside = value(injected, Unit::BytesPerSecond, lang);
                    format!("{beside}, delay {delay}: {}", shown.get(lang))
                });
                Some(LinePoint { x: injected, y: estimate.value(), interval: interval(estimate), reading })
            };
            let mut points: Vec<LinePoint> = of_mix.filter_map(point).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            if !points.is_empty() {
                series.push(Series::joining(runs.of_run(run, same(*mix)), points));
            }
        }
    }
    let line = LineChart::of(
        (fixed(term!("traffic of the other CPUs")), ScaleKind::Value(Unit::BytesPerSecond)),
        (fixed(term!("latency of a load")), ScaleKind::Value(Unit::Nanoseconds)),
        series,
    );
    let Some(chart) = line.draw() else { return Vec::new() };
    let name = fixed(term!("Memory latency by load"));
    vec![Figure { title: name, note: None, chart, probes: vec![LOADED.to_owned()] }]
}
