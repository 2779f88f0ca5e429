//! Cost of an environment over another: a guest over the bare machine, user space over the kernel.

use hostmark_analysis::overhead::overhead;
use hostmark_model::Run;

use super::{ExportFormat, Render};
use crate::RenderOptions;
use crate::print::{markdown, plain};
use crate::texts;
use crate::views::overhead as views;

/// Format for the question what a layer costs.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "overhead",
    description: term!("what kernel, OS and further environments cost, in percent: RUN, or native=RUN guest=RUN"),
    render: Render::Many(render),
};

fn render(runs: &[Run], options: &RenderOptions) -> String {
    over(runs, None, options).unwrap_or_else(|why| format!("{why}\n"))
}

/// The same over the case `base` of the first run's environment; an error is one sentence.
pub fn over(runs: &[Run], base: Option<&str>, options: &RenderOptions) -> Result<String, String> {
    let view = overhead(runs, base, options.verbose)?;
    if view.parts.is_empty() {
        return Ok(plain::lines(texts::export::overhead::NOTHING.get(options.lang), options));
    }
    Ok(plain::write(&views::overhead(view), options))
}

/// Tells whether the runs have nothing to compare.
pub(super) fn is_empty(runs: &[Run]) -> bool {
    overhead(runs, None, false).is_ok_and(|view| view.parts.is_empty())
}

/// Several runs as a document.
pub(super) fn markdown_of(runs: &[Run], options: &RenderOptions) -> String {
    match overhead(runs, None, options.verbose) {
        Ok(view) if !view.parts.is_empty() => markdown::write(&[views::overhead(view)], 1, options),
        _ => over(runs, None, options).unwrap_or_else(|why| format!("{why}\n")),
    }
}
