//! Heat maps: a value for each pair, the larger the darker and the larger its mark.

use std::fmt::Write;

use hostmark_model::Message;

use super::svg::{Anchor, Svg, num};
use super::{Chart, LegendEntry};

pub(crate) struct Heat {
    /// Titles of the columns and the rows.
    pub(crate) columns: Message,
    pub(crate) rows: Message,
    /// The names along both sides, ascending.
    pub(crate) names: Vec<usize>,
    pub(crate) cells: Vec<HeatCell>,
    /// Format of a value in a cell, where there is room, and in the legend.
    pub(crate) short: fn(f64) -> Message,
}

/// One value, at indexes of the names.
pub(crate) struct HeatCell {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) value: f64,
    pub(crate) reading: Message,
}

const WIDTH: f64 = 400.0;
const LEFT: f64 = 34.0;
const TOP: f64 = 34.0;
/// The largest cell; a few must not fill a page.
const MOST_CELL: f64 = 64.0;
/// A cell with room for a number.
const NUMBER_CELL: f64 = 34.0;
/// Shades of the style sheet.
const SHADES: usize = 7;

impl Heat {
    /// The chart; none where nothing has a value.
    pub(crate) fn draw(self) -> Option<Chart> {
        let cells: Vec<&HeatCell> = self.cells.iter().filter(|cell| cell.value.is_finite()).collect();
        let low = cells.iter().map(|cell| cell.value).reduce(f64::min)?;
        let high = cells.iter().map(|cell| cell.value).reduce(f64::max)?;
        let count = self.names.len().max(1);
        let size = ((WIDTH - LEFT - 8.0) / count as f64).min(MOST_CELL);
        let span = size * count as f64;
        let mut svg = Svg::new(WIDTH, TOP + span + 4.0);
        svg.text("title", (LEFT, 10.0), Anchor::Start, &self.columns);
        svg.text("title", (2.0, TOP - 4.0), Anchor::Start, &self.rows);
        let every = (14.0 / size).ceil().max(1.0) as usize;
        // With few cells the names of columns stand above each, with many above every so many.
        let every = if every > 1 { every.next_multiple_of(4) } else { 1 };
        for (index, name) in self.names.iter().enumerate().filter(|(index, _)| index % every == 0) {
            let middle = (index as f64 + 0.5) * size;
            svg.text("", (LEFT + middle, TOP - 4.0), Anchor::Middle, &name.to_string().into());
            svg.text("", (LEFT - 4.0, TOP + middle + 3.5), Anchor::End, &name.to_string().into());
        }
        svg.path("blank", &format!("M{} {}h{s}v{s}h-{s}z", num(LEFT), num(TOP), s = num(span)));
        svg.open("heat");
        for cell in &cells {
            let (shade, share) = shade(cell.value, low, high);
            // A mark fills its cell more the larger its value: what colour says, size says too.
            let side = size * (0.5 + 0.45 * share);
            let x = LEFT + (cell.column as f64 + 0.5) * size - side / 2.0;
            let y = TOP + (cell.row as f64 + 0.5) * size - side / 2.0;
            let mut d = String::new();
            let _ = write!(d, "M{} {}h{s}v{s}h-{s}z", num(x), num(y), s = num(side));
            svg.area(&format!("h{shade}"), &d, &cell.reading);
        }
        svg.close();
        if size >= NUMBER_CELL {
            svg.open("numbers");
            for cell in &cells {
                let (shade, _) = shade(cell.value, low, high);
                let x = LEFT + (cell.column as f64 + 0.5) * size;
                let y = TOP + (cell.row as f64 + 0.5) * size + 3.5;
                svg.text(&format!("t{shade}"), (x, y), Anchor::Middle, &(self.short)(cell.value));
            }
            svg.close();
        }
        Some(Chart { svg: svg.finish("chart"), legend: self.legend(low, high) })
    }

    fn legend(&self, low: f64, high: f64) -> Vec<LegendEntry> {
        let entry = |value: f64| {
            let (shade, share) = shade(value, low, high);
            let side = 12.0 * (0.5 + 0.45 * share);
            let at = 6.0 - side / 2.0;
            let sign = format!(
                "<svg class=\"sign square\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><g class=\"heat\"><path \
                 class=\"h{shade}\" d=\"M{at} {at}h{s}v{s}h-{s}z\"/></g></svg>",
                at = num(at),
                s = num(side)
            );
            LegendEntry { sign, label: (self.short)(value) }
        };
        if high / low < 1.001 { vec![entry(high)] } else { vec![entry(low), entry((low + high) / 2.0), entry(high)] }
    }
}

/// The shade of a value between two others, and how far it is on the way from one to the other.
fn shade(value: f64, low: f64, high: f64) -> (usize, f64) {
    // What hardly differs should not look as if it did: the scale spans a quarter at least.
    let span = (high - low).max(0.25 * high.abs()).max(f64::MIN_POSITIVE);
    let share = ((value - low) / span).clamp(0.0, 1.0);
    ((share * (SHADES - 1) as f64).round() as usize, share)
}
