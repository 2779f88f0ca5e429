//! The table that `hostmark run` shows.

use hostmark_model::Text;

use super::{ExportFormat, Render};
use crate::render::console;

/// For people, at a terminal.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "table",
    description: Text { en: "tables for a person at a terminal", zh: "供人在终端阅读的表格" },
    render: Render::One(console::table),
};
