//! Reads lines by tables: templates whose holes are the fields of a result.

use std::collections::HashMap;

use hostmark_model::AxisKind;

use super::ImportFormat;
use super::bounded::{amount, bytes};
use super::foreign::{ImportedValue, known};

/// Longest text that is taken, characters.
const LONGEST_TEXT: usize = 200;

/// Fields of a result by their names: an axis, a quantity and a note are fields of that name.
#[derive(Debug, Default)]
pub(super) struct Fields(HashMap<&'static str, (String, Option<f64>)>);

impl Fields {
    /// Takes what a line says by the first template that fits it. Of two lines with the same field the first counts.
    ///
    /// A hole is `{name}` for a text, `{name:word}` for its first word, `{name:ms}` for a number in that unit (`1` without one) and
    /// `{}` for what is of no interest; blanks around it are not part of it.
    pub(super) fn take(&mut self, templates: &[&'static str], line: &str) {
        let holes = templates.iter().find_map(|template| holes(template, line)).unwrap_or_default();
        for (hole, text) in holes.into_iter().filter(|(hole, _)| !hole.is_empty()) {
            let (name, kind) = hole.split_once(':').unwrap_or((hole, ""));
            let word = text.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ',']);
            let text = if kind == "word" { word } else { text }.chars().take(LONGEST_TEXT).collect();
            let unit = (!matches!(kind, "" | "word")).then(|| known(kind).map_or(1.0, |(_, one)| one));
            self.0.entry(name).or_insert((text, unit));
        }
    }

    /// Sets the text of a field.
    pub(super) fn set(&mut self, name: &'static str, text: &str) {
        self.0.insert(name, (text.to_owned(), None));
    }

    pub(super) fn split_off(&mut self, names: &[&str]) -> Fields {
        Fields(self.0.extract_if(|name, _| names.contains(name)).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map(|(text, _)| text.as_str()).unwrap_or_default()
    }

    /// The number of a field in its base unit; `what` is what it should be.
    pub(super) fn number(&self, name: &str, what: &str) -> Result<f64, String> {
        let one = self.0.get(name).and_then(|(_, unit)| *unit).unwrap_or(1.0);
        Ok(amount(self.text(name), what)? * one)
    }

    /// Refuses a number that is none, in the line `what`.
    pub(super) fn check(&self, what: &str) -> Result<(), String> {
        self.0.values().filter(|(_, unit)| unit.is_some()).try_for_each(|(text, _)| amount(text, what).map(drop))
    }

    /// The value of a quantity whose axes and further quantities are fields; `absent` stands for an axis that is none.
    pub(super) fn value(
        &self,
        format: &ImportFormat,
        probe: &'static str,
        samples: Vec<f64>,
        absent: &str,
    ) -> Result<ImportedValue, String> {
        let mut value = ImportedValue::new(probe, samples);
        for program in format.programs.iter().filter(|program| program.id == probe) {
            for (axis, kind) in program.axes {
                let text = if self.text(axis).is_empty() { absent } else { self.text(axis) };
                value = match (kind, bytes(text)) {
                    (AxisKind::Size, Some(size)) => value.at(axis, size),
                    _ => value.at(axis, text),
                };
            }
            for also in program.also.iter().filter(|also| self.has(also.0)) {
                value = value.and(also.0, Some(self.number(also.0, &format!("{} of {}", also.0, format.tool))?));
            }
        }
        Ok(value)
    }
}

/// The texts in the holes of a template; none where the line is another.
fn holes<'a>(template: &'static str, line: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
    let (start, mut template) = template.split_once('{')?;
    let mut rest = line.strip_prefix(start)?;
    let mut found = Vec::new();
    loop {
        let (hole, behind) = template.split_once('}')?;
        let (literal, next) = behind.split_once('{').unwrap_or((behind, ""));
        let (text, after) = match (literal, next) {
            ("", _) => (rest, ""),
            (_, "") => (rest.strip_suffix(literal)?, ""),
            _ => rest.split_once(literal)?,
        };
        found.push((hole, text.trim()));
        if next.is_empty() {
            return Some(found);
        }
        (rest, template) = (after.trim_start(), next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_fits_a_line_with_its_literals() {
        let mut fields = Fields::default();
        let rates = ["Doing {mode} test", "read:{}IOPS={reads:1} {read:MiB/s} MiB/s{}", "read:{}IOPS={reads:1}"];
        let lines = ["Doing random read", "read:  IOPS=1857.00 2.00 MiB/s (2.10 MB/s)", "read: IOPS=3"];
        lines.into_iter().for_each(|line| fields.take(&rates, line));
        assert_eq!(["reads", "read"].map(|name| fields.number(name, "")), [Ok(1857.0), Ok(2_097_152.0)]);
    }
}
