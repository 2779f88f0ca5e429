//! Several runs beside each other, as `hostmark report A B` shows them.

use hostmark_model::Text;

use super::{ExportFormat, Render};
use crate::print::console;
use crate::views::hosts::hosts;

/// For people, at a terminal.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "hosts",
    description: Text {
        en: "several runs: what differs between their machines, and the constants of each in a column",
        zh: "多次运行：各机器的不同之处，以及并列的关键常数",
    },
    render: Render::Many(|runs, options| console::write(&[hosts(runs)], options)),
};
