//! The answer that `hostmark run` shows first.

use hostmark_model::Text;

use super::{ExportFormat, Render};
use crate::render::console;

/// For people, at a terminal, in one screen.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "answer",
    description: Text {
        en: "one screen: the machine, the grade, its constants, what costs most; of few cases their table",
        zh: "一屏：机器、可信度、关键常数与代价最高的结论；用例不多时为其表格",
    },
    render: Render::One(console::answer),
};
