//! Runs made of what other tools wrote, by format; a new one is a file here and one name in [`FORMATS`].
#![forbid(unsafe_code)]

/// Texts of importers on their values, made of the Markdown files beside them, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

mod benchmark_json;
mod bounded;
mod fio;
mod foreign;
mod iperf3;
mod lmbench;
mod perf;
mod perfkit;
mod phoronix;
mod printed;
mod stream;
mod stress_ng;
mod sysbench;
mod table;

use std::io::BufRead;

use hostmark_model::{Run, Text};

#[derive(Debug)]
pub struct ImportFormat {
    /// Name on the command line.
    pub name: &'static str,
    tool: &'static str,
    /// Description of a good file, for errors.
    what: &'static str,
    /// Fault of a file in which nothing was found.
    nothing: &'static str,
    /// Texts on its values, by headings: `section` and `reading` of all, `name title` and `name` of each quantity.
    texts: &'static [(&'static str, Text)],
    programs: &'static [foreign::ForeignQuantity],
    /// Reads a file. The run has neither id nor name yet, and no start where the file tells none; its values have no
    /// intervals where the tool tells none.
    pub read: fn(&mut dyn BufRead) -> Result<Run, ImportError>,
}

pub static FORMATS: &[ImportFormat] = &[
    lmbench::FORMAT,
    stream::FORMAT,
    fio::FORMAT,
    iperf3::FORMAT,
    sysbench::FORMAT,
    stress_ng::FORMAT,
    perf::FORMAT,
    printed::NETPERF,
    printed::SOCKPERF,
    printed::UNIXBENCH,
    printed::SC_MEMBENCH,
    benchmark_json::HYPERFINE,
    benchmark_json::GOOGLE_BENCHMARK,
    perfkit::FORMAT,
    phoronix::FORMAT,
];

impl Default for &ImportFormat {
    fn default() -> Self {
        &FORMATS[0]
    }
}

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static ImportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Parts of files by which a format is known, or a text that its tool writes unless told otherwise; each with what to do.
const KNOWN_BY: &[(&str, &str)] = &[
    ("[lmbench", "hostmark import lmbench"),
    ("Simple syscall: ", "hostmark import lmbench"),
    ("\"stride=", "hostmark import lmbench"),
    ("STREAM version", "hostmark import stream"),
    ("\"fio version\"", "hostmark import fio"),
    ("\"test_start\"", "hostmark import iperf3"),
    ("# Running ", "hostmark import perf-bench"),
    ("bogo-ops-per-second-real-time:", "hostmark import stress-ng"),
    ("STREAM TEST from ", "hostmark import netperf"),
    ("REQUEST/RESPONSE TEST from ", "hostmark import netperf"),
    ("sockperf: ", "hostmark import sockperf"),
    ("BYTE UNIX Benchmarks", "hostmark import unixbench"),
    ("operation,bandwidth_mb_s,latency_ns", "hostmark import sc-membench"),
    ("\"PerfKitBenchmarker\"", "hostmark import perfkit"),
    ("<PhoronixTestSuite>", "hostmark import phoronix"),
    ("\"times\": [", "hostmark import hyperfine"),
    ("\"benchmarks\": [", "hostmark import google-benchmark"),
    ("S U M M A R Y", "hostmark import lmbench results/SYSTEM/HOST.0"),
    ("sysbench 0.", "hostmark import sysbench"),
    ("sysbench 1.", "hostmark import sysbench"),
    ("(groupid=", "fio --output-format=json"),
    (";fio-3.", "fio --output-format=json"),
    ("[ ID] Interval", "iperf3 --json"),
    ("stress-ng: info:", "hostmark import stress-ng"),
];

/// Parts of files of tools whose results cannot be imported, and the tools.
const UNREAD: &[(&str, &str)] = &[
    ("\"commit_info\"", "pytest-benchmark"),
    ("\"jmhVersion\"", "JMH"),
    ("\"iteration_duration\"", "k6"),
    ("BenchmarkDotNet", "BenchmarkDotNet"),
    ("Criterion.rs", "Criterion"),
    ("goos: ", "Go's testing package"),
    ("This is ApacheBench", "ab"),
    (" test @ http", "wrk"),
    ("requests completed in", "redis-benchmark"),
    ("pgbench (", "pgbench"),
    ("transaction type: ", "pgbench"),
    ("Iozone: Performance Test", "IOzone"),
    ("ioping statistics ---", "ioping"),
    ("/dev/cpu_dma_latency set to", "cyclictest"),
    ("tinymembench v", "tinymembench"),
    ("CoreMark Size", "CoreMark"),
    ("Geekbench ", "Geekbench"),
    ("Intel(R) Memory Latency Checker", "Intel MLC"),
    ("are in 1000s of bytes per second processed", "openssl speed"),
    ("7-Zip ", "7-Zip"),
    ("hostmark.run/", "hostmark itself"),
];

/// The tool that a text is of, where its results cannot be imported.
pub fn unread_tool(text: &str) -> Option<&'static str> {
    UNREAD.iter().find(|(part, _)| text.contains(part)).map(|(_, tool)| *tool)
}

/// Advice on a text that is none of this format: the command that reads it, or has its tool write what can be read.
pub fn hint(text: &str, format: &ImportFormat) -> Option<&'static str> {
    let known = KNOWN_BY.iter().find(|(part, _)| text.contains(part))?.1;
    (known.strip_prefix("hostmark import ") != Some(format.name)).then_some(known)
}

/// Fault of a file that cannot be read, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The line, from 1.
    pub line: u64,
    /// The fault of the line and what to do, a fragment.
    pub what: String,
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ImportError {}
