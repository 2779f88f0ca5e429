//! Scales of each unit and the digits of a number.

use hostmark_model::{Lang, Message, Text, Unit};

use super::DIGITS;

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
    /// A number and the scale's suffix.
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

#[cfg(test)]
mod tests {
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
}
