//! The answer that `hostmark run` shows first.

use super::{ExportFormat, Render};
use crate::render::console;

/// Format for people, at a terminal, in one screen.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "answer",
    description: term!("one screen: the machine, the grade, its constants, what costs most; of few cases their table"),
    render: Render::One(console::answer),
};
