//! The tables that are measured by name: their very text, what stands in the place of a value, and their cells.

use std::collections::BTreeSet;

use hostmark_model::{
    Also, AxisKind, CacheFact, CacheKind, CaseId, CaseRecord, EACH_POINT, Estimate, Flag, FlagKind, Lang, Leading,
    Measured, Outcome, Quiet, ReasonCode, Run, Text, Unit,
};
use hostmark_present::RenderOptions;
use hostmark_present::export::format_named;
use hostmark_present::tables::{TABLES, table_named};
use hostmark_say::say;

use crate::golden::holds;
use crate::synthetic;

#[track_caller]
fn golden(name: &str, text: &str) {
    holds(
        env!("CARGO_MANIFEST_DIR"),
        &format!("tests/golden/{name}"),
        text,
        "cargo test -p hostmark-present --test all tables::",
    );
}

pub fn shown(run: &Run, table: &str, lang: Lang) -> String {
    let options = RenderOptions { lang, ..RenderOptions::default() };
    format_named(table).unwrap().render(std::slice::from_ref(run), &options).unwrap()
}

/// The probe's default on the axes that a cell does not name, and `point` where it asks for each.
fn id_of(cell: &CaseId, run: &Run, point: &str) -> String {
    let info = run.probes.iter().find(|info| info.id == cell.probe).unwrap();
    let value = |name: &str, default: &str| match cell.params.get(name) {
        Some(EACH_POINT) => point.to_owned(),
        other => other.unwrap_or(default).to_owned(),
    };
    let axes = info.axes.iter().map(|axis| format!("{}={}", axis.name, value(&axis.name, &axis.default)));
    format!("{}@{}", cell.probe, axes.collect::<Vec<_>>().join(","))
}

fn cells_of(table: &str, run: &Run) -> Vec<CaseId> {
    table_named(table).unwrap().cells(&run.host, run.settings.cpu)
}

/// A run of a table: rates fall and latencies rise with the size, and 3.1 GHz are told beside rates.
pub fn run_of(table: &str) -> Run {
    run_on(table, |_| ())
}

/// The same on a machine that `change` makes of the usual one.
pub fn run_on(table: &str, change: impl FnOnce(&mut Run)) -> Run {
    let mut run = synthetic::plausible();
    change(&mut run);
    run.cases.clear();
    run.probes.push(synthetic::probe(
        "ipc.bandwidth",
        ("pipe bandwidth", "管道带宽"),
        Unit::BytesPerSecond,
        ("Communication", "进程间通信"),
        &[("message", AxisKind::Size, "65536"), ("cpus", AxisKind::Placement, "same_cpu")],
    ));
    run.settings.table = Some(table.to_owned());
    for cell in cells_of(table, &run) {
        let has_each = cell.params.0.iter().any(|(_, value)| value == EACH_POINT);
        for point in if has_each { &["same_cpu", "same_cache"][..] } else { &[""] } {
            let number = |name: &str| cell.params.get(name).and_then(|value| value.parse::<f64>().ok());
            let size = number("size").or_else(|| number("message")).unwrap();
            let median = match number("pattern") {
                Some(stride) => 1.3 + (size / stride).sqrt(),
                None => 7e12 / size.sqrt() + 8e9 + point.len() as f64 * 1e8,
            };
            let mut case = synthetic::value(&id_of(&cell, &run, point), median);
            let measured = measured(&mut case);
            if cell.probe == "memory.read" {
                measured.notes.insert("kernel".into(), "avx2-streams".into());
                let estimate = synthetic::estimate(median / 3.1e9, 0.004);
                measured.also.insert("bytes_per_cycle".into(), Also { estimate });
            }
            run.cases.push(case);
        }
    }
    run
}

fn measured(case: &mut CaseRecord) -> &mut Measured {
    let Outcome::Measured(measured) = &mut case.outcome else { panic!("{} has no value", case.id) };
    measured
}

/// The smallest and the largest median of its rounds.
fn range_of(measured: &Measured) -> Option<[f64; 2]> {
    let medians = || measured.rounds.iter().map(|round| round.median);
    Some([medians().reduce(f64::min)?, medians().reduce(f64::max)?])
}

/// The same of which two cells were not measured, one is gone, one has too few rounds, and one no one should believe.
fn incomplete(table: &str) -> Run {
    let mut run = run_of(table);
    run.cases[1].outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    run.cases[2].outcome = Outcome::Failed {
        reason: ReasonCode::ProcessDied
            .because(say!("the worker {how}", how = say!("ended with status {code}", code = 1))),
    };
    run.cases.remove(3);
    let few = measured(&mut run.cases[3]);
    (few.estimate.ci_low, few.estimate.ci_high, few.estimate.range) = (None, None, range_of(few));
    measured(&mut run.cases[4]).flags = vec![Flag::new(FlagKind::Implausible, "over what ports move")];
    run
}

#[test]
fn bandwidth_of_memory_by_block() {
    golden("memory-bandwidth-en.txt", &shown(&run_of("memory-bandwidth"), "memory-bandwidth", Lang::En));
    golden("memory-bandwidth-zh.txt", &shown(&incomplete("memory-bandwidth"), "memory-bandwidth", Lang::Zh));
}

/// The same led by quiet values a quarter better than the typical ones, as a core of 3.1 GHz gives them; every second row has the same
/// of its cycles, and every second too few rounds for an interval.
fn led(table: &str) -> Run {
    let mut run = run_of(table);
    for (index, case) in run.cases.iter_mut().enumerate() {
        let measured = measured(case);
        let (range, rate) = (range_of(measured), measured.estimate.typical);
        let of = |estimate: &mut Estimate, at_hz: Option<f64>| {
            estimate.range = range.map(|ends| ends.map(|end| end * estimate.typical / rate));
            let value = 1.25 * estimate.typical;
            let [low, high] = [value * 0.999, value * 1.001].map(|end| (index % 4 > 1).then_some(end));
            (estimate.quiet, estimate.leading) = (Some(Quiet { value, low, high, range: None, at_hz }), Leading::Quiet);
        };
        of(&mut measured.estimate, (index % 2 == 0).then_some(3.1e9));
        if index % 2 == 0 {
            measured.also.values_mut().for_each(|also| of(&mut also.estimate, None));
        }
    }
    run
}

#[test]
fn a_rate_and_its_bytes_per_cycle_imply_the_clock_that_the_core_had_and_ranges_hold_their_values() {
    let options = RenderOptions { width: 200, ..RenderOptions::default() };
    let text = format_named("memory-bandwidth").unwrap().render_one(&led("memory-bandwidth"), &options);
    let number = |text: &str| text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{text:?}"));
    let rate_of = |row: &str| number(row.split("mem read:").nth(1).unwrap().split(" MB/s").next().unwrap());
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("bandwidth of mem read:")).collect();
    let per_cycle: Vec<&str> = text.lines().filter(|line| line.contains("bytes per cycle")).collect();
    assert_eq!(per_cycle.len(), 4, "{text}");
    for (row, line) in rows.iter().zip(per_cycle) {
        let printed_ghz = number(line.split(", ").last().unwrap().strip_suffix(" GHz)").unwrap());
        let bytes = number(line.split_whitespace().nth(1).unwrap());
        for ghz in [printed_ghz, rate_of(row) / 1e3 / bytes] {
            assert!((ghz / 3.1 - 1.0).abs() < 0.02, "{ghz} GHz of {row} and {line}");
        }
    }
    let ranged = text.lines().filter_map(|line| line.split_once('[').map(|(before, range)| (line, before, range)));
    let mut count = 0;
    for (line, before, range) in ranged.filter(|(line, ..)| line.contains("blocksize:")) {
        let (low, high) = range.split(']').next().unwrap().split_once(" … ").unwrap();
        let value = before.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).next_back().unwrap();
        // Ends have three digits, the value more.
        assert!(number(low) * 0.995 <= value && value <= number(high) * 1.005, "{line}");
        count += 1;
    }
    assert!(count > 10, "{text}");
}

#[test]
fn latency_by_size_and_stride_with_the_lines() {
    golden("size-stride-en.txt", &shown(&run_of("size-stride"), "size-stride", Lang::En));
    golden("size-stride-zh.txt", &shown(&incomplete("size-stride"), "size-stride", Lang::Zh));
}

#[test]
fn bandwidth_of_a_pipe_for_each_placement_that_the_run_has() {
    golden("pipe-en.txt", &shown(&incomplete("pipe"), "pipe", Lang::En));
    golden("pipe-zh.txt", &shown(&run_of("pipe"), "pipe", Lang::Zh));
}

#[test]
fn no_cell_is_blank_and_each_reason_stands_below() {
    for name in ["memory-bandwidth", "size-stride", "pipe"] {
        let text = shown(&incomplete(name), name, Lang::En);
        let rows =
            text.lines().filter(|line| line.contains("blocksize:") || line.contains("buflen =")).collect::<Vec<_>>();
        let without: Vec<_> = rows.iter().filter(|row| row.contains(" - ")).collect();
        assert!(without.len() >= 3 && without.iter().all(|row| row.ends_with(')')), "{text}");
        for said in [
            "skipped: no time left",
            "failed: the worker ended with status 1",
            "not in this run; to measure: hostmark run --table",
            "implausible: over what ports move",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        // Too few rounds for an interval tell their range.
        assert!(rows.iter().any(|row| row.contains('[')), "{text}");
        let lines = text.lines().filter(|line| line.starts_with('(')).count();
        assert_eq!(lines, 4, "{text}");
    }
}

#[test]
fn a_run_of_something_else_says_how_to_measure_the_table() {
    for name in ["memory-bandwidth", "size-stride", "pipe"] {
        let text = shown(&synthetic::empty(), name, Lang::En);
        assert_eq!(text, format!("This run has no cell of this table; measure it by `hostmark run --table {name}`.\n"));
    }
}

#[test]
fn what_was_set_is_said() {
    let mut run = run_of("size-stride");
    run.settings.set.insert("page".into(), "base".into());
    assert!(shown(&run, "size-stride", Lang::En).contains("\nset: page=base\n"));
}

#[test]
fn what_others_took_is_said_below() {
    let mut run = run_of("pipe");
    run.disturbances
        .push(Text { en: "others used 14 % of CPU 1".into(), zh: "其他程序占用了 CPU 1 的 14%".into() });
    let flag = Flag::new(FlagKind::Contended, "others used 46 % of its CPU");
    measured(&mut run.cases[2]).flags.push(flag);
    let text = shown(&run, "pipe", Lang::En);
    let said = "\nothers used 14 % of CPU 1\n1 of 32 rows were measured while other programs used their CPUs\n";
    assert!(text.contains(said), "{text}");
}

#[test]
fn lines_are_those_of_the_hosts_size() {
    let run = run_on("size-stride", |run| {
        run.host.caches = vec![CacheFact {
            level: 1,
            kind: CacheKind::Data,
            size_bytes: 65536,
            line_bytes: Some(128),
            shared_cpus: vec![0],
            ways: None,
        }];
    });
    let text = shown(&run, "size-stride", Lang::En);
    // At a stride of half a line every second load stays in the line.
    assert!(text.contains("buflen =   16K   stride =    64   lines =   128"), "{text}");
    assert!(text.contains("buflen =   16K   stride =  1024   lines =    16"), "{text}");
}

#[test]
fn every_table_has_its_format_and_each_cell_once() {
    for table in TABLES {
        assert!(format_named(table.name).is_some(), "{}", table.name);
        let cells = cells_of(table.name, &synthetic::plausible());
        let unique: BTreeSet<String> = cells.iter().map(ToString::to_string).collect();
        assert!(cells.len() >= 4 && (table.name == "lmbench" || unique.len() == cells.len()), "{}", table.name);
    }
    assert!(table_named("html").is_none());
}
