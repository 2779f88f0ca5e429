//! The number that a program printed: found by a regular expression, read as people and programs write numbers.

use hostmark_engine::prelude::*;
use regex_lite::Regex;

/// The number: of the last match in `text` the first group, or all of it where the expression has none. A summary stands at the end.
///
/// # Errors
/// When nothing matches, or when what matches is no number above 0.
pub(crate) fn number(pattern: &Regex, text: &str) -> Result<f64> {
    let last = pattern.captures_iter(text).last();
    let Some(found) = last.and_then(|found| found.get(1).or_else(|| found.get(0))) else {
        return Err(RoundError::failed(
            ReasonCode::CommandFailed,
            say!("--value matches nothing that the command printed"),
        ));
    };
    let found = found.as_str().trim();
    let typed: String = found.chars().take(LONGEST).collect();
    if typed.len() < found.len() {
        return Err(RoundError::failed(
            ReasonCode::CommandFailed,
            say!("--value found '{typed}…', which is too long for a number; put the number alone in (…)"),
        ));
    }
    let number = without_groups(&typed).parse::<f64>().ok().filter(|number| number.is_finite());
    match number {
        Some(number) if number > 0.0 => Ok(number),
        Some(_) => Err(RoundError::failed(
            ReasonCode::CommandFailed,
            say!("--value found {typed}, and only a number above 0 has a place on a scale"),
        )),
        None => Err(RoundError::failed(
            ReasonCode::CommandFailed,
            say!("--value found '{typed}', which is no number; put the number alone in (…)"),
        )),
    }
}

/// Longest text that is taken for a number, characters: the beginning of a longer one would be another number.
const LONGEST: usize = 64;

/// `1,234,567.8` without the commas: only where they part groups of three digits, as a comma may also be the decimal sign.
fn without_groups(typed: &str) -> String {
    let (whole, part) = typed.split_once('.').map_or((typed, None), |(whole, part)| (whole, Some(part)));
    let mut groups = whole.split(',');
    let is_digits = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().unwrap_or_default().trim_start_matches('+');
    let is_grouped = whole.contains(',') && is_digits(first) && first.len() <= 3;
    if !is_grouped || !groups.all(|group| group.len() == 3 && is_digits(group)) {
        return typed.to_owned();
    }
    let whole = whole.replace(',', "");
    part.map_or(whole.clone(), |part| format!("{whole}.{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> std::result::Result<f64, String> {
        number(&Regex::new(pattern).unwrap(), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_match_counts_and_its_first_group() {
        assert_eq!(found(r"avg=([0-9.]+)", "avg=1.5 us\navg=2.5 us\n"), Ok(2.5));
        assert_eq!(found(r"[0-9]+", "a 7 b 9 c"), Ok(9.0));
        assert_eq!(found(r"(?m)^total: (\S+)", "total: 1e3\nx total: 5"), Ok(1000.0));
        assert_eq!(found(r"(\S+) requests", "1,234,567.5 requests"), Ok(1_234_567.5));
    }

    #[test]
    fn what_is_no_number_above_zero_is_refused_and_quoted() {
        for (text, word) in [
            ("x=", "matches nothing"),
            ("x=1,5", "'1,5'"),
            ("x=nan", "'nan'"),
            ("x=inf", "'inf'"),
            ("x=1e999", "'1e999'"),
            ("x=0", "above 0"),
            ("x=-3", "above 0"),
            ("x=12,34", "'12,34'"),
            ("x=1,2345", "'1,2345'"),
            ("x=0x10", "'0x10'"),
        ] {
            let refused = found(r"x=(\S+)", text).unwrap_err();
            assert!(refused.contains(word), "{text}: {refused}");
        }
        assert_eq!(found(r"x=(\S+)", &format!("x={}", "9".repeat(LONGEST))), Ok(1e64));
        for long in ["9", "z", "字"].map(|one| one.repeat(LONGEST + 1)) {
            let refused = found(r"x=(\S+)", &format!("x={long}")).unwrap_err();
            assert!(refused.contains("too long") && refused.len() < 400, "{refused}");
        }
    }

    #[test]
    fn an_expression_that_would_blow_up_elsewhere_ends_here() {
        let text = "a".repeat(20_000);
        assert!(found(r"(a*)*b", &text).is_err());
    }
}
