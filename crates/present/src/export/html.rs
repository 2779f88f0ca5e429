//! The report as a page for a browser.

use hostmark_model::Text;

use super::{ExportFormat, Render};
use crate::html;

/// For people, in a browser.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "html",
    description: Text {
        en: "a page with charts that stands alone, for a browser", zh: "可独立打开、带图表的网页"
    },
    render: Render::Many(html::page),
};
