//! Ratio of the times of a write and a read, and the scatter of samples around their mean.

use hostmark_model::{Message, Params};

use super::family::{SPACES, Space};
use super::names::side_of;
use super::sheet::{Sheet, at};
use super::value::{ComparableValue, middle};
use super::{Row, Table};
use crate::format::{number, percent};
use crate::propagated::{Propagated, propagated_ratio};
use crate::typography::COMMA;

/// Reads and writes, where a family has both.
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;

/// The times of reads and writes at the points of a side, in turn, with where each pair stands.
pub(super) struct Pairs {
    pub(super) points: Vec<Params>,
    pub(super) times: Vec<(f64, Option<(f64, f64)>)>,
    pub(super) cases: Vec<String>,
}

/// Pairs of both on a side of an environment.
pub(super) fn pairs(sheet: &Sheet, environment: usize, side: Space) -> Pairs {
    let mut all = Pairs { points: Vec::new(), times: Vec::new(), cases: Vec::new() };
    for point in sheet.points(side) {
        let figure = |operation| sheet.figure(environment, operation, side, &point);
        let (Some(read), Some(write)) = (figure(READ), figure(WRITE)) else { continue };
        let (Ok(reading), Ok(writing)) = (&read.value, &write.value) else { continue };
        if reading.unit == writing.unit && reading.value > 0.0 && writing.value > 0.0 {
            all.times.extend([reading, writing].map(|value| {
                let time = value.time();
                (time.value, time.interval)
            }));
            all.cases.extend([read.id.clone(), write.id.clone()]);
            all.points.push(point);
        }
    }
    all
}

/// The mean of the ratios of times that [`Pairs`] has in turn.
pub(super) fn mean_ratio(times: &[f64]) -> Option<f64> {
    let ratios = times.chunks_exact(2).map(|pair| pair[1] / pair[0]);
    (!times.is_empty()).then(|| ratios.sum::<f64>() / (times.len() / 2) as f64)
}

/// Table by environment and side, and the mean over these.
pub(super) fn ratio(sheet: &Sheet, all: bool) -> Option<Table> {
    let mut rows = Vec::new();
    let mut means = Vec::new();
    for environment in 0..sheet.environments.len() {
        for side in SPACES {
            let pairs = pairs(sheet, environment, side);
            let Some(mean) = propagated_ratio(&pairs.times, mean_ratio) else { continue };
            let each: Vec<(Message, Propagated)> = (pairs.points.iter().map(at))
                .zip(pairs.times.chunks_exact(2))
                .filter_map(|(at, times)| Some((at, propagated_ratio(times, mean_ratio)?)))
                .collect();
            means.push(mean.value);
            let each = each.into_iter().map(|(at, ratio)| Message::joined([at, times(&ratio, all).into()], " "));
            let cells = vec![times(&mean, all).into(), Message::joined(each, "  ")];
            rows.push(Row { label: side_of(&sheet.environments[environment], side), cells });
        }
    }
    let mean = (means.len() > 1).then(|| means.iter().sum::<f64>() / means.len() as f64);
    rows.extend(mean.map(|mean| Row {
        label: term!("mean of these").into(),
        cells: vec![Message::plain(two_digits(mean)), Message::plain("–")],
    }));
    (!rows.is_empty()).then(|| Table {
        title: term!("Write/read ratio: what a write takes, in times of a read").into(),
        columns: vec![term!("mean").into(), term!("each").into()],
        rows,
        ..Table::default()
    })
}

/// A ratio, and where it lies.
pub(super) fn times(ratio: &Propagated, all: bool) -> String {
    match ratio.interval.filter(|_| all) {
        Some((low, high)) => format!("{} ({} … {})", two_digits(ratio.value), two_digits(low), two_digits(high)),
        None => two_digits(ratio.value),
    }
}

pub(super) fn two_digits(ratio: f64) -> String {
    if ratio.abs() < 1e6 { format!("{ratio:.2}") } else { number(ratio) }
}

/// Standard deviation over mean, by environment, side and operation: the least, the middle and the greatest of the points.
pub(super) fn deviation(sheet: &Sheet) -> Option<Table> {
    let mut rows = Vec::new();
    for (environment, here) in sheet.environments.iter().enumerate() {
        for side in SPACES {
            for (index, operation) in sheet.operations() {
                let of = |value: &ComparableValue| value.deviation;
                let at_point = |point: &Params| sheet.value(environment, index, side, point).ok().and_then(of);
                let mut all: Vec<f64> = sheet.points(side).iter().filter_map(at_point).collect();
                all.sort_by(f64::total_cmp);
                let (Some(least), Some(most), Some(middle)) = (all.first(), all.last(), middle(all.iter().copied()))
                else {
                    continue;
                };
                let (place, name) = (side_of(here, side), operation.name);
                let label = Message::joined([place, name.into()], COMMA);
                rows.push(Row {
                    label,
                    cells: [*least, middle, *most].map(|part| Message::plain(percent(part))).into(),
                });
            }
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: term!("Deviation/mean of all samples, over the columns above").into(),
        columns: vec![term!("least").into(), term!("middle").into(), term!("greatest").into()],
        rows,
        ..Table::default()
    })
}
