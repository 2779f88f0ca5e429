//! Reads the text of sysbench 1: cpu, memory, threads, mutex and fileio. Several outputs in one file are samples.

use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Count, Size};
use hostmark_model::Run;
use hostmark_model::Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};

use super::bounded::{bytes, shortened};
use super::foreign::{Axis, Foreign, Further, ImportedValue, quantity, read_lines};
use super::table::Fields;
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "sysbench",
    tool: "sysbench",
    what: WHAT,
    nothing: "the file has no result",
    texts: crate::texts::sysbench::TEXTS,
    programs: &[
        quantity("sysbench.cpu", OperationsPerSecond, &[THREADS, ("limit", Count)]).with(EVENT),
        quantity(
            "sysbench.memory",
            BytesPerSecond,
            &[THREADS, ("block", Size), ("operation", Choice), ("scope", Choice)],
        )
        .with(&[MEAN, LEAST, GREATEST, P95, OPERATIONS]),
        quantity("sysbench.threads", OperationsPerSecond, &[THREADS]).with(EVENT),
        quantity("sysbench.mutex", Nanoseconds, &[THREADS]).with(EVENT),
        quantity("sysbench.file_read", BytesPerSecond, FILE_AXES).with(&[OPERATIONS]),
        quantity("sysbench.file_write", BytesPerSecond, FILE_AXES).with(&[OPERATIONS]),
        quantity("sysbench.file_sync", OperationsPerSecond, FILE_AXES),
        quantity("sysbench.file_latency", Nanoseconds, FILE_AXES).with(REQUEST),
    ],
    read,
};

const WHAT: &str = "the whole text of sysbench 1";

const MEAN: Further = Further("mean", Nanoseconds, term!("mean of an event"));
const LEAST: Further = Further("least", Nanoseconds, term!("least of an event"));
const GREATEST: Further = Further("greatest", Nanoseconds, term!("greatest of an event"));
const P95: Further = Further("p95", Nanoseconds, term!("p95 of an event"));
const EVENT: &[Further] = &[MEAN, LEAST, GREATEST, P95];
/// Of a request of fileio, whose mean is the value.
const REQUEST: &[Further] = &[LEAST, GREATEST, P95];
const THREADS: Axis = ("threads", Count);
const FILE_AXES: &[Axis] = &[THREADS, ("mode", Choice), ("block", Size)];
const OPERATIONS: Further = Further("operations", OperationsPerSecond, term!("operations"));

/// Templates of its lines; rates of fileio and the total time as sysbench 1.1 prints them as well.
const LINES: &[&str] = &[
    "Running the test with following options{options}",
    "Number of threads: {threads:1}",
    "Prime numbers limit: {limit:1}",
    "block size: {block}",
    "Block size {block}",
    "operation: {operation}",
    "scope: {scope}",
    "events per second: {rate:1}",
    "reads/s: {reads:1}",
    "writes/s: {writes:1}",
    "fsyncs/s: {syncs:1}",
    "read, MiB/s: {read:MiB/s}",
    "written, MiB/s: {written:MiB/s}",
    "read:{}IOPS={reads:1} {read:MiB/s} MiB/s{}",
    "write:{}IOPS={writes:1} {written:MiB/s} MiB/s{}",
    "fsync:{}IOPS={syncs:1}",
    "{} MiB transferred ({transferred:MiB/s} MiB/sec{}",
    "Total operations: {} ({operations:1} per second{}",
    "total time: {time:1}s",
    "time elapsed: {time:1}s",
    "total number of events: {events:1}",
    "min: {least:ms}",
    "avg: {mean:ms}",
    "max: {greatest:ms}",
    "95th percentile: {p95:ms}",
    "events (avg/stddev): {share}",
    "{files} files, {size} each",
    "Doing {mode} test",
    "Using {engine}",
    "Extra file open flags: {flags}",
    "Periodic FSYNC enabled, calling fsync() each {fsync_after}",
    "Calling fsync() after {fsync_after}",
    "Read/Write ratio for combined random IO test: {ratio}",
    "Target transaction rate: {target}",
];
/// Those of them that fileio was asked for.
const FILE_NOTES: [&str; 4] = ["engine", "flags", "fsync_after", "ratio"];

/// The modes of fileio as they are printed, and as they are asked for.
const MODES: &[(&str, &str)] = &[
    ("sequential write (creation)", "seqwr"),
    ("sequential rewrite", "seqrewr"),
    ("sequential read", "seqrd"),
    ("random read", "rndrd"),
    ("random write", "rndwr"),
    ("random r/w", "rndrw"),
    ("combined random r/w", "rndrw"),
];

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut output: Option<Fields> = None;
    let is_run = |output: &Fields| output.has("options");
    read_lines(&FORMAT, input, |run, _, line| {
        let Some(line) = line.map(str::trim_start) else {
            return Err(match output.as_ref().map(is_run) {
                // Behind a run the files of prepare are removed by cleanup.
                None | Some(false) if !run.is_empty() => return Ok(()),
                Some(false) => format!("no test was run: prepare and cleanup measure nothing; give {WHAT}"),
                None => format!("sysbench's first line is missing; give {WHAT}"),
                Some(true) => {
                    format!("the file ends here before sysbench's last line, so it is truncated; give {WHAT}")
                }
            });
        };
        if let Some(version) = version(line).map(shortened) {
            if output.as_ref().is_some_and(is_run) {
                return Err(format!("another output begins here before the last is whole; give {WHAT}"));
            }
            if !version.starts_with("1.") {
                return Err(format!("it is of sysbench {version}; texts of sysbench 1 can be imported"));
            }
            run.version_is(&version);
            output = Some(Fields::default());
        } else if let Some(problem) = line.strip_prefix("FATAL: ").map(shortened) {
            return Err(format!("sysbench ended with an error ({problem}); measure again"));
        } else if line.starts_with("SQL statistics:") {
            return Err("it is of a database test, which cannot be imported; remove it from the file".into());
        } else if let Some(fields) = output.take_if(|output| is_last(output, line)) {
            return keep(fields, run);
        } else if let Some(output) = &mut output {
            output.take(LINES, line);
        }
        Ok(())
    })
}

/// The version in the first line of an output.
fn version(line: &str) -> Option<&str> {
    // A script may say before it which run this is.
    let (before, rest) = line.split_once("sysbench ")?;
    let version = rest.split_whitespace().next()?;
    let is_first = version.starts_with(|c: char| c.is_ascii_digit()) && (before.is_empty() || rest.contains("(using "));
    is_first.then(|| version.trim_end_matches(':'))
}

/// True for the last line of an output: fileio of sysbench 1.1 has no times of threads.
fn is_last(output: &Fields, line: &str) -> bool {
    line.starts_with("execution time (avg/stddev):")
        || (line.starts_with("sum:") && output.has("reads") && !output.has("time"))
}

fn keep(mut fields: Fields, run: &mut Foreign) -> Result<(), String> {
    let printed = fields.text("mode").to_owned();
    if let Some((_, mode)) = MODES.iter().find(|(known, _)| *known == printed) {
        fields.set("mode", mode);
    }
    let number = |name: &str| fields.number(name, &format!("{name} of sysbench"));
    number("threads")?;
    let seconds = match number("time") {
        Ok(0.0) => return Err(format!("the total time is 0; give {WHAT}")),
        // fileio of sysbench 1.1 does not tell it.
        Err(_) if fields.has("mode") => String::new(),
        time => time?.to_string(),
    };
    let value = |probe: &'static str, number: f64| {
        let value = fields.value(&FORMAT, probe, vec![number], "unnamed")?;
        Ok(value.note("seconds", &seconds).asked("target", fields.text("target")))
    };
    if fields.has("limit") {
        number("limit")?;
        return run.keep(value("sysbench.cpu", number("rate")?)?);
    }
    let block = fields.text("block");
    if (fields.has("transferred") || fields.has("mode")) && bytes(block).is_none() {
        return Err(format!("'{block}' is no size; give {WHAT}"));
    }
    if fields.has("transferred") {
        return run.keep(value("sysbench.memory", number("transferred")?)?);
    }
    if fields.has("mode") {
        return keep_files(&fields, run, &number, &value);
    }
    let (count, time) = (number("events")?, number("time")?);
    let unnamed = "sysbench's text does not name its test:";
    // A thread of the mutex test does all it was told in one event.
    let (value, why) = match fields.text("share").starts_with("1.0000/0.00") {
        true => (value("sysbench.mutex", time * 1e9), "one event for each thread is what mutex does"),
        false => (
            value("sysbench.threads", count / time),
            "what is neither cpu, memory, fileio nor mutex is taken for threads",
        ),
    };
    run.keep(value?.note("doubt", format!("{unnamed} {why}")))
}

fn keep_files(
    fields: &Fields,
    run: &mut Foreign,
    number: &dyn Fn(&str) -> Result<f64, String>,
    value: &dyn Fn(&'static str, f64) -> Result<ImportedValue, String>,
) -> Result<(), String> {
    let files = format!("{} files, {} each", fields.text("files"), fields.text("size"));
    let value = |probe: &'static str, number: f64| {
        let value = value(probe, number)?.asked("files", if fields.has("files") { &files } else { "" });
        Ok::<_, String>(FILE_NOTES.iter().fold(value, |value, name| value.asked(name, fields.text(name))))
    };
    let mut did = false;
    for (probe, rate, count) in [
        ("sysbench.file_read", "read", "reads"),
        ("sysbench.file_write", "written", "writes"),
        ("sysbench.file_sync", "syncs", "syncs"),
    ] {
        let (rate, operations) = (number(rate)?, number(count)?);
        // A mode that does not read has no rate of reading.
        if operations > 0.0 {
            run.keep(value(probe, rate)?.and("operations", (count != "syncs").then_some(operations)))?;
            did = true;
        }
    }
    if fields.has("mean") {
        run.keep(value("sysbench.file_latency", number("mean")?)?)?;
    }
    if did { Ok(()) } else { Err(format!("it read, wrote and synced nothing; give {WHAT}")) }
}
