//! Percentiles of single operations, over the number of nines: the default cases of a section's probes together.

use hostmark_model::{Estimate, Histogram, Measured, Message, Unit};
use hostmark_say::say;
use hostmark_stats::histogram::Percentile;

use super::Figure;
use crate::chart::scale::ScaleKind;
use crate::chart::{LineChart, LinePoint, Series};
use crate::runs::{Case, Probe, Runs, interval, reading, value_and_interval};

/// A figure for each section with such probes.
pub(super) fn figures(runs: &Runs) -> Vec<Figure> {
    let mut sections: Vec<(Message, Vec<&Probe>)> = Vec::new();
    for probe in runs.probes.iter().filter(|probe| !probe.percentiles().is_empty()) {
        let section = probe.section();
        match sections.iter_mut().find(|(known, _)| *known == section) {
            Some((_, probes)) => probes.push(probe),
            None => sections.push((section, vec![probe])),
        }
    }
    let figure = |(section, probes): (Message, Vec<&Probe>)| {
        let mut series = Vec::new();
        for probe in &probes {
            let Some(case) = probe.cases.first() else { continue };
            for run in 0..runs.all.len() {
                series.extend(one(probe, case, run, runs.of_run(run, probe.title())));
            }
        }
        let name = say!("Percentiles: {section}");
        let probes = probes.iter().map(|probe| probe.id.to_owned()).collect();
        Some(Figure { title: name, note: note(&series), chart: chart(series)?, probes })
    };
    sections.into_iter().filter_map(figure).collect()
}

/// The percentiles of a probe's cases, where there are several to compare.
pub(super) fn of_probe(runs: &Runs, probe: &Probe) -> Option<Figure> {
    let axes = probe.varying();
    let mut series = Vec::new();
    for case in &probe.cases {
        for run in 0..runs.all.len() {
            series.extend(one(probe, case, run, runs.of_run(run, probe.all_named(case.params, &axes))));
        }
    }
    if series.len() < 2 {
        return None;
    }
    let note = note(&series);
    Some(Figure { title: term!("Percentiles").into(), note, chart: chart(series)?, probes: Vec::new() })
}

/// Meaning of lines and marks, where they differ.
fn note(series: &[Series]) -> Option<Message> {
    series.iter().any(|series| !series.course.is_empty()).then(|| {
        Message::from(term!(
            "Lines: all operations of all rounds together. Marks: the median over the rounds, with its interval."
        ))
    })
}

fn chart(series: Vec<Series>) -> Option<super::Chart> {
    let line = LineChart::of(
        (term!("percentile").into(), ScaleKind::Share),
        (term!("time of one operation").into(), ScaleKind::Value(Unit::Nanoseconds)),
        series,
    );
    line.draw()
}

/// The line of one case in one run; none where it has no percentiles.
fn one(probe: &Probe, case: &Case, run: usize, label: Message) -> Option<Series> {
    let measured: &Measured = case.record(run)?.measured()?;
    let mut points: Vec<(f64, &Estimate)> = (probe.percentiles().into_iter())
        .filter_map(|(share, name)| Some((share, &measured.also.get(name)?.estimate)))
        .collect();
    // The value is the middle itself where it is a time and no percentile says so.
    if points.first().is_some_and(|(share, _)| *share > 0.5) && probe.unit() == Unit::Nanoseconds {
        points.insert(0, (0.5, &measured.estimate));
    }
    if points.len() < 2 {
        return None;
    }
    let point = |(share, estimate): (f64, &Estimate)| {
        let shown = value_and_interval(estimate, Unit::Nanoseconds);
        let percent = format!("{} %", (share * 1e6).round() / 1e4);
        LinePoint { x: share, y: estimate.value(), interval: interval(estimate), reading: reading(percent, shown) }
    };
    let course = measured.histogram.as_ref().map(distribution).unwrap_or_default();
    Some(Series { course, ..Series::joining(label, points.into_iter().map(point).collect()) })
}

/// Points of a distribution that are drawn, from the middle up.
const COURSE: u32 = 60;
/// Parts of one in which a share is exact.
const PARTS: u64 = 1_000_000_000;
const MIDDLE: Percentile = Percentile { numerator: PARTS / 2, denominator: PARTS };
const LEAST_BEYOND: f64 = 10.0;

/// The distribution of single operations, evenly by the number of nines, as far as the histogram tells it.
fn distribution(histogram: &Histogram) -> Vec<(f64, f64)> {
    let Histogram { values, counts } = histogram;
    let total = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    if !MIDDLE.is_resolved_by(total) {
        return Vec::new();
    }
    let (least, most) = (2f64.ln(), (total as f64 / LEAST_BEYOND).ln());
    let point = |step: u32| {
        let share = 1.0 - (-(least + (most - least) * f64::from(step) / f64::from(COURSE))).exp();
        let percentile = Percentile { numerator: (share * PARTS as f64) as u64, denominator: PARTS };
        Some((share, percentile.of(values, counts)? as f64))
    };
    (0..=COURSE).filter_map(point).collect()
}
