//! The formats in which a run can be had, by name; a new one is a file here and one name in [`FORMATS`].

mod csv;
mod json;
mod stream;
mod table;

use hostmark_model::{Run, Text};

use crate::RenderOptions;

/// A format in which a run can be had.
#[derive(Debug)]
pub struct Format {
    /// What `--format` calls it.
    pub name: &'static str,
    /// What it is good for.
    pub description: Text,
    /// The run in this format, ending with a line break.
    pub render: fn(&Run, &RenderOptions) -> String,
}

/// Every format; the first is the default.
pub static FORMATS: &[Format] = &[table::FORMAT, json::FORMAT, csv::FORMAT, stream::FORMAT];

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
