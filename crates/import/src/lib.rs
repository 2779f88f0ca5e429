//! Runs made of what other tools wrote, by format; a new one is a file here and one name in [`FORMATS`].
#![forbid(unsafe_code)]

/// Texts of importers on their values, made of the Markdown files beside them, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

mod benchmark_json;
mod bounded;
mod described;
mod description;
mod fio;
mod foreign;
mod iperf3;
mod lmbench;
mod perf;
mod perfkit;
mod phoronix;
mod stress_ng;
mod table;

use std::io::BufRead;
use std::path::Path;

pub use described::DescribedFormat;
use hostmark_model::{Message, Run, Text, displays_its_message};
use hostmark_say::say;

#[derive(Debug, Clone, Copy)]
pub struct ImportFormat {
    /// Name on the command line.
    pub name: &'static str,
    tool: &'static str,
    /// Description of a good file, for errors.
    what: Text,
    /// Fault of a file in which nothing was found.
    nothing: Text,
    /// Texts on its values, by headings: `section` and `reading` of all, `name title` and `name` of each quantity.
    texts: &'static [(&'static str, Text)],
    programs: &'static [foreign::ForeignQuantity],
    /// Reads a file. The run has neither id nor name yet, and no start where the file tells none; its values have no
    /// intervals where the tool tells none.
    pub read: fn(&mut dyn BufRead) -> Result<Run, ImportError>,
}

/// A format of which a file of JSON tells all: `sc_membench.json` beside `sc_membench.md`.
macro_rules! described {
    ($name:literal) => {
        ImportFormat {
            name: $name,
            tool: "",
            what: NOTHING,
            nothing: NOTHING,
            texts: &[],
            programs: &[],
            read: |input| described($name)?.read(input),
        }
    };
}

/// Fault of most files in which nothing was found.
const NOTHING: Text = term!("the file has no result");

pub static FORMATS: &[ImportFormat] = &[
    lmbench::FORMAT,
    described!("stream"),
    fio::FORMAT,
    iperf3::FORMAT,
    described!("sysbench"),
    stress_ng::FORMAT,
    perf::FORMAT,
    described!("netperf"),
    described!("sockperf"),
    described!("unixbench"),
    described!("sc-membench"),
    benchmark_json::HYPERFINE,
    benchmark_json::GOOGLE_BENCHMARK,
    perfkit::FORMAT,
    phoronix::FORMAT,
    described!("openssl-speed"),
    described!("tinymembench"),
    described!("p7zip"),
    described!("go-bench"),
    described!("criterion"),
    described!("pytest-benchmark"),
    described!("jmh"),
    described!("geekbench"),
];

impl Default for ImportFormat {
    fn default() -> Self {
        FORMATS[0]
    }
}

/// The format that is described in the file of this name, read only when it is used.
fn described(name: &str) -> Result<DescribedFormat, ImportError> {
    let found = texts::DESCRIBED.iter().find(|(known, ..)| *known == name);
    let (_, text, texts) = found.copied().unwrap_or_default();
    DescribedFormat::with_texts(text, texts)
}

/// Bytes of a file by which its tool is known.
pub const KNOWN_BY: u64 = 1 << 16;
/// Larger than any result file of another tool, and small enough to be read on any host.
pub const LARGEST: u64 = 64 << 20;

/// Gives a run its id and the name of its file, and the time of the import where the file does not tell when it was measured.
pub fn complete(run: &mut Run, id: String, file: &Path, now: impl Fn() -> String) {
    run.id = id;
    if run.started.is_empty() {
        run.started = now();
        run.finished = Some(run.started.clone());
    }
    if let Some(imported) = &mut run.imported {
        imported.file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    }
}

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static ImportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Parts of files by which a format is known, or a text that its tool writes unless told otherwise; each with what to do.
const COMMANDS: &str = include_str!("../known_by.tsv");

/// Parts of files of tools whose results cannot be imported, and the tools.
const UNREAD: &str = include_str!("../unread.tsv");

/// The second cell of the first row of a table whose first is part of a text.
fn row_of(table: &'static str, text: &str) -> Option<&'static str> {
    table.lines().filter_map(|row| row.split_once('\t')).find(|(part, _)| text.contains(part)).map(|(_, cell)| cell)
}

/// The tool that a text is of, where its results cannot be imported.
pub fn unread_tool(text: &str) -> Option<&'static str> {
    row_of(UNREAD, text)
}

/// Advice on a text that is none of this format: the command that reads it, or has its tool write what can be read.
pub fn hint(text: &str, format: &ImportFormat) -> Option<&'static str> {
    row_of(COMMANDS, text).filter(|known| known.strip_prefix("hostmark import ") != Some(format.name))
}

/// Fault of a file that cannot be read, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The line, from 1.
    pub line: u64,
    /// The fault of the line and what to do, a fragment.
    pub what: Message,
}

displays_its_message!(ImportError);

impl From<&ImportError> for Message {
    fn from(ImportError { line, what }: &ImportError) -> Message {
        say!("line {line}: {what}")
    }
}

impl std::error::Error for ImportError {}
