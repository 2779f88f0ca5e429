//! Numbers for people: a value in its base unit becomes three significant digits with the unit that suits it, and its interval ± or low … high.

use hostmark_model::{Estimate, Lang, Leading, Message, Profile, Text, Unit};
use hostmark_say::say;

use crate::typography::COMMA;

/// Share of disturbed samples from which they are mentioned: a few are everyday, and left out already.
pub const DISTURBED_SHARE: f64 = 0.05;

/// Number of significant digits of a value; an interval's ends get one more where they would look alike.
pub const DIGITS: usize = 3;

pub(crate) fn time_text(ns: f64) -> String {
    value(ns, Unit::Nanoseconds, Lang::En)
}

pub(crate) fn rate_text(bytes_per_s: f64) -> String {
    value(bytes_per_s, Unit::BytesPerSecond, Lang::En)
}

pub(crate) fn bytes_text(bytes: f64) -> String {
    value(bytes, Unit::Bytes, Lang::En)
}

pub(crate) fn frequency_text(hertz: f64) -> String {
    value(hertz, Unit::Hertz, Lang::En)
}

/// `3×40`: the rounds, and the samples of one round.
pub fn rounds_and_samples(estimate: &Estimate) -> String {
    let rounds = u64::from(estimate.rounds);
    match rounds {
        0 => format!("0×{}", estimate.n),
        // Rounds may differ by a few samples; what is shown is the nearest whole number.
        _ => format!("{rounds}×{}", (estimate.n.saturating_add(rounds / 2)) / rounds),
    }
}

/// A multiple of a base unit in which values are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub size: f64,
    /// Unit behind the number; empty for plain numbers.
    pub suffix: Text,
    /// True where a whole number is written without decimals (bytes, counts), as it is exact.
    pub exact: bool,
}

impl Scale {
    pub fn with_suffix(self, number: String) -> Message {
        Message::joined([number.into(), Message::from(self.suffix)], " ")
    }
}

const fn same(size: f64, name: &'static str) -> Scale {
    Scale { size, suffix: Text::name(name), exact: false }
}

const fn exact(size: f64, name: &'static str) -> Scale {
    Scale { size, suffix: Text::name(name), exact: true }
}

const fn cycles(size: f64, suffix: Text) -> Scale {
    Scale { size, suffix, exact: false }
}

const TIME: &[Scale] = &[same(1.0, "ns"), same(1e3, "µs"), same(1e6, "ms"), same(1e9, "s")];
const CORE_CYCLES: &[Scale] = &[cycles(1.0, term!("cycles")), cycles(1e6, term!("M cycles"))];
const REFERENCE_CYCLES: &[Scale] = &[cycles(1.0, term!("ref cycles")), cycles(1e6, term!("M ref cycles"))];
const BYTE_RATE: &[Scale] =
    &[same(1.0, "B/s"), same(1e3, "kB/s"), same(1e6, "MB/s"), same(1e9, "GB/s"), same(1e12, "TB/s")];
const OPERATION_RATE: &[Scale] = &[same(1.0, "/s"), same(1e3, "k/s"), same(1e6, "M/s"), same(1e9, "G/s")];
const BYTES: &[Scale] = &[
    exact(1.0, "B"),
    exact(1024.0, "KiB"),
    exact(1_048_576.0, "MiB"),
    exact(1_073_741_824.0, "GiB"),
    exact(1_099_511_627_776.0, "TiB"),
];
const HERTZ: &[Scale] = &[same(1.0, "Hz"), same(1e3, "kHz"), same(1e6, "MHz"), same(1e9, "GHz")];
const ENERGY: &[Scale] =
    &[same(1e-12, "pJ"), same(1e-9, "nJ"), same(1e-6, "µJ"), same(1e-3, "mJ"), same(1.0, "J"), same(1e3, "kJ")];
// Counts and ratios are read digit by digit: no prefix before a number would not fit.
const COUNT: &[Scale] = &[exact(1.0, ""), Scale { exact: false, ..exact(1e9, "G") }];
const RATIO: &[Scale] = &[exact(1.0, "")];

/// The scales of a unit, ascending; never empty.
fn scales(unit: Unit) -> &'static [Scale] {
    match unit {
        Unit::Nanoseconds => TIME,
        Unit::CoreCycles => CORE_CYCLES,
        Unit::ReferenceCycles => REFERENCE_CYCLES,
        Unit::BytesPerSecond => BYTE_RATE,
        Unit::OperationsPerSecond => OPERATION_RATE,
        Unit::Bytes => BYTES,
        Unit::Hertz => HERTZ,
        Unit::Joules => ENERGY,
        Unit::Count => COUNT,
        Unit::Ratio => RATIO,
    }
}

/// The name of the unit in which values are stored.
pub fn unit_name(unit: Unit) -> Text {
    match unit {
        Unit::Count => term!("count"),
        Unit::Ratio => term!("ratio"),
        Unit::OperationsPerSecond => term!("ops/s"),
        _ => {
            let all = scales(unit);
            all.iter().find(|scale| scale.size == 1.0).unwrap_or(&all[0]).suffix
        }
    }
}

/// The scale in which `value` has at least one digit before its point; the smallest when it has none anywhere.
pub fn scale_for(value: f64, unit: Unit) -> Scale {
    let scales = scales(unit);
    // Rounding comes first, so that 999.7 ns is 1.00 µs and never 1000 ns.
    let fits = |scale: &&Scale| round(value.abs() / scale.size) >= 1.0;
    *scales.iter().rev().find(fits).unwrap_or(&scales[0])
}

/// `value` rounded to [`DIGITS`] significant digits.
fn round(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// `value`, in its base unit, as a number in `scale` without its suffix.
pub fn in_scale(value: f64, scale: Scale) -> String {
    let scaled = value / scale.size;
    if scale.exact && scaled.fract() == 0.0 && scaled.abs() < 1e15 { format!("{scaled:.0}") } else { number(scaled) }
}

/// A value in its base unit with the unit that suits it: `88.1 ns`, `412 GB/s`, `48 KiB`.
pub fn value(value: f64, unit: Unit, lang: Lang) -> String {
    let scale = scale_for(value, unit);
    let number = in_scale(value, scale);
    match scale.suffix.get(lang) {
        "" => number,
        suffix => format!("{number} {suffix}"),
    }
}

/// The same as an argument of a sentence.
pub fn amount(value: f64, unit: Unit) -> Message {
    let scale = scale_for(value, unit);
    scale.with_suffix(in_scale(value, scale))
}

/// A number with three significant digits, all digits before the point kept; never `0.00`.
pub fn number(value: f64) -> String {
    with_digits(value, DIGITS)
}

/// A number with `digits` significant digits, all digits before the point kept.
pub(super) fn with_digits(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = scientific.rsplit('e').next().and_then(|power| power.parse().ok()).unwrap_or(0);
    let plain = match exponent {
        // Neither a row of zeros nor a row of meaningless digits says anything to a reader.
        ..-6 | 15.. => scientific,
        _ => format!("{value:.*}", usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0)),
    };
    plain.replacen('-', if value < 0.0 { "−" } else { "-" }, 1)
}

/// Half an interval's width, as a fraction of the value, that a profile aims at; tables leave out what is within it, and say so.
pub const fn interval_target(profile: Profile) -> f64 {
    match profile {
        Profile::Glance | Profile::Quick => 0.02,
        Profile::Standard => 0.01,
        Profile::Thorough => 0.005,
    }
}

/// A fraction as a percentage: `0.3 %`, `17 %`; what would round to nothing is `<0.1 %`.
pub fn percent(fraction: f64) -> String {
    format!("{} %", percent_number(fraction))
}

/// The number of [`percent`] without its sign.
pub fn percent_number(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        size if !size.is_finite() => "?".to_owned(),
        0.0 => "0".to_owned(),
        size if size < 0.05 => "<0.1".to_owned(),
        size if size < 9.95 => format!("{percent:.1}").replacen('-', "−", 1),
        size if size < 1e6 => format!("{percent:.0}").replacen('-', "−", 1),
        _ => number(percent),
    }
}

/// The interval as `±2.1 %` of the value; none without one, or where the rounds disagree so far that their range tells more.
pub fn plus_minus(estimate: &Estimate) -> Option<String> {
    estimate.relative_half_width().filter(|_| estimate.shown_range().is_none()).map(plus_minus_of)
}

/// Half of an interval's width, a fraction of the value: `±2.1 %`. What is wider than the value itself is said to be no more than that.
pub fn plus_minus_of(half: f64) -> String {
    if half > WIDEST { format!("±>{}", percent(WIDEST)) } else { format!("±{}", percent(half)) }
}

/// Half width of an interval, relative to its value, from which on its ends are shown instead.
pub const WIDEST: f64 = 1.0;

/// The interval as `87.9 … 88.4`, in the scale in which the value itself is shown; where the rounds disagree too far for one, or
/// are too few, what they lie between: `61.0 … 140, unsteady`. None without either.
pub fn low_high(estimate: &Estimate, unit: Unit) -> Option<Message> {
    let range = |ends| Message::plain(between(ends, estimate.value(), unit));
    match estimate.shown_range() {
        Some([low, high]) if estimate.is_unsteady() => {
            Some(Message::joined([range((low, high)), UNSTEADY.into()], COMMA))
        }
        Some([low, high]) => Some(range((low, high))),
        None => Some(range(estimate.interval()?)),
    }
}

/// Mark of a value whose rounds disagree too far for an interval.
pub const UNSTEADY: Text = term!("unsteady");

/// Two ends in the scale in which the value between them is shown.
pub fn between((low, high): (f64, f64), value: f64, unit: Unit) -> String {
    let scale = scale_for(value, unit);
    let (mut from, mut to) = (in_scale(low, scale), in_scale(high, scale));
    if from == to && low != high {
        (from, to) = (with_digits(low / scale.size, DIGITS + 1), with_digits(high / scale.size, DIGITS + 1));
    }
    format!("{from} … {to}")
}

/// Two ends in a scale, in two digits or all before the point, each rounded away from the value between them; once where they are the same.
pub(crate) fn in_short((low, high): (f64, f64), scale: Scale) -> String {
    let step = |end: f64| 10_f64.powf((end.log10().floor() - 1.0).min(0.0));
    let outward = |end: f64, round: fn(f64) -> f64, slack: f64| match end > 0.0 {
        true => with_digits(round(end / step(end) + slack) * step(end), SHORT),
        false => with_digits(end, SHORT),
    };
    let from = outward(low / scale.size, f64::floor, EXACT);
    let to = outward(high / scale.size, f64::ceil, -EXACT);
    if from == to { from } else { format!("{from} … {to}") }
}

/// Digits of the end of a range beside its value.
const SHORT: usize = 2;
/// Part of its last digit within which an end is that digit, whatever the binary fraction says.
const EXACT: f64 = 1e-6;

/// Range in which a repeat should fall: the interval, and that of the rounds where they disagree or are too few.
pub(crate) fn likely_ends(estimate: &Estimate) -> Option<(f64, f64)> {
    match (estimate.interval(), estimate.shown_range()) {
        (Some((low, high)), Some([least, most])) => Some((low.min(least), high.max(most))),
        (Some(interval), None) => Some(interval),
        (None, range) => range.map(|[low, high]| (low, high)),
    }
}

/// The quiet and the typical value are both told where they differ by more than this.
const APART: f64 = 0.05;
pub const TYPICAL: Text = term!("median");
pub const QUIET: Text = term!("undisturbed");

/// The value beside the leading one and its name, where the two differ by so much that a reader must know.
pub fn other(estimate: &Estimate) -> Option<(Text, f64)> {
    let by = estimate.estimator().other();
    let other = estimate.by(by)?.value;
    are_apart(other, estimate.value()).then_some((estimator(by), other))
}

/// Tells whether two values differ so much that both are shown.
pub fn are_apart(one: f64, other: f64) -> bool {
    (one - other).abs() > APART * one.abs().min(other.abs())
}

pub const fn estimator(by: Leading) -> Text {
    match by {
        Leading::Quiet => QUIET,
        Leading::Typical => TYPICAL,
    }
}

/// The name of a value, with the estimator where that is the quiet value: `cpu.latency@op=add −12 % (undisturbed)`.
pub fn called(what: impl Into<Message>, by: Leading) -> Message {
    let what = what.into();
    match by {
        Leading::Typical => what,
        Leading::Quiet => say!("{what} ({quiet})", quiet = QUIET),
    }
}

/// The value beside the leading one, as people read it: `median 1.72 ns`.
pub fn other_value(estimate: &Estimate, unit: Unit) -> Option<Message> {
    other(estimate).map(|(name, other)| Message::joined([name.into(), amount(other, unit)], " "))
}

/// The leading value, and the other where they differ: `12.5 GB/s (undisturbed 15.5 GB/s)`.
pub fn both(estimate: &Estimate, unit: Unit) -> Message {
    let shown = amount(estimate.value(), unit);
    match other_value(estimate, unit) {
        Some(other) => say!("{shown} ({other})"),
        None => shown,
    }
}

/// The share of a voted value's rounds that agree; none of a value that was not voted on.
pub fn agreement(estimate: &Estimate) -> Option<Message> {
    // Rounds that abstained are in the share alone.
    estimate.agreement.map(|share| say!("{share} of rounds agree", share = percent(share)))
}

#[cfg(test)]
mod tests {
    use hostmark_model::{IntervalMethod, Lang, Quiet, Repetition};

    use super::*;

    #[test]
    fn values_read_with_three_digits_in_the_unit_that_suits_them() {
        let cases = [
            (0.25, Unit::Nanoseconds, "0.250 ns"),
            (1.018, Unit::Nanoseconds, "1.02 ns"),
            (88.14, Unit::Nanoseconds, "88.1 ns"),
            (999.7, Unit::Nanoseconds, "1.00 µs"),
            (68_200.0, Unit::Nanoseconds, "68.2 µs"),
            (2.5e9, Unit::Nanoseconds, "2.50 s"),
            (7.2e12, Unit::Nanoseconds, "7200 s"),
            (412e9, Unit::BytesPerSecond, "412 GB/s"),
            (950e6, Unit::BytesPerSecond, "950 MB/s"),
            (49_152.0, Unit::Bytes, "48 KiB"),
            (37_500_000.0, Unit::Bytes, "35.8 MiB"),
            (2.5e9, Unit::Hertz, "2.50 GHz"),
            (1536.0, Unit::Count, "1536"),
            (1.27, Unit::Ratio, "1.27"),
            (4.0, Unit::CoreCycles, "4.00 cycles"),
            (3.1e6, Unit::OperationsPerSecond, "3.10 M/s"),
            (0.0, Unit::Nanoseconds, "0 ns"),
            (-12.0, Unit::Nanoseconds, "−12.0 ns"),
            (0.000_123, Unit::Nanoseconds, "0.000123 ns"),
            (1.5e-9, Unit::Ratio, "1.50e-9"),
            (f64::NAN, Unit::Nanoseconds, "? ns"),
            (f64::INFINITY, Unit::BytesPerSecond, "? TB/s"),
        ];
        for (number, unit, text) in cases {
            assert_eq!(value(number, unit, Lang::En), text);
        }
        assert_eq!(value(4.0, Unit::CoreCycles, Lang::Zh), "4.00 周期");
    }

    #[test]
    fn a_unit_has_the_name_of_one_of_it() {
        let units = [(Unit::Joules, "J"), (Unit::Nanoseconds, "ns"), (Unit::Hertz, "Hz"), (Unit::Ratio, "ratio")];
        for (unit, name) in units {
            assert_eq!(unit_name(unit).en, name);
        }
    }

    #[test]
    fn no_number_that_is_not_zero_looks_like_zero() {
        let mut small = 1.0;
        while small > 1e-300 {
            assert!(number(small).chars().any(|c| ('1'..='9').contains(&c)), "{small:e}");
            small /= 7.3;
        }
    }

    fn estimate(median: f64, low: Option<f64>, high: Option<f64>) -> Estimate {
        Estimate {
            typical: median,
            ci_low: low,
            ci_high: high,
            confidence: 0.95,
            method: IntervalMethod::OrderStatistics,
            min: median,
            max: median,
            mean: median,
            stddev: 0.0,
            mad: 0.0,
            best_round: median,
            n: 120,
            rounds: 3,
            ..Estimate::default()
        }
    }

    #[test]
    fn the_ends_of_a_range_are_rounded_away_from_its_value() {
        let scale = scale_for(10.0, Unit::CoreCycles);
        let shown = |low, high| in_short((low, high), scale);
        assert_eq!(shown(4.87, 5.06), "4.8 … 5.1");
        assert_eq!(shown(157.2, 195.1), "157 … 196");
        assert_eq!([shown(5.0, 5.0), shown(0.3, 2.9)], ["5.0", "0.30 … 2.9"]);
    }

    #[test]
    fn an_interval_stands_in_the_scale_of_its_value() {
        let fork = estimate(68_200.0, Some(66_000.0), Some(70_900.0));
        assert_eq!(low_high(&fork, Unit::Nanoseconds).unwrap().to_string(), "66.0 … 70.9");
        assert_eq!(plus_minus(&fork).unwrap(), "±3.6 %");
        let narrow = estimate(88.1, Some(88.11), Some(88.14));
        assert_eq!(low_high(&narrow, Unit::Nanoseconds).unwrap().to_string(), "88.11 … 88.14");
        assert_eq!(plus_minus(&narrow).unwrap(), "±<0.1 %");
        assert_eq!((plus_minus_of(1.0), plus_minus_of(21.96)), ("±100 %".into(), "±>100 %".into()));
    }

    #[test]
    fn no_interval_is_made_up() {
        assert_eq!(low_high(&estimate(1.0, None, Some(2.0)), Unit::Ratio), None);
        assert_eq!(plus_minus(&estimate(0.0, Some(0.0), Some(1.0))), None);
    }

    #[test]
    fn rounds_that_disagree_too_far_or_are_too_few_are_reported_by_their_range() {
        let apart = Estimate { range: Some([60.0, 140.0]), ..estimate(100.0, Some(61.0), Some(140.0)) };
        assert_eq!(low_high(&apart, Unit::Nanoseconds).unwrap().to_string(), "60.0 … 140, unsteady");
        assert_eq!(crate::spoken(&low_high(&apart, Unit::Nanoseconds).unwrap(), Lang::Zh), "60.0 … 140，不稳定");
        assert_eq!(plus_minus(&apart), None);
        let few = Estimate { range: Some([98.0, 103.0]), ..estimate(100.0, None, None) };
        assert_eq!(low_high(&few, Unit::Nanoseconds).unwrap().to_string(), "98.0 … 103");
        let near = Estimate { range: Some([98.0, 103.0]), ..estimate(100.0, Some(98.0), Some(103.0)) };
        assert_eq!(plus_minus(&near).unwrap(), "±2.5 %");
    }

    #[test]
    fn the_leading_value_is_reported_with_the_interval_of_repetition() {
        let quiet = Quiet { value: 95.0, low: Some(94.9), high: Some(95.2), range: None, at_hz: None };
        let repetition = Repetition { low: 94.05, high: 95.95, deviation: 0.005, runs: 4 };
        let led = Estimate {
            quiet: Some(quiet),
            leading: Leading::Quiet,
            repetition: Some(repetition),
            range: Some([60.0, 140.0]),
            ..estimate(100.0, Some(61.0), Some(140.0))
        };
        // That the typical values of its rounds lie far apart is not what is asked of the quiet one.
        assert_eq!((led.value(), plus_minus(&led).unwrap()), (95.0, "±1.0 %".into()));
        assert_eq!(low_high(&led, Unit::Nanoseconds).unwrap().to_string(), "94.0 … 96.0");
    }

    #[test]
    fn both_values_are_reported_where_they_lie_apart() {
        let quiet = |value: f64| Quiet { value, low: None, high: None, range: None, at_hz: None };
        let of = |value: f64, leading: Leading| {
            let led = Estimate { quiet: Some(quiet(value)), leading, ..estimate(100.0, None, None) };
            other_value(&led, Unit::Nanoseconds)
        };
        assert_eq!(of(90.0, Leading::Quiet).unwrap().to_string(), "median 100 ns");
        assert_eq!(of(90.0, Leading::Typical).unwrap().to_string(), "undisturbed 90.0 ns");
        assert_eq!(of(96.0, Leading::Quiet), None);
        assert_eq!(other_value(&estimate(100.0, None, None), Unit::Nanoseconds), None);
    }
}
