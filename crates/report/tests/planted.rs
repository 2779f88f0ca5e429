//! A run whose quiet and typical values differ in every case: each number that people or programs read is the leading one, or is called
//! what it is.

use std::collections::HashMap;

use hostmark_model::*;
use hostmark_report::RenderOptions;
use hostmark_report::export::format_named;

use crate::synthetic;

/// What the quiet value is of the typical one, in time.
const BETTER: f64 = 0.77;
/// What a value that does not lead may be called. A strip of samples says what the median of each round is.
const NAMES: [&str; 8] = ["typical", "典型值", "quiet", "空闲值", "median", "中位数", "best round", "最佳一轮"];
/// What people read, and files of other programs.
const FORMATS: [&str; 11] = [
    "table",
    "answer",
    "markdown",
    "html",
    "hosts",
    "card",
    "card-markdown",
    "lmbench",
    "lmbench-result",
    "prometheus",
    "openbenchmarking",
];
/// Units behind the numbers of the page that are no coordinates.
const UNITS: [&str; 6] = [" ns", " µs", " ms", " GB/s", " MB/s", " cycles"];

/// Every second case leads with its quiet value, the others with the typical one. With it the same in which the leading values are all
/// that there is.
fn planted() -> (Run, Run, Vec<f64>) {
    let mut run = synthetic::plausible();
    let mut others = Vec::new();
    let rates: Vec<String> = run.probes.iter().filter(|p| p.better == Better::Higher).map(|p| p.id.clone()).collect();
    let mut plain = run.clone();
    for (index, (case, alone)) in run.cases.iter_mut().zip(&mut plain.cases).enumerate() {
        let (Outcome::Measured(both), Outcome::Measured(alone)) = (&mut case.outcome, &mut alone.outcome) else {
            continue;
        };
        let better = if rates.contains(&case.probe) { 1.0 / BETTER } else { BETTER };
        let leading = if index % 2 == 0 { Leading::Quiet } else { Leading::Typical };
        // No two cases have the same.
        let apart = 1.0 + 0.0137 * index as f64;
        let mut plant = |both: &mut Estimate, alone: &mut Estimate| {
            for estimate in [&mut *both, &mut *alone] {
                let Estimate { typical, ci_low, ci_high, best_round, .. } = estimate;
                let ends = [ci_low.as_mut(), ci_high.as_mut()].into_iter().flatten();
                ends.chain([typical, best_round]).for_each(|value| *value *= apart);
            }
            let (typical, value) = (both.typical, both.typical * better);
            let (low, high) = (Some(value * 0.999), Some(value * 1.001));
            both.quiet = Some(Quiet { value, low, high, range: Some([value * 0.998, value * 1.002]), at_hz: None });
            both.leading = leading;
            if leading == Leading::Quiet {
                *alone = Estimate { typical: value, ci_low: low, ci_high: high, ..alone.clone() };
            }
            others.push(if leading == Leading::Quiet { typical } else { value });
        };
        plant(&mut both.estimate, &mut alone.estimate);
        for name in Measured::OF_THE_VALUE {
            if let (Some(both), Some(alone)) = (both.also.get_mut(name), alone.also.get_mut(name)) {
                plant(&mut both.estimate, &mut alone.estimate);
            }
        }
    }
    (run, plain, others)
}

/// The numbers of a text of three digits or more, each with what stands before it in its line and what behind.
fn numbers(text: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut rest = 0;
        while let Some(start) = line[rest..].find(|c: char| c.is_ascii_digit()).map(|at| rest + at) {
            let length = line[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(line.len() - start);
            let number = line[start..start + length].trim_end_matches('.');
            found.push((number, &line[..start], &line[start + number.len()..]));
            rest = start + length;
        }
    }
    // 100fd is a name.
    let is_name = |before: &str, behind: &str| {
        before.ends_with(|c: char| c.is_alphabetic() || c == '_') || behind.starts_with(char::is_alphabetic)
    };
    found.retain(|(number, before, behind)| digits(number).len() >= 3 && !is_name(before, behind));
    found
}

/// The digits that a number tells.
fn digits(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect::<String>().trim_start_matches('0').to_owned()
}

/// Whether a number of so many digits is this value in any unit.
fn is_it(number: &str, value: f64) -> bool {
    let digits = digits(number);
    let shown = format!("{value:.*e}", digits.len() - 1);
    shown.split('e').next().is_some_and(|mantissa| mantissa.replace('.', "") == digits)
}

#[test]
fn every_number_of_every_format_is_the_leading_value_or_is_called_what_it_is() {
    let (run, plain, others) = planted();
    let mut named = 0;
    for (format, lang) in FORMATS.iter().flat_map(|format| [(*format, Lang::En), (*format, Lang::Zh)]) {
        let options = RenderOptions { lang, verbose: false, width: 200, ..RenderOptions::default() };
        let render = |run: &Run| format_named(format).unwrap().render_one(run, &options);
        let is_read = |behind: &str| format != "html" || UNITS.iter().any(|unit| behind.starts_with(unit));
        let (text, control) = (render(&run), render(&plain));
        // What is a number of something else stands there without the planted ones too.
        let mut known: HashMap<&str, usize> = HashMap::new();
        numbers(&control).into_iter().filter(|(.., behind)| is_read(behind)).for_each(|(number, ..)| {
            *known.entry(number).or_default() += 1;
        });
        for (number, before, behind) in numbers(&text).into_iter().filter(|(.., behind)| is_read(behind)) {
            if !others.iter().any(|other| is_it(number, *other)) {
                continue;
            }
            if NAMES.iter().any(|name| before.contains(name)) {
                named += 1;
                continue;
            }
            match known.get_mut(number) {
                Some(left) if *left > 0 => *left -= 1,
                _ => panic!("{format}: {number} does not lead and has no name: {before}>{number}<{behind}"),
            }
        }
        // Each of them that leads is there, as without the others.
        assert!(!text.is_empty(), "{format}");
    }
    assert!(named > 50, "{named}");
}

#[test]
fn a_value_and_its_interval_are_of_one_estimator_wherever_they_stand() {
    let (run, ..) = planted();
    for measured in run.cases.iter().filter_map(CaseRecord::measured) {
        let stated = measured.estimate.stated();
        let (low, high) = stated.interval().unwrap();
        assert!(low <= stated.value && stated.value <= high);
        if stated.estimator == Leading::Quiet {
            assert!((high / low - 1.0) < 0.01 && stated.range.unwrap()[0] > 0.9 * stated.value);
        }
        for name in Measured::OF_THE_VALUE {
            let Some(companion) = measured.companion(name) else { continue };
            assert_eq!(companion.estimator(), stated.estimator);
            let hz = companion.value() / stated.value;
            assert!((hz / (measured.also[name].estimate.typical / measured.estimate.typical) - 1.0).abs() < 1e-9);
        }
    }
}
