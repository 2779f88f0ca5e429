//! Markdown, for issues, wikis and mails: a run, or what environments cost over each other.

use hostmark_model::Run;

use super::overhead::markdown_of;
use super::{ExportFormat, Render};
use crate::RenderOptions;
use crate::render::markdown::markdown;

/// Format for pages that people write.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "markdown",
    description: term!("tables in sections, and findings, as markdown; of several runs what overhead shows"),
    render: Render::Many(render),
};

fn render(runs: &[Run], options: &RenderOptions) -> String {
    match runs {
        [run] => markdown(run, options),
        runs => markdown_of(runs, options),
    }
}
