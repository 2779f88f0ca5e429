//! A run as something to share: a picture for a post, and a few lines for an issue.

use hostmark_model::Text;

use super::{ExportFormat, Render};
use crate::render::{card, markdown};

/// A picture.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "card",
    description: Text {
        en: "a picture for a post: SVG of 1200 × 630, without the host's name",
        zh: "用于分享的图片：1200 × 630 的 SVG，不含主机名",
    },
    render: Render::One(card::svg),
};

/// The same in words.
pub(super) const MARKDOWN: ExportFormat = ExportFormat {
    name: "card-markdown",
    description: Text {
        en: "a few lines of markdown for an issue, without the host's name",
        zh: "用于 issue 的几行 Markdown，不含主机名",
    },
    render: Render::One(markdown::short),
};
