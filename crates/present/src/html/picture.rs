//! A figure as the templates lay it out.

use serde::Serialize;

use super::bilingual::Words;
use super::figures::Figure;
use crate::chart::Entry;

/// A chart with what stands around it.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    id: String,
    title: Words,
    note: Option<Words>,
    svg: String,
    legend: Vec<Sign>,
}

#[derive(Debug, Serialize)]
struct Sign {
    sign: String,
    label: Words,
}

impl Picture {
    pub(super) fn of(figure: Figure, number: usize) -> Picture {
        let sign = |entry: Entry| Sign { sign: entry.sign, label: entry.label };
        Picture {
            id: format!("f{number}"),
            title: figure.title,
            note: figure.note,
            svg: figure.chart.svg,
            legend: figure.chart.legend.into_iter().map(sign).collect(),
        }
    }
}
