//! Files that are malformed, truncated or huge, for every importer: an error with its line, no panic, bounded memory. 2000
//! mutations of real outputs each; `HOSTMARK_FUZZ=1000000` asks for as many in all.

use std::io::{BufReader, Cursor, Read};

use hostmark_model::*;
use hostmark_report::RenderOptions;
use hostmark_report::export;
use hostmark_report::import::{FORMATS, Format, ImportError, format_named};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;

/// Real outputs, by format.
const FILES: &[(&str, &str)] = &[
    ("stream", include_str!("fixtures/import/stream.txt")),
    ("fio", include_str!("fixtures/import/fio.json")),
    ("iperf3", include_str!("fixtures/import/iperf3-tcp.json")),
    ("iperf3", include_str!("fixtures/import/iperf3-udp.json")),
    ("iperf3", include_str!("fixtures/import/iperf3-bidir.json")),
    ("iperf3", include_str!("fixtures/import/iperf3-stream.json")),
    ("sysbench", include_str!("fixtures/import/sysbench.txt")),
    ("stress-ng", include_str!("fixtures/import/stress-ng.yaml")),
    ("perf-bench", include_str!("fixtures/import/perf-bench.txt")),
    ("perf-bench", include_str!("fixtures/import/perf-simple.txt")),
    (
        "lmbench",
        "[lmbench3.0 results for Linux h 5 x]\n[MHZ: 2400 MHz]\n[Thu Jan  7 10:00:00 UTC 2010]\nSimple syscall: 0.0911 microseconds\n\"mappings\n0.5 15\n\n\"stride=128\n0.00098 1.3\n\n[Thu Jan  7 10:30:00 UTC 2010]\n",
    ),
];

/// What is put into a file: numbers that are none, too large or too small, brackets, what steers a terminal.
const HOSTILE: &[&str] = &[
    "NaN",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e999",
    "1e308",
    "-0.0",
    "99999999999999999999",
    "18446744073709551616",
    "null",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[",
    ":",
    ",",
    "'",
    "\u{1b}[31m",
    "\u{202e}",
    "\0",
    "\u{feff}",
    "---",
    "...",
    "- ",
    "true",
    "\r",
    "\n",
    "# Running 'sched/pipe' benchmark:",
    "sysbench 1.0.20 (using x)",
    "STREAM version $Revision: 5.10 $",
];

/// A change of a file.
#[derive(Debug, Clone)]
enum Change {
    Truncate(Index),
    Flip(Index, u8),
    Insert(Index, &'static str),
    /// The digits at a place become another number.
    Number(Index, &'static str),
    Double(Index),
    Remove(Index),
    Swap(Index, Index),
    Nest(Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        1 => at().prop_map(Change::Truncate),
        3 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        2 => (at(), select(HOSTILE)).prop_map(|(at, text)| Change::Insert(at, text)),
        4 => (at(), select(HOSTILE)).prop_map(|(at, text)| Change::Number(at, text)),
        2 => at().prop_map(Change::Double),
        2 => at().prop_map(Change::Remove),
        1 => (at(), at()).prop_map(|(one, other)| Change::Swap(one, other)),
        1 => (at(), 1usize..3000).prop_map(|(at, depth)| Change::Nest(at, depth)),
    ]
}

fn apply(mut bytes: Vec<u8>, change: &Change) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let lines = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let splice = |mut bytes: Vec<u8>, at: usize, end: usize, text: &[u8]| {
        bytes.splice(at..end, text.iter().copied());
        bytes
    };
    match change {
        Change::Truncate(at) => bytes[..at.index(bytes.len())].to_vec(),
        Change::Flip(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
            bytes
        }
        Change::Insert(at, text) => {
            let at = at.index(bytes.len());
            splice(bytes, at, at, text.as_bytes())
        }
        Change::Nest(at, depth) => {
            let at = at.index(bytes.len());
            splice(bytes, at, at, "[{\"a\":".repeat(*depth).as_bytes())
        }
        Change::Number(at, text) => {
            let at = at.index(bytes.len());
            let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
            let Some(start) = bytes[at..].iter().position(is_digit).map(|start| at + start) else { return bytes };
            let end = bytes[start..].iter().position(|byte| !is_digit(byte)).map_or(bytes.len(), |end| start + end);
            splice(bytes, start, end, text.as_bytes())
        }
        Change::Double(at) => {
            let mut lines = lines(&bytes);
            let at = at.index(lines.len());
            lines.insert(at, lines[at].clone());
            lines.concat()
        }
        Change::Remove(at) => {
            let mut lines = lines(&bytes);
            lines.remove(at.index(lines.len()));
            lines.concat()
        }
        Change::Swap(one, other) => {
            let mut lines = lines(&bytes);
            let (one, other) = (one.index(lines.len()), other.index(lines.len()));
            lines.swap(one, other);
            lines.concat()
        }
    }
}

fn near() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    (select(FILES), prop::collection::vec(change(), 1..6))
        .prop_map(|((format, text), changes)| (format, changes.iter().fold(text.as_bytes().to_vec(), apply)))
}

fn read(format: &Format, bytes: &[u8]) -> Result<Run, ImportError> {
    (format.read)(&mut Cursor::new(bytes))
}

/// What holds of whatever is read.
fn judge(name: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    match read(format_named(name).unwrap(), bytes) {
        Err(error) => {
            prop_assert!(error.line <= lines + 1 && !error.what.is_empty(), "{name} of {lines} lines: {error}");
            prop_assert!(error.what.chars().count() < 700, "{name}: a long error");
        }
        Ok(run) => {
            prop_assert!(!run.cases.is_empty(), "{name}: nothing");
            for case in &run.cases {
                prop_assert!(case.id.parse::<CaseId>().is_ok(), "{name}: {}", case.id);
                let Some(measured) = case.measured() else { continue };
                let also = measured.also.values().map(|also| &also.estimate);
                for estimate in std::iter::once(&measured.estimate).chain(also) {
                    let numbers = [estimate.typical, estimate.min, estimate.max, estimate.mean, estimate.stddev];
                    prop_assert!(numbers.iter().all(|n| n.is_finite() && *n >= 0.0), "{name} {}: {numbers:?}", case.id);
                }
                prop_assert!(measured.estimate.min > 0.0, "{name} {}", case.id);
            }
            // What a run can be used for is looked at in every eighth: it takes ten times as long.
            if !bytes.len().is_multiple_of(8) {
                return Ok(());
            }
            let json = export::format_named("json").unwrap().render_one(&run, &RenderOptions::default());
            prop_assert_eq!(load_run(&json).unwrap(), run.clone());
            let table = export::format_named("table").unwrap().render_one(&run, &RenderOptions::default());
            prop_assert!(!table.contains(['\x1b', '\u{202e}', '\0', '\r']), "{name}: what steers a terminal");
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn whatever_a_file_holds_it_is_read_or_refused_with_its_line() {
    let each = 2000 * FORMATS.len() as u32;
    let cases = std::env::var("HOSTMARK_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(each);
    let mut config = ProptestConfig::with_cases(cases);
    config.failure_persistence = None;
    config.max_shrink_iters = 2000;
    let mut runner = TestRunner::new(config);
    runner.run(&near(), |(name, bytes)| judge(name, &bytes)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_format_is_fuzzed() {
    for format in FORMATS {
        assert!(FILES.iter().any(|(name, _)| *name == format.name), "{}", format.name);
    }
}

#[test]
fn a_file_that_is_cut_off_at_the_end_of_any_line_is_refused() {
    // perf bench and sysbench may hold several results: they end well behind each.
    for (name, text) in FILES.iter().filter(|(name, _)| !matches!(*name, "perf-bench" | "sysbench" | "stream")) {
        let format = format_named(name).unwrap();
        for (end, _) in text.trim_end().match_indices('\n') {
            let error = read(format, &text.as_bytes()[..=end]).expect_err(name);
            let lines = text[..=end].lines().count() as u64;
            assert!(error.line >= 1 && error.line <= lines + 1, "{name}: {error} of {lines}");
        }
    }
}

/// `start`, then `part` without an end.
struct Endless {
    start: Cursor<Vec<u8>>,
    part: &'static [u8],
    at: usize,
    /// Bytes that were asked for so far.
    given: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.start.read(buffer)?;
        if read > 0 {
            return Ok(read);
        }
        let mut rest = &mut buffer[..];
        while !rest.is_empty() {
            let part = &self.part[self.at..];
            let length = part.len().min(rest.len());
            rest[..length].copy_from_slice(&part[..length]);
            self.at = (self.at + length) % self.part.len();
            rest = &mut rest[length..];
        }
        self.given += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn endless_lines_elements_and_nesting_are_refused_early() {
    /// More than enough to notice, and too little to fill memory.
    const MOST: u64 = 24 << 20;
    let job = "{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\"}";
    let stream = "{\"end\": {\"streams\": [{}";
    // The last: whether it is of no interest, and is passed over to the end without being held.
    for (name, start, part, is_passed_over) in [
        ("stream", "", "\n", false),
        ("sysbench", "", "x", false),
        ("stress-ng", "metrics:\n", "    - stressor: cpu\n", false),
        ("stress-ng", "metrics:\n    - stressor: cpu\n", "      a: 1\n", false),
        ("perf-bench", "# Running 'sched/pipe' benchmark:\n", "       7.1 usecs/op\n", false),
        ("perf-bench", "# Running 'futex/wake' benchmark:\n", "[Run 1]: Wokeup 2 of 2 threads in 0.2 ms\n", false),
        ("lmbench", "", "\n", false),
        ("fio", job, ",{\"jobname\": \"a\"}", false),
        ("fio", "{\"a\": ", "[", true),
        ("fio", "{\"jobs\": ", "[{\"read\": ", false),
        ("fio", "", "no brace ", false),
        ("iperf3", stream, ",{}", false),
        ("iperf3", "{\"start\": ", "{\"start\": ", true),
    ] {
        let many: &'static [u8] = part.repeat((1 << 16) / part.len()).into_bytes().leak();
        let endless = Endless { start: Cursor::new(start.into()), part: many, at: 0, given: 0 };
        // The command bounds every file likewise.
        let mut input = BufReader::new(endless.take(if is_passed_over { MOST / 8 } else { MOST }));
        let error = (format_named(name).unwrap().read)(&mut input).expect_err(name);
        assert!(error.line >= 1 && !error.what.is_empty(), "{name}: {error}");
        assert!(is_passed_over || input.into_inner().into_inner().given < MOST / 2, "{name} {part}: read on; {error}");
    }
}
