//! Runs made of what other tools wrote, by format; a new one is a file here and one name in [`FORMATS`].

mod fio;
mod foreign;
mod iperf3;
mod json;
mod lines;
mod lmbench;
mod perf;
pub(crate) mod stream;
mod stress_ng;
mod sysbench;

use std::io::BufRead;

use hostmark_model::{Run, Text};

/// What another tool writes.
#[derive(Debug)]
pub struct Format {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it reads.
    pub description: Text,
    /// Reads a file. The run has neither id nor name yet, and no start where the file tells none; its values have no
    /// intervals where the tool tells none.
    pub read: fn(&mut dyn BufRead) -> Result<Run, ImportError>,
}

/// Every format.
pub static FORMATS: &[Format] =
    &[lmbench::FORMAT, stream::FORMAT, fio::FORMAT, iperf3::FORMAT, sysbench::FORMAT, stress_ng::FORMAT, perf::FORMAT];

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Why a file cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it and what to do, a fragment.
    pub what: String,
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ImportError {}
