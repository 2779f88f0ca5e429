//! Default chart by a probe's axes: a line along its longest axis of numbers, else rows under each other.

use std::collections::HashMap;

use hostmark_analysis::format::unit_name;
use hostmark_analysis::labels::{axis_name, by_axis};
use hostmark_analysis::reasons::brief;
use hostmark_analysis::typography::COMMA;
use hostmark_model::{AxisKind, Message, Outcome, Unit};
use hostmark_say::say;

use super::{Figure, percentiles};
use crate::chart::scale::ScaleKind;
use crate::chart::{LineChart, LinePoint, Rows, Series, ValueRow};
use crate::estimators;
use crate::runs::{Case, Probe, Runs, distinct, interval, reading, value_and_interval};

/// Points of an axis of numbers from which a line says more than rows.
const LINE_POINTS: usize = 3;
/// Rows from which a picture says more than the table, and up to which it is read.
const LEAST_ROWS: usize = 3;
const MOST_ROWS: usize = 40;

pub(super) struct Along<'a> {
    /// The axis that they run along.
    pub(super) axis: &'a str,
    /// Points that a line must have.
    pub(super) least: usize,
    /// The axes that may be off their default; all when empty.
    pub(super) but: &'a [&'a str],
}

/// The lines of a probe along an axis of numbers, those of each run beside each other.
pub(super) fn series_along(runs: &Runs, probe: &Probe, along: &Along) -> Vec<Series> {
    let others: Vec<&str> = probe.axes().into_iter().filter(|axis| *axis != along.axis).collect();
    let is_wanted = |case: &&Case| along.but.is_empty() || probe.is_default_but(case.params, along.but);
    let (mut lines, mut places): (Vec<Vec<&Case>>, HashMap<Vec<&str>, usize>) = Default::default();
    for case in probe.cases.iter().filter(is_wanted) {
        let rest: Vec<&str> = others.iter().map(|axis| case.params.get(axis).unwrap_or("")).collect();
        let place = *places.entry(rest).or_insert(lines.len());
        match lines.get_mut(place) {
            Some(line) => line.push(case),
            None => lines.push(vec![case]),
        }
    }
    let mut all = Vec::new();
    for line in &lines {
        for run in 0..runs.all.len() {
            let mut points: Vec<LinePoint> =
                line.iter().filter_map(|case| point_on(probe, case, run, along.axis)).collect();
            if points.len() >= along.least {
                points.sort_by(|one, other| one.x.total_cmp(&other.x));
                let missing = line.iter().filter_map(|case| missing_on(probe, case, run, along.axis)).collect();
                all.push((run, line[0], points, missing));
            }
        }
    }
    // Axes that no line leaves need no word.
    let varies = |axis: &&str| distinct(all.iter().map(|(_, case, ..)| case.params.get(axis).unwrap_or(""))).len() > 1;
    let varying: Vec<&str> = others.iter().copied().filter(varies).collect();
    let series = |(run, case, points, missing): (usize, &Case, Vec<LinePoint>, Vec<(f64, Message)>)| {
        let label = runs.of_run(run, probe.all_named(case.params, &varying));
        Series { missing, ..Series::joining(label, points) }
    };
    all.into_iter().map(series).collect()
}

/// Place of a case without a value, and why it has none.
fn missing_on(probe: &Probe, case: &Case, run: usize, axis: &str) -> Option<(f64, Message)> {
    let (Outcome::Skipped { reason } | Outcome::Failed { reason }) = &case.record(run)?.outcome else { return None };
    let before = probe.labels.value(axis, case.params.get(axis)?);
    Some((case.number_on(axis)?, reading(before, brief(reason))))
}

fn point_on(probe: &Probe, case: &Case, run: usize, axis: &str) -> Option<LinePoint> {
    let estimate = case.estimate(run)?;
    let before = probe.labels.value(axis, case.params.get(axis)?);
    let reading = reading(before, value_and_interval(estimate, probe.unit()));
    Some(LinePoint { x: case.number_on(axis)?, y: estimate.value(), interval: interval(estimate), reading })
}

/// The figures of a probe that none by name shows, and its percentiles.
pub(in crate::html) fn of_probe(runs: &Runs, probe: &Probe, is_shown: bool) -> Vec<Figure> {
    let mut all = Vec::new();
    if !is_shown {
        all.extend(lines(runs, probe).or_else(|| rows(runs, probe)));
    }
    all.extend(percentiles::of_probe(runs, probe));
    all
}

fn lines(runs: &Runs, probe: &Probe) -> Option<Figure> {
    let is_number = |axis: &&str| {
        matches!(probe.labels.kind(axis), AxisKind::Size | AxisKind::Count | AxisKind::Threads | AxisKind::Copies)
    };
    let most = |axis: &&str| {
        let lines = series_along(runs, probe, &Along { axis, least: LINE_POINTS, but: &[] });
        lines.iter().map(|series| series.points.len()).max().unwrap_or(0)
    };
    // Of axes with as many points the first: it is the one that the probe is read along.
    let axis = probe.axes().into_iter().filter(is_number).rev().max_by_key(most)?;
    let x = if probe.labels.kind(axis) == AxisKind::Size { ScaleKind::Size } else { ScaleKind::Count };
    let x_title = match (x, axis_name(axis)) {
        (ScaleKind::Size, axis) => axis,
        (_, axis) => say!("{axis}, number"),
    };
    let series = series_along(runs, probe, &Along { axis, least: LINE_POINTS, but: &[] });
    let line = LineChart::of((x_title, x), (axis_title(probe), ScaleKind::Value(probe.unit())), series);
    let name = probe.title();
    let by = by_axis(axis);
    let name = say!("{name} {by}");
    Some(Figure { title: name, note: None, chart: line.draw()?, probes: Vec::new() })
}

/// Title of the axis of a probe's values: with its unit, where the names of the ticks have none.
pub(super) fn axis_title(probe: &Probe) -> Message {
    let name = probe.title();
    match probe.unit() {
        unit @ (Unit::Count | Unit::Ratio) => Message::joined([name, unit_name(unit).into()], COMMA),
        _ => name,
    }
}

fn rows(runs: &Runs, probe: &Probe) -> Option<Figure> {
    let axes = probe.varying();
    let mut rows = Vec::new();
    for case in &probe.cases {
        for run in 0..runs.all.len() {
            let Some((estimate, record)) = case.estimate(run).zip(case.record(run)) else { continue };
            let label = label(runs, probe, case, run, &axes);
            let shown = value_and_interval(estimate, probe.unit());
            let remark = estimators::both(&runs.all[run], record, estimate, probe.unit());
            let reading = reading(&label, shown);
            let interval = interval(estimate);
            rows.push(ValueRow { label, remark, value: estimate.value(), interval, style: run, reading });
        }
    }
    if !(LEAST_ROWS..=MOST_ROWS).contains(&rows.len()) {
        return None;
    }
    let chart =
        Rows { x_title: axis_title(probe), x: ScaleKind::Value(probe.unit()), rows, styles: Vec::new() }.draw()?;
    Some(Figure { title: probe.title(), note: None, chart, probes: Vec::new() })
}

fn label(runs: &Runs, probe: &Probe, case: &Case, run: usize, axes: &[&str]) -> Message {
    let points: Vec<Message> =
        axes.iter().filter_map(|axis| Some(probe.labels.value(axis, case.params.get(axis)?))).collect();
    runs.of_run(run, Message::joined(points, COMMA))
}
