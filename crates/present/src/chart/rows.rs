//! Rows: a value with its interval on each, one under the other on a common axis; a comparison's forest plot.

use hostmark_analysis::Spoken;
use hostmark_model::Message;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::scale::{Axis, ScaleKind};
use super::svg::{Anchor, Svg, num};
use super::{Chart, LegendEntry, classes, shape, sign};

pub(crate) struct Rows {
    pub(crate) x_title: Message,
    pub(crate) x: ScaleKind,
    pub(crate) rows: Vec<ValueRow>,
    /// Meaning of the marks, in the order of [`ValueRow::style`]; empty where there is only one.
    pub(crate) styles: Vec<Message>,
}

pub(crate) struct ValueRow {
    pub(crate) label: Message,
    /// Written at the row's end.
    pub(crate) remark: Message,
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) style: usize,
    pub(crate) reading: Message,
}

pub(super) const WIDTH: f64 = 400.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 12.0;
/// Room of a row: its label, and its mark below.
const ROW: f64 = 27.0;

/// Columns of text that fit into a row on a narrow screen, where letters are largest.
const COLUMNS: usize = 62;

/// A label as far as there is room for it before its remark.
pub(super) fn cut(label: &str, remark: &str) -> String {
    let room = COLUMNS.saturating_sub(remark.width() + 2);
    if label.width() <= room {
        return label.to_owned();
    }
    let mut cut = String::new();
    for c in label.chars() {
        if cut.width() + c.width().unwrap_or(0) + 1 > room {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}

impl Rows {
    /// The chart; none without rows.
    pub(crate) fn draw(&self) -> Option<Chart> {
        let rows: Vec<&ValueRow> = self.rows.iter().filter(|row| row.value.is_finite()).collect();
        let (least, most) =
            rows.iter().fold((f64::INFINITY, 0.0f64), |(a, b), row| (a.min(row.value), b.max(row.value)));
        // An interval that reaches far beyond all values is cut: it would push them together.
        let values = rows.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.value, row.value));
            let ends = [low, high].into_iter().filter(|end| *end >= least / 2.0 && *end <= most * 2.0);
            ends.chain([row.value]).filter(|end| self.x != ScaleKind::Change || *end > 0.0)
        });
        let x = Axis::over(self.x, &values.collect::<Vec<_>>())?;
        let bottom = 4.0 + ROW * rows.len() as f64;
        let mut svg = Svg::new(WIDTH, bottom + 34.0);
        let at = svg.grid(&x, (LEFT, RIGHT), bottom);
        if self.x == ScaleKind::Change {
            svg.path("axis", &format!("M{} 2V{}", num(at(1.0)), num(bottom)));
        }
        svg.text("title", (RIGHT, bottom + 29.0), Anchor::End, &self.x_title);
        for (index, row) in rows.iter().enumerate() {
            let top = 4.0 + ROW * index as f64;
            let label = |lang| cut(&row.label.get(lang), &row.remark.get(lang));
            svg.text_by("label", (LEFT - 6.0, top + 10.0), Anchor::Start, label);
            svg.text("label", (WIDTH - 2.0, top + 10.0), Anchor::End, &row.remark);
            svg.open_series(&classes(row.style), &row.label);
            let y = top + 18.0;
            if let Some((low, high)) = row.interval {
                let (low, high) = (num(at(low)), num(at(high)));
                let (up, middle) = (num(y - 3.0), num(y));
                svg.path("w", &format!("M{low} {middle}H{high}M{low} {up}v6M{high} {up}v6"));
            }
            svg.mark(&shape(row.style), (at(row.value), y), &row.reading);
            svg.close();
        }
        let is_shown = |(style, _): &(usize, &Message)| rows.iter().any(|row| row.style == *style);
        let known = self.styles.iter().enumerate().filter(is_shown);
        let legend = known.map(|(style, label)| LegendEntry { sign: sign(style), label: label.clone() }).collect();
        Some(Chart { svg: svg.finish("chart rows"), legend })
    }
}
