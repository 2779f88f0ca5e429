//! All other probes, by section: a row a case, and the sweeps across under it.

use std::collections::{BTreeSet, HashMap, HashSet};

use hostmark_analysis::Spoken;
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{UNSTEADY, agreement, low_high, rounds_and_samples, value};
use hostmark_analysis::groups::grouped;
use hostmark_analysis::labels::{ProbeLabels, by_axis};
use hostmark_model::{AxisKind, CaseRecord, Lang, Measured, Unit};
use hostmark_say::say;

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style};
use super::remarks::{quantities, reason_rows, remarks};
use super::sweep::{Series, Sweep, SweepPoint, cells, lines_along, points};
use super::view::{Shown, View};
use crate::runs::in_first_unit;
use crate::words;

/// The note of what lies below the filesystem of a case's files.
const LIES_ON: &str = "lies_on";
/// Points of a numeric axis from which one line across is easier to read than rows.
const NUMERIC_POINTS: usize = 4;
/// Points of any axis where there are two lines or more: a grid.
const GRID_POINTS: usize = 3;

/// A grid has at most so many cells for each case: of one that is all but empty, rows are easier to read.
const EMPTY: usize = 20;

/// Writes every section with a case that was not shown yet.
pub(super) fn write<'a>(view: &View<'a>, page: &mut Page, shown: &mut Shown<'a>) {
    let cases = view.run.cases.iter().filter(|case| !shown.contains(case.id.as_str()));
    let sections = grouped(cases.map(|case| {
        let info = view.probe(&case.probe);
        (info.map_or(view.say(words::OTHER), |info| info.section.get(view.lang)), case)
    }));
    if sections.is_empty() {
        return;
    }
    // One grid for all: the eye runs down the same columns from section to section.
    let mut grid = Grid::new();
    grid.column(view.say(words::VALUE), Align::Point);
    grid.column(view.say(words::INTERVAL), Align::Ellipsis);
    grid.rest_may_go();
    grid.column(view.say(words::SAMPLES), Align::Right);
    for (name, cases) in sections {
        let heading = if view.lang == Lang::En { name.to_uppercase() } else { name.to_owned() };
        grid.row(GridRow::Heading(Piece::new(&heading, Style::Heading)));
        let stacks: BTreeSet<&str> =
            cases.iter().filter_map(|case| Some(case.measured()?.notes.get(LIES_ON)?.as_str())).collect();
        for stack in stacks {
            let mut sheet = page.sheet();
            sheet.paragraph("  ", &format!("{} {}", view.say(term!("files on")), visible(stack)), Style::Dim);
            grid.row(GridRow::Lines(sheet.into_text()));
        }
        for (_, same) in grouped(cases.iter().map(|case| (&case.probe, *case))) {
            probe_rows(view, page, &mut grid, &same);
        }
        shown.extend(cases.iter().map(|case| case.id.as_str()));
    }
    let repeated = if view.verbose { Vec::new() } else { grid.take_repeated() };
    grid.write(page);
    if !repeated.is_empty() {
        page.blank();
    }
    for (index, text) in repeated.iter().enumerate() {
        page.paragraph(&format!("  [{}] ", index + 1), text, Style::Dim);
    }
}

/// The rows of one probe: its cases, why some have no value, then what reads better across.
fn probe_rows(view: &View, page: &mut Page, grid: &mut Grid, cases: &[&CaseRecord]) {
    let Some(first) = cases.first() else { return };
    let probe = first.probe.as_str();
    let labels = view.labels(probe);
    let mut sweeps = Vec::new();
    let swept = take_sweeps(view, &mut sweeps, cases);
    let is_row = |case: &CaseRecord| labels.off_default(&case.params).is_empty() || !swept.contains(case.id.as_str());
    let mut head = None;
    for case in cases.iter().filter(|case| is_row(case)) {
        let Some(measured) = case.measured() else { continue };
        grid.row(case_row(view, cases, case, measured, head.get_or_insert(case)));
    }
    reason_rows(view, cases).into_iter().for_each(|row| grid.row(row));
    for sweep in sweeps {
        let mut sheet = page.sheet();
        sweep.write_across(view, &mut sheet);
        page.marks.append(&mut sheet.marks);
        grid.row(GridRow::Lines(sheet.into_text()));
    }
}

fn case_row(view: &View, all: &[&CaseRecord], case: &CaseRecord, measured: &Measured, head: &CaseRecord) -> GridRow {
    let probe = case.probe.as_str();
    let (estimate, unit) = in_first_unit(measured, view.unit_or(probe, Unit::Ratio));
    let estimate = &*estimate;
    let labels = view.labels(probe);
    let off = labels.off_default(&case.params);
    let points = || case.params.0.iter().map(|(axis, at)| (axis.as_str(), at.as_str()));
    let label = if case.id != head.id {
        // Below a first row off the default, the points that differ from that row's.
        let at_head = |axis: &str| head.params.get(axis).or_else(|| labels.default_of(axis));
        let differs: Vec<(&str, &str)> = points().filter(|(axis, at)| at_head(axis) != Some(at)).collect();
        format!("  {}", labels.points(if differs.is_empty() { &off } else { &differs }).get(view.lang))
    } else if off.is_empty() {
        // The default says where it stands on the axes that others move along.
        let varies = |axis: &str| all.iter().any(|other| other.params.get(axis) != case.params.get(axis));
        let moved: Vec<(&str, &str)> = points().filter(|(axis, _)| varies(axis)).collect();
        view.label(&labels.title(&moved))
    } else {
        view.label(&labels.title(&off))
    };
    let interval = low_high(estimate, unit).or_else(|| agreement(estimate)).map(|text| text.get(view.lang));
    let mut interval = interval.unwrap_or_else(|| view.say(words::NO_INTERVAL).to_owned());
    let mut notes = quantities(view, case, measured);
    if estimate.is_unsteady() && estimate.shown_range().is_some() {
        // Beside the two ends it would take the room of every other row's label.
        if let Some((ends, _)) = interval.split_once([',', '，']) {
            interval = ends.to_owned();
        }
        notes.insert(0, Piece::new(format!("! {}", UNSTEADY.get(view.lang)), Style::Warning));
    }
    notes.extend(remarks(view, case, measured));
    let cells = vec![
        Piece::plain(label),
        Piece::plain(value(estimate.value(), unit, view.lang)),
        Piece::plain(interval),
        Piece::new(rounds_and_samples(estimate), Style::Dim),
    ];
    GridRow::Cells(cells, notes)
}

/// Puts lines of cases along an axis into sweeps, longest axis first; returns the ids that they hold.
fn take_sweeps<'a>(view: &View, sweeps: &mut Vec<Sweep<'a>>, cases: &[&'a CaseRecord]) -> HashSet<&'a str> {
    let mut taken: HashSet<&str> = HashSet::new();
    let Some(first) = cases.first() else { return taken };
    let probe = first.probe.as_str();
    if view.has_percentiles(probe) {
        // A cell has room for one number, and here a value is read with its tail.
        return taken;
    }
    let labels = view.labels(probe);
    for pairs in of_pairs(view, cases) {
        taken.extend(pairs.series.iter().flat_map(|series| &series.cells).flatten().map(|case| case.id.as_str()));
        sweeps.push(pairs);
    }
    let mut axes: Vec<&str> = first.params.0.iter().map(|(axis, _)| axis.as_str()).collect();
    axes.sort_by_key(|axis| std::cmp::Reverse(points(&labels, axis, cases, view.lang).len()));
    for axis in axes {
        let measured = |line: &[&CaseRecord]| line.iter().filter(|case| case.measured().is_some()).count();
        let is_long = |line: &Vec<&CaseRecord>| {
            measured(line) >= GRID_POINTS && line.iter().any(|case| !taken.contains(case.id.as_str()))
        };
        let mut lines = lines_along(cases, axis);
        lines.retain(|(_, line)| is_long(line));
        let pays_off = match lines.as_slice() {
            [] => false,
            [(_, line)] => labels.is_numeric(axis) && measured(line) >= NUMERIC_POINTS,
            _ => true,
        };
        if !pays_off {
            continue;
        }
        let members: Vec<&CaseRecord> = lines.iter().flat_map(|(_, line)| line.iter().copied()).collect();
        let at = points(&labels, axis, &members, view.lang);
        if at.len() * lines.len() > members.len() * EMPTY {
            continue;
        }
        let is_alone = lines.len() == 1;
        let series = lines.iter().map(|(rest, line)| {
            let off = labels.off_default(rest);
            let label = if off.is_empty() {
                default_label(view, &labels, rest, is_alone)
            } else {
                view.label(&labels.points(&off))
            };
            Series { label: format!("  {label}"), cells: cells(&at, axis, line), lines: None }
        });
        let mut all = members.iter().filter_map(|case| case.measured());
        let is_in_cycles = all.all(|measured| measured.in_cycles().is_some());
        let unit = if is_in_cycles { Unit::CoreCycles } else { view.unit_or(probe, Unit::Ratio) };
        let mut sweep = Sweep { title: String::new(), series: series.collect(), unit, points: at };
        let (name, by) = (labels.title(&[]), by_axis(axis));
        sweep.title = view.tell(&match sweep.unit_name(view) {
            "" => say!("{name} {by}"),
            unit => say!("{name} {by}, {unit}"),
        });
        sweeps.push(sweep);
        taken.extend(members.iter().map(|case| case.id.as_str()));
    }
    taken
}

/// Pairs of CPUs as a grid: the first down, the second across.
fn of_pairs<'a>(view: &View, cases: &[&'a CaseRecord]) -> Vec<Sweep<'a>> {
    let Some(first) = cases.first() else { return Vec::new() };
    let labels = view.labels(&first.probe);
    let mut sweeps = Vec::new();
    for (axis, _) in first.params.0.iter().filter(|(axis, _)| labels.kind(axis) == AxisKind::Placement) {
        for (rest, line) in lines_along(cases, axis) {
            let pair = |case: &&'a CaseRecord| {
                let (one, other) = case.params.get(axis)?.split_once('-')?;
                Some((one.parse::<usize>().ok()?, other.parse::<usize>().ok()?, *case))
            };
            let pairs: Vec<(usize, usize, &CaseRecord)> = line.iter().filter_map(pair).collect();
            if pairs.iter().filter(|(.., case)| case.measured().is_some()).count() < GRID_POINTS {
                continue;
            }
            let down: BTreeSet<usize> = pairs.iter().map(|(one, ..)| *one).collect();
            let across: BTreeSet<usize> = pairs.iter().map(|(_, other, _)| *other).collect();
            let of_pair: HashMap<(usize, usize), &CaseRecord> =
                pairs.iter().rev().map(|(one, other, case)| ((*one, *other), *case)).collect();
            let series = down.iter().map(|&one| Series {
                label: format!("  CPU {one}"),
                cells: across.iter().map(|&other| of_pair.get(&(one, other)).copied()).collect(),
                lines: None,
            });
            let point = |cpu: &usize| SweepPoint { value: cpu.to_string(), label: cpu.to_string(), group: None };
            let mut sweep = Sweep {
                title: String::new(),
                points: across.iter().map(point).collect(),
                series: series.collect(),
                unit: view.unit_or(&first.probe, Unit::Ratio),
            };
            let (title, unit) = (view.label(&labels.title(&labels.off_default(&rest))), sweep.unit_name(view));
            sweep.title = [title.as_str(), unit]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(view.say(words::COMMA));
            sweeps.push(sweep);
        }
    }
    sweeps
}

/// The row of a sweep whose other axes are all at their default. Where it is the only one, the row of the default case has
/// said what these are, and a long label would only take the room of the numbers.
fn default_label(view: &View, labels: &ProbeLabels, rest: &hostmark_model::Params, is_alone: bool) -> String {
    let points: Vec<(&str, &str)> = rest.0.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect();
    if points.is_empty() || (is_alone && points.len() > 1) {
        return view.say(words::VALUE).to_owned();
    }
    view.label(&labels.points(&points))
}
