//! What the output of a command looks like: how it may end, what it begins with, and its headings.

use hostmark_analysis::constants::{ConstantGroup, LINES};

/// How a command may end, and what the first line of its output may begin with.
#[derive(Debug)]
pub struct Shape {
    pub codes: &'static [i32],
    pub begins: &'static [&'static str],
}

const fn of(codes: &'static [i32], begins: &'static [&'static str]) -> Shape {
    Shape { codes, begins }
}

const FINE: &[i32] = &[0];
/// A host, a comparison and a fleet have a verdict (usage.md, exit codes).
const JUDGED: &[i32] = &[0, 1, 6];
/// What a command is called in a sentence lacks what it needs, and says so.
const LACKS: Shape = of(&[2], &[""]);
/// The first line of a run as a person reads it.
const SCREEN: &str = "hostmark 0.";

/// By what a command has in it; the first that fits is the command's.
const SHAPES: &[(&str, Shape)] = &[
    ("runs --prune", of(FINE, &["0 of 2 runs"])),
    ("--dry-run", of(FINE, &["Nothing is measured"])),
    ("--format card-markdown", of(FINE, &["**"])),
    ("--format card", of(FINE, &["<svg "])),
    ("--format html", of(JUDGED, &["<!DOCTYPE html>"])),
    ("--format csv", of(FINE, &["run,host,case,"])),
    ("--format FORMAT", of(FINE, &["run,host,case,"])),
    ("--format jsonl", of(FINE, &["{\"case\":"])),
    ("compare --format json", LACKS),
    ("--format json", of(FINE, &["{"])),
    ("--format markdown", of(FINE, &["# "])),
    ("lmbench results/", of(FINE, &["imported 1 value of lmbench"])),
    ("import lmbench FILE", of(FINE, &["imported 1 value of lmbench"])),
    ("--format lmbench", of(FINE, &["Basic system parameters"])),
    ("--table lmbench", of(FINE, &["Basic system parameters"])),
    ("data-path", of(FINE, &["On 1 CPU, blocks of "])),
    ("--format overhead", of(FINE, &[""])),
    ("hostmark host", of(JUDGED, &["CPU   "])),
    // Of a machine whose design no base knows, nothing is usual.
    ("compare --against usual", of(&[0, 1, 2, 6], &["20", ""])),
    ("compare --against", of(FINE, &["20"])),
    ("hostmark run && hostmark compare", of(JUDGED, &[SCREEN])),
    ("hostmark compare ", of(JUDGED, &["base "])),
    ("hostmark compare", LACKS),
    ("hostmark fleet report ", of(JUDGED, &["5 hosts, 5 runs"])),
    ("hostmark fleet", LACKS),
    ("hostmark import ", of(FINE, &["imported 7 values of fio"])),
    ("hostmark watch", of(FINE, &["20"])),
    ("report SERIES", LACKS),
    ("hostmark runs --changes", of(FINE, &["2 runs"])),
    ("hostmark runs", of(FINE, &["run "])),
    ("list --references", of(FINE, &["  broadwell-stream "])),
    ("explain x220", of(FINE, &["x220: ThinkPad X220"])),
    ("explain memory.latency", of(FINE, &["memory.latency   Memory latency"])),
    ("explain syscall.null", of(FINE, &["syscall.null   Null call"])),
    ("explain ID", of(FINE, &["syscall.null   Null call"])),
    ("self-check", of(&[0, 1], &["Known values on CPU "])),
    ("hostmark list", of(FINE, &["MEMORY HIERARCHY"])),
    ("hostmark explain", of(FINE, &["MEMORY HIERARCHY"])),
    ("hostmark try", of(FINE, &["SETTINGS TO TRY"])),
    ("hostmark man", of(FINE, &[".TH HOSTMARK 1"])),
    ("completions --help", of(FINE, &["Print a shell's completion script"])),
    ("--expect usual", of(&[0, 1, 2, 6], &[SCREEN, ""])),
    ("--expect", of(JUDGED, &[SCREEN])),
    ("for n in", of(FINE, &[SCREEN])),
    ("--out ", of(FINE, &["{"])),
    ("--table NAME", of(FINE, &["---"])),
    ("hostmark run", of(FINE, &[SCREEN])),
    ("hostmark report", of(FINE, &[SCREEN])),
    ("mkdir ", of(FINE, &[""])),
    ("echo hello", of(FINE, &["hello"])),
];

/// The shape of a command's output; none where the list above lacks it.
pub fn shape_of(line: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|(part, _)| line.contains(part)).map(|(_, shape)| shape)
}

/// Rows that not every machine has, as it has no such level or no time for it, and what not every comparison has: where others disturb both
/// runs, no group may have a case that can be compared.
const OF_SOME: [&str; 6] = ["L2", "L3", "DRAM", "memory.hierarchy@level=l3", "memory.hierarchy@level=dram", "GROUPS"];

/// What lines begin with that are headings or have a name before their columns: `TRUST`, `FINDINGS`, `pipe, 1 · 2 CPU`.
pub fn headings<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let heading = |line: &'a str| {
        let (named, _) = line.split_once("  ")?;
        // The grade is that of one run.
        let named = named.split_once(" C of").or(named.split_once(" C（")).map_or(named, |(before, _)| before);
        let is_name = named.starts_with(char::is_alphabetic) && !line.contains(": ") && !line.contains('：');
        (is_name && !OF_SOME.contains(&named)).then_some(named)
    };
    lines.filter_map(heading).collect()
}

/// Whether an output has a line that begins so; for a row of the first screen, one of its kind: how much else a screen has to hold decides
/// whether constants have rows of their own, share them, or follow each other behind the name of their kind.
pub fn has_heading(output: &str, heading: &str) -> bool {
    let begins = |name: &str| {
        let mut ends = output.lines().filter_map(|line| line.strip_prefix(name));
        ends.any(|rest| rest.is_empty() || rest.starts_with([' ', '（']))
    };
    let of_kind = LINES.iter().map(names).find(|names| names.contains(&heading)).unwrap_or_default();
    begins(heading) || of_kind.into_iter().any(begins)
}

/// What a line of the first screen may begin with that holds constants of a kind.
fn names(kind: &ConstantGroup) -> Vec<&'static str> {
    let rows = kind.constants.iter().map(|constant| constant.row);
    let all = std::iter::once(kind.name).chain(rows).chain(kind.pairs.iter().copied());
    all.flat_map(|name| [name.en, name.zh]).collect()
}

#[test]
fn a_first_screen_holds_its_constants_in_any_of_its_forms() {
    let rows = "L1d latency       1.24 ns\nTCP RTT · stream  4.34 µs · 2.73 GB/s\n";
    let flow = "memory latency      L1d 1.24 ns\nTCP over loopback   round trip 4.34 µs   stream 2.73 GB/s\n";
    let alone = "L1d latency       1.24 ns\nTCP round trip    4.34 µs\n";
    let [of_latency, of_tcp] = ["L1d latency", "TCP RTT · stream"];
    for screen in [rows, flow, alone] {
        assert!(has_heading(screen, of_latency) && has_heading(screen, of_tcp), "{screen}");
        assert!(!has_heading(screen, "pipe, 1 · 2 CPU") && !has_heading(screen, "FINDINGS"), "{screen}");
    }
}
