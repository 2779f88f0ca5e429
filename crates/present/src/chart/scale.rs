//! Axes: where a value stands between two ends, and which values are written beside the line.

use hostmark_analysis::format::scale_for;
use hostmark_model::{Message, Unit, size_text};

/// Distribution of values along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spread {
    Log,
    Linear,
    /// Shares below one by the number of their nines: 0.5, 0.9, 0.99, 0.999.
    Nines,
}

/// Kind of an axis' values, which decides how they are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ScaleKind {
    /// Bytes at powers of two.
    Size,
    Count,
    Value(Unit),
    /// Operations of arithmetic a second, in GFLOP/s, which the title of the axis says.
    Flops,
    /// Operations for each byte, at powers of two and their fractions.
    Intensity,
    Share,
    /// Quotients over one, as percentages above or below it.
    Change,
}

/// An axis between two values, each of them finite and, on a logarithmic axis, positive.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    spread: Spread,
    low: f64,
    high: f64,
    pub(crate) ticks: Vec<(f64, Message)>,
}

/// Points up to this many are all named on an axis of whole numbers.
const FEW_POINTS: usize = 7;
/// Steps between the names of an axis at most.
const STEPS: f64 = 6.0;
/// A logarithmic axis that spans less is linear: from zero on, lengths can be compared.
const LOG_SPAN: f64 = 3.0;

impl Axis {
    /// An axis that has room for all `values`, of which at least one is finite; none where there is none. Where some are
    /// not positive, or all are close together, a logarithm shows nothing and the axis is linear.
    pub(crate) fn over(kind: ScaleKind, values: &[f64]) -> Option<Axis> {
        let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let low = known.iter().copied().reduce(f64::min)?;
        let high = known.iter().copied().reduce(f64::max)?;
        Some(match kind {
            ScaleKind::Share => Axis::nines(&known),
            ScaleKind::Change => Axis::change(low, high),
            ScaleKind::Size | ScaleKind::Count | ScaleKind::Intensity if low > 0.0 => {
                Axis::powers(kind, low, high, &known)
            }
            ScaleKind::Value(_) | ScaleKind::Flops if low > 0.0 && high / low >= LOG_SPAN => Axis::log(kind, low, high),
            _ => Axis::linear(kind, low, high),
        })
    }

    /// An axis from zero on, or from below where values are.
    pub(crate) fn linear(kind: ScaleKind, low: f64, high: f64) -> Axis {
        let (low, mut high) = (low.min(0.0), high.max(0.0));
        if high - low < f64::MIN_POSITIVE {
            high = 1.0;
        }
        let step = nice_step((high - low) / (STEPS - 1.0), kind);
        let from = (low / step).floor();
        let to = (high / step).ceil();
        let ticks = (0..=(to - from) as usize).map(|index| (from + index as f64) * step);
        let largest = high.max(-low);
        let ticks = ticks.map(|at| (at, tick(kind, at, largest))).collect();
        Axis { spread: Spread::Linear, low: from * step, high: to * step, ticks }
    }

    /// An axis from near one value to near another, with three names or so.
    pub(crate) fn between(kind: ScaleKind, low: f64, high: f64) -> Axis {
        let room = (high - low).max(0.02 * high.abs()).max(f64::MIN_POSITIVE) * 0.06;
        let (low, high) = (low - room, high + room);
        let step = nice_step((high - low) / 4.0, kind);
        let first = (low / step).ceil();
        let count = ((high / step).floor() - first).clamp(0.0, 2.0 * STEPS);
        let ticks = (0..=count as usize).map(|index| (first + index as f64) * step);
        let name = |at: f64| match kind {
            // As many digits as tell neighbours apart.
            ScaleKind::Value(unit) => {
                let scale = scale_for(high, unit);
                let digits = (-(step / scale.size).log10().floor()).clamp(0.0, 9.0) as usize;
                scale.with_suffix(format!("{:.digits$}", at / scale.size))
            }
            _ => tick(kind, at, high),
        };
        Axis { spread: Spread::Linear, low, high, ticks: ticks.map(|at| (at, name(at))).collect() }
    }

    fn log(kind: ScaleKind, low: f64, high: f64) -> Axis {
        let steps: &[f64] = match high / low {
            span if span < 30.0 => &[1.0, 2.0, 5.0],
            span if span < 1e3 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        // Every so many decades, where there are too many of them.
        let every = (f64::from(last - first) / STEPS).ceil().max(1.0) as i32;
        let decades = (first..=last).filter(|decade| (decade - first) % every == 0);
        let all: Vec<f64> = decades.flat_map(|decade| steps.iter().map(move |s| s * 10f64.powi(decade))).collect();
        let from = all.iter().copied().filter(|at| *at <= low).reduce(f64::max).unwrap_or(low);
        let to = all.iter().copied().filter(|at| *at >= high).reduce(f64::min).unwrap_or(high);
        let within = all.into_iter().filter(|at| (from..=to).contains(at));
        let ticks = within.map(|at| (at, tick(kind, at, at))).collect();
        Axis { spread: Spread::Log, low: from, high: to, ticks }
    }

    /// Powers of two, or the points themselves where they are few.
    fn powers(kind: ScaleKind, low: f64, high: f64, known: &[f64]) -> Axis {
        let mut points = known.to_vec();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let at: Vec<f64> = if points.len() <= FEW_POINTS && kind == ScaleKind::Count {
            points
        } else {
            let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
            let every = (f64::from(last - first) / STEPS).ceil().max(1.0) as i32;
            (first..=last).filter(|power| (power - first) % every == 0).map(|power| 2f64.powi(power)).collect()
        };
        let room = if low < high { 1.08 } else { 2.0 };
        let ticks = at.into_iter().map(|at| (at, tick(kind, at, at))).collect();
        Axis { spread: Spread::Log, low: low / room, high: high * room, ticks }
    }

    fn nines(known: &[f64]) -> Axis {
        let most = known.iter().copied().filter(|share| *share < 1.0).fold(0.99, f64::max);
        let named = [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")];
        let ticks = named.into_iter().filter(|(share, _)| *share <= most + 1e-9).map(|(at, name)| (at, name.into()));
        Axis { spread: Spread::Nines, low: 0.44, high: 1.0 - (1.0 - most) / 1.12, ticks: ticks.collect() }
    }

    /// Quotients around one, evenly by their logarithm, so that twice is as far as half.
    fn change(low: f64, high: f64) -> Axis {
        let reach = high.max(1.0 / low.max(1e-9)).clamp(1.02, 1e6);
        let named: &[f64] = &[1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
        let outer = named.iter().copied().find(|at| *at >= reach * 0.999).unwrap_or(1e6);
        let inner = named.iter().copied().rfind(|at| at.ln() <= outer.ln() * 0.62);
        let sides = inner.into_iter().chain([outer]).flat_map(|at| [at, 1.0 / at]);
        let mut at: Vec<f64> = sides.chain([1.0]).collect();
        at.sort_by(f64::total_cmp);
        let ticks = at.into_iter().map(|at| (at, tick(ScaleKind::Change, at, at))).collect();
        let room = outer.powf(1.06);
        Axis { spread: Spread::Log, low: 1.0 / room, high: room, ticks }
    }

    /// Place of `value`: 0 at the low end, 1 at the high one; none where it has no place on this axis.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let at = |value: f64| match self.spread {
            Spread::Log => value.ln(),
            Spread::Linear => value,
            Spread::Nines => -(1.0 - value).ln(),
        };
        let share = (at(value) - at(self.low)) / (at(self.high) - at(self.low));
        share.is_finite().then_some(share)
    }

    /// [`Axis::place`], what lies beyond an end being put there: an interval that begins at zero has no logarithm.
    pub(crate) fn place_within(&self, value: f64) -> f64 {
        self.place(value).unwrap_or(0.0).clamp(0.0, 1.0)
    }

    /// Tells whether it is logarithmic, which readers must know.
    pub(crate) fn is_log(&self) -> bool {
        self.spread == Spread::Log
    }
}

/// A step of 1, 2 or 5 times a power, no smaller than `least`; powers of two for bytes.
fn nice_step(least: f64, kind: ScaleKind) -> f64 {
    if let ScaleKind::Size | ScaleKind::Value(Unit::Bytes) = kind {
        return 2f64.powf(least.log2().ceil());
    }
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= least * 0.999);
    let step = step.unwrap_or(10.0 * power);
    if kind == ScaleKind::Count { step.max(1.0) } else { step }
}

/// Operations a second in a GFLOP/s.
pub(crate) const GIGA: f64 = 1e9;

/// Label of the tick at `at`: on a linear axis all in the unit that suits the `largest`.
fn tick(kind: ScaleKind, at: f64, largest: f64) -> Message {
    match kind {
        ScaleKind::Size => size_text(at as u64).into(),
        ScaleKind::Intensity if at > 0.0 && at < 1.0 => format!("1/{}", short(1.0 / at)).into(),
        ScaleKind::Count | ScaleKind::Intensity => short(at).into(),
        ScaleKind::Share => format!("{} %", short(at * 100.0)).into(),
        ScaleKind::Change => change(at).into(),
        ScaleKind::Flops => short(at / GIGA).into(),
        ScaleKind::Value(unit) => {
            let scale = scale_for(largest * (1.0 + 1e-9), unit);
            scale.with_suffix(short(at / scale.size))
        }
    }
}

/// A quotient as people say it: `+12 %`, `−9.1 %`, `×10`.
pub(crate) fn change(quotient: f64) -> String {
    match quotient {
        at if at >= 9.95 => format!("×{}", short(at)),
        at if at <= 0.1005 && at > 0.0 => format!("÷{}", short(1.0 / at)),
        at => {
            let percent = (at - 1.0) * 100.0;
            let digits = usize::from(percent.abs() < 9.95);
            let text = format!("{:.digits$}", percent.abs());
            let is_nothing = text.bytes().all(|b| matches!(b, b'0' | b'.'));
            let sign = if is_nothing {
                ""
            } else if percent < 0.0 {
                "−"
            } else {
                "+"
            };
            format!("{sign}{} %", if is_nothing { "0" } else { text.trim_end_matches(".0") })
        }
    }
}

/// A number with as many digits as it needs, three at most.
fn short(value: f64) -> String {
    let scientific = format!("{value:.2e}");
    let rounded: f64 = scientific.parse().unwrap_or(value);
    // A row of zeros says nothing.
    let text = if rounded == 0.0 || (1e-6..1e15).contains(&rounded.abs()) { rounded.to_string() } else { scientific };
    text.replacen('-', if value < 0.0 { "−" } else { "-" }, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|(_, name)| name.to_string()).collect()
    }

    #[test]
    fn every_axis_says_its_unit_and_holds_what_it_was_made_for() {
        let sizes: Vec<f64> = (12..=28).map(|power| 2f64.powi(power)).collect();
        let axis = Axis::over(ScaleKind::Size, &sizes).unwrap();
        assert_eq!(names(&axis), ["4 KiB", "32 KiB", "256 KiB", "2 MiB", "16 MiB", "128 MiB"]);
        let axis = Axis::over(ScaleKind::Value(Unit::Nanoseconds), &[1.3, 4.5, 109.0]).unwrap();
        assert_eq!(names(&axis), ["1 ns", "3 ns", "10 ns", "30 ns", "100 ns", "300 ns"]);
        assert!(axis.is_log());
        let axis = Axis::over(ScaleKind::Value(Unit::BytesPerSecond), &[20e9, 25e9]).unwrap();
        assert_eq!(names(&axis), ["0 GB/s", "5 GB/s", "10 GB/s", "15 GB/s", "20 GB/s", "25 GB/s"]);
        let axis = Axis::over(ScaleKind::Count, &[2.0, 8.0, 16.0]).unwrap();
        assert_eq!(names(&axis), ["2", "8", "16"]);
        let axis = Axis::over(ScaleKind::Share, &[0.5, 0.999]).unwrap();
        assert_eq!(names(&axis), ["50 %", "90 %", "99 %", "99.9 %"]);
        let axis = Axis::over(ScaleKind::Change, &[0.97, 1.378]).unwrap();
        assert_eq!(names(&axis), ["−33 %", "−17 %", "0 %", "+20 %", "+50 %"]);
    }

    #[test]
    fn whatever_the_values_every_place_is_a_number() {
        let odd = [0.0, -1.0, 1e-300, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, 5.0];
        for kind in [
            ScaleKind::Size,
            ScaleKind::Count,
            ScaleKind::Intensity,
            ScaleKind::Value(Unit::Nanoseconds),
            ScaleKind::Share,
            ScaleKind::Change,
        ] {
            for one in odd {
                for other in odd {
                    let Some(axis) = Axis::over(kind, &[one, other]) else { continue };
                    for value in odd {
                        assert!((0.0..=1.0).contains(&axis.place_within(value)), "{kind:?} {one} {other} {value}");
                    }
                    assert!(axis.ticks.len() <= 40, "{kind:?} {one} {other}: {}", axis.ticks.len());
                }
            }
        }
        assert!(Axis::over(ScaleKind::Count, &[f64::NAN]).is_none());
    }
}
