//! Files that are malformed, truncated or huge, for every importer: an error with its line, no panic, bounded memory. 2000
//! mutations of real outputs each; `HOSTMARK_FUZZ=1000000` asks for as many in all.

use std::io::{BufReader, Cursor, Read};

use hostmark_import::{FORMATS, ImportError, ImportFormat, format_named};
use hostmark_model::*;
use hostmark_present::RenderOptions;
use hostmark_present::export;

use crate::garbled_text::{OUTPUTS, garbled_text};
use crate::mutated::{Mutator, trials};

fn read(format: &ImportFormat, bytes: &[u8]) -> Result<Run, ImportError> {
    (format.read)(&mut Cursor::new(bytes))
}

/// What holds of whatever is read.
fn judge(name: &str, bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    let run = match read(format_named(name).unwrap(), bytes) {
        Err(error) => {
            assert!(error.line <= lines + 1 && !error.what.is_empty(), "{name} of {lines} lines: {error}");
            return assert!(error.what.chars().count() < 450, "{name}: a long error");
        }
        Ok(run) => run,
    };
    assert!(!run.cases.is_empty(), "{name}: nothing");
    for case in &run.cases {
        assert!(case.id.parse::<CaseId>().is_ok(), "{name}: {}", case.id);
        let Some(measured) = case.measured() else { continue };
        let also = measured.also.values().map(|also| &also.estimate);
        for estimate in std::iter::once(&measured.estimate).chain(also) {
            let numbers = [estimate.typical, estimate.min, estimate.max, estimate.mean, estimate.stddev];
            assert!(numbers.iter().all(|n| n.is_finite() && *n >= 0.0), "{name} {}: {numbers:?}", case.id);
        }
        assert!(measured.estimate.typical > 0.0, "{name} {}", case.id);
    }
    // What a run can be used for is looked at in every eighth: it takes ten times as long.
    if bytes.len().is_multiple_of(8) {
        let json = export::format_named("json").unwrap().render_one(&run, &RenderOptions::default());
        assert_eq!(load_run(&json).unwrap(), run);
        let table = export::format_named("table").unwrap().render_one(&run, &RenderOptions::default());
        assert!(!table.contains(['\x1b', '\u{202e}', '\0', '\r']), "{name}: what steers a terminal");
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn whatever_a_file_holds_it_is_read_or_refused_with_its_line() {
    let mut draw = Mutator::new(0xf11e);
    for trial in 0..trials(2000 * FORMATS.len()) {
        let (name, text) = OUTPUTS[draw.below(OUTPUTS.len())];
        let bytes = garbled_text(&mut draw, text);
        let judged = std::panic::catch_unwind(|| judge(name, &bytes));
        assert!(judged.is_ok(), "trial {trial}: {:.3000}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn every_format_is_fuzzed() {
    for format in FORMATS {
        assert!(OUTPUTS.iter().any(|(name, _)| *name == format.name), "{}", format.name);
    }
}

#[test]
fn a_file_that_is_cut_off_at_the_end_of_any_line_is_refused() {
    // The others may hold several results: they end well behind each.
    let has_end = ["lmbench", "fio", "iperf3", "stress-ng", "hyperfine", "google-benchmark", "phoronix"];
    for (name, text) in OUTPUTS.iter().filter(|(name, _)| has_end.contains(name)) {
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
        ("perfkit", "", "{\"metric\": \"a\", \"value\": 1, \"test\": \"b\"}\n", false),
        ("perfkit", "{\"metadata\": {\"a\": ", "[", false),
        ("perfkit", "{\"metadata\": {\"a\": [0", ",0", true),
        ("perfkit", "{\"metadata\": {\"a\": 0", ",\"a\": 0", true),
        ("phoronix", "<a>", "<a>", false),
        ("phoronix", "<PhoronixTestSuite>", "x", false),
        ("phoronix", "<", "a", false),
        ("phoronix", "<PhoronixTestSuite>", "<System></System>", false),
        ("phoronix", "<PhoronixTestSuite><Result><Data>", "<Entry><Value>1</Value></Entry>", false),
        ("phoronix", "<PhoronixTestSuite>", "<a/>", true),
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
