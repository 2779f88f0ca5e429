//! A run as something to share: a picture for a post, and a few lines for an issue.

use super::{ExportFormat, Render};
use crate::render::{card, markdown};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "card",
    description: term!("a picture for a post: SVG of 1200 × 630, without the host's name"),
    render: Render::One(card::svg),
};

pub(super) const MARKDOWN: ExportFormat = ExportFormat {
    name: "card-markdown",
    description: term!("a few lines of markdown for an issue, without the host's name"),
    render: Render::One(markdown::short),
};
