//! The formats in which runs are written, by name; a new one is a file here, or a renderer, and one name in [`FORMATS`].

mod brief;
pub mod comparison;
mod csv;
pub mod fleet;
mod json;
mod lmbench;
mod openbenchmarking;
pub mod over_time;
mod prometheus;
mod stream;
mod tracked;

use hostmark_analysis::overhead::overhead;
use hostmark_model::{Run, Text};

use crate::print::{console as page, markdown, plain};
use crate::render::{card, console, markdown as share};
use crate::views::constants::hosts;
use crate::{RenderOptions, html, tables, texts, views};

/// A format in which runs are written.
#[derive(Debug)]
pub struct ExportFormat {
    /// Name for `--format`.
    pub name: &'static str,
    pub description: Text,
    pub render: Render,
}

/// Writer of a format; the text ends with a line break, or is empty where there is no line.
#[derive(Debug, Clone, Copy)]
pub enum Render {
    One(fn(&Run, &RenderOptions) -> String),
    /// Several runs beside each other.
    Many(fn(&[Run], &RenderOptions) -> String),
}

impl ExportFormat {
    /// The runs in this format; none where it shows one run and there are several, or no run at all.
    pub fn render(&self, runs: &[Run], options: &RenderOptions) -> Option<String> {
        match (self.render, runs) {
            (_, []) => None,
            (Render::Many(render), runs) => Some(render(runs, options)),
            (Render::One(render), [run]) => Some(render(run, options)),
            (Render::One(_), _) => None,
        }
    }

    /// The name of the table to measure where this format would show nothing of the runs; none where it shows something.
    pub fn lacks(&self, runs: &[Run]) -> Option<&'static str> {
        // Another tool's cases have names of their own, and two tables show them. The first screen shows what there is.
        let is_imported = runs.iter().any(|run| run.imported.is_some());
        let of_lmbench = [lmbench::FORMAT.name, lmbench::RESULT_FORMAT.name];
        match self.name {
            tables::CONSTANTS => None,
            name if name == OVERHEAD => {
                overhead(runs, None, false).is_ok_and(|view| view.parts.is_empty()).then_some(name)
            }
            name if name == openbenchmarking::FORMAT.name || tracked::NAMES.contains(&name) => {
                let mut cases = runs.iter().flat_map(|run| &run.cases);
                cases.all(|case| case.measured().is_none()).then_some(tables::CONSTANTS)
            }
            name if name == stream::FORMAT.name && runs.iter().any(stream::is_in) => None,
            name if of_lmbench.contains(&name) && is_imported && runs.iter().any(lmbench::is_in) => None,
            name => {
                let name = if of_lmbench.contains(&name) { lmbench::FORMAT.name } else { name };
                tables::table_named(name).filter(|table| !table.is_in(runs)).map(|table| table.name)
            }
        }
    }

    pub fn render_one(&self, run: &Run, options: &RenderOptions) -> String {
        match self.render {
            Render::One(render) => render(run, options),
            Render::Many(render) => render(std::slice::from_ref(run), options),
        }
    }
}

/// Every format; the first is the default.
pub static FORMATS: &[ExportFormat] = &[
    ExportFormat {
        name: "table",
        description: term!("tables for a person at a terminal"),
        render: Render::One(console::table),
    },
    ExportFormat {
        name: tables::CONSTANTS,
        description: term!(
            "one screen: the machine, the grade, its constants, what costs most; of few cases their table"
        ),
        render: Render::One(console::answer),
    },
    brief::TEXT,
    brief::JSON,
    ExportFormat {
        name: "hosts",
        description: term!("several runs: what differs between their machines, and the constants of each in a column"),
        render: Render::Many(|runs, options| page::write(&[hosts(runs)], options)),
    },
    ExportFormat {
        name: "html",
        description: term!("a page with charts that stands alone, for a browser"),
        render: Render::Many(html::page),
    },
    json::FORMAT,
    json::LINES_FORMAT,
    csv::FORMAT,
    ExportFormat {
        name: "markdown",
        description: term!("tables in sections, and findings, as markdown; of several runs what overhead shows"),
        render: Render::Many(run_or_overhead),
    },
    ExportFormat {
        name: "card",
        description: term!("a picture for a post: SVG of 1200 × 630, without the host's name"),
        render: Render::One(card::svg),
    },
    ExportFormat {
        name: "card-markdown",
        description: term!("a few lines of markdown for an issue, without the host's name"),
        render: Render::One(share::short),
    },
    prometheus::FORMAT,
    openbenchmarking::FORMAT,
    tracked::GITHUB,
    tracked::BENCHER,
    tracked::GO,
    ExportFormat {
        name: tables::MEMORY_BANDWIDTH.name,
        description: term!("read, write and copy bandwidth by block size, and bytes per core cycle"),
        render: Render::One(|run, options| tables::MEMORY_BANDWIDTH.render(run, options)),
    },
    ExportFormat {
        name: tables::SIZE_STRIDE.name,
        description: term!("memory latency by size and stride, with the lines touched"),
        render: Render::One(|run, options| tables::SIZE_STRIDE.render(run, options)),
    },
    ExportFormat {
        name: tables::PIPE.name,
        description: term!("pipe bandwidth by the bytes of one write"),
        render: Render::One(|run, options| tables::PIPE.render(run, options)),
    },
    stream::FORMAT,
    lmbench::FORMAT,
    lmbench::RESULT_FORMAT,
    ExportFormat {
        name: OVERHEAD,
        description: term!("what kernel, OS and further environments cost, in percent: RUN, or native=RUN guest=RUN"),
        render: Render::Many(overhead_or_why),
    },
    ExportFormat {
        name: "data-path",
        description: term!(
            "why a pipeline through TCP is as fast as it is: its processes, copies and waits, and a forecast"
        ),
        render: Render::One(data_path),
    },
];

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static ExportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

const OVERHEAD: &str = "overhead";

/// Cost of environments over each other, over the case `base` of the first run's environment; an error is one sentence.
pub fn overhead_over(runs: &[Run], base: Option<&str>, options: &RenderOptions) -> Result<String, String> {
    let view = overhead(runs, base, options.verbose)?;
    if view.parts.is_empty() {
        return Ok(plain::lines(texts::export::overhead::NOTHING.get(options.lang), options));
    }
    Ok(plain::write(&views::overhead(view), options))
}

fn overhead_or_why(runs: &[Run], options: &RenderOptions) -> String {
    overhead_over(runs, None, options).unwrap_or_else(|why| format!("{why}\n"))
}

/// Markdown of a run, or of what environments cost over each other.
fn run_or_overhead(runs: &[Run], options: &RenderOptions) -> String {
    match (runs, overhead(runs, None, options.verbose)) {
        ([run], _) => share::markdown(run, options),
        (_, Ok(view)) if !view.parts.is_empty() => markdown::write(&[views::overhead(view)], 1, options),
        _ => overhead_or_why(runs, options),
    }
}

fn data_path(run: &Run, options: &RenderOptions) -> String {
    const NOTHING: Text = term!("This run has no data path; measure it by `hostmark run --table data-path`.");
    match views::data_path(run, options.verbose) {
        document if document.is_empty() => plain::lines(NOTHING.get(options.lang), options),
        document => plain::write(&document, options),
    }
}
