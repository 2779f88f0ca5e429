//! Reads what netperf, sockperf, UnixBench and sc-membench print.

use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Size};
use hostmark_model::Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};
use hostmark_model::{AxisKind, Run, Unit};

use crate::bounded::{amount, shortened};
use crate::foreign::{Axis, Foreign, Further, ImportedValue, quantity, read_lines};
use crate::table::Fields;
use crate::{ImportError, ImportFormat};

pub(super) const NETPERF: ImportFormat = ImportFormat {
    name: "netperf",
    tool: "netperf",
    what: NETPERF_TEXT,
    nothing: "the file has no result",
    texts: crate::texts::netperf::TEXTS,
    programs: &[
        quantity("netperf.stream", BytesPerSecond, &[TEST, ("message", Size), SOCKET]).with(&[Further(
            "sent",
            BytesPerSecond,
            term!("sent"),
        )]),
        quantity("netperf.transactions", OperationsPerSecond, &[TEST, ("request", Size), ("response", Size), SOCKET]),
    ],
    read: read_netperf,
};

const TEST: Axis = ("test", Choice);
const SOCKET: Axis = ("socket", Size);

/// Units in bytes per second; without a K, M or G in front of bytes it is a power of ten of bits.
const NETPERF_UNITS: [(&str, f64); 6] = [
    ("10^3bits/s", 125.0),
    ("10^6bits/s", 125e3),
    ("10^9bits/s", 125e6),
    ("KBytes/s", 1024.0),
    ("MBytes/s", 1_048_576.0),
    ("GBytes/s", 1_073_741_824.0),
];
const NETPERF_TEXT: &str = "the whole text of netperf, without -P 0, -k, -o and -O";

/// A test whose lines are read.
#[derive(Default)]
struct NetperfTest {
    name: String,
    unit: Option<f64>,
    /// True where the columns are the usual ones.
    is_classic: bool,
    /// The line of the sending end of UDP: socket, message, what was sent.
    sender: Option<[f64; 3]>,
}

fn read_netperf(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut now: Option<NetperfTest> = None;
    read_lines(&NETPERF, input, |run, _, line| {
        let heading = line.map(|line| line.split_once(" TEST from "));
        if let (None | Some(Some(_)), Some(test)) = (heading, &now) {
            let cut = if line.is_none() { ", so the file is truncated" } else { "" };
            return Err(format!("{} has no result before this line{cut}; give {NETPERF_TEXT}", shortened(&test.name)));
        }
        let Some(line) = line else { return Ok(()) };
        if let Some(Some((name, _))) = heading {
            let name = name.rsplit("MIGRATED ").next().unwrap_or(name).trim().to_owned();
            now = Some(NetperfTest { name, ..NetperfTest::default() });
        } else if let Some(test) = now.as_mut().filter(|_| !line.starts_with("Interim result:")) {
            let unit =
                |word: &str| NETPERF_UNITS.iter().find(|(unit, _)| word.strip_suffix("ec").unwrap_or(word) == *unit);
            test.unit = test.unit.or(line.split_whitespace().find_map(unit).map(|(_, bytes)| *bytes));
            test.is_classic |= line.starts_with("Socket ") && (line.contains("Message") || line.contains("Request"));
            if let Some(value) = netperf_result(test, line)? {
                now = None;
                run.keep(value)?;
            }
        }
        Ok(())
    })
}

/// The value of a line of numbers; none where more is to come, or it says something else.
fn netperf_result(test: &mut NetperfTest, line: &str) -> Result<Option<ImportedValue>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if !test.is_classic || words.len() < 4 || words.iter().any(|word| word.parse::<f64>().is_err()) {
        return Ok(None);
    }
    let numbers = words.iter().map(|word| amount(word, "a number")).collect::<Result<Vec<f64>, String>>()?;
    let unit = || {
        test.unit.ok_or_else(|| format!("the heading names no unit of {}; give {NETPERF_TEXT}", shortened(&test.name)))
    };
    let stream = |[message, socket, rate]: [f64; 3], seconds: f64| -> Result<ImportedValue, String> {
        let value = ImportedValue::new("netperf.stream", vec![rate * unit()?]).at("test", &test.name);
        Ok(value.at("message", message).at("socket", socket).note("seconds", seconds))
    };
    let is_udp = test.name.starts_with("UDP") || test.name.starts_with("UNIDIRECTIONAL");
    match (test.sender, &numbers[..]) {
        _ if test.name.to_ascii_uppercase().contains("REQUEST/RESPONSE") => {
            let &[_, socket, request, response, seconds, rate, ..] = &numbers[..] else { return Ok(None) };
            let value = ImportedValue::new("netperf.transactions", vec![rate]).at("test", &test.name);
            let value = value.at("request", request).at("response", response).at("socket", socket);
            Ok(Some(value.note("seconds", seconds)))
        }
        (None, &[socket, message, _, _, _, rate, ..]) if is_udp => {
            test.sender = Some([message, socket, rate]);
            Ok(None)
        }
        (Some([message, socket, sent]), &[_, seconds, _, rate, ..]) => {
            let sent = Some(sent * unit()?);
            Ok(Some(stream([message, socket, rate], seconds)?.and("sent", sent)))
        }
        (None, &[socket, _, message, seconds, rate, ..]) if !is_udp => {
            stream([message, socket, rate], seconds).map(Some)
        }
        _ => Ok(None),
    }
}

pub(super) const SOCKPERF: ImportFormat = ImportFormat {
    name: "sockperf",
    tool: "sockperf",
    what: SOCKPERF_TEXT,
    nothing: "the file has no result",
    texts: crate::texts::sockperf::TEXTS,
    programs: &[
        quantity("sockperf.latency", Nanoseconds, &[PROTOCOL, MESSAGE, ("way", Choice)]).with(&[
            Further("p50", Nanoseconds, term!("p50")),
            Further("p90", Nanoseconds, term!("p90")),
            Further("p99", Nanoseconds, term!("p99")),
            Further("p999", Nanoseconds, term!("p99.9")),
            Further("greatest", Nanoseconds, term!("greatest")),
        ]),
        quantity("sockperf.messages", OperationsPerSecond, &[PROTOCOL, MESSAGE]).with(&[Further(
            "bytes",
            BytesPerSecond,
            term!("bytes"),
        )]),
    ],
    read: read_sockperf,
};

const PROTOCOL: Axis = ("protocol", Choice);
const MESSAGE: Axis = ("message", Size);

/// Its lines. Its MB are 2^20 bytes.
const SOCKPERF_LINES: &[&str] = &[
    "{}== version #{version:word}",
    "{}PORT = {}# {protocol:word}",
    "{}msg-size={message:word}",
    "[Valid Duration] RunTime={} sec; SentMessages={sent:1}; ReceivedMessages={}",
    "# dropped messages = {dropped:1}; # duplicated messages = {}",
    "Summary: Latency is {one:us} usec",
    "Summary: Round trip is {both:us} usec",
    "Summary: Message Rate is {rate:1} [msg/sec]",
    "Summary: BandWidth is {bytes:MiB/s} MBps{}",
    "---> <MAX> observation = {greatest:us}",
    "---> percentile 99.90{} = {p999:us}",
    "---> percentile 99.00{} = {p99:us}",
    "---> percentile 90.00{} = {p90:us}",
    "---> percentile 50.00{} = {p50:us}",
];
const SOCKPERF_TEXT: &str = "the whole text of sockperf";

fn read_sockperf(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut fields = Fields::default();
    let result = |fields: &Fields| ["one", "both", "rate"].into_iter().find(|name| fields.has(name));
    read_lines(&SOCKPERF, input, |run, _, line| {
        let Some(text) = line else {
            let is_cut = result(&fields).is_some();
            return if is_cut {
                Err(format!("the file ends here within a result, so it is truncated; give {SOCKPERF_TEXT}"))
            } else {
                Ok(())
            };
        };
        let text = text.split_once("sockperf: ").map_or(text, |(_, said)| said).trim();
        let is_first = text.contains("== version #");
        let is_summary = text.starts_with("Summary: ") && !text.starts_with("Summary: BandWidth");
        if (is_first || is_summary) && result(&fields).is_some() {
            return Err(format!("the result before this line is not whole; give {SOCKPERF_TEXT}"));
        }
        if is_first {
            fields = Fields::default();
        }
        fields.take(SOCKPERF_LINES, text);
        fields.check(text)?;
        if is_first {
            run.version_is(&fields.text("version").chars().take(40).collect::<String>());
        }
        let end = if fields.has("rate") { "Summary: BandWidth is " } else { "---> <MIN> observation" };
        if let Some(way) = result(&fields).filter(|_| text.starts_with(end)) {
            fields.set("way", way);
            let probe = if way == "rate" { "sockperf.messages" } else { "sockperf.latency" };
            let mut value = fields.value(&SOCKPERF, probe, vec![fields.number(way, text)?], "unknown")?;
            let is_dropped = fields.has("dropped") && fields.number("dropped", text)? > 0.0;
            let dropped = || format!("{} of {} messages were dropped", fields.text("dropped"), fields.text("sent"));
            value.unconfirmed = is_dropped.then(dropped);
            fields = fields.split_off(&["protocol", "message"]);
            run.keep(value)?;
        }
        Ok(())
    })
}

pub(super) const UNIXBENCH: ImportFormat = ImportFormat {
    name: "unixbench",
    tool: "UnixBench",
    what: "the whole report of UnixBench",
    nothing: "the file has no result",
    texts: crate::texts::unixbench::TEXTS,
    programs: &[
        quantity("unixbench.rate", Unit::OperationsPerSecond, UNIXBENCH_AXES),
        quantity("unixbench.file", Unit::BytesPerSecond, UNIXBENCH_AXES),
        quantity("unixbench.index", Unit::Count, UNIXBENCH_AXES),
    ],
    read: read_unixbench,
};

const UNIXBENCH_AXES: &[Axis] = &[("test", AxisKind::Choice), ("copies", AxisKind::Count)];

/// Units as they are printed: the program, and what one is in its unit.
const UNIXBENCH_UNITS: &[(&str, &str, f64)] = &[
    ("lps", "unixbench.rate", 1.0),
    ("lpm", "unixbench.rate", 1.0 / 60.0),
    ("MWIPS", "unixbench.rate", 1e6),
    ("MFLOPS", "unixbench.rate", 1e6),
    ("KBps", "unixbench.file", 1024.0),
];
const INDEX: &str = "System Benchmarks Index Score";
/// Beginnings of the names of tests behind which an index stands.
const INDEXED: [&str; 9] = [
    "Dhrystone",
    "Double-Precision",
    "Execl",
    "File Copy",
    "Pipe",
    "Process",
    "Shell Scripts (1 ",
    "Shell Scripts (8 ",
    "System Call",
];

fn read_unixbench(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let (mut copies, mut is_whole) = ("unknown".to_owned(), true);
    read_lines(&UNIXBENCH, input, |run, _, line| match line.map(str::trim_start) {
        Some(line) => {
            let is_test = line.ends_with("samples)") && INDEXED.iter().any(|name| line.starts_with(name));
            is_whole = !is_test && (is_whole || line.starts_with(INDEX) || line.starts_with("FINAL SCORE"));
            read_unixbench_line(run, &mut copies, line)
        }
        None if is_whole => Ok(()),
        None => Err(format!("the file ends here without its index, so it is truncated; give {}", UNIXBENCH.what)),
    })
}

fn read_unixbench_line(run: &mut Foreign, copies: &mut String, line: &str) -> Result<(), String> {
    let is_word = |word: &&str| !word.is_empty();
    if let Some((_, version)) = line.split_once("BYTE UNIX Benchmarks (Version ") {
        run.version_is(&version.trim_end_matches(')').chars().take(20).collect::<String>());
    } else if let Some(name) = line.strip_prefix("System: ").and_then(|rest| rest.split(':').next()) {
        run.host.hostname = name.chars().take(100).collect();
    } else if let Some((system, release)) = line.strip_prefix("OS: ").and_then(|rest| rest.split_once(" -- ")) {
        run.host.kernel.system_is(system.trim_start_matches("GNU/"));
        run.host.kernel.release = release.split(" -- ").next().unwrap_or_default().chars().take(100).collect();
    } else if let Some(date) = line.strip_prefix("Benchmark Run: ") {
        run.date = Some(date.chars().take(60).collect());
    } else if let Some((_, rest)) = line.split_once("; running ") {
        rest.split(' ').next().filter(is_word).unwrap_or("unknown").clone_into(copies);
    } else if let Some(rest) = line.strip_prefix(INDEX) {
        let (tests, rest) = match rest.trim_start().strip_prefix("(Partial Only)") {
            Some(rest) => ("partial", rest),
            None => ("all", rest),
        };
        let value = amount(rest.trim_start_matches(':').trim(), INDEX)?;
        return run.keep(ImportedValue::new("unixbench.index", vec![value]).at("test", tests).at("copies", &*copies));
    } else if let Some((before, seconds)) = line.rsplit_once('(').filter(|(_, rest)| rest.ends_with("samples)")) {
        let before = before.trim_end();
        let known = UNIXBENCH_UNITS.iter().find_map(|known| Some((known, before.strip_suffix(known.0)?.trim_end())));
        let Some(((_, probe, one), before)) = known else { return Ok(()) };
        let (name, number) = before.rsplit_once(' ').unwrap_or(("", before));
        let value =
            ImportedValue::new(probe, vec![amount(number, name)? * one]).at("test", run.distinct(name.trim_end()));
        return run.keep(value.at("copies", &*copies).note("samples", seconds.trim_end_matches(')')));
    }
    Ok(())
}

pub(super) const SC_MEMBENCH: ImportFormat = ImportFormat {
    name: "sc-membench",
    tool: "sc-membench",
    what: MEMBENCH_TEXT,
    nothing: "the file has no result",
    texts: crate::texts::sc_membench::TEXTS,
    programs: &[
        quantity("sc_membench.bandwidth", Unit::BytesPerSecond, MEMBENCH_AXES),
        quantity("sc_membench.latency", Unit::Nanoseconds, MEMBENCH_AXES),
    ],
    read: read_sc_membench,
};

const MEMBENCH_TEXT: &str = "the CSV that sc-membench prints";
const MEMBENCH_AXES: &[Axis] =
    &[("operation", AxisKind::Choice), ("size", AxisKind::Size), ("threads", AxisKind::Count)];

fn read_sc_membench(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut names: Vec<String> = Vec::new();
    read_lines(&SC_MEMBENCH, input, |run, _, line| {
        let cells: Vec<&str> = line.unwrap_or_default().split(',').collect();
        if cells.contains(&"bandwidth_mb_s") {
            names = cells.iter().map(|name| (*name).to_owned()).collect();
        } else if !names.is_empty() && cells[0].starts_with(|c: char| c.is_ascii_digit()) {
            membench_row(run, &names, &cells)?;
        }
        Ok(())
    })
}

fn membench_row(run: &mut Foreign, names: &[String], cells: &[&str]) -> Result<(), String> {
    if cells.len() != names.len() {
        let (cells, names) = (cells.len(), names.len());
        return Err(format!(
            "the row has {cells} cells and its heading {names}: it is truncated or shifted; give {MEMBENCH_TEXT}"
        ));
    }
    let cell = |name: &str| names.iter().position(|known| known == name).and_then(|at| cells.get(at));
    let number = |name: &str| amount(cell(name).copied().unwrap_or_default(), name);
    let size = if cell("size_kb").is_some() { number("size_kb")? * 1024.0 } else { number("size_bytes")? };
    let operation = cell("operation").copied().unwrap_or_default();
    let (probe, value) = match operation {
        "latency" => ("sc_membench.latency", number("latency_ns")?),
        _ => ("sc_membench.bandwidth", number("bandwidth_mb_s")? * f64::from(1 << 20)),
    };
    let value = ImportedValue::new(probe, vec![value]).at("operation", operation).at("size", size);
    run.keep(value.at("threads", number("threads")?).note("seconds", number("elapsed_s")?))
}
