//! The formats in which runs are written, by name; a new one is a file here and one name in [`FORMATS`].

mod answer;
mod card;
pub mod comparison;
mod csv;
mod data_path;
pub mod fleet;
mod hosts;
mod html;
mod json;
mod jsonl;
mod lmbench;
mod lmbench_result;
mod markdown;
mod openbenchmarking;
pub mod over_time;
mod overhead;
mod prometheus;
mod sizes;
mod stream;
mod table;

use hostmark_model::{Run, Text};

pub use overhead::over as overhead_over;

use crate::RenderOptions;
use crate::tables;

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
        // Another tool's cases have names of their own, and its tables show them. The first screen shows what there is.
        if self.name == tables::CONSTANTS || runs.iter().any(|run| run.imported.is_some()) {
            return None;
        }
        if self.name == overhead::FORMAT.name {
            return overhead::is_empty(runs).then_some(self.name);
        }
        let name = if self.name == lmbench_result::FORMAT.name { lmbench::FORMAT.name } else { self.name };
        tables::table_named(name).filter(|table| !table.is_in(runs)).map(|table| table.name)
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
    table::FORMAT,
    answer::FORMAT,
    hosts::FORMAT,
    html::FORMAT,
    json::FORMAT,
    jsonl::FORMAT,
    csv::FORMAT,
    markdown::FORMAT,
    card::FORMAT,
    card::MARKDOWN,
    prometheus::FORMAT,
    openbenchmarking::FORMAT,
    sizes::MEMORY_BANDWIDTH,
    sizes::SIZE_STRIDE,
    sizes::PIPE,
    stream::FORMAT,
    lmbench::FORMAT,
    lmbench_result::FORMAT,
    overhead::FORMAT,
    data_path::FORMAT,
];

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static ExportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}
