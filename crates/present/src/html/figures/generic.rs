//! Figures by a probe's axes: a line along its longest axis of numbers, else rows; its percentiles and its samples.

use std::collections::HashMap;

use hostmark_analysis::format::{amount, interval_target, unit_name};
use hostmark_analysis::groups::{distinct, grouped};
use hostmark_analysis::labels::{axis_name, by_axis};
use hostmark_analysis::reasons::brief;
use hostmark_analysis::typography::COMMA;
use hostmark_model::{AxisKind, DisturbanceFlags, Estimate, Measured, Message, Outcome, Unit};
use hostmark_say::say;

use super::Figure;
use crate::chart::scale::ScaleKind;
use crate::chart::{Chart, LineChart, LinePoint, Round, Rows, Series, Strip, ValueRow};
use crate::runs::{Case, Probe, Runs, interval, plus_minus, reading, value_and_interval, value_and_other};

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
    all.extend(percentiles_of_probe(runs, probe));
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
fn axis_title(probe: &Probe) -> Message {
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
            let remark = value_and_other(&runs.estimators[run], record, estimate, probe.unit());
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

/// A figure for each section with such probes.
pub(super) fn percentile_figures(runs: &Runs) -> Vec<Figure> {
    let probes = runs.probes.iter().filter(|probe| !probe.percentiles().is_empty());
    let sections = grouped(probes.map(|probe| (probe.section(), probe)));
    let figure = |(section, probes): (Message, Vec<&Probe>)| {
        let mut series = Vec::new();
        for probe in &probes {
            let Some(case) = probe.cases.first() else { continue };
            for run in 0..runs.all.len() {
                series.extend(percentile_line(probe, case, run, runs.of_run(run, probe.title())));
            }
        }
        let name = say!("Percentiles: {section}");
        let probes = probes.iter().map(|probe| probe.id.to_owned()).collect();
        Some(Figure { title: name, note: None, chart: percentile_chart(series)?, probes })
    };
    sections.into_iter().filter_map(figure).collect()
}

/// The percentiles of a probe's cases, where there are several to compare.
fn percentiles_of_probe(runs: &Runs, probe: &Probe) -> Option<Figure> {
    let axes = probe.varying();
    let mut series = Vec::new();
    for case in &probe.cases {
        for run in 0..runs.all.len() {
            series.extend(percentile_line(probe, case, run, runs.of_run(run, probe.all_named(case.params, &axes))));
        }
    }
    let chart = percentile_chart(Some(series).filter(|series| series.len() > 1)?)?;
    Some(Figure { title: term!("Percentiles").into(), note: None, chart, probes: Vec::new() })
}

fn percentile_chart(series: Vec<Series>) -> Option<Chart> {
    let line = LineChart::of(
        (term!("percentile").into(), ScaleKind::Share),
        (term!("time of one operation").into(), ScaleKind::Value(Unit::Nanoseconds)),
        series,
    );
    line.draw()
}

/// The line of one case in one run through the values that its tables have; none where it has no percentiles.
fn percentile_line(probe: &Probe, case: &Case, run: usize, label: Message) -> Option<Series> {
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
    Some(Series::joining(label, points.into_iter().map(point).collect()))
}

/// Samples of a case that the page shows at most; the run file has all.
pub(in crate::html) const MOST_SAMPLES: usize = 150;

/// The figures of a probe's samples: the default case in each run, then what scatters most.
pub(in crate::html) fn of_samples(runs: &Runs, probe: &Probe) -> Vec<Figure> {
    let (mut all, mut others) = (Vec::new(), Vec::new());
    for run in 0..runs.all.len() {
        let Some(first) = probe.cases.iter().find(|case| case.estimate(run).is_some()) else { continue };
        let width = |case: &Case| case.estimate(run).and_then(Estimate::relative_half_width).unwrap_or(0.0);
        let widest = probe.cases.iter().max_by(|one, other| width(one).total_cmp(&width(other)));
        let target = interval_target(runs.all[run].settings.profile);
        let widest = widest.filter(|case| case.id != first.id && width(case) > target);
        all.extend(sample_figure(runs, probe, first, run));
        others.extend(widest.and_then(|case| sample_figure(runs, probe, case, run)));
    }
    all.append(&mut others);
    all
}

fn sample_figure(runs: &Runs, probe: &Probe, case: &Case, run: usize) -> Option<Figure> {
    let measured = case.record(run)?.measured()?;
    let count: usize = measured.samples.iter().map(Vec::len).sum();
    let rounds: Vec<Round> = (0..measured.samples.len()).map(|index| round(probe, measured, index, count)).collect();
    let shown: usize = rounds.iter().map(|round| round.samples.len()).sum();
    let strip = Strip { y_title: axis_title(probe), y: ScaleKind::Value(probe.unit()), rounds };
    let chart = strip.draw()?;
    let at = probe.all_named(case.params, &probe.varying());
    let name = if at.is_empty() { term!("Samples").into() } else { say!("Samples at {at}") };
    let wide = plus_minus(&measured.estimate);
    let note = match shown < count {
        true => say!(
            "{shown} of {count} samples are shown, evenly picked, every disturbed one as far as there is room; {wide}"
        ),
        false => say!("all {count:sample}; {wide}"),
    };
    Some(Figure { title: runs.of_run(run, name), note: Some(note), chart, probes: Vec::new() })
}

/// One round with as many of its samples as there is room for.
fn round(probe: &Probe, measured: &Measured, index: usize, count: usize) -> Round {
    let samples = &measured.samples[index];
    let record = measured.rounds.get(index);
    let is_disturbed = |at: usize| {
        record
            .and_then(|record| record.disturbance_flags.get(at))
            .is_some_and(|bits| DisturbanceFlags(*bits).is_disturbed())
    };
    let room = if count <= MOST_SAMPLES { samples.len() } else { (samples.len() * MOST_SAMPLES / count.max(1)).max(1) };
    let disturbed = (0..samples.len()).filter(|at| is_disturbed(*at)).count();
    // Disturbed samples get up to half of the room, the others what is left; both evenly picked.
    let for_disturbed = disturbed.min((room / 2).max(room.saturating_sub(samples.len() - disturbed)));
    let picked_disturbed = picked((0..samples.len()).filter(|at| is_disturbed(*at)).collect(), for_disturbed);
    let picked_good = picked((0..samples.len()).filter(|at| !is_disturbed(*at)).collect(), room - for_disturbed);
    let mut places: Vec<usize> = picked_disturbed.into_iter().chain(picked_good).collect();
    places.sort_unstable();
    let samples_shown: Vec<(f64, bool)> =
        places.into_iter().map(|at| (samples[at], is_disturbed(at))).filter(|(value, _)| value.is_finite()).collect();
    let median = record.map_or(measured.estimate.typical, |record| record.median);
    let (round, count) = (index + 1, samples.len());
    let shown = amount(median, probe.unit());
    let reading = say!("round {round}: median {median}, {count:sample}, {disturbed} disturbed", median = shown);
    Round { samples: samples_shown, median, reading }
}

/// `most` of `all`, evenly.
fn picked(all: Vec<usize>, most: usize) -> Vec<usize> {
    if all.len() <= most {
        return all;
    }
    (0..most).map(|index| all[index * all.len() / most]).collect()
}
