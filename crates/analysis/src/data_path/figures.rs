//! Numbers of the view as text: rates, times of a byte, shares, factors, each with its interval where that is asked for.

use hostmark_model::{Lang, Unit};

use crate::format::{self, in_scale, number, percent, scale_for};
use crate::propagated::Propagated;

/// Mark in place of a number that the run lacks.
pub(super) const NOTHING: &str = "–";

/// `2.24 GB/s (2.20 … 2.28)`.
pub(super) fn rate(rate: Propagated) -> String {
    let text = plain_rate(rate.value);
    match rate.interval {
        Some((low, high)) => {
            let scale = scale_for(rate.value, Unit::BytesPerSecond);
            format!("{text} ({} … {})", in_scale(low, scale), in_scale(high, scale))
        }
        None => text,
    }
}

/// `0.704 … 4.00 GB/s`.
pub(super) fn range(low: f64, high: f64) -> String {
    format!("{} … {}", in_scale(low, scale_for(high, Unit::BytesPerSecond)), plain_rate(high))
}

/// `2.24 GB/s`.
pub(super) fn plain_rate(rate: f64) -> String {
    format::value(rate, Unit::BytesPerSecond, Lang::En)
}

/// `0.447`.
pub(super) fn plain(value: Option<Propagated>, all: bool) -> String {
    with_interval(value, all, number)
}

/// `25 %`.
pub(super) fn share(value: Option<Propagated>, all: bool) -> String {
    with_interval(value, all, percent)
}

/// Copies and crossings: `2`, or `1.98`.
pub(super) fn times(value: Option<Propagated>) -> String {
    let is_whole = |value: f64| (value - value.round()).abs() < 0.005;
    match value {
        Some(Propagated { value, .. }) if is_whole(value) => format!("{value:.0}").replace("-0", "0"),
        other => plain(other, false),
    }
}

fn with_interval(value: Option<Propagated>, all: bool, text: fn(f64) -> String) -> String {
    let Some(Propagated { value, interval }) = value else { return NOTHING.to_owned() };
    match interval.filter(|_| all) {
        Some((low, high)) => format!("{} ({} … {})", text(value), text(low), text(high)),
        None => text(value),
    }
}

/// A fraction over something, in whole percent: `+8 %`, `−12 %`.
pub(super) fn over(fraction: f64) -> String {
    let text = format!("{:+.0} %", fraction * 100.0);
    if text == "-0 %" || text == "+0 %" { "0 %".to_owned() } else { text.replacen('-', "−", 1) }
}

/// The same with its interval.
pub(super) fn over_with_interval(fraction: Propagated) -> String {
    match fraction.interval {
        Some((low, high)) => format!("{} ({} … {})", over(fraction.value), over(low), over(high)),
        None => over(fraction.value),
    }
}
