//! Samples in the order in which they were taken, round beside round, the disturbed ones with a mark of their own.

use std::fmt::Write;

use hostmark_model::{Message, Text};

use super::scale::{Axis, ScaleKind};
use super::svg::{Anchor, Plot, Svg, num};
use super::{Chart, LegendEntry};

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

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 160.0;

impl Strip {
    /// The chart; none without samples.
    pub(crate) fn draw(self) -> Option<Chart> {
        let all = || self.rounds.iter().flat_map(|round| round.samples.iter());
        let values: Vec<f64> = all().map(|(value, _)| *value).filter(|value| value.is_finite()).collect();
        let y = around(self.y, &values)?;
        let mut x = Axis::linear(ScaleKind::Count, 0.0, 1.0);
        x.ticks.clear();
        let plot = Plot { left: 52.0, right: WIDTH - 8.0, top: 20.0, bottom: HEIGHT - 30.0, x: &x, y: &y };
        let mut svg = Svg::new(WIDTH, HEIGHT);
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
