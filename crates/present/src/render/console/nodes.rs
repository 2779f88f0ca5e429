//! The block MEMORY NODES: latency and bandwidth of each pair as a grid, and the kernel's distances as another.

use std::collections::BTreeSet;

use hostmark_model::{CaseRecord, HostFacts, Text, Unit};

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style};
use super::remarks::reason_rows;
use super::sweep::{Series, Sweep, SweepPoint, lines_along};
use super::view::{Shown, View};
use crate::words;

/// The probes of pairs of nodes.
const PROBES: [(&str, Text, Unit); 2] = [
    ("memory.numa_latency", term!("LATENCY BETWEEN NODES"), Unit::Nanoseconds),
    ("memory.numa_bandwidth", term!("BANDWIDTH BETWEEN NODES"), Unit::BytesPerSecond),
];

const SIDES: Text = term!("down: node of the CPUs, across: node of the memory");
const NODE: Text = term!("node");

/// Writes a grid for each of the probes that has more than one pair; a single pair is listed with the rest.
pub(super) fn write<'a>(view: &View<'a>, page: &mut Page, shown: &mut Shown<'a>) {
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
