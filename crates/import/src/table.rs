//! Fields of a result as they are found, line by line.

use std::collections::HashMap;

use hostmark_model::AxisKind;

use super::ImportFormat;
use super::bounded::bytes;
use super::foreign::ImportedValue;

/// Fields of a result by their names: an axis and a note are fields of that name.
#[derive(Debug, Default)]
pub(super) struct Fields(HashMap<&'static str, String>);

impl Fields {
    /// Sets the text of a field.
    pub(super) fn set(&mut self, name: &'static str, text: &str) {
        self.0.insert(name, text.to_owned());
    }

    pub(super) fn split_off(&mut self, names: &[&str]) -> Fields {
        Fields(self.0.extract_if(|name, _| names.contains(name)).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The value of a quantity whose axes are fields; `absent` stands for an axis that is none.
    pub(super) fn value(
        &self,
        format: &ImportFormat,
        probe: &'static str,
        samples: Vec<f64>,
        absent: &str,
    ) -> ImportedValue {
        let mut value = ImportedValue::new(probe, samples);
        for (axis, kind) in
            format.programs.iter().filter(|program| program.id == probe).flat_map(|program| program.axes)
        {
            let text = if self.text(axis).is_empty() { absent } else { self.text(axis) };
            value = match (kind, bytes(text)) {
                (AxisKind::Size, Some(size)) => value.at(axis, size),
                _ => value.at(axis, text),
            };
        }
        value
    }
}
