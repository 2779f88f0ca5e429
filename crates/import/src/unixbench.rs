//! Reads the report of UnixBench 4 and 5: the rate of each test by parallel copies, and the index.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};

use super::bounded::amount;
use super::foreign::{Axis, Foreign, ImportedValue, quantity, read_lines};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "unixbench",
    tool: "UnixBench",
    what: "the whole report of UnixBench",
    nothing: "the file has no result",
    texts: crate::texts::unixbench::TEXTS,
    programs: &[
        quantity("unixbench.rate", Unit::OperationsPerSecond, AXES),
        quantity("unixbench.file", Unit::BytesPerSecond, AXES),
        quantity("unixbench.index", Unit::Count, AXES),
    ],
    read,
};

const AXES: &[Axis] = &[("test", AxisKind::Choice), ("copies", AxisKind::Count)];

/// Units as they are printed: the program, and what one is in its unit.
const UNITS: &[(&str, &str, f64)] = &[
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

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let (mut copies, mut is_whole) = ("unknown".to_owned(), true);
    read_lines(&FORMAT, input, |run, _, line| match line.map(str::trim_start) {
        Some(line) => {
            let is_test = line.ends_with("samples)") && INDEXED.iter().any(|name| line.starts_with(name));
            is_whole = !is_test && (is_whole || line.starts_with(INDEX) || line.starts_with("FINAL SCORE"));
            read_line(run, &mut copies, line)
        }
        None if is_whole => Ok(()),
        None => Err(format!("the file ends here without its index, so it is truncated; give {}", FORMAT.what)),
    })
}

fn read_line(run: &mut Foreign, copies: &mut String, line: &str) -> Result<(), String> {
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
        let known = UNITS.iter().find_map(|known| Some((known, before.strip_suffix(known.0)?.trim_end())));
        let Some(((_, probe, one), before)) = known else { return Ok(()) };
        let (name, number) = before.rsplit_once(' ').unwrap_or(("", before));
        let value =
            ImportedValue::new(probe, vec![amount(number, name)? * one]).at("test", run.distinct(name.trim_end()));
        return run.keep(value.at("copies", &*copies).note("samples", seconds.trim_end_matches(')')));
    }
    Ok(())
}
