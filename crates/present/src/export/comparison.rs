//! The formats in which a comparison is written, by name; a new one is its function and one line in [`FORMATS`].

use hostmark_analysis::compare::Comparison;
use hostmark_model::Text;

use super::json::pretty;
use crate::print::{console, markdown};
use crate::views::comparison::comparison;
use crate::{RenderOptions, html};

#[derive(Debug)]
pub struct ComparisonFormat {
    /// Name for `--format`.
    pub name: &'static str,
    pub description: Text,
    /// Writer; the text ends with a line break.
    pub render: fn(&Comparison, &RenderOptions) -> String,
}

/// Every format; the first is the default.
pub static FORMATS: &[ComparisonFormat] = &[
    ComparisonFormat {
        name: "table",
        description: term!("for the eye: what changed, and what differs"),
        render: |all, options| console::write(&comparison(all), options),
    },
    ComparisonFormat {
        name: "markdown",
        description: term!("for a report or a pull request"),
        render: |all, options| markdown::write(&comparison(all), 2, options),
    },
    ComparisonFormat {
        name: "html",
        description: term!("a page with charts that stands alone"),
        render: html::comparison,
    },
    ComparisonFormat {
        name: "json",
        description: term!("hostmark.comparison/2, for programs"),
        render: |all, _| pretty(all),
    },
];

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static ComparisonFormat> {
    FORMATS.iter().find(|format| format.name == name)
}
