//! The formats in which a series over time is written, by name; a new one is its function and one line in [`FORMATS`].

use hostmark_analysis::over_time::{OverTime, SeriesComparison};
use hostmark_model::Text;

use super::json::pretty;
use crate::print::{console, markdown};
use crate::views::over_time::{compared as compared_document, over_time as document};
use crate::{RenderOptions, html};

pub use crate::views::over_time::Shades;

#[derive(Debug)]
pub struct SeriesFormat {
    /// Name for `--format`.
    pub name: &'static str,
    pub description: Text,
    /// Writer; the text ends with a line break.
    pub render: fn(&OverTime, &RenderOptions, Shades) -> String,
}

/// Every format; the first is the default. Each has the name of a format of runs.
pub static FORMATS: &[SeriesFormat] = &[
    SeriesFormat {
        name: "table",
        description: term!("for the eye: how steady the machine is"),
        render: |all, options, shades| console::write(&[document(all, shades)], options),
    },
    SeriesFormat {
        name: "markdown",
        description: term!("for a ticket or a report"),
        render: |all, options, shades| markdown::write(&[document(all, shades)], 1, options),
    },
    SeriesFormat {
        name: "html",
        description: term!("a page that stands alone"),
        render: |all, options, shades| html::over_time(&document(all, shades), options),
    },
    SeriesFormat {
        name: "json",
        description: term!("hostmark.over-time/1, for programs"),
        render: |all, _, _| pretty(all),
    },
];

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static SeriesFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Two series beside each other in the format of this name; none where there is none of that name.
pub fn compared(all: &SeriesComparison, format: &str, options: &RenderOptions) -> Option<String> {
    Some(match format {
        "table" => console::write(&[compared_document(all)], options),
        "markdown" => markdown::write(&[compared_document(all)], 1, options),
        "html" => html::over_time(&compared_document(all), options),
        "json" => pretty(all),
        _ => return None,
    })
}
