//! Reads the output of STREAM 5.9 and 5.10: the size of the arrays, the threads, the table of four rates, the validation.
//! Several outputs in one file are samples of one case.

use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Count, Size};
use hostmark_model::imported::stream::{PASSES, PROBE, TIMES, VALIDATION};
use hostmark_model::{Run, Unit};

use super::bounded::amount;
use super::foreign::{Foreign, Further, ImportedValue, quantity, read_lines};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "stream",
    tool: "STREAM",
    what: WHAT,
    nothing: "the file has no result",
    texts: crate::texts::stream::TEXTS,
    programs: &[quantity(
        PROBE,
        Unit::BytesPerSecond,
        &[("kernel", Choice), ("threads", Count), ("elements", Count), ("element", Size)],
    )
    .with(&[
        Further(TIMES[0], Unit::Nanoseconds, term!("mean time of a pass")),
        Further(TIMES[1], Unit::Nanoseconds, term!("least time of a pass")),
        Further(TIMES[2], Unit::Nanoseconds, term!("greatest time of a pass")),
    ])],
    read,
};

const WHAT: &str = "the whole output of STREAM";

const KERNELS: [(&str, &str); 4] = [("Copy:", "copy"), ("Scale:", "scale"), ("Add:", "add"), ("Triad:", "triad")];

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut output: Option<Output> = None;
    read_lines(&FORMAT, input, |run, _, line| {
        if let Some(line) = line {
            let is_last = line_of(run, &mut output, line.trim())?;
            return output.take_if(|_| is_last).map_or(Ok(()), |output| output.keep(run));
        }
        match output {
            None if !run.is_empty() => Ok(()),
            None => Err(format!("STREAM's first line is missing; give {WHAT}")),
            Some(_) => {
                Err(format!("the file ends here before the solution is validated, so it is truncated; give {WHAT}"))
            }
        }
    })
}

#[derive(Default)]
struct Output {
    elements: Option<f64>,
    threads: Option<f64>,
    element_bytes: Option<f64>,
    passes: Option<f64>,
    rows: Vec<(&'static str, [f64; 4])>,
    /// The line that says that the solution is valid.
    validation: String,
    failed: Option<String>,
}

impl Output {
    fn keep(self, run: &mut Foreign) -> Result<(), String> {
        let Some(elements) = self.elements else {
            return Err(format!("the size of the arrays was not told before this line; give {WHAT}"));
        };
        if let Some((label, _)) = KERNELS.iter().find(|(_, name)| self.rows.iter().all(|(row, _)| row != name)) {
            return Err(format!("the row {label} did not come before this line; give {WHAT}"));
        }
        for (kernel, [rate, mean, least, greatest]) in self.rows {
            if !(least <= mean * 1.001 && mean <= greatest * 1.001) {
                return Err(format!("the mean time of {kernel} is not between its least and greatest; give {WHAT}"));
            }
            let times = [mean, least, greatest];
            let mut value = ImportedValue::new(PROBE, vec![rate * 1e6])
                .at("kernel", kernel)
                // Without OpenMP it says nothing of threads.
                .at("threads", self.threads.unwrap_or(1.0))
                .at("elements", elements)
                .at("element", self.element_bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string()))
                .note(PASSES, self.passes.map(|passes| passes.to_string()).unwrap_or_default())
                .note(VALIDATION, &self.validation);
            for (name, seconds) in TIMES.into_iter().zip(times) {
                value = value.and(name, Some(seconds * 1e9));
            }
            value.failed.clone_from(&self.failed);
            run.keep(value)?;
        }
        Ok(())
    }
}

/// Takes a line; whether it is the last of an output.
fn line_of(run: &mut Foreign, output: &mut Option<Output>, line: &str) -> Result<bool, String> {
    if let Some(version) = line.strip_prefix("STREAM version") {
        if output.is_some() {
            return Err(format!("another output begins here before the last was validated; give {WHAT}"));
        }
        let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let version = version.split_whitespace().find(is_version).unwrap_or_default();
        run.version_is(&version.chars().take(20).collect::<String>());
        *output = Some(Output::default());
        return Ok(false);
    }
    let Some(output) = output else { return Ok(false) };
    let first = |rest: &str| rest.split_whitespace().next().unwrap_or_default().trim_end_matches(',').to_owned();
    if let Some(rest) = line.strip_prefix("Array size =") {
        output.elements = Some(whole(&first(rest), "the size of the arrays")?);
    } else if let Some(rest) = line.strip_prefix("Number of Threads counted =") {
        output.threads = Some(whole(&first(rest), "the number of threads")?);
    } else if let (Some(rest), None) = (line.strip_prefix("Number of Threads requested ="), output.threads) {
        // STREAM 5.9 counts none.
        output.threads = Some(whole(&first(rest), "the number of threads")?);
    } else if let Some(rest) = line.strip_prefix("This system uses ") {
        output.element_bytes = Some(whole(&first(rest), "the bytes of an element")?);
    } else if let Some(rest) = line.strip_prefix("Each kernel will be executed ") {
        output.passes = Some(whole(&first(rest), "the number of passes")?);
    } else if line.starts_with("Failed Validation") {
        output.failed = Some("STREAM's own validation failed".into());
    } else if line.starts_with("Solution Validates") {
        output.validation = line.to_owned();
        return Ok(true);
    } else if output.failed.is_some() && (line.starts_with("---") || line.starts_with("Results Validation Verbose")) {
        return Ok(true);
    } else if let Some((label, kernel)) = KERNELS.iter().find(|(label, _)| line.starts_with(label)) {
        let words: Vec<&str> = line[label.len()..].split_whitespace().collect();
        let number = |index: usize| match amount(words.get(index).copied().unwrap_or_default(), label)? {
            0.0 => Err(format!("a 0 stands in the row {label}, which is no value; give {WHAT}")),
            number => Ok(number),
        };
        if output.rows.iter().any(|(row, _)| row == kernel) {
            return Err(format!("the row {label} stands there twice; give {WHAT}"));
        }
        output.rows.push((kernel, [number(0)?, number(1)?, number(2)?, number(3)?]));
    }
    Ok(false)
}

fn whole(word: &str, what: &str) -> Result<f64, String> {
    match amount(word, what)? {
        number if number >= 1.0 && number.fract() == 0.0 => Ok(number),
        number => Err(format!("{number} is not {what}; correct the line")),
    }
}
