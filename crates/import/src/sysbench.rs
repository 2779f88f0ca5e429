//! Reads the text of sysbench 1: cpu, memory, threads, mutex and fileio. Several outputs in one file are samples.

use std::collections::HashMap;
use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};

use super::bounded::{amount, each_line, shortened};
use super::foreign::{Foreign, ForeignQuantity, Further, ImportedValue, Source};
use super::{ImportError, ImportFormat};
use crate::texts::sysbench as texts;

/// sysbench's text.
pub(super) const FORMAT: ImportFormat = ImportFormat { name: "sysbench", description: texts::DESCRIPTION, read };

const WHAT: &str = "the whole text of sysbench 1";

const MEAN: Further = Further("mean", Unit::Nanoseconds, term!("mean of an event"));
const LEAST: Further = Further("least", Unit::Nanoseconds, term!("least of an event"));
const GREATEST: Further = Further("greatest", Unit::Nanoseconds, term!("greatest of an event"));
const P95: Further = Further("p95", Unit::Nanoseconds, term!("p95 of an event"));
const EVENT: &[Further] = &[MEAN, LEAST, GREATEST, P95];
/// Of a request of fileio, whose mean is the value.
const REQUEST: &[Further] = &[LEAST, GREATEST, P95];
const THREADS: (&str, AxisKind) = ("threads", AxisKind::Count);
const FILE_AXES: &[(&str, AxisKind)] = &[THREADS, ("mode", AxisKind::Choice), ("block", AxisKind::Size)];
const OPERATIONS: Further = Further("operations", Unit::OperationsPerSecond, term!("operations"));

static SOURCE: Source = Source {
    format: "sysbench",
    tool: "sysbench",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        ForeignQuantity {
            id: "sysbench.cpu",
            title: texts::CPU_TITLE,
            unit: Unit::OperationsPerSecond,
            axes: &[THREADS, ("limit", AxisKind::Count)],
            also: EVENT,
            what: texts::CPU,
        },
        ForeignQuantity {
            id: "sysbench.memory",
            title: texts::MEMORY_TITLE,
            unit: Unit::BytesPerSecond,
            axes: &[THREADS, ("block", AxisKind::Size), ("operation", AxisKind::Choice), ("scope", AxisKind::Choice)],
            also: &[MEAN, LEAST, GREATEST, P95, OPERATIONS],
            what: texts::MEMORY,
        },
        ForeignQuantity {
            id: "sysbench.threads",
            title: texts::THREADS_TITLE,
            unit: Unit::OperationsPerSecond,
            axes: &[THREADS],
            also: EVENT,
            what: texts::THREADS,
        },
        ForeignQuantity {
            id: "sysbench.mutex",
            title: texts::MUTEX_TITLE,
            unit: Unit::Nanoseconds,
            axes: &[THREADS],
            also: EVENT,
            what: texts::MUTEX,
        },
        ForeignQuantity {
            id: "sysbench.file_read",
            title: texts::FILE_READ_TITLE,
            unit: Unit::BytesPerSecond,
            axes: FILE_AXES,
            also: &[OPERATIONS],
            what: texts::FILE_READ,
        },
        ForeignQuantity {
            id: "sysbench.file_write",
            title: texts::FILE_WRITE_TITLE,
            unit: Unit::BytesPerSecond,
            axes: FILE_AXES,
            also: &[OPERATIONS],
            what: texts::FILE_WRITE,
        },
        ForeignQuantity {
            id: "sysbench.file_sync",
            title: texts::FILE_SYNC_TITLE,
            unit: Unit::OperationsPerSecond,
            axes: FILE_AXES,
            also: &[],
            what: texts::FILE_SYNC,
        },
        ForeignQuantity {
            id: "sysbench.file_latency",
            title: texts::FILE_LATENCY_TITLE,
            unit: Unit::Nanoseconds,
            axes: FILE_AXES,
            also: REQUEST,
            what: texts::FILE_LATENCY,
        },
    ],
};

/// What a line may begin with, and under which name it is kept; of two the first that stands there counts.
const KEYS: &[(&str, &str)] = &[
    ("Number of threads:", "threads"),
    ("Prime numbers limit:", "limit"),
    ("block size:", "block"),
    ("Block size ", "block"),
    ("operation:", "operation"),
    ("scope:", "scope"),
    ("events per second:", "rate"),
    ("reads/s:", "reads"),
    ("writes/s:", "writes"),
    ("fsyncs/s:", "syncs"),
    ("read, MiB/s:", "read"),
    ("written, MiB/s:", "written"),
    ("total time:", "time"),
    // As sysbench 1.1 prints it.
    ("time elapsed:", "time"),
    ("total number of events:", "events"),
    ("min:", "least"),
    ("avg:", "mean"),
    ("max:", "greatest"),
    ("95th percentile:", "p95"),
    ("Doing ", "mode"),
    ("Using ", "engine"),
    ("Extra file open flags:", "flags"),
    ("Periodic FSYNC enabled, calling fsync() each ", "fsync_after"),
    ("Calling fsync() after ", "fsync_after"),
    ("Read/Write ratio for combined random IO test:", "ratio"),
    ("Target transaction rate:", "target"),
];
/// Those of them that are notes of fileio, with the files that [`Output::take`] finds.
const FILE_NOTES: [&str; 5] = ["engine", "flags", "files", "fsync_after", "ratio"];

/// Rates of fileio as sysbench 1.1 prints them, `read:  IOPS=1857.00 29.02 MiB/s (30.43 MB/s)`, by their names in [`KEYS`].
const RATES: &[(&str, [&str; 2])] =
    &[("read:", ["reads", "read"]), ("write:", ["writes", "written"]), ("fsync:", ["syncs", "synced"])];
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
    let mut run = Foreign::of(&SOURCE);
    let mut output: Option<Output> = None;
    let lines = each_line(input, WHAT, |at, line| {
        let error = |what: String| ImportError { line: at, what };
        let line = line.trim_start();
        if let Some(version) = version(line) {
            if output.as_ref().is_some_and(|output| output.is_run) {
                return Err(error(format!("another output begins here before the last is whole; give {WHAT}")));
            }
            if !version.starts_with("1.") {
                let version = shortened(version);
                return Err(error(format!("it is of sysbench {version}; texts of sysbench 1 can be imported")));
            }
            run.version = format!("sysbench {}", shortened(version));
            output = Some(Output::default());
        } else if let Some(problem) = line.strip_prefix("FATAL: ") {
            let problem = shortened(problem);
            return Err(error(format!("sysbench ended with an error ({problem}); measure again")));
        } else if line.starts_with("SQL statistics:") {
            return Err(error("it is of a database test, which cannot be imported; remove it from the file".into()));
        } else if output.as_ref().is_some_and(|output| output.ends_with(line)) {
            return output.take().map_or(Ok(()), |output| output.keep(&mut run)).map_err(error);
        } else if let Some(output) = &mut output {
            output.take(line).map_err(error)?;
        }
        Ok(())
    })?;
    let what = match output.map(|output| output.is_run) {
        // Behind a run the files of prepare are removed by cleanup.
        None | Some(false) if !run.is_empty() => return Ok(run.into_run()),
        Some(false) => format!("no test was run: prepare and cleanup measure nothing; give {WHAT}"),
        None => format!("sysbench's first line is missing; give {WHAT}"),
        Some(true) => format!("the file ends here before sysbench's last line, so it is truncated; give {WHAT}"),
    };
    Err(ImportError { line: lines, what })
}

/// The version in the first line of an output.
fn version(line: &str) -> Option<&str> {
    // A script may say before it which run this is.
    let (before, rest) = line.split_once("sysbench ")?;
    let version = rest.split_whitespace().next()?;
    let is_first = version.starts_with(|c: char| c.is_ascii_digit()) && (before.is_empty() || rest.contains("(using "));
    is_first.then(|| version.trim_end_matches(':'))
}

#[derive(Default)]
struct Output {
    /// Whether it is one of a test, and not of what prepares it or cleans up.
    is_run: bool,
    fields: HashMap<&'static str, String>,
    /// Rates in parentheses: operations and bytes, of the memory test.
    operations: Option<f64>,
    transferred: Option<f64>,
    /// How many events each thread had, and how they varied.
    share: String,
}

impl Output {
    /// Whether the line is the last of an output: fileio of sysbench 1.1 has no times of threads.
    fn ends_with(&self, line: &str) -> bool {
        line.starts_with("execution time (avg/stddev):")
            || (line.starts_with("sum:") && self.fields.contains_key("reads") && !self.fields.contains_key("time"))
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        self.is_run |= line.starts_with("Running the test with following options");
        let rate_behind = |begin: &str| Some(line.split_once(begin)?.1.split_whitespace().next().unwrap_or_default());
        if let Some(word) = rate_behind("MiB transferred (") {
            self.transferred = Some(amount(word, "the rate of MiB")? * f64::from(1 << 20));
        } else if let (true, Some(word)) = (line.starts_with("Total operations:"), rate_behind(" (")) {
            self.operations = Some(amount(word, "the rate of operations")?);
        } else if let Some((rate, names, words)) = RATES
            .iter()
            .find_map(|(rate, names)| Some((rate, names, line.strip_prefix(rate)?.trim_start().strip_prefix("IOPS=")?)))
        {
            for (name, word) in names.iter().zip(words.split_whitespace()) {
                amount(word, rate)?;
                self.fields.insert(name, word.to_owned());
            }
        } else if let Some(share) = line.strip_prefix("events (avg/stddev):") {
            self.share = share.trim().to_owned();
        } else if line.contains(" files, ") && line.ends_with(" each") {
            // `128 files, 16MiB each`
            self.fields.insert("files", line.to_owned());
        } else if let Some((start, name)) = KEYS.iter().find(|(start, _)| line.starts_with(start)) {
            self.fields.entry(name).or_insert_with(|| line[start.len()..].trim().chars().take(100).collect());
        }
        Ok(())
    }

    fn text(&self, name: &str) -> &str {
        self.fields.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The number behind a name.
    fn number(&self, name: &str) -> Result<f64, String> {
        amount(self.text(name).trim_end_matches('s'), &format!("{name} of sysbench"))
    }

    /// A size behind a name, bytes.
    fn size(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name);
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match &text[digits.len()..] {
            "B" | "" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => return Err(format!("'{text}' is no size; give {WHAT}")),
        };
        let size = digits.parse::<u64>().ok().and_then(|size| size.checked_mul(1 << shift));
        size.ok_or_else(|| format!("'{text}' is no size; give {WHAT}"))
    }

    fn keep(self, run: &mut Foreign) -> Result<(), String> {
        let threads = self.number("threads")?;
        let seconds = match self.number("time") {
            Ok(0.0) => return Err(format!("the total time is 0; give {WHAT}")),
            // fileio of sysbench 1.1 does not tell it.
            Err(_) if self.fields.contains_key("mode") => String::new(),
            time => time?.to_string(),
        };
        let case = |probe: &'static str, number: f64| {
            let value = ImportedValue::new(probe, vec![number]).at("threads", threads).note("seconds", &seconds);
            value.note("target", self.text("target"))
        };
        let events = |value: ImportedValue| self.events(value, EVENT);
        if self.fields.contains_key("limit") {
            let value = case("sysbench.cpu", self.number("rate")?).at("limit", self.number("limit")?);
            return run.keep(events(value)?);
        }
        if let Some(rate) = self.transferred {
            let value = case("sysbench.memory", rate).at("block", self.size("block")?);
            let value = value.at("operation", self.text("operation")).at("scope", self.text("scope"));
            return run.keep(events(value.and("operations", self.operations))?);
        }
        if self.fields.contains_key("mode") {
            return self.keep_files(run, &case);
        }
        let (count, time) = (self.number("events")?, self.number("time")?);
        let unnamed = "sysbench's text does not name its test:";
        // A thread of the mutex test does all it was told in one event.
        let (mut value, why) = match self.share.starts_with("1.0000/0.00") {
            true => {
                (case("sysbench.mutex", time * 1e9), format!("{unnamed} one event for each thread is what mutex does"))
            }
            false => {
                let why = format!("{unnamed} what is neither cpu, memory, fileio nor mutex is taken for threads");
                (case("sysbench.threads", count / time), why)
            }
        };
        value.unconfirmed = Some(why);
        run.keep(events(value)?)
    }

    /// Adds the times of an event.
    fn events(&self, mut value: ImportedValue, times: &[Further]) -> Result<ImportedValue, String> {
        for Further(name, ..) in times.iter().filter(|time| self.fields.contains_key(time.0)) {
            value = value.and(name, Some(self.number(name)? * 1e6));
        }
        Ok(value)
    }

    fn keep_files(&self, run: &mut Foreign, case: &dyn Fn(&'static str, f64) -> ImportedValue) -> Result<(), String> {
        let printed = self.text("mode").trim_end_matches(" test");
        let mode = MODES.iter().find(|(known, _)| *known == printed).map_or(printed, |(_, mode)| mode);
        let block = self.size("block")?;
        let at = |value: ImportedValue| {
            let value = value.at("mode", mode).at("block", block);
            FILE_NOTES.iter().fold(value, |value, name| value.note(name, self.text(name)))
        };
        let mib = f64::from(1 << 20);
        let both = [("sysbench.file_read", "read", "reads"), ("sysbench.file_write", "written", "writes")];
        let mut did = false;
        for (probe, bytes, operations) in both {
            let (rate, operations) = (self.number(bytes)? * mib, self.number(operations)?);
            // A mode that does not read has no rate of reading.
            if operations > 0.0 {
                run.keep(at(case(probe, rate)).and("operations", Some(operations)))?;
                did = true;
            }
        }
        let syncs = self.number("syncs")?;
        if syncs > 0.0 {
            run.keep(at(case("sysbench.file_sync", syncs)))?;
            did = true;
        }
        if self.fields.contains_key("mean") {
            let mean = self.number("mean")? * 1e6;
            run.keep(self.events(at(case("sysbench.file_latency", mean)), REQUEST)?)?;
        }
        if did { Ok(()) } else { Err(format!("it read, wrote and synced nothing; give {WHAT}")) }
    }
}
