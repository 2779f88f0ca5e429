//! The blocks BANDWIDTH BY SIZE, LATENCY BY SIZE AND PATTERN and MEMORY NODES.

use std::collections::BTreeSet;

use hostmark_analysis::levels::{Location, level_of_lines, lines_of, place_of_size};
use hostmark_model::{CaseRecord, HostFacts, Run, Text, Unit};
use hostmark_stats::change::LEAST_STEP;

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style};
use super::remarks::reason_rows;
use super::sweep::{Series, Sweep, SweepPoint, cells, lines_along, points, short_size};
use super::view::{Shown, View};
use crate::words;

/// The probes of bandwidth, with the words for what they do.
pub(super) const BANDWIDTHS: [(&str, Text); 3] =
    [("memory.read", words::READ), ("memory.write", words::WRITE), ("memory.copy", words::COPY)];

/// The probe that stands under them in the block by size, and in no column of the hierarchy.
const FILL: (&str, Text) = ("memory.fill", words::FILL);

pub(super) const LATENCY: &str = "memory.latency";

/// Fewer sizes than this are no sweep: they are listed with the rest.
const SIZES: usize = 3;

/// More patterns than this stand side by side, with the sizes down.
const PATTERNS_ACROSS: usize = 3;

/// Writes both blocks, as far as the run has them.
pub(super) fn write<'a>(view: &View<'a>, page: &mut Page, shown: &mut Shown<'a>) {
    let bandwidths: Vec<(&str, String)> =
        BANDWIDTHS.iter().chain([&FILL]).map(|(probe, word)| (*probe, view.say(*word).to_owned())).collect();
    block(view, page, shown, words::BANDWIDTH, &bandwidths, Unit::BytesPerSecond);
    block(view, page, shown, words::LATENCY, &[(LATENCY, String::new())], Unit::Nanoseconds);
}

fn block<'a>(
    view: &View<'a>,
    page: &mut Page,
    shown: &mut Shown<'a>,
    heading: Text,
    probes: &[(&str, String)],
    unit: Unit,
) {
    let mut members: Vec<&CaseRecord> = Vec::new();
    let mut lines: Vec<(Option<u64>, String, Vec<&CaseRecord>)> = Vec::new();
    for (probe, word) in probes {
        let cases = view.cases_of(probe);
        for (rest, line) in lines_along(&cases, "size") {
            if line.iter().filter(|case| case.measured().is_some()).count() < SIZES {
                continue;
            }
            let labels = view.labels(probe);
            let points = labels.off_default(&rest);
            // The pattern names the row of a latency, the default too; elsewhere only what is not at its default does.
            let pattern = rest.get("pattern").filter(|_| word.is_empty());
            let stride: Option<u64> = pattern.and_then(|pattern| pattern.parse().ok());
            let rest = points.iter().filter(|(axis, _)| pattern.is_none() || *axis != "pattern").copied();
            let mut names: Vec<String> = pattern.map(|p| pattern_name(view, p)).into_iter().collect();
            names.extend(Some(word.clone()).filter(|word| !word.is_empty()));
            names.extend(rest.map(|(axis, value)| view.label(&labels.point(axis, value))));
            lines.push((stride, names.join(" "), line.clone()));
            members.extend(line);
        }
    }
    // Strides stand side by side, the smallest first, behind the patterns that have a name.
    lines.sort_by_key(|(stride, ..)| *stride);
    let Some(first) = members.first() else { return };
    let mut at: Vec<SweepPoint> = points(&view.labels(&first.probe), "size", &members, view.lang);
    at.sort_by_key(|point| point.value.parse::<u64>().unwrap_or(u64::MAX));
    let place_of_size = place_of_size(view.run);
    for point in &mut at {
        let place = point.value.parse::<u64>().ok().and_then(|bytes| place_of_size(bytes as f64));
        let is_faster = place.is_some_and(Location::is_memory)
            && lines.iter().any(|(.., line)| is_faster_than_memory(line, &point.value, unit));
        point.group = place.map(|place| if is_faster { Location::Uncertain } else { place }).map(Location::name);
    }
    let series = lines.into_iter().map(|(stride, label, line)| Series {
        label,
        cells: cells(&at, "size", &line),
        lines: stride.and_then(|stride| lines_of_points(view.run, &at, stride)),
    });
    let series = series.collect();
    let sweep = Sweep { title: view.say(words::SIZE).to_owned(), points: at, series, unit };
    let unit_name = sweep.unit_name(view);
    let comma = if unit_name.is_empty() { "" } else { view.say(words::COMMA) };
    page.heading(&format!("{}{comma}{unit_name}", view.say(heading)), "");
    // Bandwidths read across, level after level; the patterns of a latency are too many for that.
    if unit == Unit::Nanoseconds && sweep.series.len() > PATTERNS_ACROSS {
        sweep.write_down(view, page)
    } else {
        sweep.write_across(view, page)
    }
    let mut grid = Grid::new();
    reason_rows(view, &members).into_iter().for_each(|row| grid.row(row));
    grid.write(page);
    shown.extend(members.iter().map(|case| case.id.as_str()));
}

/// Tells whether a line is faster at this size than at its largest by more than levels differ: a cache still holds part of what the curve
/// of random loads has in memory.
fn is_faster_than_memory(line: &[&CaseRecord], size: &str, unit: Unit) -> bool {
    let at = |case: &&&CaseRecord| case.params.get("size")?.parse::<u64>().ok();
    let value_of = |case: &&CaseRecord| Some(case.measured()?.estimate.value());
    let here = line.iter().find(|case| case.params.get("size") == Some(size)).and_then(value_of);
    let largest = line.iter().filter(|case| case.measured().is_some()).max_by_key(at).and_then(value_of);
    let Some((here, largest)) = here.zip(largest) else { return false };
    let faster = if unit == Unit::Nanoseconds { largest / here } else { here / largest };
    faster > LEAST_STEP
}

/// The lines that a stride touches at each size, with the level that holds them where it begins; none where every line of the
/// buffer is touched, so that its size tells both.
fn lines_of_points(run: &Run, points: &[SweepPoint], stride: u64) -> Option<Vec<String>> {
    let mut before = None;
    let text = |point: &SweepPoint| {
        let bytes = point.value.parse().ok()?;
        let level = level_of_lines(run, bytes, stride).map(|level| level.name);
        let begins = level.filter(|_| level != before).map_or(String::new(), |name| format!("{name} "));
        before = level;
        Some(format!("{begins}{}", lines_of(run, bytes, stride)))
    };
    let is_sparse = lines_of(run, stride, 1) > 1;
    if is_sparse { points.iter().map(text).collect() } else { None }
}

/// A pattern in words; a number is a stride in bytes.
fn pattern_name(view: &View, pattern: &str) -> String {
    let word = match pattern {
        "random" => term!("random"),
        "in_page" => term!("in page"),
        stride if stride.parse::<u64>().is_ok() => words::STRIDE,
        _ => return pattern.to_owned(),
    };
    match pattern.parse::<u64>() {
        Ok(_) => format!("{} {}", view.say(word), short_size(pattern)),
        Err(_) => view.say(word).to_owned(),
    }
}

/// The probes of pairs of nodes.
const PROBES: [(&str, Text, Unit); 2] = [
    ("memory.numa_latency", term!("LATENCY BETWEEN NODES"), Unit::Nanoseconds),
    ("memory.numa_bandwidth", term!("BANDWIDTH BETWEEN NODES"), Unit::BytesPerSecond),
];

const SIDES: Text = term!("down: node of the CPUs, across: node of the memory");
const NODE: Text = term!("node");

/// Writes a grid for each of the probes that has more than one pair; a single pair is listed with the rest.
pub(super) fn write_nodes<'a>(view: &View<'a>, page: &mut Page, shown: &mut Shown<'a>) {
    let mut pairs = BTreeSet::new();
    for (probe, heading, unit) in PROBES {
        let cases = view.cases_of(probe);
        // Whoever sets several sizes has a grid of the first, and the others in the list.
        let Some((_, members)) = lines_along(&cases, "nodes").into_iter().next() else { continue };
        if members.iter().filter(|case| case.measured().is_some()).count() < 2 {
            continue;
        }
        pairs.extend(members.iter().filter_map(|case| pair(case)));
        let sweep = of_pairs(view, &members, unit);
        let unit_name = sweep.unit_name(view);
        let comma = if unit_name.is_empty() { "" } else { view.say(words::COMMA) };
        page.heading(&format!("{}{comma}{unit_name}", view.say(heading)), view.say(SIDES));
        sweep.write_across(view, page);
        let mut grid = Grid::new();
        reason_rows(view, &members).into_iter().for_each(|row| grid.row(row));
        grid.write(page);
        shown.extend(members.iter().map(|case| case.id.as_str()));
    }
    distances(view, page, &pairs);
}

/// The nodes of a case: of its CPUs and of its memory.
fn pair(case: &CaseRecord) -> Option<[usize; 2]> {
    let (cpus, memory) = case.params.get("nodes")?.split_once('-')?;
    Some([cpus.parse().ok()?, memory.parse().ok()?])
}

fn of_pairs<'a>(view: &View, members: &[&'a CaseRecord], unit: Unit) -> Sweep<'a> {
    let side = |at: usize| members.iter().filter_map(|case| Some(pair(case)?[at])).collect::<BTreeSet<usize>>();
    let memory = side(1);
    let series = side(0).into_iter().map(|cpus| {
        let at = |&memory: &usize| members.iter().find(|case| pair(case) == Some([cpus, memory])).copied();
        Series { label: cpus.to_string(), cells: memory.iter().map(at).collect(), lines: None }
    });
    let series = series.collect();
    let point = |node: &usize| SweepPoint { value: node.to_string(), label: node.to_string(), group: None };
    Sweep { title: view.say(NODE).to_owned(), points: memory.iter().map(point).collect(), series, unit }
}

/// The kernel's distance between two nodes, where it tells one.
fn distance(host: &HostFacts, [from, to]: [usize; 2]) -> Option<u32> {
    let position = |id: usize| host.nodes.iter().position(|node| node.id == id);
    host.nodes.get(position(from)?)?.distances.get(position(to)?).copied()
}

fn distances(view: &View, page: &mut Page, pairs: &BTreeSet<[usize; 2]>) {
    let (from, to): (BTreeSet<usize>, BTreeSet<usize>) = pairs.iter().map(|[cpus, memory]| (*cpus, *memory)).unzip();
    let shown = |from: usize, to: usize| distance(&view.run.host, [from, to]);
    if !pairs.iter().any(|&[cpus, memory]| shown(cpus, memory).is_some()) {
        return;
    }
    let mut grid = Grid::new();
    to.iter().for_each(|node| grid.column(&node.to_string(), Align::Right));
    grid.row(GridRow::Heading(Piece::new(view.say(term!("the kernel's distances")), Style::Dim)));
    for &cpus in &from {
        let cell =
            |&memory: &usize| Piece::plain(shown(cpus, memory).map_or("–".to_owned(), |shown| shown.to_string()));
        let mut cells = vec![Piece::new(format!("{} {cpus}", view.say(NODE)), Style::Dim)];
        cells.extend(to.iter().map(cell));
        grid.row(GridRow::Cells(cells, Vec::new()));
    }
    grid.write(page);
}
