//! Lines: values over an axis of numbers, an interval beside each, with borders between regions where there are some.

use std::fmt::Write;

use hostmark_model::Message;
use hostmark_say::say;

use super::scale::{Axis, ScaleKind};
use super::svg::{Anchor, Plot, Svg, num};
use super::{Chart, LegendEntry, MOST_SERIES, classes, shape, sign};

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
    /// Course of the line, if more is known of it than its points.
    pub(crate) course: Vec<(f64, f64)>,
    /// Places without a value, at which the line breaks, and their readings.
    pub(crate) missing: Vec<(f64, Message)>,
}

impl Series {
    /// A line that joins its points.
    pub(crate) fn joining(label: Message, points: Vec<LinePoint>) -> Series {
        Series { label, points, course: Vec::new(), missing: Vec::new() }
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

/// The outline of a line through these values, which breaks where one is missing between two.
fn course(plot: &Plot, through: impl Iterator<Item = (f64, f64)>, missing: &[(f64, Message)]) -> String {
    let (mut line, mut from) = (String::new(), f64::NAN);
    for (x, y) in through.filter(|(x, y)| x.is_finite() && y.is_finite()) {
        let is_broken = missing.iter().any(|(at, _)| from < *at && *at < x);
        let pen = if line.is_empty() || is_broken { 'M' } else { 'L' };
        let _ = write!(line, "{pen}{} {}", num(plot.x(x)), num(plot.y(y)));
        from = x;
    }
    line
}

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 250.0;

impl LineChart {
    pub(crate) fn of(x: (Message, ScaleKind), y: (Message, ScaleKind), series: Vec<Series>) -> LineChart {
        let ((x_title, x), (y_title, y)) = (x, y);
        LineChart { x_title, y_title, x, y, series, borders: Vec::new(), beyond: None, behind: None }
    }

    /// The chart; none where no two points stand anywhere.
    pub(crate) fn draw(self) -> Option<Chart> {
        let is_known = |point: &&LinePoint| point.x.is_finite() && point.y.is_finite();
        let left_out = self.series.len().saturating_sub(MOST_SERIES);
        let series: Vec<(&Series, Vec<&LinePoint>)> = (self.series.iter().take(MOST_SERIES))
            .map(|series| (series, series.points.iter().filter(is_known).collect()))
            .collect();
        let points = || series.iter().flat_map(|(_, points)| points.iter().copied());
        if points().count() < 2 {
            return None;
        }
        let courses = || series.iter().flat_map(|(series, _)| series.course.iter().copied());
        let x = Axis::over(self.x, &points().map(|point| point.x).chain(courses().map(|at| at.0)).collect::<Vec<_>>())?;
        // Intervals are in view as long as they do not push the values together.
        let (least, most) = points().fold((f64::INFINITY, 0.0f64), |(low, high), p| (low.min(p.y), high.max(p.y)));
        let ends = points().filter_map(|point| point.interval).flat_map(|(low, high)| [low, high]);
        let ends = ends.filter(|end| *end >= least / 2.0 && *end <= most * 2.0);
        let behind: Vec<&LinePoint> = self.behind.iter().flat_map(|series| &series.points).filter(is_known).collect();
        let others = courses().map(|at| at.1).chain(behind.iter().map(|point| point.y));
        let y = Axis::over(self.y, &points().map(|point| point.y).chain(ends).chain(others).collect::<Vec<_>>())?;
        let plot = Plot { left: 52.0, right: WIDTH - 12.0, top: 24.0, bottom: HEIGHT - 34.0, x: &x, y: &y };
        let mut svg = Svg::new(WIDTH, HEIGHT);
        plot.draw(&mut svg, &self.x_title, &self.y_title);
        self.draw_borders(&mut svg, &plot);
        svg.path("behind", &course(&plot, behind.iter().filter(|point| plot.has(point.x)).map(|p| (p.x, p.y)), &[]));
        for (index, (of, points)) in series.iter().enumerate() {
            svg.open_series(&classes(index), &of.label);
            let mut whiskers = String::new();
            for point in points {
                if let Some((low, high)) = point.interval {
                    let _ = write!(whiskers, "M{} {}V{}", num(plot.x(point.x)), num(plot.y(low)), num(plot.y(high)));
                }
            }
            svg.path("w", &whiskers);
            svg.path(
                "l",
                &match of.course.as_slice() {
                    [] => course(&plot, points.iter().map(|point| (point.x, point.y)), &of.missing),
                    known => course(&plot, known.iter().copied(), &[]),
                },
            );
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
        let mut legend: Vec<LegendEntry> = series
            .iter()
            .enumerate()
            .map(|(i, (of, _))| LegendEntry { sign: sign(i), label: of.label.clone() })
            .collect();
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
