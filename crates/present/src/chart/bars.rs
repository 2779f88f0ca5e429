//! Bars from zero on, so that lengths can be compared: groups of a bar for each name, one under the other.

use hostmark_analysis::Spoken;
use hostmark_analysis::bars::{Bars, Scale};
use hostmark_model::{Message, Unit};

use super::rows::{WIDTH, cut};
use super::scale::{Axis, ScaleKind};
use super::svg::{Anchor, Svg, num};
use super::{COLOURS, Chart};

const LEFT: f64 = 2.0;
const RIGHT: f64 = WIDTH - 12.0;
/// Room of a bar: its label, and itself below; and the gap between two groups.
const ROW: f64 = 22.0;
const THICK: f64 = 7.0;
const GAP: f64 = 7.0;

/// The chart; none without a value above zero.
pub(crate) fn draw(bars: &Bars) -> Option<Chart> {
    let most = bars.most()?;
    let (kind, unit) = match bars.scale {
        Scale::Rate => (ScaleKind::Value(Unit::BytesPerSecond), 1e6),
        Scale::Time => (ScaleKind::Value(Unit::Nanoseconds), 1e9),
    };
    let x = Axis::linear(kind, 0.0, most * unit);
    let rows = bars.groups.len() * bars.names.len();
    let bottom = 4.0 + ROW * rows as f64 + GAP * bars.groups.len().saturating_sub(1) as f64;
    let mut svg = Svg::new(WIDTH, bottom + 20.0);
    let at = svg.grid(&x, (LEFT, RIGHT), bottom);
    let mut top = 4.0;
    for group in &bars.groups {
        for (index, name) in bars.names.iter().enumerate() {
            let label = Message::joined([group.label.clone(), name.into()], " · ");
            let known = group.bars.get(index).and_then(Option::as_ref);
            let shown = known.map_or_else(|| Message::plain("–"), |(_, text)| text.clone());
            let fitting = |lang| cut(&label.get(lang), &shown.get(lang));
            svg.text_by("label", (LEFT, top + 10.0), Anchor::Start, fitting);
            svg.text("label", (RIGHT, top + 10.0), Anchor::End, &shown);
            if let Some((value, _)) = known.filter(|(value, _)| value.is_finite()) {
                svg.open_series(&format!("c{}", index % COLOURS), &label);
                let d = format!("M{} {}H{}v{THICK}H{}z", num(LEFT), num(top + 13.0), num(at(value * unit)), num(LEFT));
                svg.area("bar", &d, &shown);
                svg.close();
            }
            top += ROW;
        }
        top += GAP;
    }
    // Each bar is named where it stands.
    Some(Chart { svg: svg.finish("chart bars"), legend: Vec::new() })
}
