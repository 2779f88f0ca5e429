//! Reads the report of UnixBench 4 and 5: the rate of each test by parallel copies, and the index.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};

use super::bounded::{amount, each_line};
use super::foreign::{Foreign, ForeignQuantity, ImportedValue, Source, no_result};
use super::{ImportError, ImportFormat};
use crate::texts::unixbench as texts;

/// UnixBench's report.
pub(super) const FORMAT: ImportFormat = ImportFormat { name: "unixbench", description: texts::DESCRIPTION, read };

const AXES: &[(&str, AxisKind)] = &[("test", AxisKind::Choice), ("copies", AxisKind::Count)];

static SOURCE: Source = Source {
    format: "unixbench",
    tool: "UnixBench",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        ForeignQuantity {
            id: "unixbench.rate",
            title: texts::RATE_TITLE,
            unit: Unit::OperationsPerSecond,
            axes: AXES,
            also: &[],
            what: texts::RATE,
        },
        ForeignQuantity {
            id: "unixbench.file",
            title: texts::FILE_TITLE,
            unit: Unit::BytesPerSecond,
            axes: AXES,
            also: &[],
            what: texts::FILE,
        },
        ForeignQuantity {
            id: "unixbench.index",
            title: texts::INDEX_TITLE,
            unit: Unit::Count,
            axes: AXES,
            also: &[],
            what: texts::INDEX,
        },
    ],
};

/// Units as they are printed: the program, and what one is in its unit.
const UNITS: &[(&str, &str, f64)] = &[
    ("lps", "unixbench.rate", 1.0),
    ("lpm", "unixbench.rate", 1.0 / 60.0),
    ("MWIPS", "unixbench.rate", 1e6),
    ("MFLOPS", "unixbench.rate", 1e6),
    ("KBps", "unixbench.file", 1024.0),
];
const INDEX: &str = "System Benchmarks Index Score";

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let what = "the whole report of UnixBench";
    let (mut run, mut copies) = (Foreign::of(&SOURCE), "unknown".to_owned());
    let lines = each_line(input, what, |line, text| {
        read_line(&mut run, &mut copies, text.trim_start()).map_err(|what| ImportError { line, what })
    })?;
    run.finish(lines, || no_result(what))
}

fn read_line(run: &mut Foreign, copies: &mut String, line: &str) -> Result<(), String> {
    let is_word = |word: &&str| !word.is_empty();
    if let Some((_, version)) = line.split_once("BYTE UNIX Benchmarks (Version ") {
        run.version = format!("UnixBench {}", version.trim_end_matches(')').chars().take(20).collect::<String>());
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
