//! Several runs beside each other, as `hostmark report A B` shows them.

use super::{ExportFormat, Render};
use crate::print::console;
use crate::views::hosts::hosts;

/// Format for people, at a terminal.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "hosts",
    description: term!("several runs: what differs between their machines, and the constants of each in a column"),
    render: Render::Many(|runs, options| console::write(&[hosts(runs)], options)),
};
