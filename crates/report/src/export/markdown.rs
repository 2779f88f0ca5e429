//! Markdown, for issues, wikis and mails.

use hostmark_model::Text;

use super::{Format, Render};
use crate::render::markdown;

/// For pages that people write.
pub(super) const FORMAT: Format = Format {
    name: "markdown",
    description: Text { en: "tables in sections, and findings, as markdown", zh: "Markdown：分节表格与结论" },
    render: Render::One(markdown::markdown),
};
