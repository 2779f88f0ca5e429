//! The table that `hostmark run` shows.

use hostmark_model::Text;

use super::{Format, Render};
use crate::render::console;

/// For people, at a terminal.
pub(super) const FORMAT: Format = Format {
    name: "table",
    description: Text { en: "tables for a person at a terminal", zh: "供人在终端阅读的表格" },
    render: Render::One(console::table),
};
