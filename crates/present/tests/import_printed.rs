//! Formats that print tables, and files that hold anything.

use std::io::{BufReader, Cursor, Read};

use hostmark_analysis::Spoken;
use hostmark_import::{FORMATS, ImportError, ImportFormat, format_named};

use crate::garbled_text::{OUTPUTS, garbled_text};
use crate::import::{check, each_output, measured, read, with};
use crate::mutated::{Mutator, trials};
use crate::prelude::*;

const STRESS_NG: &str = include_str!("fixtures/import/stress-ng.txt");

#[test]
fn the_table_of_stress_ng_is_read_as_its_yaml_is() {
    let run = read("stress-ng", STRESS_NG).unwrap();
    let cpu = "stress_ng.bogo_operations@stressor=cpu";
    // Without what stands before each message, and with the YAML between the lines.
    let brief: String = STRESS_NG.lines().skip(2).map(|line| format!("{}\n", &line[23..])).collect();
    assert_eq!(measured(&read("stress-ng", brief).unwrap(), cpu).estimate, measured(&run, cpu).estimate);
    let printed = &STRESS_NG[STRESS_NG.find("stress-ng: info:").unwrap()..];
    let (table, rest) = printed.split_at(printed.find("stress-ng: metrc: [70] flock").unwrap());
    let yaml = format!(
        "    - stressor: cpu\n      bogo-ops: 4100\n{rest}      bogo-ops-per-second-real-time: 1025.125\n...\n"
    );
    let both = read("stress-ng", format!("---\nmetrics:\n{table}{yaml}")).unwrap();
    assert_eq!((measured(&both, cpu).estimate.typical, both.cases.len()), (1025.125, 1));
    let error = read("stress-ng", STRESS_NG.replace("1025.00", "nan")).unwrap_err();
    assert!(error.line == 6 && error.to_string().contains("'nan' is no amount"), "{error}");
    let without = read("stress-ng", "stress-ng: info:  [70] dispatching hogs: 3 cpu\n").unwrap_err();
    assert!(without.to_string().contains("--metrics"), "{without}");
    for end in 0..STRESS_NG.len() {
        let _ = read("stress-ng", &STRESS_NG[..end]);
    }
}

#[test]
fn numbers_of_perf_bench_have_the_signs_of_a_locale() {
    let of = |thousands: &str, decimal: &str| {
        let text = include_str!("fixtures/import/perf-locale.txt");
        read("perf-bench", text.replace('~', thousands).replace('^', decimal)).unwrap()
    };
    for (thousands, decimal) in [("", "."), (",", "."), (".", ","), ("\u{202f}", ","), ("\u{2019}", ".")] {
        // What is no sign of a number stays as it is.
        let run = of(thousands, decimal);
        check(
            &run,
            &[
                ("perf.syscall_basic", 125.0),
                ("perf.operation@benchmark=uprobe-baseline", 1_060_500.0),
                ("perf.memset@function=default,size=1048576", 21.5 * 1_073_741_824.0),
                ("perf.futex_wake@threads=2", 17_000.0),
                ("perf.epoll_wait@threads=1", 161_730.0),
            ],
        );
        assert_eq!(measured(&run, "perf.syscall_basic").notes["asked.operations"], "20000000", "{thousands}");
    }
}

fn text_of(format: &str) -> &'static str {
    each_output().find(|(name, _)| *name == format).unwrap().1
}

fn ids(run: &Run) -> Vec<&str> {
    run.cases.iter().map(|case| case.id.as_str()).collect()
}

#[test]
fn samples_of_perfkit_are_one_case_where_they_were_set_up_alike() {
    let text = text_of("perfkit");
    let run = read("perfkit", text).unwrap();
    let iperf = |threads: u32, machine: &str| {
        let setup = format!("ip_type-internal+sending_thread_count-{threads}");
        format!("perfkit.rate@test=iperf,metric=throughput,unit=mbits-sec,setup={setup},machine={machine}")
    };
    let one = iperf(1, "only");
    let better = |id: &str| run.probes.iter().find(|probe| probe.id == id).unwrap().better;
    assert_eq!((better("perfkit.per_second"), better("perfkit.number")), (Better::Higher, Better::Neither));
    // As elements of a list they are the same; several runs in one file are samples.
    let list = format!("[{}]", text.trim_end().replace("}\n{", "},\n{"));
    assert_eq!(ids(&read("perfkit", list).unwrap()), ids(&run));
    let twice = read("perfkit", format!("{text}{text}")).unwrap();
    assert_eq!((ids(&twice), measured(&twice, &one).estimate.n), (ids(&run), 4));
    // Runs of several machines in one file are no samples of one case.
    let larger = text.replace("m.large", "m.2xlarge");
    let both = read("perfkit", format!("{text}{larger}")).unwrap();
    let machine = |name: &str| iperf(1, &format!("vm_1_machine_type-{name}"));
    assert_eq!(measured(&both, &machine("m.large")).estimate.n, 2);
    assert_eq!(measured(&both, &machine("m.2xlarge")).estimate.n, 2);
    // What nobody knows to be a result is taken for a setting.
    let other = with("perfkit", text, &[("|thread_count:2|", "|novel_option:9|,|thread_count:2|")]).unwrap();
    assert!(ids(&other).iter().any(|id| id.contains("setup=novel_option-9+thread_count-2,")), "{:#?}", ids(&other));
}

#[test]
fn results_of_phoronix_are_known_by_all_that_their_tests_were_reported() {
    let text = text_of("phoronix");
    let run = read("phoronix", text).unwrap();
    let better = |id: &str| run.probes.iter().find(|probe| probe.id == id).unwrap().better;
    assert_eq!((better("phoronix.more"), better("phoronix.less")), (Better::Higher, Better::Lower));
    // A value that is no mean of the runs is what the suite made of them, and stands alone.
    let best = with("phoronix", text, &[("<Value>101.5<", "<Value>99<")]).unwrap();
    let time = best.cases.iter().find(|case| case.probe == "phoronix.time").unwrap();
    assert_eq!(time.measured().unwrap().samples[0], [99e9]);
}

#[test]
fn several_systems_of_phoronix_are_never_samples_of_one_case() {
    let entry = "</Entry>\n      <Entry><Identifier>Tuned</Identifier><Value>90</Value></Entry>\n    </Data>";
    let text = text_of("phoronix").replacen("</Entry>\n    </Data>", entry, 2);
    let run = read("phoronix", text).unwrap();
    let kernel = |system: &str| {
        format!(
            "phoronix.time@system={system},test=pts-build-linux-kernel-1.15.0,version=6.1,options=build--defconfig,\
             arguments=defconfig,unit=seconds"
        )
    };
    check(&run, &[(&kernel("stock"), 101.5e9), (&kernel("tuned"), 90e9)]);
    assert!(run.host.cpu.model.is_none(), "whose would it be?");
}

#[test]
fn what_is_exported_for_viewers_of_phoronix_is_read_again() {
    let stream = read("stream", text_of("stream")).unwrap();
    let xml = export::format_named("openbenchmarking").unwrap().render_one(&stream, &RenderOptions::default());
    let again = read("phoronix", xml).unwrap();
    let rates = |run: &Run, program: &str| {
        let of = run.cases.iter().filter(|case| case.probe == program);
        let mut rates: Vec<f64> = of.filter_map(|case| Some(case.measured()?.estimate.typical)).collect();
        rates.sort_by(f64::total_cmp);
        rates
    };
    let (one, other) = (rates(&stream, "stream.best_rate"), rates(&again, "phoronix.rate"));
    assert_eq!(one.len(), other.len(), "{:#?}", ids(&again));
    // It has six digits.
    assert!(one.iter().zip(&other).all(|(one, other)| (one / other - 1.0).abs() < 1e-5), "{one:?} {other:?}");
}

#[test]
fn faults_of_further_tools_are_told() {
    for (format, from, to, wanted) in [
        ("netperf", "890.25\n", "\n", "UDP STREAM has no result"),
        ("netperf", "10^6bits/sec", "mops", "names no unit of TCP STREAM"),
        ("sockperf", "---> <MIN> observation", "---> percentile 25.000", "is not whole"),
        ("sockperf", "Summary: BandWidth is", "BandWidth", "within a result"),
        ("google-benchmark", "\"time_unit\": \"us\"", "\"time_unit\": \"h\"", "in no unit that is known (h)"),
        ("sc-membench", "120500.25", "much", "'much' is no amount"),
        ("perfkit", "\"value\": 512.5", "\"value\": -1", "below 0"),
        ("perfkit", "\"metric\": \"Copy\"", "\"name\": \"Copy\"", "has no metric"),
        ("phoronix", "<Value>1247.5<", "<Value>1247,5<", "'1247,5' is no amount"),
        ("phoronix", "</Data>", "</Date>", "give composite.xml"),
        ("phoronix", "a fixture &amp;", "a fixture &much;", "an entity that XML does not have"),
        ("phoronix", "<!--", "<!DOCTYPE a [<!ENTITY b \"c\">]><!--", "declares a document type"),
    ] {
        let text = each_output().find(|(name, _)| *name == format).unwrap().1;
        let error = with(format, text, &[(from, to)]).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

fn read_bytes(format: &ImportFormat, bytes: &[u8]) -> Result<Run, ImportError> {
    (format.read)(&mut Cursor::new(bytes))
}

/// What holds of whatever is read.
fn judge(name: &str, bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    let run = match read_bytes(format_named(name).unwrap(), bytes) {
        Err(error) => {
            assert!(error.line <= lines + 1 && !error.what.is_empty(), "{name} of {lines} lines: {error}");
            assert_ne!(error.what.get(Lang::En), error.what.get(Lang::Zh), "{name}");
            return assert!(error.to_string().chars().count() < 450, "{name}: a long error");
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
fn whatever_a_file_holds_it_is_read_or_refused_with_its_line() {
    let mut draw = Mutator::new(0xf11e);
    let each = if cfg!(feature = "system") { 2000 } else { 2 };
    for trial in 0..trials(each * FORMATS.len()) {
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
fn a_file_that_is_cut_off_at_the_end_of_any_line_and_one_of_lmbench_anywhere_is_refused() {
    // The others may hold several results: they end well behind each.
    let has_end = ["lmbench", "fio", "iperf3", "stress-ng", "hyperfine", "google-benchmark", "phoronix"];
    for (name, text) in OUTPUTS.iter().filter(|(name, _)| has_end.contains(name)) {
        let format = format_named(name).unwrap();
        let whole = text.trim_end();
        let is_end = |(end, c): &(usize, char)| *c == '\n' || *name == "lmbench" && end + c.len_utf8() < whole.len();
        for (end, _) in whole.char_indices().filter(is_end) {
            let cut = &text.as_bytes()[..=end];
            let error = read_bytes(format, cut).expect_err(name);
            let lines = cut.split(|byte| *byte == b'\n').count() as u64;
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
