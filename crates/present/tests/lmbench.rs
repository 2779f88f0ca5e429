//! lmbench's summary and its result files: what is read, what is refused and where, and that what is written reads back.

use std::collections::BTreeMap;
use std::io::Cursor;

use hostmark_analysis::lmbench::{CasePoint, TABLES};
use hostmark_import::{self, ImportError};
use hostmark_say::say;

use crate::prelude::*;

/// A result file in lmbench 3's form, shortened and with made-up values: noise of the shell, -1, 0.00 and a repeated
/// value among them.
const FILE: &str = include_str!("fixtures/import/lmbench.txt");

fn read(text: impl AsRef<[u8]>) -> Result<Run, ImportError> {
    (hostmark_import::format_named("lmbench").unwrap().read)(&mut Cursor::new(text))
}

fn value(run: &Run, id: &str) -> f64 {
    let case = run.cases.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("there is no {id}"));
    case.measured().unwrap_or_else(|| panic!("{id} has no value")).estimate.typical
}

fn tables(runs: &[Run], lang: Lang) -> String {
    let options = RenderOptions { width: 200, lang, ..RenderOptions::default() };
    format_named("lmbench").unwrap().render(runs, &options).unwrap()
}

#[test]
fn lmbench_2_is_read_as_well() {
    let two = FILE
        .replace("lmbench3.0", "lmbench2.0")
        .replace("Socket bandwidth using localhost\n", "Socket bandwidth using localhost: 113.41 MB/sec\n");
    let run = read(two).unwrap();
    assert_eq!(run.tool.version, "lmbench 2.0");
    assert_eq!(value(&run, "lmbench.bw_tcp@server=localhost,message=untold"), 113.41e6);
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let wrong = |from: &str, to: &str| read(FILE.replacen(from, to, 1)).unwrap_err();
    let line = |text: &str| FILE.lines().position(|line| line.contains(text)).unwrap() as u64 + 1;
    for (from, to) in [
        ("Simple read: 0.1400", "Simple read: 0,1400"),
        ("0.12500 6.361", "0.12500"),
        ("16 4.07", "16 NaN"),
        ("0k\t1091\t100000\t250000", "0k\t1091\t100000"),
        ("\"stride=16\n", "\"stride=x\n"),
        ("tlb: 31", "tlb: many"),
    ] {
        let error = wrong(from, to);
        assert_eq!(error.line, line(from.trim_end()), "{error}");
    }
    assert_eq!(wrong("[lmbench3.0", "[lmbench1.2").line, 1);
    // Without its head it is read as what single programs printed, as far as that goes.
    assert!(wrong("[lmbench3.0 results", "[results").line >= line("Simple syscall"));
    assert_eq!(wrong("[net: lo", "[lmbench3.0 results for Linux a b]\n[net: lo").line, line("[net: lo"));
    assert_eq!(read("").unwrap_err().line, 0);
    assert_eq!(read("{\"schema\": \"hostmark.run/1\"}\n").unwrap_err().line, 1);
}

#[test]
fn a_huge_line_and_too_many_values_are_refused() {
    let line = format!("{}{}", FILE, "x".repeat(200_000));
    assert!(read(line).unwrap_err().to_string().contains("longer"));
    let values: String = (1..30_000).map(|size| format!("{size}.0 1.0\n")).collect();
    let many = FILE.replacen("0.000512 50000.00\n", &values, 1);
    assert!(read(many).unwrap_err().to_string().contains("values"));
}

/// A run of this program with every case that a column needs: their values are three digits in the column's unit.
fn full() -> Run {
    let points: Vec<(CasePoint, f64)> = TABLES
        .iter()
        .flat_map(|table| table.columns)
        .flat_map(|column| column.ours.points().into_iter().map(|point| (point, column.scale)))
        .collect();
    let mut axes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (point, _) in &points {
        axes.entry(point.probe).or_default().extend(point.at.iter().map(|(axis, _)| *axis));
    }
    let mut run = synthetic::empty();
    run.host.hostname = "new-host".into();
    let host = HostFacts::default();
    run.peers.push(Peer { name: "peer".into(), host, place: None, address: None, path: None, path_back: None });
    let rest = |axis: &str| if axis == "to" { "here" } else { "rest" };
    for (probe, axes) in &axes {
        let axes: Vec<_> = axes.iter().map(|axis| (*axis, AxisKind::Choice, rest(axis))).collect();
        run.probes.push(synthetic::probe(probe, ("a", "b"), Unit::Nanoseconds, ("c", "d"), &axes));
    }
    for (number, (point, scale)) in (100..).zip(points) {
        let at = |axis: &&str| point.at.iter().find(|(name, _)| name == axis).map_or(rest(axis), |(_, value)| value);
        let pairs: Vec<String> = axes[point.probe].iter().map(|axis| format!("{axis}={}", at(axis))).collect();
        let id = if pairs.is_empty() { point.probe.into() } else { format!("{}@{}", point.probe, pairs.join(",")) };
        if run.cases.iter().all(|case| case.id != id) {
            run.cases.push(synthetic::value(&id, f64::from(number) * scale));
        }
    }
    run.cases.push(scaling(1.0));
    run
}

/// How copies of the sieve fare.
fn scaling(within: f64) -> hostmark_model::CaseRecord {
    let mut most = synthetic::measured(1.9, 0.01);
    let estimate = synthetic::estimate(within, 0.0);
    most.also.insert("within_5_percent".into(), hostmark_model::Also { estimate });
    synthetic::case("cpu.scaling@source=cpu.sieve,copies=4", Outcome::Measured(Box::new(most)))
}

#[test]
fn scal_load_is_how_many_copies_do_not_hinder_each_other_and_no_cell_names_what_there_is_not() {
    let mut run = synthetic::empty();
    run.host.hostname = "new-host".into();
    run.cases.push(scaling(3.0));
    let shown = tables(std::slice::from_ref(&run), Lang::En);
    assert_eq!(rows(&shown, "new-host  ")[0].last(), Some(&"3"), "{shown}");
    run.cases.clear();
    let shown = tables(std::slice::from_ref(&run), Lang::En);
    assert!(shown.contains("not in this run: hostmark run cpu.scaling") || shown.contains("cpu.scaling"), "{shown}");
    assert!(shown.contains("no second host was measured") && !shown.contains("to=peer"), "{shown}");
    assert!(!shown.contains("--peer"), "{shown}");
}

#[test]
fn a_column_of_the_summary_names_its_probes_however_it_is_typed() {
    use hostmark_analysis::lmbench::probes_of_column;
    assert_eq!(probes_of_column("null call"), ["syscall.null"]);
    assert_eq!(probes_of_column("Null  I/O"), ["syscall.byte"]);
    assert_eq!(probes_of_column("2p/0k ctxsw"), ["sched.context_switch"]);
    assert_eq!(probes_of_column("pipe"), ["ipc.round_trip", "ipc.bandwidth"]);
    assert_eq!(probes_of_column("RPC/TCP"), ["net.rpc"]);
    assert_eq!(probes_of_column("空调用"), ["syscall.null"]);
    assert_eq!(
        (probes_of_column("scal load"), probes_of_column("Guesses")),
        (vec!["cpu.scaling"], vec!["memory.hierarchy"])
    );
    assert!(probes_of_column("lat_pipe").is_empty() && probes_of_column("Description").is_empty());
}

/// The rows of a host with what stands between its name and the first note.
fn rows<'a>(text: &'a str, host: &str) -> Vec<Vec<&'a str>> {
    let rows = text.lines().filter(|line| line.starts_with(host));
    rows.map(|row| row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect()
}

#[test]
fn what_is_written_as_a_result_file_reads_back_into_the_same_tables() {
    let run = full();
    let text = format_named("lmbench-result").unwrap().render_one(&run, &RenderOptions::default());
    let back = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let shown = tables(&[run, back], Lang::En);
    let (ours, theirs) = (rows(&shown, "new-host  "), rows(&shown, "new-host ("));
    assert_eq!((ours.len(), theirs.len()), (TABLES.len(), TABLES.len()), "{shown}");
    for (one, other) in ours.iter().zip(&theirs) {
        // Behind host and system; texts on the machine are not in a result file.
        let numbers = |row: &[&str]| -> Vec<String> {
            // A mark behind a number leads to a note.
            let number = |cell: &&str| cell.split('(').next().unwrap_or_default().to_owned();
            let is_number = |cell: &String| !cell.is_empty() && cell.chars().all(|c| c.is_ascii_digit() || c == '.');
            let numbers = row[2..].iter().map(number).filter(is_number);
            numbers.map(|cell| cell.trim_end_matches(".0").to_owned()).collect()
        };
        assert!(numbers(one).len() >= 4, "{one:?}");
        assert_eq!(numbers(one), numbers(other), "{shown}");
    }
}

#[test]
fn no_cell_is_blank_zero_or_minus_one_whatever_a_run_lacks() {
    let mut odd = full();
    odd.host.hostname = "odd".into();
    for (number, case) in odd.cases.iter_mut().enumerate() {
        match (number % 5, &mut case.outcome) {
            (0, outcome) => *outcome = Outcome::Skipped { reason: ReasonCode::NotApplicable.because("no time") },
            (1, outcome) => *outcome = Outcome::Failed { reason: ReasonCode::CheckFailed.because("it broke") },
            (2, Outcome::Measured(measured)) => measured.estimate.typical = -1.0,
            (3, Outcome::Measured(measured)) => measured.estimate.typical = 1e-7,
            _ => {}
        }
    }
    let runs = [odd, synthetic::empty(), synthetic::plausible(), read(FILE).unwrap()];
    for lang in [Lang::En, Lang::Zh] {
        let shown = tables(&runs, lang);
        assert_eq!(shown.lines().filter(|line| line.starts_with("---")).count(), TABLES.len());
        let mut count = 0;
        for (title, table) in TABLES.iter().zip(shown.split("\n\n")) {
            let rule = table.lines().find(|line| line.starts_with("---")).unwrap();
            let starts: Vec<usize> = rule.match_indices(" -").map(|(at, _)| at + 1).collect();
            assert_eq!(starts.len(), title.columns.len() + 1, "{table}");
            let rows = table.lines().skip_while(|line| !line.starts_with("---")).skip(1);
            // How sure the values of a row are stands below it.
            for row in rows.filter(|row| !row.starts_with(' ')).take(runs.len()) {
                for cell in row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()) {
                    assert!(!matches!(cell, "0" | "0.00" | "-1" | "-" | "−1"), "{row}");
                    count += 1;
                }
            }
        }
        let cells: usize = TABLES.iter().map(|table| table.columns.len() + 2).sum::<usize>() * runs.len();
        assert_eq!(count, cells, "{shown}");
        // Every number of a note that a cell has is explained.
        assert!(shown.contains("(1) "), "{shown}");
    }
}

#[test]
fn no_digit_is_cut_and_nothing_steers_the_terminal() {
    let mut run = full();
    run.host.hostname = "a-host-with-a-name-that-is-rather-long\u{1b}[31m".into();
    for case in run.cases.iter_mut().filter(|case| case.probe == "memory.read") {
        case.outcome = Outcome::Measured(Box::new(synthetic::measured(123_456.0e6, 0.01)));
    }
    let shown = tables(&[run], Lang::En);
    assert!(shown.contains("123456") && shown.contains("a-host-with-a-name-that-is-rather-long\\u{1b}"), "{shown}");
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn runs_of_one_host_are_distinguished() {
    let (one, mut other) = (full(), full());
    other.name = "another-run".into();
    let shown = tables(&[one, other], Lang::En);
    assert_eq!(rows(&shown, "another-run").len(), TABLES.len());
    assert!(rows(&shown, "new-host  ").is_empty());
    // Files of one name in two directories.
    let (mut one, mut other) = (full(), full());
    (one.name, other.name) = ("run-7".into(), "run-7".into());
    let shown = tables(&[one, other], Lang::En);
    assert_eq!(["run-7 A", "run-7 B"].map(|name| rows(&shown, name).len()), [TABLES.len(); 2], "{shown}");
}

#[test]
fn a_value_that_is_only_a_lower_bound_says_so_under_its_table() {
    let mut run = full();
    let case = run.cases.iter_mut().find(|case| case.probe == "memory.parallelism").unwrap();
    let measured = case.measured_mut().unwrap();
    let (point, axis, why) = (32, "chains", say!("it still rises there"));
    let detail = say!("at least this: {point} {axis} are the most that were measured, and {why}");
    measured.flags.push(hostmark_model::Flag::new(hostmark_model::FlagKind::Unconfirmed, detail));
    for (lang, word) in [(Lang::En, "unconfirmed: at least this"), (Lang::Zh, "未证实：这是下限：chains=32")] {
        let text = tables(std::slice::from_ref(&run), lang).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn what_was_set_is_said_of_the_value() {
    let mut run = full();
    run.probes.iter_mut().filter(|probe| probe.id == "syscall.null").for_each(|probe| {
        probe.axes = vec![AxisInfo { name: "copies".into(), kind: AxisKind::Copies, default: "2".into() }];
    });
    run.cases.retain(|case| case.probe != "syscall.null");
    run.cases.push(synthetic::value("syscall.null@copies=2", 99_000.0));
    run.settings.set.insert("copies".into(), "2".into());
    let shown = tables(&[run], Lang::En);
    assert!(shown.contains("99.0(") && shown.contains("null call: set to copies=2"), "{shown}");
}

#[test]
fn below_the_values_stands_how_sure_they_are_where_a_run_reports() {
    let runs = [full(), read(FILE).unwrap()];
    let shown = tables(&runs, Lang::En);
    let processes = shown.split("\n\n").nth(1).unwrap();
    let rows: Vec<&str> = processes.lines().skip_while(|line| !line.starts_with("---")).skip(1).collect();
    // Every case of this run has the same spread.
    assert!(rows[1].trim_start().starts_with("95 %") && rows[1].matches("±0.4 %").count() >= 8, "{processes}");
    // lmbench prints one value: its row has none below.
    assert!(rows[2].starts_with("old-host") && rows.get(3).is_none_or(|row| !row.starts_with(' ')), "{processes}");
}

#[test]
fn a_line_that_prefetchers_hide_is_the_one_that_two_cpus_share() {
    let mut run = full();
    let cases = run.cases.iter().enumerate().filter(|(_, case)| case.probe == "memory.line");
    let [own, shared] = cases.map(|(at, _)| at).collect::<Vec<_>>()[..] else { panic!("two ways to the line") };
    run.cases[own].outcome = Outcome::Skipped { reason: ReasonCode::NotApplicable.because("no step") };
    run.cases[shared].measured_mut().unwrap().estimate.typical = 64.0;
    let basic = |run: &Run| tables(std::slice::from_ref(run), Lang::En).split("\n\n").next().unwrap().to_owned();
    let text = basic(&run);
    assert!(
        text.contains("  64") && text.contains("by memory.line@sharers=2; memory.line: skipped: no step"),
        "{text}"
    );
    // Without either the first way's reason is told.
    run.cases[shared].outcome = Outcome::Skipped { reason: ReasonCode::NotApplicable.because("no contention") };
    assert!(basic(&run).contains("cache line bytes: skipped: no step"), "{}", basic(&run));
}
