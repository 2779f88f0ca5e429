//! Charts as SVG: the page's own, since all that it needs are lines, points, cells and rows.
//!
//! Each mark carries its reading as a `<title>`, so that it shows without a script, and class `m`, by which the page's
//! script finds it. Series differ by colour, by the shape of their marks and by the dashes of their lines.

use hostmark_model::Message;
pub(crate) mod bars;
mod heat;
mod line;
mod rows;
pub(crate) mod scale;
mod strip;
mod svg;

pub(crate) use heat::{Heat, HeatCell};
pub(crate) use line::{Border, LineChart, LinePoint, Series};
pub(crate) use rows::{Rows, ValueRow};
pub(crate) use strip::{Round, Strip};

/// A chart and what its series are called.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    pub(crate) svg: String,
    pub(crate) legend: Vec<LegendEntry>,
}

/// A line of a legend: a sign as markup, and what it stands for.
#[derive(Debug, Clone)]
pub(crate) struct LegendEntry {
    pub(crate) sign: String,
    pub(crate) label: Message,
}

/// Series that a chart shows at most: as many colours, shapes and dashes together can be told apart.
pub(crate) const MOST_SERIES: usize = 10;
/// Colours of the style sheet, shapes among the page's symbols, and dashes; their numbers differ so that pairs repeat late.
const COLOURS: usize = 6;
const SHAPES: usize = 5;
const DASHES: usize = 4;

/// The classes of a series: its colour and its dashes.
fn classes(index: usize) -> String {
    format!("c{} d{}", index % COLOURS, index % DASHES)
}

fn shape(index: usize) -> String {
    format!("#k{}", index % SHAPES)
}

/// The sign of a series in a legend.
fn sign(index: usize) -> String {
    format!(
        "<svg class=\"sign\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><g class=\"{}\"><path class=\"l\" d=\"M0 \
         6h28\"/><use href=\"{}\" x=\"14\" y=\"6\"/></g></svg>",
        classes(index),
        shape(index)
    )
}
