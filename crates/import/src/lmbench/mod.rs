//! Reads the result files of lmbench 2 and 3: the machine in brackets, then lines `what: number unit` and blocks of
//! `size number` under a heading, then the date. What the programs and the shell say besides is passed over. Reads as
//! well what single programs of it printed, where it says what it is of or a command stands before it.

use std::collections::HashMap;
use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Count, Size};
use hostmark_model::Unit::{BytesPerSecond, Nanoseconds, Ratio};
use hostmark_model::timestamp::{MONTHS, Timestamp};
use hostmark_model::{Message, ReasonCode, Run, Text, Unit};
use hostmark_say::say;

use super::bounded::{LARGEST, TrailingText, shortened};
use super::foreign::{Axis, Foreign, ForeignQuantity, ImportedValue, quantity, read_lines};
use super::{ImportError, ImportFormat};
use lines::{LmbenchBlock, LmbenchValue};

mod lines;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "lmbench",
    tool: "lmbench",
    what: term!("a result file of lmbench"),
    nothing: term!("it has no value"),
    texts: crate::texts::lmbench::TEXTS,
    programs: PROGRAMS,
    read,
};

/// Most lines in brackets.
const MOST_FACTS: usize = 20_000;
/// Most programs that are named as passed over.
const MOST_UNREAD: usize = 50;
/// Settings of lmbench that are worth keeping.
const KEPT: [&str; 6] = ["MB", "ENOUGH", "FASTMEM", "SYNC_MAX", "LMBENCH_SCHED", "FSDIR"];

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut reader = LmbenchReader::default();
    read_lines(&FORMAT, input, |run, at, line| match line {
        Some(line) => reader.take(run, at, line.trim()),
        None => reader.finish(run),
    })
}

/// State of the file so far.
#[derive(Default)]
struct LmbenchReader {
    /// lmbench's version, of its first line.
    version: Option<String>,
    /// Facts in brackets, by name.
    header: HashMap<String, String>,
    block: Option<LmbenchBlock>,
    /// The chain that lat_mem_rd follows.
    pattern: Option<&'static str>,
    /// Parallel copies of a program, of the command before it.
    copies: u32,
    /// The first date, when it was started.
    begun: Option<String>,
    /// True after a date in brackets, until the next value.
    is_closed: bool,
}

impl LmbenchReader {
    fn take(&mut self, run: &mut Foreign, at: u64, line: &str) -> Result<(), Message> {
        if line.is_empty() {
            self.block = None;
            return Ok(());
        }
        if let Some(inside) = line.strip_prefix('[') {
            // Without its end it is what a program printed, or a line that is cut off.
            return inside.strip_suffix(']').map_or(Ok(()), |inside| self.bracket(run, inside));
        }
        if let Some(command) = lines::command(line, PROGRAMS).filter(|_| self.version.is_none()) {
            (self.block, self.pattern, self.copies) = (command.block, Some(command.pattern), command.copies);
            return Ok(());
        }
        if let Some(pattern) = lines::pattern(line) {
            self.pattern = Some(pattern);
            self.block = None;
            return Ok(());
        }
        if let Some(block) = LmbenchBlock::of_heading(line, self.pattern)? {
            self.block = Some(block);
            return Ok(());
        }
        let values = match &self.block {
            Some(block) if line.starts_with(|c: char| c.is_ascii_digit()) => block.values(line)?,
            _ => lines::of_operation(line)?.or(lines::value(line)?).into_iter().collect(),
        };
        if values.is_empty() && self.version.is_none() && lines::is_bare(line) {
            return Err(say!(
                "two numbers without what they are of; keep the command before them, as `$ bw_mem 8m rd`"
            ));
        }
        if values.is_empty() && self.is_closed && run.rest.is_none() {
            run.rest = Some(TrailingText { line: at, text: shortened(line) });
        }
        values.into_iter().try_for_each(|value| self.keep(run, value))
    }

    fn bracket(&mut self, run: &mut Foreign, inside: &str) -> Result<(), Message> {
        if let Some(rest) = inside.strip_prefix("lmbench") {
            return self.first_line(run, rest);
        }
        // A fact has no blank before its first colon, and may hold a date: that of the kernel's build.
        if is_date(inside) && inside.split(':').next().is_some_and(|name| name.contains(' ')) {
            self.is_closed = !run.is_empty();
            self.begun.get_or_insert_with(|| inside.to_owned());
            run.date = Some(inside.to_owned());
        } else if let Some((name, value)) = inside.split_once(':') {
            let known = self.header.entry(name.trim().to_owned());
            known.or_insert_with(|| value.trim().to_owned());
            if self.header.len() > MOST_FACTS {
                return Err(say!("there are too many lines in brackets; give a result file of lmbench"));
            }
        }
        Ok(())
    }

    /// `3.0 results for Linux host release …`, behind `lmbench`.
    fn first_line(&mut self, run: &mut Foreign, rest: &str) -> Result<(), Message> {
        let (version, machine) = rest.split_once(" results for ").unwrap_or((rest, ""));
        if self.version.is_some() {
            return Err(say!("a second result begins here; import each alone"));
        }
        if !run.is_empty() {
            return Err(say!("values stand before lmbench's first line; give a whole result file of lmbench"));
        }
        if !(version.starts_with("2.") || version.starts_with("3.")) {
            let shown = shortened(version);
            return Err(say!("it is of lmbench {shown}; files of lmbench 2 and 3 can be imported"));
        }
        let words: Vec<&str> = machine.split_whitespace().collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default().to_owned();
        run.host.kernel.system_is(&word(0));
        run.host.hostname = word(1);
        run.host.kernel.release = word(2);
        self.version = Some(version.to_owned());
        Ok(())
    }

    fn keep(&mut self, run: &mut Foreign, value: LmbenchValue) -> Result<(), Message> {
        (self.is_closed, run.rest) = (false, None);
        let program = value.program;
        match value.of_copies(self.copies) {
            Some(value) => run.keep(value.imported()),
            None => {
                let name = format!("{program} -P {}", self.copies);
                if !run.unread.contains(&name) && run.unread.len() < MOST_UNREAD {
                    run.unread.push(name);
                }
                Ok(())
            }
        }
    }

    fn finish(&self, run: &mut Foreign) -> Result<(), Message> {
        let Some(version) = &self.version else {
            // Single programs say neither where nor when they ran.
            return match self.header.is_empty() && run.date.is_none() {
                true => Ok(()),
                false => Err(say!("lmbench's first line is missing; give a whole result file of lmbench")),
            };
        };
        if !self.is_closed {
            return Err(say!(
                "the file ends here without lmbench's closing date, so it is truncated; give a whole result file"
            ));
        }
        let field = |name: &str| self.header.get(name).filter(|value| !value.is_empty()).cloned();
        let host = &mut run.host;
        if let Some(name) = field("NODENAME").or_else(|| field("HOSTNAME")) {
            host.hostname = name;
        }
        if let Some(system) = field("SYSNAME") {
            host.kernel.system_is(&system);
        }
        host.kernel.release = field("RELEASE").unwrap_or_else(|| host.kernel.release.clone());
        host.kernel.version = field("VERSION").unwrap_or_default();
        host.cpu.architecture = field("MACHINE").unwrap_or_default();
        run.has_cpus(&field("PROCESSORS").unwrap_or_default());
        run.set = KEPT.into_iter().filter_map(|name| Some((name.to_owned(), field(name)?))).collect();
        run.target = field("OS").unwrap_or_default();
        run.version_is(version);
        run.finished = run.date.as_deref().and_then(timestamp);
        run.date.clone_from(&self.begun);
        run.started = run.date.as_deref().and_then(timestamp).unwrap_or_default();
        // Values that lmbench finds while it is set up and writes in brackets.
        for (name, program, scale) in [("MHZ", "mhz", 1e6), ("LINE_SIZE", "line", 1.0)] {
            let number = self.header.get(name).and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
            if let Some(number) = number.filter(|number| number.abs() < LARGEST) {
                run.keep(LmbenchValue::new(program, number * scale).imported())?;
            }
        }
        Ok(())
    }
}

/// True for a bracket that holds what `date` prints, in whatever language: a time of day, and neither load nor a name.
fn is_date(inside: &str) -> bool {
    let is_time = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        parts.len() == 3 && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let words = || inside.split_whitespace();
    words().count() >= 4 && words().any(is_time) && !words().any(|word| word == "up" || word.starts_with("load"))
}

/// `Sat Nov 21 14:47:23 UTC 2026`, or `Sat 21 Nov 2026 02:47:23 PM UTC`, as RFC 3339. Another zone's abbreviation may mean
/// several, so it is taken as UTC: the date as the file writes it is kept besides.
fn timestamp(date: &str) -> Option<String> {
    let words = || date.split_whitespace();
    let number = |digits: [usize; 2]| {
        words().find(|word| digits.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (day, year) = (number([1, 2])?, number([4, 4])?);
    let (hour, rest) = words().find_map(|word| word.split_once(':'))?;
    let hour: u32 = hour.parse().ok()?;
    // In half days the first hour is 12.
    let hour = match words().find(|word| ["AM", "PM"].contains(word)) {
        Some(half) => hour % 12 + if half == "PM" { 12 } else { 0 },
        None => hour,
    };
    let month = 1 + words().find_map(|word| MONTHS.iter().position(|name| name.eq_ignore_ascii_case(word)))?;
    Some(Timestamp::parse(&format!("{year}-{month:02}-{day:0>2}T{hour:02}:{rest}Z"))?.to_string())
}

impl LmbenchValue {
    /// The value, or why lmbench printed another number in its place.
    fn imported(self) -> ImportedValue {
        let is_it = |program: &&ForeignQuantity| program.name() == self.program;
        let probe = PROGRAMS.iter().find(is_it).map_or("", |program| program.id);
        let mut value = ImportedValue { params: self.params, ..ImportedValue::new(probe, Vec::new()) };
        match self.number {
            number if number > 0.0 => value.samples.push(number),
            0.0 => {
                value.absent = Some(ReasonCode::NoValue.because(say!(
                    "lmbench printed 0, which is no value: too short for its clock, or removed by its compiler"
                )))
            }
            number if number.is_nan() => {
                value.absent = Some(
                    ReasonCode::Imported
                        .because(say!("lmbench printed an error in its place: it could not measure it")),
                )
            }
            _ => value.absent = Some(ReasonCode::Imported.because(say!("lmbench printed -1: it could not measure it"))),
        }
        value
    }
}

const HARDWARE: Text = term!("Measured by lmbench: processor");
const MEMORY: Text = term!("Measured by lmbench: memory");
const SYSTEM: Text = term!("Measured by lmbench: system calls and processes");
const LOCAL: Text = term!("Measured by lmbench: communication");
const FILES: Text = term!("Measured by lmbench: files and virtual memory");
const NETWORK: Text = term!("Measured by lmbench: network");

const SERVER: Axis = ("server", Choice);
const OP: Axis = ("op", Choice);
const SIZE: Axis = ("size", Size);

/// In the order of the summary.
const PROGRAMS: &[ForeignQuantity] = &[
    quantity("lmbench.mhz", Unit::Hertz, &[]).titled(term!("clock of the core"), HARDWARE),
    quantity("lmbench.lat_ops", Nanoseconds, &[("type", Choice), OP]).titled(term!("operation"), HARDWARE),
    quantity("lmbench.par_ops", Ratio, &[("type", Choice), OP]).titled(term!("parallel operations"), HARDWARE),
    quantity("lmbench.tlb", Unit::Count, &[]).titled(term!("TLB pages"), MEMORY),
    quantity("lmbench.line", Unit::Bytes, &[]).titled(term!("cache line"), MEMORY),
    quantity("lmbench.par_mem", Ratio, &[SIZE]).titled(term!("parallel loads"), MEMORY),
    quantity("lmbench.lat_mem_rd", Nanoseconds, &[("pattern", Choice), ("stride", Size), SIZE])
        .titled(term!("load latency"), MEMORY),
    quantity("lmbench.bw_mem", BytesPerSecond, &[OP, SIZE]).titled(term!("memory bandwidth"), MEMORY),
    quantity("lmbench.stream", BytesPerSecond, &[("kernel", Choice)]).titled(term!("STREAM by lmbench"), MEMORY),
    quantity("lmbench.stream2", BytesPerSecond, &[("kernel", Choice)]).titled(term!("STREAM2 by lmbench"), MEMORY),
    quantity("lmbench.lat_syscall", Nanoseconds, &[OP]).titled(term!("system call"), SYSTEM),
    quantity("lmbench.lat_select", Nanoseconds, &[("descriptors", Count), ("kind", Choice)])
        .titled(term!("select call"), SYSTEM),
    quantity("lmbench.lat_sig", Nanoseconds, &[OP]).titled(term!("signal"), SYSTEM),
    quantity("lmbench.lat_proc", Nanoseconds, &[OP]).titled(term!("process"), SYSTEM),
    quantity("lmbench.lat_ctx", Nanoseconds, &[("footprint", Size), ("processes", Count)])
        .titled(term!("context switch"), SYSTEM),
    quantity("lmbench.lat_pipe", Nanoseconds, &[]).titled(term!("pipe round trip"), LOCAL),
    quantity("lmbench.lat_fifo", Nanoseconds, &[]).titled(term!("FIFO round trip"), LOCAL),
    quantity("lmbench.lat_unix", Nanoseconds, &[]).titled(term!("AF_UNIX round trip"), LOCAL),
    quantity("lmbench.lat_unix_connect", Nanoseconds, &[]).titled(term!("AF_UNIX connect"), LOCAL),
    quantity("lmbench.lat_fcntl", Nanoseconds, &[]).titled(term!("file lock"), LOCAL),
    quantity("lmbench.lat_sem", Nanoseconds, &[]).titled(term!("semaphore"), LOCAL),
    quantity("lmbench.bw_pipe", BytesPerSecond, &[]).titled(term!("pipe bandwidth"), LOCAL),
    quantity("lmbench.bw_unix", BytesPerSecond, &[]).titled(term!("AF_UNIX bandwidth"), LOCAL),
    quantity("lmbench.lat_fs", Nanoseconds, &[OP, SIZE]).titled(term!("make or remove a file"), FILES),
    quantity("lmbench.lat_mmap", Nanoseconds, &[SIZE]).titled(term!("map and unmap"), FILES),
    quantity("lmbench.lat_pagefault", Nanoseconds, &[]).titled(term!("page fault"), FILES),
    quantity("lmbench.bw_file_rd", BytesPerSecond, &[OP, SIZE]).titled(term!("file reread"), FILES),
    quantity("lmbench.bw_mmap_rd", BytesPerSecond, &[OP, SIZE]).titled(term!("mmap reread"), FILES),
    quantity("lmbench.lmdd", BytesPerSecond, &[]).titled(term!("file write"), FILES),
    quantity("lmbench.lat_udp", Nanoseconds, &[SERVER]).titled(term!("UDP round trip"), NETWORK),
    quantity("lmbench.lat_tcp", Nanoseconds, &[SERVER]).titled(term!("TCP round trip"), NETWORK),
    quantity("lmbench.lat_rpc", Nanoseconds, &[("protocol", Choice), SERVER]).titled(term!("RPC round trip"), NETWORK),
    quantity("lmbench.lat_connect", Nanoseconds, &[SERVER]).titled(term!("TCP connect"), NETWORK),
    quantity("lmbench.bw_tcp", BytesPerSecond, &[SERVER, ("message", Size)]).titled(term!("TCP bandwidth"), NETWORK),
];
