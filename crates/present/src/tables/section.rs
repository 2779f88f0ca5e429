//! Sections of a table of sizes: their rows, and conclusions from a list of latencies.

use std::fmt::Write;

use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{amount, number, other, plus_minus};
use hostmark_analysis::levels::{LEVELS, Level, level_of_lines, lines_of};
use hostmark_analysis::lmbench::{case_at, remark};
use hostmark_analysis::{Spoken, reasons, spoken};
use hostmark_model::{
    CaseRecord, Estimate, FlagKind, HostFacts, Lang, Measured, Message, Outcome, Run, Text, Unit, typed_size,
};
use hostmark_say::say;

/// A part of a table: one probe along one axis of sizes.
#[derive(Debug)]
pub(crate) struct Section {
    /// Title over it; empty for nothing but a rule.
    pub(crate) title: Text,
    pub(crate) probe: &'static str,
    /// The axis along which it goes.
    pub(crate) along: &'static str,
    pub(crate) sizes: Sizes,
    pub(crate) at: &'static [(&'static str, &'static str)],
    /// The axis of which every point gets such a section.
    pub(crate) each: Option<&'static str>,
    pub(crate) form: Form,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Sizes {
    /// The same on every machine, KiB.
    Kib(&'static [u64]),
    /// Around a cache of the machine, by its position among them.
    AroundCache(usize),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// A rate in units of 10^6 bytes/s, under this name.
    Rate(Text),
    /// The same, and below it bytes per core cycle of what the first cache holds.
    RateAndCycles(Text),
    /// The time of a load at a stride of so many bytes, and the lines that it goes round.
    Latency(u64),
}

/// Fewer lines than this are no list of lines.
const LEAST_LINES: u64 = 2;

impl Section {
    /// Points on a machine that measures on `cpu`, as in case ids.
    pub(crate) fn sizes(&self, host: &HostFacts, cpu: usize) -> Vec<String> {
        let sizes = match self.sizes {
            Sizes::Kib(kib) => kib.iter().map(|kib| kib * 1024).collect(),
            Sizes::AroundCache(position) => {
                host.sizes_around_caches(cpu).into_iter().nth(position).map(|around| around.sizes).unwrap_or_default()
            }
        };
        let least = if let Form::Latency(stride) = self.form { LEAST_LINES * stride } else { 0 };
        sizes.into_iter().filter(|&size| size >= least).map(|size| size.to_string()).collect()
    }

    pub(super) fn sizes_of(&self, run: &Run) -> Vec<String> {
        self.sizes(&run.host, run.settings.cpu)
    }

    /// The points of the axis of which each gets a section, in the run's order; one where there is no such axis.
    pub(super) fn points(&self, run: &Run) -> Vec<Option<String>> {
        let Some(axis) = self.each else { return vec![None] };
        let mut points: Vec<Option<String>> = Vec::new();
        for size in self.sizes_of(run) {
            let cases = run.cases.iter().filter(|case| case.probe == self.probe);
            let of_row = cases.filter(|case| case.params.get(self.along) == Some(&size));
            for point in of_row.map(|case| case.params.get(axis).map(str::to_owned)) {
                let is_row = || self.case(run, &size, point.as_deref()).is_some();
                if point.is_some() && !points.contains(&point) && is_row() {
                    points.push(point);
                }
            }
        }
        points
    }

    /// The case of a row; of the section at `point`, where each point of an axis has one.
    pub(super) fn case<'a>(&self, run: &'a Run, size: &str, point: Option<&str>) -> Option<&'a CaseRecord> {
        let each = self.each.zip(point);
        let at: Vec<(&str, &str)> =
            [(self.along, size)].into_iter().chain(self.at.iter().copied()).chain(each).collect();
        case_at(run, self.probe, &at)
    }
}

pub(super) struct CaseRow<'a> {
    form: Form,
    bytes: u64,
    case: Option<&'a CaseRecord>,
}

/// Note below the table on a row's cell.
pub(super) enum Note {
    /// The run has no such case.
    Absent,
    /// Reason why it was not measured, or a remark.
    Said(Message),
}

impl Note {
    /// Text below the table of this name.
    pub(super) fn text(&self, table: &str, lang: Lang) -> String {
        match self {
            Note::Absent => spoken(&say!("not in this run; to measure: hostmark run --table {table}"), lang),
            Note::Said(text) => text.get(lang),
        }
    }
}

const MB_PER_S: f64 = 1e6;
/// Mark in place of a value.
const NOTHING: &str = "-";

impl<'a> CaseRow<'a> {
    pub(super) fn of(section: &Section, size: &str, case: Option<&'a CaseRecord>) -> CaseRow<'a> {
        CaseRow { form: section.form, bytes: size.parse().unwrap_or(0), case }
    }

    /// Tells whether the run has no such case.
    pub(super) fn is_absent(&self) -> bool {
        self.case.is_none()
    }

    /// Tells whether others used its CPUs.
    pub(super) fn is_contended(&self) -> bool {
        self.measured().is_some_and(|measured| measured.flags.iter().any(|flag| flag.kind == FlagKind::Contended))
    }

    fn measured(&self) -> Option<&'a Measured> {
        self.case?.measured()
    }

    /// Value for conclusions, if it is not in doubt.
    pub(super) fn point(&self) -> Option<TablePoint> {
        let stated = self.measured().filter(|_| self.note().is_none() && !self.is_contended())?.estimate.stated();
        let (low, high) = stated.of_this_run.or(stated.range.map(|[low, high]| (low, high)))?;
        Some(TablePoint { bytes: self.bytes, ns: stated.value, low, high })
    }

    pub(super) fn value(&self) -> String {
        let Some(measured) = self.measured() else { return NOTHING.to_owned() };
        let value = measured.estimate.value();
        match self.form {
            Form::Rate(_) | Form::RateAndCycles(_) => format!("{:.1}", value / MB_PER_S),
            Form::Latency(_) => format!("{value:.3}"),
        }
    }

    pub(super) fn note(&self) -> Option<Note> {
        let Some(case) = self.case else { return Some(Note::Absent) };
        match &case.outcome {
            Outcome::Measured(measured) => remark(measured).map(Note::Said),
            outcome => reasons::of_outcome(outcome).map(Note::Said),
        }
    }

    /// The line: what is measured, the value in a field of this width, how sure it is, and the number of its note.
    pub(super) fn line(&self, run: &Run, width: usize, note: &str, lang: Lang) -> String {
        let (bytes, value) = (typed_size(self.bytes), self.value());
        let scale = if let Form::Latency(_) = self.form { 1.0 } else { MB_PER_S };
        let sure = self.measured().map(|measured| sure(&measured.estimate, scale, lang)).unwrap_or_default();
        match self.form {
            Form::Rate(label) | Form::RateAndCycles(label) => {
                let (size, label) = (term!("blocksize").get(lang), label.get(lang));
                format!("{size}: {bytes:>5}   {label}: {value:>width$} MB/s  {sure} {note}")
            }
            Form::Latency(stride) => {
                let lines = self.bytes / stride.max(line_bytes(run));
                let row = say!(
                    "buflen = {bytes:>5}   stride = {stride:>5}   lines = {lines:>5}   latency: {value:>width$} ns  {sure} {note}"
                );
                spoken(&row, lang)
            }
        }
    }
}

/// The interval as ±, or what the value and the rounds span where these are too few for one; and what the other estimator says, where
/// that is something else.
fn sure(estimate: &Estimate, scale: f64, lang: Lang) -> String {
    let range = || estimate.stated().range.filter(|[low, high]| low < high);
    let span = || range().map(|[low, high]| format!("[{} … {}]", number(low / scale), number(high / scale)));
    let other = other(estimate).map(|(name, other)| format!("{} {}", name.get(lang), number(other / scale)));
    plus_minus(estimate).or_else(span).into_iter().chain(other).collect::<Vec<_>>().join(" ")
}

/// The bytes of a line, as the first cache for data tells them; where none does, those of nearly every machine.
fn line_bytes(run: &Run) -> u64 {
    let cpu = run.settings.cpu;
    run.host.cache(cpu, 1).and_then(|cache| cache.line_bytes).map_or(64, u64::from)
}

/// Size of the first data cache, bytes; where it is unknown, the least of nearly every machine.
fn first_cache_bytes(run: &Run) -> u64 {
    let reported = run.host.cache(run.settings.cpu, 1).map(|cache| cache.size_bytes).filter(|&bytes| bytes > 0);
    reported.unwrap_or(32 << 10)
}

/// Bytes a core cycle of the rows that the first cache holds, and how many loads of the kernel's width these are.
pub(super) fn bytes_per_cycle(run: &Run, rows: &[CaseRow], lang: Lang) -> String {
    const QUANTITY: &str = "bytes_per_cycle";
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.bytes <= first_cache_bytes(run)) {
        let Some(measured) = row.measured() else { continue };
        let Some(cycles) = measured.companion(QUANTITY) else { continue };
        let (bytes, ghz) = (cycles.value(), measured.estimate.value() / cycles.value() / 1e9);
        let kernel = visible(measured.notes.get("kernel").map_or("", String::as_str));
        let loads = width_bytes(&kernel).map(|width| (width, bytes / width));
        let (size, sure) = (typed_size(row.bytes), sure(&cycles, 1.0, lang));
        let loads = loads.map(|(width, loads)| spoken(&say!(" = {loads:.2} loads of {width} bytes"), lang));
        let line = say!(
            "{size:>5}   {bytes:>6.1} bytes per cycle  {sure}{loads} ({kernel}, {ghz:.2} GHz)",
            loads = loads.unwrap_or_default()
        );
        let line = spoken(&line, lang);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {line}");
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The bytes that one load of a kernel takes in, where its name tells them.
fn width_bytes(kernel: &str) -> Option<f64> {
    let widths = [("avx512", 64.0), ("avx2", 32.0), ("sse2", 16.0), ("neon", 16.0), ("scalar", 8.0)];
    widths.into_iter().find(|(name, _)| kernel.split('-').next() == Some(name)).map(|(_, width)| width)
}

/// Least factor of the latency over a step: a TLB miss that hits its second level, and noise, add less.
const STEP: f64 = 1.3;
/// Largest factor between the rows of a flat part.
const FLAT: f64 = 1.15;

/// A row whose value is not in doubt.
#[derive(Debug, Clone, Copy)]
pub(super) struct TablePoint {
    pub(super) bytes: u64,
    pub(super) ns: f64,
    /// Low end of its interval, or of its rounds.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The sentences below a list, one a step.
pub(super) fn conclusions(run: &Run, stride: u64, points: &[TablePoint], lang: Lang) -> String {
    let mut text = String::new();
    for before in 0..points.len().saturating_sub(1) {
        let Some(level) = step(run, stride, points, before) else { continue };
        let sentence = sentence(run, stride, [points[before], points[before + 1]], level);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {}", spoken(&sentence, lang));
    }
    text
}

/// Tells whether the latency rises for good behind the row `before`, and out of which cache, where the host tells one that ends there.
fn step(run: &Run, stride: u64, points: &[TablePoint], before: usize) -> Option<Option<&'static Level>> {
    let level_of = |point: &TablePoint| level_of_lines(run, point.bytes, stride);
    let last = points[before];
    let flat = (0..=before).rev().take_while(|&from| is_flat(&points[from..=before])).last()?;
    let top = points[flat..=before].iter().map(|point| point.high).fold(last.high, f64::max);
    let rises = points[before + 1..].iter().all(|later| later.low >= STEP * top);
    let named = level_of(&last).filter(|level| {
        let of_level: Vec<usize> = (0..points.len()).filter(|&at| level_of(&points[at]) == Some(*level)).collect();
        level.cache.is_some() && of_level.iter().all(|at| (flat..=before).contains(at))
    });
    // Else it may be a slope, of which more is seen where the sizes lie further apart.
    let is_long = last.bytes as f64 / points[flat].bytes as f64 >= points[before + 1].bytes as f64 / last.bytes as f64;
    (rises && is_long).then_some(named)
}

fn is_flat(points: &[TablePoint]) -> bool {
    let values = || points.iter().map(|point| point.ns);
    values().fold(0.0, f64::max) <= FLAT * values().fold(f64::INFINITY, f64::min)
}

fn sentence(run: &Run, stride: u64, [last, next]: [TablePoint; 2], level: Option<&Level>) -> Message {
    let size = |bytes: u64| amount(bytes as f64, Unit::Bytes);
    let (from, to, low, high) = (size(last.bytes), size(next.bytes), number(last.ns), number(next.ns));
    let factor = next.ns / last.ns;
    let times = Text { en: times(factor), zh: format!("{factor:.1}") };
    let rise = say!("between {from} and {to} the latency {times}, from {low} to {high} ns");
    let Some((level, cache)) = level.and_then(|level| Some((level, level.reported(run)?))) else { return rise };
    let (name, holds) = (level.name, size(cache.size_bytes));
    let [fit, too_many] = [last, next].map(|point| lines_of(run, point.bytes, stride));
    // Beyond the first cache a prefetcher may have been faster than the cache.
    let load = match LEVELS.first() == Some(level) {
        true => term!("a load from it"),
        false => term!("at this stride a load from it"),
    };
    match (last.bytes..next.bytes).contains(&cache.size_bytes) {
        true => say!("{rise}: {name} has {holds}, and {load} takes {low} ns"),
        false => say!(
            "{rise}: {name} of {holds} holds {fit} lines of this stride and not {too_many}, and {load} takes {low} ns"
        ),
    }
}

fn times(factor: f64) -> String {
    match (10.0 * factor).round() as u64 {
        19..=21 => "doubles".to_owned(),
        29..=31 => "triples".to_owned(),
        _ => format!("is {factor:.1} times as high"),
    }
}
