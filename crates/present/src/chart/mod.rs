//! Charts as SVG: the page's own, since all that it needs are lines, points, cells and rows.
//!
//! Each mark carries its reading as a `<title>`, so that it shows without a script, and class `m`, by which the page's
//! script finds it. Series differ by colour, by the shape of their marks and by the dashes of their lines.

pub(crate) mod scale;
mod svg;

use std::fmt::Write;
use std::ops::Range;

use hostmark_analysis::Spoken;
use hostmark_analysis::bars::{Bars, Scale};
use hostmark_model::{Message, Text, Unit};
use hostmark_say::say;
use scale::{Axis, ScaleKind};
use svg::{Anchor, Plot, Svg, num};
use unicode_width::UnicodeWidthStr;

use crate::wrap::cut;

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

/// Width of every chart, in units of the picture.
const WIDTH: f64 = 400.0;
/// Series that a chart shows at most: as many colours, shapes and dashes together can be told apart.
const MOST_SERIES: usize = 10;
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

pub(crate) struct LineChart {
    /// Titles of the axes; the names of their ticks have the unit.
    pub(crate) x_title: Message,
    pub(crate) y_title: Message,
    pub(crate) x: ScaleKind,
    pub(crate) y: ScaleKind,
    /// Series; those beyond [`MOST_SERIES`] are left out, and the legend says so.
    pub(crate) series: Vec<Series>,
    pub(crate) borders: Vec<Border>,
    /// Name of the part behind the last border; each border names the part before it.
    pub(crate) beyond: Option<Message>,
    /// Another machine's line, drawn behind all others.
    pub(crate) behind: Option<Series>,
}

pub(crate) struct Series {
    pub(crate) label: Message,
    /// Points in the order in which they are joined.
    pub(crate) points: Vec<LinePoint>,
    /// Places without a value, at which the line breaks, and their readings.
    pub(crate) missing: Vec<(f64, Message)>,
}

impl Series {
    /// A line that joins its points.
    pub(crate) fn joining(label: Message, points: Vec<LinePoint>) -> Series {
        Series { label, points, missing: Vec::new() }
    }
}

pub(crate) struct LinePoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) interval: Option<(f64, f64)>,
    /// Reading of the point: its place, its value and its interval.
    pub(crate) reading: Message,
}

/// A line across, where one region ends.
pub(crate) struct Border {
    pub(crate) at: f64,
    /// Name of the level that ends here; none for a border that is only claimed.
    pub(crate) name: Option<Message>,
    pub(crate) reading: Message,
}

/// The sign of another machine's line in a legend.
const BEHIND: &str =
    "<svg class=\"sign\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"behind\" d=\"M0 6h28\"/></svg>";

/// The outline of a line through these points, which breaks where one is missing between two.
fn course<'a>(plot: &Plot, through: impl Iterator<Item = &'a LinePoint>, missing: &[(f64, Message)]) -> String {
    let (mut line, mut from) = (String::new(), f64::NAN);
    for LinePoint { x, y, .. } in through {
        let (x, y) = (*x, *y);
        let is_broken = missing.iter().any(|(at, _)| from < *at && *at < x);
        let pen = if line.is_empty() || is_broken { 'M' } else { 'L' };
        let _ = write!(line, "{pen}{} {}", num(plot.x(x)), num(plot.y(y)));
        from = x;
    }
    line
}

const LINE_HEIGHT: f64 = 250.0;

impl LineChart {
    pub(crate) fn of(x: (Message, ScaleKind), y: (Message, ScaleKind), series: Vec<Series>) -> LineChart {
        let ((x_title, x), (y_title, y)) = (x, y);
        LineChart { x_title, y_title, x, y, series, borders: Vec::new(), beyond: None, behind: None }
    }

    /// The chart; none where no two points of a series stand apart.
    pub(crate) fn draw(self) -> Option<Chart> {
        let is_known = |point: &&LinePoint| point.x.is_finite() && point.y.is_finite();
        let left_out = self.series.len().saturating_sub(MOST_SERIES);
        let series: Vec<(&Series, Vec<&LinePoint>)> = (self.series.iter().take(MOST_SERIES))
            .map(|series| (series, series.points.iter().filter(is_known).collect()))
            .collect();
        let points = || series.iter().flat_map(|(_, points)| points.iter().copied());
        series.iter().flat_map(|(_, points)| points.windows(2)).find(|pair| pair[0].x != pair[1].x)?;
        let x = Axis::over(self.x, &points().map(|point| point.x).collect::<Vec<_>>())?;
        // Intervals are in view as long as they do not push the values together.
        let (least, most) = points().fold((f64::INFINITY, 0.0f64), |(low, high), p| (low.min(p.y), high.max(p.y)));
        let ends = points().filter_map(|point| point.interval).flat_map(|(low, high)| [low, high]);
        let ends = ends.filter(|end| *end >= least / 2.0 && *end <= most * 2.0);
        let behind: Vec<&LinePoint> = self.behind.iter().flat_map(|series| &series.points).filter(is_known).collect();
        let values = points().chain(behind.iter().copied()).map(|point| point.y);
        let y = Axis::over(self.y, &values.chain(ends).collect::<Vec<_>>())?;
        let plot = Plot { left: 52.0, right: WIDTH - 12.0, top: 24.0, bottom: LINE_HEIGHT - 34.0, x: &x, y: &y };
        let mut svg = Svg::new(WIDTH, LINE_HEIGHT);
        plot.draw(&mut svg, &self.x_title, &self.y_title);
        self.draw_borders(&mut svg, &plot);
        svg.path("behind", &course(&plot, behind.iter().copied().filter(|point| plot.has(point.x)), &[]));
        for (index, (of, points)) in series.iter().enumerate() {
            svg.open_series(&classes(index), &of.label);
            let mut whiskers = String::new();
            for point in points {
                if let Some((low, high)) = point.interval {
                    let _ = write!(whiskers, "M{} {}V{}", num(plot.x(point.x)), num(plot.y(low)), num(plot.y(high)));
                }
            }
            svg.path("w", &whiskers);
            svg.path("l", &course(&plot, points.iter().copied(), &of.missing));
            for point in points {
                svg.mark(&shape(index), (plot.x(point.x), plot.y(point.y)), &point.reading);
            }
            for (at, reading) in of.missing.iter().filter(|(at, _)| plot.has(*at)) {
                let place =
                    format!("M{} {}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", num(plot.x(*at)), num(plot.bottom - 5.0));
                svg.area("missing", &place, reading);
            }
            svg.close();
        }
        let labels = series.iter().map(|(of, _)| of.label.clone()).enumerate();
        let mut legend: Vec<_> = labels.map(|(i, label)| LegendEntry { sign: sign(i), label }).collect();
        if let Some(other) = self.behind.as_ref().filter(|_| !behind.is_empty()) {
            legend.push(LegendEntry { sign: BEHIND.to_owned(), label: other.label.clone() });
        }
        if legend.len() == 1 && legend[0].label.is_empty() {
            legend.clear();
        }
        if left_out > 0 {
            let label = say!("{left_out} more in the tables below");
            legend.push(LegendEntry { sign: String::new(), label });
        }
        Some(Chart { svg: svg.finish("chart"), legend })
    }

    fn draw_borders(&self, svg: &mut Svg, plot: &Plot) {
        let mut from = plot.left;
        let inside = self.borders.iter().filter(|border| plot.x.place(border.at).is_some_and(|at| at < 1.0));
        for border in inside {
            let at = plot.x(border.at);
            let class = if border.name.is_some() { "border" } else { "border claimed" };
            svg.area(class, &format!("M{} {}V{}", num(at), num(plot.top - 8.0), num(plot.bottom)), &border.reading);
            if let Some(name) = &border.name {
                svg.text("region", ((from + at) / 2.0, plot.top - 1.0), Anchor::Middle, name);
                from = at;
            }
        }
        if let Some(name) = self.beyond.as_ref().filter(|_| plot.right - from > 36.0) {
            svg.text("region", ((from + plot.right) / 2.0, plot.top - 1.0), Anchor::Middle, name);
        }
    }
}

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

/// Ends of the axis below rows.
const ROWS: (f64, f64) = (8.0, WIDTH - 12.0);
/// Room of a row: its label, and its mark below.
const ROW: f64 = 27.0;

/// Columns of text that fit into a row on a narrow screen, where letters are largest.
const COLUMNS: usize = 62;

/// A label as far as there is room for it before its remark.
fn cut_before(label: &str, remark: &str) -> String {
    cut(label, COLUMNS.saturating_sub(remark.width() + 2))
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
        let at = svg.grid(&x, ROWS, bottom);
        if self.x == ScaleKind::Change {
            svg.path("axis", &format!("M{} 2V{}", num(at(1.0)), num(bottom)));
        }
        svg.text("title", (ROWS.1, bottom + 29.0), Anchor::End, &self.x_title);
        for (index, row) in rows.iter().enumerate() {
            let top = 4.0 + ROW * index as f64;
            let label = |lang| cut_before(&row.label.get(lang), &row.remark.get(lang));
            svg.text_by("label", (ROWS.0 - 6.0, top + 10.0), Anchor::Start, label);
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

/// Ends of the bars from left to right.
const BARS: (f64, f64) = (2.0, WIDTH - 12.0);
/// Room of a bar: its label, and itself below; and the gap between two groups.
const BAR_ROOM: f64 = 22.0;
const THICK: f64 = 7.0;
const GAP: f64 = 7.0;

/// The chart; none without a value above zero.
pub(crate) fn draw_bars(bars: &Bars) -> Option<Chart> {
    let most = bars.most()?;
    let (kind, unit) = match bars.scale {
        Scale::Rate => (ScaleKind::Value(Unit::BytesPerSecond), 1e6),
        Scale::Time => (ScaleKind::Value(Unit::Nanoseconds), 1e9),
    };
    let x = Axis::linear(kind, 0.0, most * unit);
    let rows = bars.groups.len() * bars.names.len();
    let bottom = 4.0 + BAR_ROOM * rows as f64 + GAP * bars.groups.len().saturating_sub(1) as f64;
    let mut svg = Svg::new(WIDTH, bottom + 20.0);
    let at = svg.grid(&x, BARS, bottom);
    let mut top = 4.0;
    for group in &bars.groups {
        for (index, name) in bars.names.iter().enumerate() {
            let label = Message::joined([group.label.clone(), name.into()], " · ");
            let known = group.bars.get(index).and_then(Option::as_ref);
            let shown = known.map_or_else(|| Message::plain("–"), |(_, text)| text.clone());
            let fitting = |lang| cut_before(&label.get(lang), &shown.get(lang));
            svg.text_by("label", (BARS.0, top + 10.0), Anchor::Start, fitting);
            svg.text("label", (BARS.1, top + 10.0), Anchor::End, &shown);
            if let Some((value, _)) = known.filter(|(value, _)| value.is_finite()) {
                svg.open_series(&format!("c{}", index % COLOURS), &label);
                let d =
                    format!("M{} {}H{}v{THICK}H{}z", num(BARS.0), num(top + 13.0), num(at(value * unit)), num(BARS.0));
                svg.area("bar", &d, &shown);
                svg.close();
            }
            top += BAR_ROOM;
        }
        top += GAP;
    }
    // Each bar is named where it stands.
    Some(Chart { svg: svg.finish("chart bars"), legend: Vec::new() })
}

/// Parts of something in rows, over the columns that share each.
pub(crate) struct Parts {
    pub(crate) columns: usize,
    pub(crate) rows: Vec<PartsRow>,
}

/// A label, and the columns of each part with its reading.
pub(crate) type PartsRow = (Message, Vec<(Range<usize>, Message)>);

/// Bars of a row: more would be narrower than a line, so that several parts share one.
const MOST_PARTS: usize = 128;

impl Parts {
    /// The chart; none without columns.
    pub(crate) fn draw(&self) -> Option<Chart> {
        let (left, right) = BARS;
        let room = (right - left) / self.columns as f64;
        let mut svg = Svg::new(WIDTH, 4.0 + BAR_ROOM * self.rows.len() as f64);
        for (index, (label, parts)) in self.rows.iter().enumerate() {
            let top = 4.0 + BAR_ROOM * index as f64;
            let each = parts.len().div_ceil(MOST_PARTS).max(1);
            let label = if each > 1 { say!("{label} ({each} a bar)") } else { label.clone() };
            svg.text_by("label", (left, top + 9.0), Anchor::Start, |lang| cut(&label.get(lang), COLUMNS));
            svg.open_series(&format!("c{}", index % COLOURS), &label);
            for ((first, reading), last) in parts.chunks(each).map(|bar| (&bar[0], &bar[bar.len() - 1])) {
                let width = room * (last.0.end - first.start) as f64;
                let (x, y, shown) =
                    (num(left + room * first.start as f64), num(top + 12.0), num(width - (width / 4.0).min(2.0)));
                let readings = [Some(reading), Some(&last.1).filter(|_| each > 1)].into_iter().flatten().cloned();
                svg.area("bar", &format!("M{x} {y}h{shown}v{THICK}h-{shown}z"), &Message::joined(readings, " … "));
            }
            svg.close();
        }
        (self.columns > 0).then(|| Chart { svg: svg.finish("chart bars"), legend: Vec::new() })
    }
}

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

const HEAT_LEFT: f64 = 34.0;
const HEAT_TOP: f64 = 34.0;
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
        let size = ((WIDTH - HEAT_LEFT - 8.0) / count as f64).min(MOST_CELL);
        let span = size * count as f64;
        let mut svg = Svg::new(WIDTH, HEAT_TOP + span + 4.0);
        svg.text("title", (HEAT_LEFT, 10.0), Anchor::Start, &self.columns);
        svg.text("title", (2.0, HEAT_TOP - 4.0), Anchor::Start, &self.rows);
        let every = (14.0 / size).ceil().max(1.0) as usize;
        // With few cells the names of columns stand above each, with many above every so many.
        let every = if every > 1 { every.next_multiple_of(4) } else { 1 };
        for (index, name) in self.names.iter().enumerate().filter(|(index, _)| index % every == 0) {
            let middle = (index as f64 + 0.5) * size;
            svg.text("", (HEAT_LEFT + middle, HEAT_TOP - 4.0), Anchor::Middle, &name.to_string().into());
            svg.text("", (HEAT_LEFT - 4.0, HEAT_TOP + middle + 3.5), Anchor::End, &name.to_string().into());
        }
        svg.path("blank", &format!("M{} {}h{s}v{s}h-{s}z", num(HEAT_LEFT), num(HEAT_TOP), s = num(span)));
        svg.open("heat");
        for cell in &cells {
            let (shade, share) = shade(cell.value, low, high);
            // A mark fills its cell more the larger its value: what colour says, size says too.
            let side = size * (0.5 + 0.45 * share);
            let x = HEAT_LEFT + (cell.column as f64 + 0.5) * size - side / 2.0;
            let y = HEAT_TOP + (cell.row as f64 + 0.5) * size - side / 2.0;
            let mut d = String::new();
            let _ = write!(d, "M{} {}h{s}v{s}h-{s}z", num(x), num(y), s = num(side));
            svg.area(&format!("h{shade}"), &d, &cell.reading);
        }
        svg.close();
        if size >= NUMBER_CELL {
            svg.open("numbers");
            for cell in &cells {
                let (shade, _) = shade(cell.value, low, high);
                let x = HEAT_LEFT + (cell.column as f64 + 0.5) * size;
                let y = HEAT_TOP + (cell.row as f64 + 0.5) * size + 3.5;
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

pub(crate) struct Strip {
    pub(crate) y_title: Message,
    pub(crate) y: ScaleKind,
    pub(crate) rounds: Vec<Round>,
}

pub(crate) struct Round {
    /// Samples, in their order, and whether each was disturbed.
    pub(crate) samples: Vec<(f64, bool)>,
    /// The middle of all its samples.
    pub(crate) median: f64,
    pub(crate) reading: Message,
}

const STRIP_HEIGHT: f64 = 160.0;

impl Strip {
    /// The chart; none without samples.
    pub(crate) fn draw(self) -> Option<Chart> {
        let all = || self.rounds.iter().flat_map(|round| round.samples.iter());
        let values: Vec<f64> = all().map(|(value, _)| *value).filter(|value| value.is_finite()).collect();
        let y = around(self.y, &values)?;
        let mut x = Axis::linear(ScaleKind::Count, 0.0, 1.0);
        x.ticks.clear();
        let plot = Plot { left: 52.0, right: WIDTH - 8.0, top: 20.0, bottom: STRIP_HEIGHT - 30.0, x: &x, y: &y };
        let mut svg = Svg::new(WIDTH, STRIP_HEIGHT);
        let title = term!("samples in order, by round").to_owned_text();
        plot.draw(&mut svg, &title.into(), &self.y_title);
        let room = (plot.right - plot.left) / self.rounds.len().max(1) as f64;
        let (mut good, mut disturbed, mut walls) = (String::new(), String::new(), String::new());
        for (index, round) in self.rounds.iter().enumerate() {
            let from = plot.left + room * index as f64;
            if index > 0 {
                let _ = write!(walls, "M{} {}V{}", num(from), num(plot.top), num(plot.bottom));
            }
            let step = (room - 6.0) / round.samples.len().max(1) as f64;
            for (place, (value, is_disturbed)) in round.samples.iter().enumerate() {
                // Whole units: there are many of these, and no eye tells less.
                let (at, up) = ((from + 3.0 + step * (place as f64 + 0.5)).round(), plot.y(*value).round());
                let _ = match is_disturbed {
                    false => write!(good, "M{} {}h0", num(at), num(up)),
                    true => write!(disturbed, "M{} {}l4 4m0-4l-4 4", num(at - 2.0), num(up - 2.0)),
                };
            }
        }
        svg.path("wall", &walls);
        svg.path("dots", &good);
        svg.path("crosses", &disturbed);
        for (index, round) in self.rounds.iter().enumerate() {
            let from = plot.left + room * index as f64;
            let d = format!("M{} {}h{}", num(from + 2.0), num(plot.y(round.median)), num(room - 4.0));
            svg.area("median", &d, &round.reading);
            if self.rounds.len() <= 12 {
                let name = Message::plain((index + 1).to_string());
                svg.text("", (from + room / 2.0, plot.bottom + 12.0), Anchor::Middle, &name);
            }
        }
        let sign = |class: &str, d: &str| {
            format!(
                "<svg class=\"sign\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"{class}\" d=\"{d}\"/></svg>"
            )
        };
        let entry = |class: &str, d: &str, label: Text| LegendEntry {
            sign: sign(class, d),
            label: label.to_owned_text().into(),
        };
        let mut legend = vec![
            entry("dots", "M7 4h0M14 7h0M21 5h0", term!("sample")),
            entry("median", "M2 6h24", term!("median of the round")),
        ];
        if all().any(|(_, is_disturbed)| *is_disturbed) {
            legend.push(entry("crosses", "M12 4l4 4m0-4l-4 4", term!("disturbed: moved or kept waiting")));
        }
        Some(Chart { svg: svg.finish("chart"), legend })
    }
}

/// An axis around values, which need not begin at zero: here their scatter is looked at, and no lengths are compared.
fn around(kind: ScaleKind, values: &[f64]) -> Option<Axis> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    match low > 0.0 && high < 3.0 * low {
        true => Some(Axis::between(kind, low, high)),
        false => Axis::over(kind, values),
    }
}
