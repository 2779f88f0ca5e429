//! lmbench's summary of runs, and its result file of one.

use std::fmt::Write;

use hostmark_analysis::escape::{steers, visible};
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::lmbench::tables::{
    BANDWIDTH, BASIC, CONTEXT, DOUBLE, FILE_VM, FLOAT, INT64, INTEGER, LOCAL, MEMORY, PROCESSES, REMOTE,
};
use hostmark_analysis::lmbench::{
    CellRemark, SummaryCell, SummaryColumn, SummaryTable, TABLES, cases_of, cell, interval, values,
};
use hostmark_analysis::{Spoken, spoken};
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Lang, Leading, Message, Run};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::{ExportFormat, Render};
use crate::{RenderOptions, wrap};

/// Format for eyes that know lmbench, and to set runs and imported result files beside each other.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "lmbench",
    description: term!("the twelve summary tables of lmbench, with a row for each run"),
    render: Render::Many(render),
};

const GAP: &str = "  ";

/// Tells whether a run has a cell of any table.
pub(super) fn is_in(run: &Run) -> bool {
    TABLES.iter().flat_map(|table| table.columns).any(|column| cases_of(run, column).next().is_some())
}

fn render(runs: &[Run], options: &RenderOptions) -> String {
    let rows = rows(runs);
    TABLES.iter().map(|table| write(table, &rows, options)).collect::<Vec<String>>().join("\n")
}

/// A run, and what stands before its values.
struct HostRow<'a> {
    run: &'a Run,
    host: String,
    system: String,
}

/// Rows are called by their hosts; where two would be called alike, by their runs, and at last with the letter of the run.
fn rows(runs: &[Run]) -> Vec<HostRow<'_>> {
    let distinguished = |names: Vec<String>, otherwise: &dyn Fn(usize) -> String| -> Vec<String> {
        let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let all = names.iter().enumerate();
        all.map(|(index, name)| if is_alone(name) { name.clone() } else { otherwise(index) }).collect()
    };
    let hosts = distinguished(runs.iter().map(host).collect(), &|index| runs[index].name.clone());
    let hosts = distinguished(hosts, &|index| format!("{} {}", runs[index].name, run_letter(index)));
    let row = |(run, name): (_, &String)| {
        let run: &Run = run;
        HostRow {
            run,
            host: visible(name),
            system: visible(&run.host.kernel.named().unwrap_or_else(|| run.host.kernel.system().into())),
        }
    };
    runs.iter().zip(&hosts).map(row).collect()
}

/// The columns before those that the table names: text, at the left.
const TEXTS: usize = 2;

fn write(table: &SummaryTable, runs: &[HostRow], options: &RenderOptions) -> String {
    let lang = options.lang;
    let mut notes = Notes::default();
    let heads = [term!("Host"), term!("OS")].into_iter().chain(table.columns.iter().map(|column| column.head));
    let heads: Vec<Vec<&str>> = heads.map(|head| head.say(lang).lines().collect()).collect();
    let rows: Vec<Vec<String>> = runs
        .iter()
        .flat_map(|row| {
            let cells = table.columns.iter().zip(&heads[TEXTS..]).map(|(column, head)| {
                let name = head.join(" ").replace("/ ", "/");
                notes.shown(&row.host, &name, cell(row.run, column), lang)
            });
            let values = [row.host.clone(), row.system.clone()].into_iter().chain(cells).collect();
            std::iter::once(values).chain(intervals(table, row))
        })
        .collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    let width = |index: usize| {
        let head = heads[index].iter().map(|line| line.width()).max().unwrap_or(0);
        rows.iter().map(|row| row[index].width()).fold(head, usize::max)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let is_text = |index: usize| {
        let holds_a_letter = |row: &Vec<String>| row[index].contains(|c: char| c.is_alphabetic());
        index < TEXTS || rows.iter().any(holds_a_letter)
    };
    let mut text = wrap::fit(table.title.get(lang), options.width.max(40));
    let page = options.width.max(40);
    let lead = widths[..TEXTS].iter().map(|width| width + GAP.len()).sum::<usize>() - GAP.len();
    for bank in wrap::banks(&widths[TEXTS..], lead, GAP.len(), page) {
        let mut line = |cells: &dyn Fn(usize) -> String| {
            let shown = (0..TEXTS).chain(bank.clone().map(|index| index + TEXTS));
            let padded: Vec<String> = shown
                .map(|index| {
                    let cell = cells(index);
                    let pad = " ".repeat(widths[index].saturating_sub(cell.width()));
                    if is_text(index) { cell + &pad } else { pad + &cell }
                })
                .collect();
            text += &wrap::fit(padded.join(GAP).trim_end(), page);
        };
        for row in 0..height {
            // Short heads stand on the rule.
            line(&|index| {
                let above = height - heads[index].len();
                row.checked_sub(above).map(|row| heads[index][row].to_owned()).unwrap_or_default()
            });
        }
        line(&|index| "-".repeat(widths[index]));
        rows.iter().for_each(|row| line(&|index| row[index].clone()));
    }
    text + &notes.lines(options)
}

/// The row below a run's values: how sure each is; none where no value of the run has an interval.
fn intervals(table: &SummaryTable, row: &HostRow) -> Option<Vec<String>> {
    let cells: Vec<Option<String>> = table.columns.iter().map(|column| interval(row.run, column)).collect();
    cells.iter().any(Option::is_some).then(|| {
        let shown = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
        [String::new(), "95 %".to_owned()].into_iter().chain(shown).collect()
    })
}

/// The host's name; an imported run tells that it is one.
fn host(run: &Run) -> String {
    let name = if run.host.hostname.is_empty() { &run.name } else { &run.host.hostname };
    match &run.imported {
        Some(_) => format!("{name} ({})", run.tool.version),
        None => name.clone(),
    }
}

/// Notes under a table; cells refer to them by number.
#[derive(Default)]
struct Notes {
    notes: Vec<Note>,
}

struct Note {
    run: String,
    columns: Vec<String>,
    text: String,
    filters: Vec<String>,
}

impl Notes {
    /// The cell as it is shown: never blank.
    fn shown(&mut self, run: &str, column: &str, cell: SummaryCell, lang: Lang) -> String {
        let value = cell.text.map(|text| visible(&text.get(lang))).unwrap_or_default();
        match cell.note {
            None => value,
            Some(remark) => format!("{value}({})", self.number(run, column, &remark, lang)),
        }
    }

    /// The number of the note, which several columns of a run may share.
    fn number(&mut self, run: &str, column: &str, remark: &CellRemark, lang: Lang) -> usize {
        let text = visible(&remark.text.get(lang));
        let known = self.notes.iter().position(|note| note.run == run && note.text == text);
        let index = known.unwrap_or_else(|| {
            self.notes.push(Note { run: run.to_owned(), columns: Vec::new(), text, filters: Vec::new() });
            self.notes.len() - 1
        });
        let note = &mut self.notes[index];
        note.columns.push(column.to_owned());
        note.filters.extend(remark.filter.clone().filter(|filter| !note.filters.contains(filter)));
        index + 1
    }

    fn lines(&self, options: &RenderOptions) -> String {
        let mut text = String::new();
        for (number, note) in (1..).zip(&self.notes) {
            let (lead, run, filters) = (format!("({number}) "), &note.run, note.filters.join(" "));
            let columns = Message::joined(note.columns.iter().map(Message::plain), term!(", ", "list"));
            let mut said = say!("{run}: {columns}: {text}", text = note.text);
            if !filters.is_empty() {
                said = say!("{said}; to measure: hostmark run {filters}");
            }
            let said = spoken(&said, options.lang);
            let indent = " ".repeat(lead.len());
            for (index, line) in wrap::wrap(&said, options.width.max(40) - lead.len()).iter().enumerate() {
                text += if index == 0 { &lead } else { &indent };
                text += line;
                text.push('\n');
            }
        }
        text
    }
}

/// Format for lmbench's scripts.
pub(super) const RESULT_FORMAT: ExportFormat = ExportFormat {
    name: "lmbench-result",
    description: term!("a result file of lmbench 3, for its getsummary"),
    render: Render::One(render_result),
};

/// Lines with one value: the column's table and head, what stands before the value and behind it.
const LINES: &[(&[SummaryColumn], &str, &str, &str)] = &[
    (PROCESSES, "null call", "Simple syscall:", "microseconds"),
    (PROCESSES, "stat", "Simple stat:", "microseconds"),
    (PROCESSES, "open clos", "Simple open/close:", "microseconds"),
    (FILE_VM, "100fd selct", "Select on 100 fd's:", "microseconds"),
    (PROCESSES, "slct TCP", "Select on 100 tcp fd's:", "microseconds"),
    (PROCESSES, "sig inst", "Signal handler installation:", "microseconds"),
    (PROCESSES, "sig hndl", "Signal handler overhead:", "microseconds"),
    (FILE_VM, "Prot Fault", "Protection fault:", "microseconds"),
    (LOCAL, "Pipe", "Pipe latency:", "microseconds"),
    (LOCAL, "AF UNIX", "AF_UNIX sock stream latency:", "microseconds"),
    (PROCESSES, "fork proc", "Process fork+exit:", "microseconds"),
    (PROCESSES, "exec proc", "Process fork+execve:", "microseconds"),
    (PROCESSES, "sh proc", "Process fork+/bin/sh -c:", "microseconds"),
    (INTEGER, "bit", "integer bit:", "nanoseconds"),
    (INTEGER, "add", "integer add:", "nanoseconds"),
    (INTEGER, "mul", "integer mul:", "nanoseconds"),
    (INTEGER, "div", "integer div:", "nanoseconds"),
    (INTEGER, "mod", "integer mod:", "nanoseconds"),
    // The script looks for this word; the program prints int64, so that lmbench never shows this table.
    (INT64, "bit", "uint64 bit:", "nanoseconds"),
    (INT64, "add", "uint64 add:", "nanoseconds"),
    (INT64, "mul", "uint64 mul:", "nanoseconds"),
    (INT64, "div", "uint64 div:", "nanoseconds"),
    (INT64, "mod", "uint64 mod:", "nanoseconds"),
    (FLOAT, "add", "float add:", "nanoseconds"),
    (FLOAT, "mul", "float mul:", "nanoseconds"),
    (FLOAT, "div", "float div:", "nanoseconds"),
    (DOUBLE, "add", "double add:", "nanoseconds"),
    (DOUBLE, "mul", "double mul:", "nanoseconds"),
    (DOUBLE, "div", "double div:", "nanoseconds"),
    (FLOAT, "bogo", "float bogomflops:", "nanoseconds"),
    (DOUBLE, "bogo", "double bogomflops:", "nanoseconds"),
    (FILE_VM, "Page Fault", "Pagefaults on file:", "microseconds"),
    (LOCAL, "UDP", "UDP latency using localhost:", "microseconds"),
    (LOCAL, "TCP", "TCP latency using localhost:", "microseconds"),
    (LOCAL, "RPC/ UDP", "RPC/udp latency using localhost:", "microseconds"),
    (LOCAL, "RPC/ TCP", "RPC/tcp latency using localhost:", "microseconds"),
    (LOCAL, "TCP conn", "TCP/IP connection cost to localhost:", "microseconds"),
    (REMOTE, "UDP", "UDP latency using peer:", "microseconds"),
    (REMOTE, "TCP", "TCP latency using peer:", "microseconds"),
    (REMOTE, "RPC/ UDP", "RPC/udp latency using peer:", "microseconds"),
    (REMOTE, "RPC/ TCP", "RPC/tcp latency using peer:", "microseconds"),
    (REMOTE, "TCP conn", "TCP/IP connection cost to peer:", "microseconds"),
    (BANDWIDTH, "AF UNIX", "AF_UNIX sock stream bandwidth:", "MB/sec"),
    (BANDWIDTH, "Pipe", "Pipe bandwidth:", "MB/sec"),
    (BASIC, "tlb pages", "tlb:", "pages"),
];

/// Blocks with one line of a size and a value: the column, the heading. The size is that of the probes' default case, in
/// units of 10^6 bytes; a script takes the last line of a block.
const BLOCKS: &[(&[SummaryColumn], &str, &str)] = &[
    (FILE_VM, "Mmap Latency", "\"mappings"),
    (BANDWIDTH, "TCP", "Socket bandwidth using localhost"),
    (BANDWIDTH, "File reread", "\"read bandwidth"),
    (BANDWIDTH, "Mmap reread", "\"Mmap read bandwidth"),
    (BANDWIDTH, "Bcopy (libc)", "\"libc bcopy unaligned"),
    (BANDWIDTH, "Bcopy (hand)", "\"unrolled bcopy unaligned"),
    (BANDWIDTH, "Mem read", "Memory read bandwidth"),
    (BANDWIDTH, "Mem write", "Memory write bandwidth"),
    (BASIC, "mem par", "Memory load parallelism"),
];

/// Rings of the context switches, KiB and processes, as their heads name them.
const RINGS: &[(u32, &[u32])] = &[(0, &[2]), (16, &[2, 8, 16]), (64, &[2, 8, 16])];

fn render_result(run: &Run, _: &RenderOptions) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(run, &mut text);
    text
}

fn write_all(run: &Run, out: &mut String) -> std::fmt::Result {
    header(run, out)?;
    if let Some(io) = of(run, PROCESSES, "null I/O") {
        writeln!(out, "Simple read: {} microseconds", digits(io[0]))?;
        writeln!(out, "Simple write: {} microseconds", digits(*io.last().unwrap_or(&io[0])))?;
    }
    for (table, head, before, behind) in LINES {
        if let Some(values) = of(run, table, head) {
            writeln!(out, "{before} {} {behind}", digits(values[0]))?;
        }
    }
    for (table, head, heading) in BLOCKS {
        if let Some((size, value)) = of(run, table, head).zip(size_of(run, table, head)).map(|(v, s)| (s, v[0])) {
            writeln!(out, "\n{heading}\n{size:.6} {}\n", digits(value))?;
        }
    }
    far_bandwidth(run, out)?;
    files(run, out)?;
    rings(run, out)?;
    memory(run, out)?;
    writeln!(out, "\n[{}]", date(run))
}

/// Date as `date` prints it.
fn date(run: &Run) -> String {
    Timestamp::parse(&run.started).unwrap_or_default().date()
}

/// The bandwidth to another host, which has no column: lmbench prints it behind the one to this host.
fn far_bandwidth(run: &Run, out: &mut String) -> std::fmt::Result {
    let Some(case) = hostmark_analysis::lmbench::far_case(run, "net.tcp_bandwidth", &[]) else { return Ok(()) };
    let message = case.params.get("message").and_then(|bytes| bytes.parse::<f64>().ok()).unwrap_or(0.0) / 1e6;
    let rate = case.measured().map(|measured| measured.estimate.value() / 1e6).filter(|rate| *rate > 0.0);
    let Some(rate) = rate.filter(|rate| rate.is_finite()) else { return Ok(()) };
    writeln!(out, "\nSocket bandwidth using peer\n{message:.6} {}\n", digits(rate))
}

/// A column's values; `head` is its English head on one line.
fn of(run: &Run, table: &[SummaryColumn], head: &str) -> Option<Vec<f64>> {
    values(run, column(table, head)?)
}

fn column<'a>(table: &'a [SummaryColumn], head: &str) -> Option<&'a SummaryColumn> {
    table.iter().find(|column| column.head.en.replace('\n', " ") == head)
}

/// The size of the column's case in units of 10^6 bytes, where it has one: its buffer, its message.
fn size_of(run: &Run, table: &[SummaryColumn], head: &str) -> Option<f64> {
    let case = hostmark_analysis::lmbench::case_of(run, column(table, head)?)?;
    let bytes = ["size", "message"].iter().find_map(|axis| case.params.get(axis)?.parse::<f64>().ok());
    Some(bytes.unwrap_or(0.0) / 1e6)
}

/// Fixed notation, since the scripts read no other, with four significant digits at least.
fn digits(value: f64) -> String {
    let whole = value.log10().floor();
    let decimals = (3.0 - whole).clamp(4.0, 12.0);
    format!("{value:.*}", decimals as usize)
}

fn header(run: &Run, out: &mut String) -> std::fmt::Result {
    let host = &run.host;
    let word = |text: &str| {
        let word: String = text.chars().map(|c| if c.is_whitespace() || steers(c) { '-' } else { c }).collect();
        if word.is_empty() { "unknown".to_owned() } else { word }
    };
    let line = |text: &str| text.replace(|c: char| steers(c) || c == '[' || c == ']', " ");
    let (name, release) = (word(&host.hostname), word(&host.kernel.release));
    let (version, machine) = (line(&host.kernel.version), word(&host.cpu.architecture));
    let (system, suffix) = (word(host.kernel.system()), if host.kernel.system.is_empty() { " GNU/Linux" } else { "" });
    writeln!(out, "[lmbench3.0 results for {system} {name} {release} {} {machine}{suffix}]", version.trim())?;
    writeln!(out, "[LMBENCH_VER: hostmark {}]", line(&run.tool.version))?;
    let mut estimators = run.cases.iter().filter_map(|case| Some(case.measured()?.estimate.estimator()));
    let is_quiet = estimators.any(|estimator| estimator == Leading::Quiet);
    let estimator = if is_quiet { "quiet where the core works alone, else typical" } else { "typical" };
    writeln!(out, "[ESTIMATOR: {estimator}]")?;
    if let Some(size) = of(run, BASIC, "cache line bytes") {
        writeln!(out, "[LINE_SIZE: {:.0}]", size[0])?;
    }
    if let Some(mhz) = of(run, BASIC, "Mhz") {
        writeln!(out, "[MHZ: {:.0} MHz, {:.4} nanosec clock]", mhz[0], 1e3 / mhz[0])?;
    }
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    writeln!(out, "[PROCESSORS: {online}]")?;
    writeln!(out, "[OS: {}]", word(&run.tool.target))?;
    writeln!(out, "[SYNC_MAX: {}]", run.settings.set.get("SYNC_MAX").map_or("1".into(), |copies| word(copies)))?;
    writeln!(out, "[NODENAME: {name}]\n[SYSNAME: {system}]\n[MACHINE: {machine}]\n[RELEASE: {release}]")?;
    writeln!(out, "[VERSION: {}]\n[{}]", version.trim(), date(run))
}

fn files(run: &Run, out: &mut String) -> std::fmt::Result {
    out.push_str("\n\"File system latency\n");
    for size in ["0", "10"] {
        let each = |what: &str| of(run, FILE_VM, &format!("{size}K File {what}")).map(|us| 1e6 / us[0]);
        // The script takes a negative rate for none.
        let rate = |rate: Option<f64>| rate.map_or("-1".into(), digits);
        let (create, delete) = (each("Create"), each("Delete"));
        if create.is_some() || delete.is_some() {
            writeln!(out, "{size}k\t1\t{}\t{}", rate(create), rate(delete))?;
        }
    }
    out.push('\n');
    Ok(())
}

fn rings(run: &Run, out: &mut String) -> std::fmt::Result {
    for (kib, processes) in RINGS {
        let value = |count: &u32| Some((*count, of(run, CONTEXT, &format!("{count}p/{kib}K ctxsw"))?[0]));
        let values: Vec<(u32, f64)> = processes.iter().filter_map(value).collect();
        if !values.is_empty() {
            writeln!(out, "\n\"size={kib}k ovr=0.00")?;
            values.iter().try_for_each(|(count, us)| writeln!(out, "{count} {}", digits(*us)))?;
        }
    }
    out.push('\n');
    Ok(())
}

/// The chain of lmbench, of which its script takes 1 KiB for L1, 128 KiB for L2 and the last for memory: written only
/// when there is such a last one.
fn memory(run: &Run, out: &mut String) -> std::fmt::Result {
    let of = |head: &str| of(run, MEMORY, head).map(|ns| digits(ns[0]));
    if let Some(main) = of("Main mem") {
        out.push_str("\nMemory load latency\n\"stride=128\n");
        for (size, value) in [("0.00098", of("L1 $")), ("0.12500", of("L2 $")), ("64.00000", Some(main))] {
            if let Some(value) = value {
                writeln!(out, "{size} {value}")?;
            }
        }
        out.push('\n');
    }
    if let Some(random) = of("Rand mem") {
        writeln!(out, "\nRandom load latency\n\"stride=16\n64.00000 {random}\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_the_head_of_a_column() {
        for (table, head, ..) in LINES {
            assert!(column(table, head).is_some(), "{head}");
        }
        for (table, head, _) in BLOCKS {
            assert!(column(table, head).is_some(), "{head}");
        }
        for (kib, processes) in RINGS {
            for count in *processes {
                assert!(column(CONTEXT, &format!("{count}p/{kib}K ctxsw")).is_some());
            }
        }
    }

    #[test]
    fn no_number_is_written_with_an_exponent_or_loses_its_digits() {
        assert_eq!(digits(0.000_123_456), "0.0001235");
        assert_eq!(digits(12_345_678.9), "12345678.9000");
        assert_eq!(digits(0.322), "0.3220");
    }
}
