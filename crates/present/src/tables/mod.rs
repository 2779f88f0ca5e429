//! Tables that people know from elsewhere, by name: which cases each asks for, and how it is printed.

mod section;

use std::fmt::Write;

use hostmark_analysis::escape::visible;
use hostmark_analysis::format::amount;
use hostmark_analysis::labels::Labels;
use hostmark_analysis::{Spoken, constants, data_path, lmbench, overhead, spoken, stream_times};
use hostmark_model::{CaseId, CaseRecord, EACH_POINT, HostFacts, Lang, Message, Params, Run, Text, Unit};
use hostmark_say::say;
use section::{CaseRow, Form, Note, Section, Sizes, bytes_per_cycle, conclusions};

use crate::texts::tables as texts;
use crate::{RenderOptions, wrap};

/// A table that can be measured by its name; the format of that name prints it.
#[derive(Debug)]
pub struct NamedTable {
    /// Name for `--table` and `--format`.
    pub name: &'static str,
    cells: fn(&HostFacts, usize) -> Vec<CaseId>,
}

impl NamedTable {
    /// The cases that it shows, by the axes on which they are not at their probe's default; [`EACH_POINT`] stands for every
    /// point of an axis. The sizes of some follow from the caches of the host that measures on `cpu`.
    pub fn cells(&self, host: &HostFacts, cpu: usize) -> Vec<CaseId> {
        (self.cells)(host, cpu)
    }
}

impl NamedTable {
    /// Tells whether any of its cells was measured in any of the runs.
    pub fn is_in(&self, runs: &[Run]) -> bool {
        let is_at = |case: &CaseRecord, cell: &CaseId| {
            let same = |(axis, value): (&String, &String)| value == EACH_POINT || case.params.get(axis) == Some(value);
            case.probe == cell.probe && cell.params.0.iter().all(|(axis, value)| same((axis, value)))
        };
        runs.iter().any(|run| {
            let cells = self.cells(&run.host, run.settings.cpu);
            let mut measured = run.cases.iter().filter(|case| case.measured().is_some());
            measured.any(|case| cells.iter().any(|cell| is_at(case, cell)))
        })
    }
}

/// The table of the constants, which the first screen shows.
pub const CONSTANTS: &str = "answer";

pub static TABLES: &[NamedTable] = &[
    NamedTable { name: MEMORY_BANDWIDTH.name, cells: |host, cpu| MEMORY_BANDWIDTH.cells(host, cpu) },
    NamedTable { name: SIZE_STRIDE.name, cells: |host, cpu| SIZE_STRIDE.cells(host, cpu) },
    NamedTable { name: PIPE.name, cells: |host, cpu| PIPE.cells(host, cpu) },
    NamedTable { name: "stream", cells: |_, _| of_stream() },
    NamedTable { name: "lmbench", cells: |_, _| of_lmbench() },
    NamedTable { name: CONSTANTS, cells: |_, _| of_constants() },
    NamedTable { name: "overhead", cells: |_, _| overhead::cells().map(|(probe, at)| cell(probe, &at)).collect() },
    NamedTable { name: "data-path", cells: |_, _| of_data_path() },
];

/// Cells of a glance in which nothing else is asked for: the constants, a switch across CPUs, and what one core reads of memory.
pub static GLANCE: NamedTable = NamedTable { name: "glance", cells: |_, _| of_glance() };

/// The table called `name`.
pub fn table_named(name: &str) -> Option<&'static NamedTable> {
    TABLES.iter().find(|table| table.name == name)
}

fn of_stream() -> Vec<CaseId> {
    stream_times::KERNELS.map(|(kernel, ..)| cell(stream_times::PROBE, &[(stream_times::KERNEL, kernel)])).into()
}

/// Cells of lmbench on one machine, without those of a far end; and fewer chains, to tell whether the throughput still rises at the most of
/// them.
fn of_lmbench() -> Vec<CaseId> {
    let fewer = ["16", "24"].map(|chains| cell("memory.parallelism", &[("chains", chains)]));
    let cells = lmbench::cells().filter(|point| !lmbench::is_far(*point)).map(|point| cell(point.probe, point.at));
    cells.chain(fewer).collect()
}

fn of_constants() -> Vec<CaseId> {
    each_once(constants::cases().map(|of| cell(of.probe, of.at)))
}

fn of_glance() -> Vec<CaseId> {
    let more = [("sched.context_switch", [("cpus", "same_cache")]), ("memory.read", [("size", EACH_POINT)])];
    of_constants().into_iter().chain(more.map(|(probe, at)| cell(probe, &at))).collect()
}

/// Every path on one CPU, on two, and on as many more as the profile has; what takes turns on one CPU on that alone. And the
/// disk beneath the cold files.
fn of_data_path() -> Vec<CaseId> {
    let cells = data_path::PATHS.iter().flat_map(|path| {
        let cpus: &[&str] = if data_path::is_of_one_cpu(path) { &["1"] } else { &[EACH_POINT, "2"] };
        cpus.iter().map(|cpus| cell(data_path::PROBE, &[(data_path::PATH, path), (data_path::CPUS, cpus)]))
    });
    cells.chain([cell(data_path::DISK, &data_path::IN_ORDER)]).collect()
}

fn cell(probe: &str, at: &[(&str, &str)]) -> CaseId {
    let params = at.iter().map(|&(axis, value)| (axis.to_owned(), value.to_owned())).collect();
    CaseId { probe: probe.to_owned(), params: Params(params) }
}

/// The cells in the order in which they come first.
fn each_once(all: impl Iterator<Item = CaseId>) -> Vec<CaseId> {
    let mut cells: Vec<CaseId> = Vec::new();
    for cell in all {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

impl Layout {
    /// The cases of all rows, each once.
    fn cells(&self, host: &HostFacts, cpu: usize) -> Vec<CaseId> {
        each_once(self.sections.iter().flat_map(|section| {
            section.sizes(host, cpu).into_iter().map(move |size| {
                let each = section.each.map(|axis| (axis, EACH_POINT));
                let along = [(section.along, size.as_str())].into_iter();
                let at: Vec<(&str, &str)> = along.chain(section.at.iter().copied()).chain(each).collect();
                cell(section.probe, &at)
            })
        }))
    }
}

/// A table of one row a size.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Name for `--table` and `--format`.
    pub(crate) name: &'static str,
    pub(crate) title: Text,
    pub(crate) sections: &'static [Section],
    /// Explanations for readers.
    pub(crate) reading: &'static [Text],
}

impl Layout {
    pub(crate) fn render(&self, run: &Run, options: &RenderOptions) -> String {
        let lang = options.lang;
        let parts: Vec<(&Section, Option<String>, Vec<CaseRow>)> = (self.sections.iter())
            .flat_map(|section| section.points(run).into_iter().map(move |point| (section, point)))
            .map(|(section, point)| {
                let row = |size: String| CaseRow::of(section, &size, section.case(run, &size, point.as_deref()));
                let rows = section.sizes_of(run).into_iter().map(row).collect();
                (section, point, rows)
            })
            .collect();
        if parts.iter().all(|(.., rows)| rows.iter().all(CaseRow::is_absent)) {
            let command = format!("`hostmark run --table {}`", self.name);
            let nothing = spoken(&say!("This run has no cell of this table; measure it by {command}."), lang);
            return wrap::fit(&nothing, options.width.max(40));
        }
        let mut text = format!("{}\n{}\n", self.title.get(lang), "-".repeat(37));
        let mut notes = Notes { name: self.name, texts: Vec::new() };
        let labels = Labels::of(run);
        for (section, point, rows) in &parts {
            text.push_str(&heading(run, section, point.as_deref(), &labels, lang));
            let width = rows.iter().map(|row| row.value().chars().count()).max().unwrap_or(0);
            for row in rows {
                let note = row.note().map(|note| notes.number(&note, lang)).unwrap_or_default();
                // Writing to a string cannot fail.
                let _ = writeln!(text, "    {}", row.line(run, width, &note, lang).trim_end());
            }
            if let Form::RateAndCycles(_) = section.form {
                text.push_str(&bytes_per_cycle(run, rows, lang));
            }
            if let Form::Latency(stride) = section.form {
                let points: Vec<_> = rows.iter().filter_map(CaseRow::point).collect();
                text.push_str(&conclusions(run, stride, &points, lang));
            }
        }
        text.push('\n');
        text = wrap::fit(&text, options.width.max(40));
        let all: Vec<&CaseRow> = parts.iter().flat_map(|(.., rows)| rows).collect();
        let below = notes.lines().into_iter().chain(set(run, lang)).chain(disturbed(run, &all, lang));
        let below =
            below.chain([&texts::row::SURE].into_iter().chain(self.reading).map(|text| text.get(lang).to_owned()));
        for line in below.flat_map(|line| wrap::wrap(&visible(&line), options.width.max(40))) {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

fn heading(run: &Run, section: &Section, point: Option<&str>, labels: &Labels, lang: Lang) -> String {
    let title = section.title;
    let of_point = section.each.zip(point).map(|(axis, at)| labels.probe(section.probe).point(axis, at));
    let title = match of_point {
        Some(point) => say!("{title}: {point}", point = visible(&point.get(lang))),
        None if title.en.is_empty() => return "    =====================\n".to_owned(),
        None => around(run, section),
    };
    format!("\n    {}\n\n", spoken(&title, lang))
}

/// A section's title, with the cache that its sizes lie around where they lie around one.
fn around(run: &Run, section: &Section) -> Message {
    let (title, Sizes::AroundCache(position)) = (section.title, section.sizes) else { return section.title.into() };
    let caches = run.host.sizes_around_caches(run.settings.cpu);
    let bytes = caches.get(position).and_then(|around| around.cache_bytes);
    let is_reported = u8::try_from(position + 1).is_ok_and(|level| run.host.cache(run.settings.cpu, level).is_some());
    match (bytes, is_reported) {
        (Some(bytes), _) => say!("{title} of {size}", size = amount(bytes as f64, Unit::Bytes)),
        (None, true) => say!("{title}, of which a guest has an unknown share: powers of two"),
        (None, false) => say!("{title}, which the host does not report: powers of two"),
    }
}

/// Remark on disturbances of the machine, and the number of rows.
fn disturbed(run: &Run, rows: &[&CaseRow], lang: Lang) -> Vec<String> {
    let (all, contended) = (rows.len(), rows.iter().filter(|row| row.is_contended()).count());
    let of_rows = (contended > 0)
        .then(|| say!("{contended} of {all} rows were measured while other programs used their CPUs"))
        .map(|text| spoken(&text, lang));
    run.disturbances.iter().map(|text| text.get(lang).to_owned()).chain(of_rows).collect()
}

/// Options that the person set, and the rows do not show.
fn set(run: &Run, lang: Lang) -> Option<String> {
    let set: Vec<String> = run.settings.set.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    (!set.is_empty()).then(|| spoken(&say!("set: {set}", set = set.join(" ")), lang))
}

/// Notes on cells without a value, or to be taken with care; rows refer to them by number.
struct Notes {
    name: &'static str,
    texts: Vec<String>,
}

impl Notes {
    fn number(&mut self, note: &Note, lang: Lang) -> String {
        let text = note.text(self.name, lang);
        let index = self.texts.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        format!("({})", index + 1)
    }

    fn lines(&self) -> Vec<String> {
        (1..).zip(&self.texts).map(|(number, text)| format!("({number}) {text}")).collect()
    }
}

const READ_KIB: &[u64] =
    &[4, 8, 16, 32, 48, 64, 128, 192, 256, 512, 1024, 2048, 2560, 3072, 4096, 8192, 16384, 32768, 65536, 131_072];
const KIB: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];

const fn of_memory(title: Text, probe: &'static str, kib: &'static [u64], form: Form) -> Section {
    Section { title, probe, along: "size", sizes: Sizes::Kib(kib), at: &[], each: None, form }
}

pub(crate) static MEMORY_BANDWIDTH: Layout = Layout {
    name: "memory-bandwidth",
    title: term!("Bandwidth of Memory"),
    sections: &[
        of_memory(
            term!("Bandwidth of Memory Read"),
            "memory.read",
            READ_KIB,
            Form::RateAndCycles(term!("bandwidth of mem read")),
        ),
        of_memory(term!("Bandwidth of Memory Write"), "memory.write", KIB, Form::Rate(term!("bandwidth of mem write"))),
        of_memory(term!("Bandwidth of Memory Copy"), "memory.copy", KIB, Form::Rate(term!("bandwidth of mem copy"))),
    ],
    reading: &[texts::bandwidth::RATES, texts::bandwidth::MEMORY],
};

/// A pipe by the bytes of one write.
pub(crate) static PIPE: Layout = Layout {
    name: "pipe",
    title: term!("Bandwidth of Pipe"),
    sections: &[Section {
        title: term!("writer and reader on"),
        probe: "ipc.bandwidth",
        along: "message",
        sizes: Sizes::Kib(KIB),
        at: &[],
        each: Some("cpus"),
        form: Form::Rate(term!("bandwidth of pipe")),
    }],
    reading: &[texts::bandwidth::RATES, texts::bandwidth::PIPE],
};

/// A list of the table around a cache at one stride; the first of a list has its title.
macro_rules! list {
    ($title:expr, $cache:literal, $stride:literal, $text:literal) => {
        Section {
            title: $title,
            probe: "memory.latency",
            along: "size",
            sizes: Sizes::AroundCache($cache),
            at: &[("pattern", $text)],
            each: None,
            form: Form::Latency($stride),
        }
    };
}

const FOR_L1: Text = term!("Cache Latency: sizes around the first cache");
const FOR_L2: Text = term!("Cache Latency: sizes around the second cache");
const FOR_L3: Text = term!("Cache Latency: sizes around the third cache");
const NONE: Text = Text::name("");

/// Latency by size and stride.
pub(crate) static SIZE_STRIDE: Layout = Layout {
    name: "size-stride",
    title: term!("Cache Latency by size and stride"),
    sections: &[
        list!(FOR_L1, 0, 64, "64"),
        list!(NONE, 0, 1024, "1024"),
        list!(NONE, 0, 4096, "4096"),
        list!(NONE, 0, 8192, "8192"),
        list!(FOR_L2, 1, 4096, "4096"),
        list!(NONE, 1, 8192, "8192"),
        list!(NONE, 1, 16384, "16384"),
        list!(FOR_L3, 2, 4096, "4096"),
        list!(NONE, 2, 8192, "8192"),
        list!(NONE, 2, 16384, "16384"),
    ],
    reading: &[texts::size_stride::LINES, texts::size_stride::STRIDE],
};
