//! The table that `hostmark run` shows.

use super::{ExportFormat, Render};
use crate::render::console;

/// Format for people, at a terminal.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "table",
    description: term!("tables for a person at a terminal"),
    render: Render::One(console::table),
};
