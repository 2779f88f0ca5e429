//! What other tools wrote, as real outputs of them: every value in its base unit, and what is wrong told with its line.

use std::io::Cursor;

use hostmark_analysis::redact::redact;
use hostmark_import::ImportError;

use crate::prelude::*;

const STREAM: &str = include_str!("fixtures/import/stream.txt");
const FIO: &str = include_str!("fixtures/import/fio.json");
const IPERF_TCP: &str = include_str!("fixtures/import/iperf3-tcp.json");
const IPERF_STREAM: &str = include_str!("fixtures/import/iperf3-stream.json");
const SYSBENCH: &str = include_str!("fixtures/import/sysbench.txt");
const STRESS_NG: &str = include_str!("fixtures/import/stress-ng.yaml");
const PERF: &str = include_str!("fixtures/import/perf-bench.txt");
pub fn read(format: &str, text: impl AsRef<[u8]>) -> Result<Run, ImportError> {
    (hostmark_import::format_named(format).unwrap().read)(&mut Cursor::new(text))
}

fn case<'a>(run: &'a Run, id: &str) -> &'a CaseRecord {
    let ids = || run.cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>();
    run.cases.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("no {id} in {:#?}", ids()))
}

pub fn measured<'a>(run: &'a Run, id: &str) -> &'a Measured {
    case(run, id).measured().unwrap_or_else(|| panic!("{id} has no value"))
}

/// Values and further quantities (`id/name`) as they should be.
pub fn check(run: &Run, wanted: &[(&str, f64)]) {
    for (place, wanted) in wanted {
        let (id, also) = place.split_once('/').map_or((*place, None), |(id, also)| (id, Some(also)));
        let measured = measured(run, id);
        let found = match also {
            None => measured.estimate.typical,
            Some(name) => measured.also.get(name).unwrap_or_else(|| panic!("{id} has no {name}")).estimate.typical,
        };
        assert!((found - wanted).abs() <= wanted.abs() * 1e-9, "{place}: {found}, not {wanted}");
    }
    assert!(run.cases.iter().all(|case| case.id.parse::<CaseId>().is_ok()));
    for case in &run.cases {
        let probe = run.probes.iter().find(|probe| probe.id == case.probe).expect("a case has its probe");
        let axes = |names: Vec<&str>| names.join(",");
        let own = axes(case.params.0.iter().map(|(axis, _)| axis.as_str()).collect());
        assert_eq!(own, axes(probe.axes.iter().map(|axis| axis.name.as_str()).collect()), "{}", case.id);
        let also = case.measured().into_iter().flat_map(|measured| measured.also.keys());
        for name in also {
            assert!(probe.also.iter().any(|also| also.name == *name), "{}: {name}", case.id);
        }
    }
}

#[test]
fn what_stream_printed_is_shown_again_as_its_table() {
    let run = read("stream", STREAM).unwrap();
    let text = export::format_named("stream").unwrap().render_one(&run, &RenderOptions::default());
    for line in STREAM.lines().filter(|line| line.contains(": ") && line.contains("0.0")) {
        let numbers: Vec<&str> = line.split_whitespace().collect();
        let is_row = |row: &str| row.split_whitespace().collect::<Vec<_>>() == numbers;
        assert!(text.lines().any(is_row), "{line}\n{text}");
    }
}

#[test]
fn the_host_of_a_job_is_redacted() {
    let run = with("fio", FIO, &[("\"jobname\"", "\"hostname\": \"db-17\", \"jobname\"")]).unwrap();
    assert!(format!("{run:?}").contains("db-17"));
    assert!(!format!("{:?}", redact(vec![run])).contains("db-17"));
}

#[test]
fn the_stream_of_iperf3_is_read_as_well_and_one_that_is_cut_off_is_not() {
    let run = read("iperf3", IPERF_STREAM).unwrap();
    assert!(run.tool.version.starts_with("iperf3 3.") && run.cases.len() == 3, "{:?}", run.tool);
    check(&run, &[]);
    let lines: Vec<&str> = IPERF_STREAM.lines().collect();
    let error = read("iperf3", lines[..lines.len() - 1].join("\n")).unwrap_err();
    assert!(error.to_string().contains("truncated") && error.line == lines.len() as u64 - 1, "{error}");
    let failed = format!("{}\n{{\"event\":\"error\",\"data\":\"the server has terminated\"}}\n", lines[0]);
    let error = read("iperf3", failed).unwrap_err();
    assert!(error.to_string().contains("the server has terminated") && error.line == 2, "{error}");
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let whole: &[(&str, &str)] =
        &[("stream", STREAM), ("sysbench", SYSBENCH), ("stress-ng", STRESS_NG), ("perf-bench", PERF)];
    for (format, from, to) in [
        ("stream", "Copy:           10026.5", "Copy:           -5"),
        ("stream", "Scale:          10983.7", "Scale:          NaN"),
        ("stream", "Triad:          11652.0     0.069630", "Triad:          11652.0     0.999"),
        ("stream", "Array size = 30000000", "Array size = many"),
        ("sysbench", "events per second:   756.86", "events per second:   -1"),
        ("sysbench", "(2792.56 MiB/sec)", "(inf MiB/sec)"),
        ("stress-ng", "bogo-ops-per-second-real-time: 339.995799", "bogo-ops-per-second-real-time: x"),
        ("stress-ng", "max-rss: 6380", "max-rss"),
        ("perf-bench", "7.189950 usecs/op", "1e400 usecs/op"),
        ("perf-bench", "12.207031 GB/sec", "-12.207031 GB/sec"),
    ] {
        let text = whole.iter().find(|(name, _)| *name == format).unwrap().1;
        assert!(text.contains(from), "{from}");
        let error = read(format, text.replacen(from, to, 1)).expect_err(to);
        let at = text[..text.find(from).unwrap()].lines().count().max(1) as u64;
        // Some are seen at the end of their block.
        assert!(error.line >= at && error.line <= at + 40, "{format} {to}: {error}, not about line {at}");
    }
    for (format, text, from, to) in [
        ("fio", FIO, "\"bw_bytes\": 81576965", "\"bw_bytes\": -81576965"),
        ("fio", FIO, "\"iops\": 19916.251246", "\"iops\": \"fast\""),
        ("iperf3", IPERF_TCP, "\"bits_per_second\": 17095972075.421934", "\"bits_per_second\": 1e300"),
    ] {
        let error = read(format, text.replacen(from, to, 1)).expect_err(to);
        let at = text[..text.find(from).unwrap()].lines().count() as u64;
        assert!(
            error.line.abs_diff(at) <= 1 && error.to_string().contains("column"),
            "{format} {to}: {error}, not line {at}"
        );
    }
}

#[test]
fn a_document_behind_the_stream_is_the_same_result_and_a_second_one_is_refused() {
    assert!(read("iperf3", format!("{IPERF_STREAM}{IPERF_TCP}")).is_ok());
    let error = read("iperf3", format!("{IPERF_STREAM}{IPERF_STREAM}")).unwrap_err();
    assert!(error.to_string().contains("second") && error.line >= 4, "{error}");
    let (_, json) = FIO.split_once('\n').unwrap();
    assert!(read("fio", format!("{FIO}{json}")).unwrap_err().to_string().contains("second"));
}

/// All that are here, by format.
pub fn each_output() -> impl Iterator<Item = (&'static str, &'static str)> {
    crate::garbled_text::OUTPUTS.iter().copied()
}

#[test]
fn a_text_is_read_in_each_of_its_encodings() {
    for (format, text) in each_output() {
        let whole = read(format, text).unwrap();
        let marked = format!("\u{feff}{text}");
        assert_eq!(read(format, &marked).unwrap(), whole, "{format}");
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let utf_16: Vec<u8> = marked.encode_utf16().flat_map(bytes).collect();
            assert_eq!(read(format, &utf_16).unwrap(), whole, "{format}");
            // The last sign is cut in two.
            let _ = read(format, &utf_16[..utf_16.len() - 1]);
        }
    }
}

#[test]
fn text_behind_a_result_is_passed_over_and_named() {
    for (format, text) in each_output() {
        let with_text = format!("{}\nterminating on signal 2\nand more\n", text.trim_end());
        let run = read(format, with_text).unwrap();
        assert_eq!(run.cases, read(format, text).unwrap().cases, "{format}");
        // In a text of lines results may follow anywhere.
        if ["fio", "iperf3", "lmbench", "stress-ng", "hyperfine", "google-benchmark"].contains(&format) {
            let [remark] = &run.disturbances[..] else { panic!("{format}: {:?}", run.disturbances) };
            let line = format!("line {}, 'terminating on signal 2'", text.trim_end().lines().count() + 1);
            assert!(remark.en.ends_with(&line), "{format}: {remark:?}");
            // Nobody knows whom it names.
            assert!(redact(vec![run]).iter().all(|run| run.disturbances.is_empty()));
        }
    }
}

#[test]
fn a_file_of_another_tool_is_known_by_its_text() {
    for (format, text) in each_output() {
        for other in hostmark_import::FORMATS {
            let hint = hostmark_import::hint(text, other);
            let wanted = format!("hostmark import {format}");
            assert_eq!(hint, (other.name != format).then_some(wanted.as_str()), "{format} {}", other.name);
        }
    }
    let fio = hostmark_import::format_named("fio").unwrap();
    assert_eq!(hostmark_import::hint("a: (groupid=0, jobs=1): err= 0:", fio), Some("fio --output-format=json"));
    let summary = "                 L M B E N C H  3 . 0   S U M M A R Y";
    let lmbench = hostmark_import::format_named("lmbench").unwrap();
    assert_eq!(hostmark_import::hint(summary, lmbench), Some("hostmark import lmbench results/SYSTEM/HOST.0"));
}

/// What an output becomes when a part is another.
pub fn with(format: &str, text: &str, changes: &[(&str, &str)]) -> Result<Run, ImportError> {
    let text = changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    read(format, text)
}

#[test]
fn what_decides_a_value_is_part_of_its_case() {
    let twice = read("stream", format!("{STREAM}{}", STREAM.replace("10026.5", "11026.5"))).unwrap();
    let copy = &measured(&twice, "stream.best_rate@kernel=copy,threads=1,elements=30000000,element=8").estimate;
    assert_eq!((copy.n, copy.min, copy.max), (2, 10026.5e6, 11026.5e6));
    let float = STREAM.replace("uses 8 bytes", "uses 4 bytes");
    let run = read("stream", format!("{STREAM}{float}")).unwrap();
    assert!(run.cases.len() == 16 && run.cases.iter().all(|case| case.measured().unwrap().estimate.n == 1));
    let run = with("stream", STREAM, &[("Number of Threads counted = 2", ""), ("requested = 2", "requested = 7")]);
    measured(&run.unwrap(), "stream.best_rate@kernel=copy,threads=7,elements=2000000,element=8");
    let run = with("fio", FIO, &[("\"bs\": \"4k\"", "\"bsrange\": \"4k-64k\", \"buffered\": \"0\"")]).unwrap();
    measured(&run, "fio.read@job=randread,number=1,pattern=randread,block=4k-64k,depth=1,direct=1");
    let run = with("fio", FIO, &[("\"bs\": \"16k\"", "\"bs\": \"16k,8k\""), ("\"read\": {", "\"mixed\": {")]).unwrap();
    measured(&run, "fio.mixed@job=randread,number=1,pattern=randread,block=4096,depth=1,direct=0");
    measured(&run, "fio.write@job=mixed,number=1,pattern=randrw,block=8192,depth=1,direct=0");
    let both = PERF.replace("two processes", "two threads").replace("7.189950", "3.5") + PERF;
    let run = read("perf-bench", both).unwrap();
    check(&run, &[("perf.sched_pipe@parties=threads", 3500.0), ("perf.sched_pipe@parties=processes", 7189.95)]);
}

#[test]
fn values_of_two_configurations_have_no_verdict_and_the_option_is_named() {
    for line in String::from_utf8_lossy(&right("asked.tsv")).lines() {
        let [format, file, from, to, named] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let text = String::from_utf8(right(file)).unwrap();
        let (run, other) = (read(format, &text).unwrap(), with(format, &text, &[(from, to)]).unwrap());
        let against = crate::compare::compared(&[run], &[other]).new.remove(0);
        for case in against.cases.iter().filter(|case| case.base.is_some()) {
            let asked = case.reason.as_ref().filter(|reason| reason.kind == ReasonKind::Asked);
            assert_eq!(asked.map_or("-", |reason| reason.text.en.split(" differs").next().unwrap()), named, "{line}");
        }
        assert_eq!(against.differs.iter().any(|one| one.label.en == named), named != "-", "{line}");
    }
}

#[test]
fn an_export_says_of_the_solution_what_the_file_says() {
    let table = |run: &Run| export::format_named("stream").unwrap().render_one(run, &RenderOptions::default());
    let remark = "Solution Validates: avg error less than 1.000000e-06 on all three arrays";
    let run = with("stream", STREAM, &[("less than 1.000000e-13", "less than 1.000000e-06")]).unwrap();
    assert!(table(&run).contains(remark), "{}", table(&run));
    let run = with("stream", STREAM, &[(": avg error less than 1.000000e-13 on all three arrays", "")]).unwrap();
    assert!(table(&run).contains("Solution Validates\n"), "{}", table(&run));
}

/// A file of the folder whose tables say what is right.
fn right(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/import/right/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn files_are_read_as_their_table_says() {
    for line in String::from_utf8_lossy(&right("right.tsv")).lines() {
        let [format, name, ref wanted @ ..] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let found: Vec<String> = match read(format, right(name)) {
            Err(error) => vec![format!("refused {error}")],
            Ok(run) => {
                check(&run, &[]);
                let cases = run.cases.iter().map(|case| format!("{} {}", case.id, told(&case.outcome)));
                let Run { started, finished, host, disturbances, tool, .. } = &run;
                let read = format!("{:?} {disturbances:?} {} {} cases", host.kernel, host.hostname, run.cases.len());
                let HostFacts { cpu, cpus, .. } = host;
                let by = format!("{} on {} CPUs of {} {:?}", tool.version, cpus.len(), cpu.architecture, cpu.model);
                cases.chain([format!("run {started} {finished:?} {read} {by}")]).collect()
            }
        };
        for wanted in wanted {
            let fits = |found: &String| wanted.split('~').all(|part| found.contains(part));
            assert!(found.iter().any(fits), "{name}: {wanted} is not in {found:#?}");
        }
    }
}

/// An outcome in words: a value with its flags, or a reason.
fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Measured(m) => {
            let also: Vec<_> = m.also.iter().map(|(name, also)| (name, also.estimate.typical)).collect();
            let Estimate { typical, n, min, max, .. } = m.estimate;
            format!("{typical:.4} {:?} {also:?} {:?} n={n} of {min} to {max}", m.flags, m.notes)
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn other_versions_other_tests_and_errors_are_reported_by_name() {
    let first = SYSBENCH.lines().next().unwrap();
    let prepare = format!("{first}\n\nCreating files for the test...\nExtra file open flags: (none)\n");
    let whole = read("sysbench", SYSBENCH).unwrap();
    assert_eq!(
        read("sysbench", format!("{prepare}{SYSBENCH}\n{first}\nRemoving test files...\n")).unwrap().cases,
        whole.cases
    );
    assert_eq!(
        with("sysbench", SYSBENCH, &[("total time:  ", "time elapsed:  "), (first, "sysbench 1.1.0-a (using x)")])
            .unwrap()
            .cases,
        whole.cases
    );
    // fileio of 1.1 prints its rates in three lines, and no times of threads behind them.
    let (_, options) = SYSBENCH.split_once("File operations:").unwrap().0.rsplit_once("sysbench 1").unwrap();
    let rates =
        "read:  IOPS=1857.00 29.02 MiB/s (30.43 MB/s)\n write: IOPS=0.00 0.00 MiB/s (0.00 MB/s)\n fsync: IOPS=3968.59";
    let text = format!("sysbench 1{options}Throughput:\n {rates}\n\nLatency (ms):\n sum: 9921.26\n");
    let file = "threads=1,mode=rndrw,block=16384";
    let run = read("sysbench", &text).unwrap();
    let (read_file, sync) = (format!("sysbench.file_read@{file}"), format!("sysbench.file_sync@{file}"));
    check(&run, &[(&read_file, 29.02 * 1_048_576.0), (&format!("{read_file}/operations"), 1857.0), (&sync, 3968.59)]);
    assert_eq!(run.cases.len(), 2);
    let synced = with(
        "sysbench",
        SYSBENCH,
        &[(
            "Periodic FSYNC enabled, calling fsync() each 100 requests.",
            "Calling fsync() after each write operation.",
        )],
    )
    .unwrap();
    assert_eq!(measured(&synced, &read_file).notes["asked.fsync_after"], "each write operation.");
    let cut = text.split_once("sum:").unwrap().0;
    assert!(read("sysbench", cut).unwrap_err().to_string().contains("truncated"));
    for (text, wanted) in [
        (prepare, "prepare and cleanup measure nothing"),
        (SYSBENCH.replace(first, "sysbench 0.4.12:  multi-threaded system"), "it is of sysbench 0.4.12"),
        (format!("{first}\nFATAL: no space\n"), "sysbench ended with an error (no space)"),
        (format!("{SYSBENCH}\n{first}\nSQL statistics:\n"), "it is of a database test"),
    ] {
        let error = read("sysbench", text).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
    let lmbench = each_output().find(|(format, _)| *format == "lmbench").unwrap().1;
    for (half, started) in [("10:30:00 PM JST", "22:30"), ("12:30:00 AM CET", "00:30"), ("12:30:00 PM CET", "12:30")] {
        let run = with("lmbench", lmbench, &[("10:00:00 UTC", half)]).unwrap();
        assert_eq!(run.started, format!("2010-01-07T{started}:00Z"));
        assert_eq!(run.finished.as_deref(), Some("2010-01-07T10:30:00Z"));
    }
    let run = with("lmbench", lmbench, &[("results for Linux", "results for FreeBSD")]).unwrap();
    assert!(run.host.kernel.named().unwrap().starts_with("FreeBSD "), "{:?}", run.host.kernel);
    for format in ["lmbench", "lmbench-result", "markdown"] {
        let text = export::format_named(format).unwrap().render_one(&run, &RenderOptions::default());
        assert!(text.contains("FreeBSD") && !text.contains("Linux"), "{text}");
    }
    for (text, line, wanted) in [
        ("0.129\n", 1, "heading"),
        ("# Executed 5 fork() calls\n      10.000000 usecs/op\n", 2, "without a heading"),
        ("# Running 'numa/mem benchmark:\n 1.0, secs, x\n", 2, "numa/mem is no benchmark"),
    ] {
        let error = read("perf-bench", text).unwrap_err();
        assert!(error.line == line && error.to_string().contains(wanted), "{error}");
    }
}
