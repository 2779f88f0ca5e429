//! The roofline: what rate of arithmetic each level of the memory hierarchy can feed, by operations for each byte read
//! (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009).

use hostmark_analysis::format::{amount, number};
use hostmark_analysis::levels::{HIERARCHY, LEVELS};
use hostmark_model::{Estimate, Message, Params, Unit};
use hostmark_say::say;

use super::{Figure, FigureKind};
use crate::chart::scale::{GIGA, ScaleKind};
use crate::chart::{LineChart, LinePoint, Series};
use crate::runs::{Probe, Runs};

const FLOPS: &str = "cpu.flops";
const STREAM: &str = "memory.stream";
/// The ends of the drawing, operations a byte: a sum of numbers read once has 1/8, a large product of matrices over ten.
const LEAST: f64 = 1.0 / 32.0;
const MOST: f64 = 64.0;

pub(in crate::html) static KIND: FigureKind = FigureKind { id: "roofline", probes: &[FLOPS, HIERARCHY, STREAM], draw };

fn draw(runs: &Runs) -> Vec<Figure> {
    (0..runs.all.len()).filter_map(|run| of_run(runs, run)).collect()
}

/// The roofline of a run: one core over each level, and all threads over memory. None without a peak and a bandwidth.
fn of_run(runs: &Runs, run: usize) -> Option<Figure> {
    let flops = runs.probe(FLOPS)?;
    let of_threads = |probe: &Probe, threads: Option<&str>| -> Option<(f64, f64)> {
        let at = |params: &Params| -> f64 { params.get("threads").and_then(|at| at.parse().ok()).unwrap_or(1.0) };
        let cases = probe.measured(run).filter(|(case, _)| probe.is_default_but(case.params, &["threads"]));
        let wanted = cases.filter(|(case, _)| threads.is_none_or(|one| case.params.get("threads") == Some(one)));
        wanted.map(|(case, estimate)| (at(case.params), estimate.value())).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let (_, peak) = of_threads(flops, Some("1"))?;
    let mut series: Vec<Series> = Vec::new();
    for level in LEVELS {
        let Some(read) = level.also(&runs.all[run], "read").map(Estimate::value) else { continue };
        series.extend(roof(say!("one core, {level}", level = level.name), peak, read));
    }
    let stream = runs.probe(STREAM).and_then(|stream| {
        let triad = stream.cases.iter().filter(|case| case.params.get("kernel") == Some("triad"));
        triad.filter_map(|case| case.estimate(run)).map(Estimate::value).reduce(f64::max)
    });
    if let (Some((threads, all)), Some(stream)) = (of_threads(flops, None), stream)
        && threads > 1.0
    {
        let label = say!("{threads} threads, STREAM triad");
        series.extend(roof(label, all, stream));
    }
    let line = LineChart::of(
        (term!("operations for each byte (flop/B)").into(), ScaleKind::Intensity),
        (term!("f64 arithmetic, GFLOP/s").into(), ScaleKind::Flops),
        series,
    );
    let name = runs.of_run(run, term!("Roofline").into());
    let note = Message::from(term!(
        "A program with so few operations a byte is bound by the level's bandwidth on the slope, and by arithmetic on the flat part."
    ));
    Some(Figure { title: name, note: Some(note), chart: line.draw()?, probes: Vec::new() })
}

/// The slope of a bandwidth up to the peak.
fn roof(label: Message, peak: f64, bandwidth: f64) -> Option<Series> {
    let ridge = peak / bandwidth;
    if !(ridge.is_finite() && peak > 0.0 && bandwidth > 0.0) {
        return None;
    }
    let from = amount(bandwidth, Unit::BytesPerSecond);
    let point = |x: f64| {
        let y = (bandwidth * x).min(peak);
        let bound = if y < peak { from.clone() } else { term!("peak of arithmetic").into() };
        let reading = say!("{x:.3} flop/B: {rate} GFLOP/s ({bound})", rate = number(y / GIGA));
        LinePoint { x, y, interval: None, reading }
    };
    let mut at = vec![LEAST, MOST];
    at.extend(Some(ridge).filter(|at| (LEAST..MOST).contains(at)));
    at.sort_by(f64::total_cmp);
    Some(Series::joining(label, at.into_iter().map(point).collect()))
}
