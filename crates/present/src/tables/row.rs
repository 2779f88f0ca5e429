//! A row of a table of sizes: the value with its interval, or why there is none.

use std::fmt::Write;

use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{number, other, plus_minus};
use hostmark_analysis::lmbench::remark;
use hostmark_analysis::{Spoken, reasons, spoken};
use hostmark_model::{CaseRecord, Estimate, FlagKind, Lang, Measured, Message, Outcome, Run, typed_size};
use hostmark_say::say;

use super::conclusion::TablePoint;
use super::section::{Form, Section};

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
