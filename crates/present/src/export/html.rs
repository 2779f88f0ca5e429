//! The report as a page for a browser.

use super::{ExportFormat, Render};
use crate::html;

/// Format for people, in a browser.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "html",
    description: term!("a page with charts that stands alone, for a browser"),
    render: Render::Many(html::page),
};
