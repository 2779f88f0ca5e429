//! The data path of TCP: pipelines drawn with what each process takes, and what single stages make one expect.

use hostmark_model::{Run, Text};

use super::{ExportFormat, Render};
use crate::RenderOptions;
use crate::print::plain;
use crate::views::data_path::data_path;

/// Format for the question why a pipeline is slower than the network beneath it.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "data-path",
    description: term!(
        "why a pipeline through TCP is as fast as it is: its processes, copies and waits, and a forecast"
    ),
    render: Render::One(render),
};

fn render(run: &Run, options: &RenderOptions) -> String {
    let document = data_path(run, options.verbose);
    if document.is_empty() {
        const NOTHING: Text = term!("This run has no data path; measure it by `hostmark run --table data-path`.");
        return plain::lines(NOTHING.get(options.lang), options);
    }
    plain::write(&document, options)
}
