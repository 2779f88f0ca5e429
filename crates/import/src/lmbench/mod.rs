//! Reads the result files of lmbench 2 and 3: the machine in brackets, then lines `what: number unit` and blocks of
//! `size number` under a heading, then the date. What the programs and the shell say besides is passed over.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use hostmark_model::timestamp::{MONTHS, Timestamp};
use hostmark_model::{
    AxisInfo, AxisKind, Better, CaseId, CaseRecord, CpuFact, Explain, HostFacts, Imported, Measured, Noise, Outcome,
    Params, ProbeInfo, ReasonCode, Run, SCHEMA, Text, Tool, Unit,
};

use super::bounded::{LARGEST, TrailingText, each_line, shortened};
use super::foreign::{estimate, no_settings};
use super::{ImportError, ImportFormat};
use AxisKind::{Choice, Count, Size};
use Unit::{BytesPerSecond, Nanoseconds, Ratio};
use lines::{LmbenchBlock, LmbenchValue};

mod lines;

/// lmbench's own result files.
pub(super) const FORMAT: ImportFormat =
    ImportFormat { name: "lmbench", description: term!("a result file of lmbench 2 or 3"), read };

/// Most values. A file has about a thousand; each costs under a KiB in a run.
const MOST_VALUES: usize = 20_000;
/// Most CPUs that a file may claim.
const MOST_CPUS: usize = 8192;
/// Settings of lmbench that are worth keeping.
const KEPT: [&str; 6] = ["MB", "ENOUGH", "FASTMEM", "SYNC_MAX", "LMBENCH_SCHED", "FSDIR"];

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut reader = LmbenchReader::default();
    each_line(input, "a result file of lmbench", |at, line| {
        reader.line = at;
        reader.take(line.trim())
    })?;
    reader.finish()
}

/// What has been read so far.
#[derive(Default)]
struct LmbenchReader {
    line: u64,
    /// lmbench's version, of its first line.
    version: Option<String>,
    /// What stands in brackets, by name.
    header: HashMap<String, String>,
    host: HostFacts,
    date: Option<String>,
    block: Option<LmbenchBlock>,
    /// Which of the two chains lat_mem_rd follows.
    pattern: Option<&'static str>,
    cases: Vec<(CaseId, Vec<f64>)>,
    known: HashMap<CaseId, usize>,
    values: usize,
    /// Whether a date in brackets came, and no value since.
    is_closed: bool,
    rest: Option<TrailingText>,
}

impl LmbenchReader {
    fn error(&self, what: impl Into<String>) -> ImportError {
        ImportError { line: self.line, what: what.into() }
    }

    fn take(&mut self, line: &str) -> Result<(), ImportError> {
        if line.is_empty() {
            self.block = None;
            return Ok(());
        }
        if let Some(inside) = line.strip_prefix('[') {
            return match inside.strip_suffix(']') {
                Some(inside) => self.bracket(inside),
                // What a program printed, or a line that is cut off.
                None => Ok(()),
            };
        }
        if let Some(pattern) = lines::pattern(line) {
            self.pattern = Some(pattern);
            self.block = None;
            return Ok(());
        }
        if let Some(block) = LmbenchBlock::of_heading(line, self.pattern).map_err(|what| self.error(what))? {
            self.block = Some(block);
            return Ok(());
        }
        let values = match &self.block {
            Some(block) if line.starts_with(|c: char| c.is_ascii_digit()) => {
                block.values(line).map_err(|what| self.error(what))?
            }
            _ => lines::value(line).map_err(|what| self.error(what))?.into_iter().collect(),
        };
        if values.is_empty() && self.is_closed && self.rest.is_none() {
            self.rest = Some(TrailingText { line: self.line, text: shortened(line) });
        }
        values.into_iter().try_for_each(|value| self.keep(value))
    }

    fn bracket(&mut self, inside: &str) -> Result<(), ImportError> {
        if let Some(rest) = inside.strip_prefix("lmbench") {
            return self.first_line(rest);
        }
        if is_date(inside) {
            self.is_closed = self.values > 0;
            self.date = Some(inside.to_owned());
        } else if let Some((name, value)) = inside.split_once(':') {
            let known = self.header.entry(name.trim().to_owned());
            known.or_insert_with(|| value.trim().to_owned());
            if self.header.len() > MOST_VALUES {
                return Err(self.error("there are too many lines in brackets; give a result file of lmbench"));
            }
        }
        Ok(())
    }

    /// `3.0 results for Linux host release …`, behind `lmbench`.
    fn first_line(&mut self, rest: &str) -> Result<(), ImportError> {
        let (version, machine) = rest.split_once(" results for ").unwrap_or((rest, ""));
        if self.version.is_some() {
            return Err(self.error("a second result file begins here; import each alone"));
        }
        if !(version.starts_with("2.") || version.starts_with("3.")) {
            let shown: String = version.chars().take(20).collect();
            return Err(self.error(format!("it is of lmbench {shown}; files of lmbench 2 and 3 can be imported")));
        }
        let words: Vec<&str> = machine.split_whitespace().collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default().to_owned();
        self.host.kernel.system_is(&word(0));
        self.host.hostname = word(1);
        self.host.kernel.release = word(2);
        self.version = Some(version.to_owned());
        Ok(())
    }

    fn keep(&mut self, value: LmbenchValue) -> Result<(), ImportError> {
        if self.version.is_none() {
            return Err(self.error("a value stands before lmbench's first line; give a whole result file of lmbench"));
        }
        (self.is_closed, self.rest) = (false, None);
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(self.error(format!("there are more than {MOST_VALUES} values; give a result file of lmbench")));
        }
        let id = CaseId { probe: value.probe, params: Params(value.params) };
        let index = *self.known.entry(id.clone()).or_insert_with(|| {
            self.cases.push((id, Vec::new()));
            self.cases.len() - 1
        });
        self.cases[index].1.push(value.number);
        Ok(())
    }

    fn finish(mut self) -> Result<Run, ImportError> {
        let Some(version) = self.version.clone() else {
            return Err(self.error("lmbench's first line is missing; give a whole result file of lmbench"));
        };
        if !self.is_closed {
            let what =
                "the file ends here without lmbench's closing date, so it is truncated; give a whole result file";
            return Err(self.error(what));
        }
        self.facts();
        self.header_values();
        let field = |name: &str| self.header.get(name).cloned().unwrap_or_default();
        let set = KEPT.into_iter().map(|name| (name.to_owned(), field(name))).filter(|(_, value)| !value.is_empty());
        let started = self.date.as_deref().and_then(timestamp).unwrap_or_default();
        let programs = of_cases(self.cases.iter().map(|(id, _)| id.probe.as_str()));
        let place = |id: &CaseId| programs.iter().position(|program| program.id == id.probe);
        // Stable: within a program the file's order remains.
        self.cases.sort_by_key(|(id, _)| place(id));
        Ok(Run {
            schema: SCHEMA.into(),
            id: String::new(),
            name: String::new(),
            finished: Some(started.clone()),
            started,
            interrupted: None,
            imported: Some(Imported { format: FORMAT.name.into(), file: String::new(), date: self.date.clone() }),
            tool: Tool {
                version: format!("lmbench {version}"),
                target: field("OS"),
                libc: String::new(),
                is_static: false,
                digest: None,
            },
            settings: no_settings(BTreeMap::from_iter(set)),
            host: self.host,
            disturbances: self.rest.iter().map(TrailingText::passed_over).collect(),
            neighbours: None,
            others_share: None,
            hottest_celsius: None,
            trust: None,
            probes: programs,
            cases: self.cases.into_iter().map(|(id, values)| record(&id, values)).collect(),
            lost_rounds: Vec::new(),
            time: None,
            findings: Vec::new(),
            guest: None,
            peers: Vec::new(),
            pairs: Vec::new(),
            again: None,
            note: None,
            series: None,
            place: None,
        })
    }

    fn facts(&mut self) {
        let field = |name: &str| self.header.get(name).filter(|value| !value.is_empty()).cloned();
        let host = &mut self.host;
        if let Some(name) = field("NODENAME").or_else(|| field("HOSTNAME")) {
            host.hostname = name;
        }
        if let Some(system) = field("SYSNAME") {
            host.kernel.system_is(&system);
        }
        host.kernel.release = field("RELEASE").unwrap_or_else(|| host.kernel.release.clone());
        host.kernel.version = field("VERSION").unwrap_or_default();
        host.cpu.architecture = field("MACHINE").unwrap_or_default();
        let count = field("PROCESSORS").and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        if count <= MOST_CPUS {
            host.cpus =
                (0..count).map(|id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() }).collect();
        }
    }

    /// Values that lmbench finds while it is set up and writes in brackets.
    fn header_values(&mut self) {
        let number = |name: &str| {
            let first = self.header.get(name)?.split_whitespace().next()?;
            first.parse::<f64>().ok().filter(|number| number.abs() < LARGEST)
        };
        for (name, probe, scale) in [("MHZ", "lmbench.mhz", 1e6), ("LINE_SIZE", "lmbench.line", 1.0)] {
            if let Some(value) = number(name) {
                let id = CaseId { probe: probe.into(), params: Params::default() };
                self.cases.push((id, vec![value * scale]));
            }
        }
    }
}

/// Whether a bracket holds what `date` prints, in whatever language: a time of day, and neither load nor a name.
fn is_date(inside: &str) -> bool {
    let is_time = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        parts.len() == 3 && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let words = || inside.split_whitespace();
    words().count() >= 4 && words().any(is_time) && !words().any(|word| word == "up" || word.starts_with("load"))
}

/// `Sat Nov 21 14:47:23 UTC 2026` as RFC 3339. Another zone's abbreviation may mean several, so it is taken as UTC:
/// the date as the file writes it is kept besides.
fn timestamp(date: &str) -> Option<String> {
    let words: Vec<&str> = date.split_whitespace().collect();
    let [_, month, day, time, ref zone @ .., year] = words[..] else { return None };
    let (hour, rest) = time.split_once(':')?;
    let hour: u32 = hour.parse().ok()?;
    // In half days the first hour is 12.
    let hour = match zone.first() {
        Some(half @ (&"AM" | &"PM")) => hour % 12 + if *half == "PM" { 12 } else { 0 },
        _ => hour,
    };
    let month = 1 + MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))?;
    Some(Timestamp::parse(&format!("{year}-{month:02}-{day:0>2}T{hour:02}:{rest}Z"))?.to_string())
}

/// The case: a value that lmbench printed once, or several of one name as samples.
fn record(id: &CaseId, values: Vec<f64>) -> CaseRecord {
    let outcome = match estimate(&values) {
        None => {
            let shown = values.first().copied().unwrap_or_default();
            let (code, text) = match shown {
                0.0 => (
                    ReasonCode::NoValue,
                    "lmbench printed 0, which is no value: too short for its clock, or removed by its compiler",
                ),
                _ => (ReasonCode::Imported, "lmbench printed -1: it could not measure it"),
            };
            Outcome::Skipped { reason: code.because(text) }
        }
        Some(estimate) => Outcome::Measured(Box::new(Measured {
            estimate,
            also: BTreeMap::new(),
            samples: vec![values.into_iter().filter(|value| *value > 0.0).collect()],
            histogram: None,
            rounds: Vec::new(),
            noise: Noise::default(),
            notes: BTreeMap::new(),
            flags: Vec::new(),
            bounds: None,
        })),
    };
    CaseRecord { id: id.to_string(), probe: id.probe.clone(), params: id.params.clone(), outcome }
}

struct LmbenchProgram {
    name: &'static str,
    title: Text,
    unit: Unit,
    section: Text,
    axes: &'static [(&'static str, AxisKind)],
}

const HARDWARE: Text = term!("Measured by lmbench: processor");
const MEMORY: Text = term!("Measured by lmbench: memory");
const SYSTEM: Text = term!("Measured by lmbench: system calls and processes");
const LOCAL: Text = term!("Measured by lmbench: communication");
const FILES: Text = term!("Measured by lmbench: files and virtual memory");
const NETWORK: Text = term!("Measured by lmbench: network");

const SERVER: (&str, AxisKind) = ("server", Choice);
const OP: (&str, AxisKind) = ("op", Choice);
const SIZE: (&str, AxisKind) = ("size", Size);

macro_rules! program {
    ($name:literal, $title:expr, $unit:expr, $section:expr, $axes:expr) => {
        LmbenchProgram { name: $name, title: $title, unit: $unit, section: $section, axes: $axes }
    };
}

/// In the order of the summary.
const PROGRAMS: &[LmbenchProgram] = &[
    program!("mhz", term!("clock of the core"), Unit::Hertz, HARDWARE, &[]),
    program!("lat_ops", term!("operation"), Nanoseconds, HARDWARE, &[("type", Choice), OP]),
    program!("par_ops", term!("parallel operations"), Ratio, HARDWARE, &[("type", Choice), OP]),
    program!("tlb", term!("TLB pages"), Unit::Count, MEMORY, &[]),
    program!("line", term!("cache line"), Unit::Bytes, MEMORY, &[]),
    program!("par_mem", term!("parallel loads"), Ratio, MEMORY, &[SIZE]),
    program!("lat_mem_rd", term!("load latency"), Nanoseconds, MEMORY, &[("pattern", Choice), ("stride", Size), SIZE]),
    program!("bw_mem", term!("memory bandwidth"), BytesPerSecond, MEMORY, &[OP, SIZE]),
    program!("stream", term!("STREAM by lmbench"), BytesPerSecond, MEMORY, &[("kernel", Choice)]),
    program!("stream2", term!("STREAM2 by lmbench"), BytesPerSecond, MEMORY, &[("kernel", Choice)]),
    program!("lat_syscall", term!("system call"), Nanoseconds, SYSTEM, &[OP]),
    program!("lat_select", term!("select call"), Nanoseconds, SYSTEM, &[("descriptors", Count), ("kind", Choice)]),
    program!("lat_sig", term!("signal"), Nanoseconds, SYSTEM, &[OP]),
    program!("lat_proc", term!("process"), Nanoseconds, SYSTEM, &[OP]),
    program!("lat_ctx", term!("context switch"), Nanoseconds, SYSTEM, &[("footprint", Size), ("processes", Count)]),
    program!("lat_pipe", term!("pipe round trip"), Nanoseconds, LOCAL, &[]),
    program!("lat_fifo", term!("FIFO round trip"), Nanoseconds, LOCAL, &[]),
    program!("lat_unix", term!("AF_UNIX round trip"), Nanoseconds, LOCAL, &[]),
    program!("lat_unix_connect", term!("AF_UNIX connect"), Nanoseconds, LOCAL, &[]),
    program!("lat_fcntl", term!("file lock"), Nanoseconds, LOCAL, &[]),
    program!("lat_sem", term!("semaphore"), Nanoseconds, LOCAL, &[]),
    program!("bw_pipe", term!("pipe bandwidth"), BytesPerSecond, LOCAL, &[]),
    program!("bw_unix", term!("AF_UNIX bandwidth"), BytesPerSecond, LOCAL, &[]),
    program!("lat_fs", term!("make or remove a file"), Nanoseconds, FILES, &[OP, SIZE]),
    program!("lat_mmap", term!("map and unmap"), Nanoseconds, FILES, &[SIZE]),
    program!("lat_pagefault", term!("page fault"), Nanoseconds, FILES, &[]),
    program!("bw_file_rd", term!("file reread"), BytesPerSecond, FILES, &[OP, SIZE]),
    program!("bw_mmap_rd", term!("mmap reread"), BytesPerSecond, FILES, &[OP, SIZE]),
    program!("lmdd", term!("file write"), BytesPerSecond, FILES, &[]),
    program!("lat_udp", term!("UDP round trip"), Nanoseconds, NETWORK, &[SERVER]),
    program!("lat_tcp", term!("TCP round trip"), Nanoseconds, NETWORK, &[SERVER]),
    program!("lat_rpc", term!("RPC round trip"), Nanoseconds, NETWORK, &[("protocol", Choice), SERVER]),
    program!("lat_connect", term!("TCP connect"), Nanoseconds, NETWORK, &[SERVER]),
    program!("bw_tcp", term!("TCP bandwidth"), BytesPerSecond, NETWORK, &[SERVER, ("message", Size)]),
];

/// The programs among these ids, in the order of the summary.
fn of_cases<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<ProbeInfo> {
    let ids: std::collections::HashSet<&str> = ids.collect();
    PROGRAMS.iter().map(info).filter(|info| ids.contains(info.id.as_str())).collect()
}

fn info(program: &LmbenchProgram) -> ProbeInfo {
    let better = match program.unit {
        Nanoseconds => Better::Lower,
        BytesPerSecond => Better::Higher,
        _ => Better::Neither,
    };
    let name = program.name;
    ProbeInfo {
        id: format!("lmbench.{name}"),
        title: program.title.to_owned_text(),
        unit: program.unit,
        better,
        also: Vec::new(),
        revision: 1,
        explain: Explain {
            what: crate::texts::lmbench::what_of!(name),
            why: term!("To set an old result beside a new one.").to_owned_text(),
            reading: crate::texts::lmbench::READING.to_owned_text(),
            ..Explain::default()
        },
        section: program.section.to_owned_text(),
        related: Vec::new(),
        replaces: Vec::new(),
        differs: None,
        axes: program
            .axes
            .iter()
            .map(|(name, kind)| AxisInfo { name: (*name).into(), kind: *kind, default: String::new() })
            .collect(),
        needs: Vec::new(),
        brought_by: Vec::new(),
    }
}
