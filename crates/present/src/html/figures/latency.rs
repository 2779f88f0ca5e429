//! Latency over size, with the levels of the memory hierarchy marked.

use hostmark_analysis::escape::visible;
use hostmark_analysis::format::amount;
use hostmark_analysis::levels::{HIERARCHY, LEVELS, Level, UNNAMED, bracket_of, bracket_text, unnamed};
use hostmark_analysis::references::ReferenceValue;
use hostmark_model::{CaseId, Message, Run, Text, Unit};

use super::{Figure, FigureKind};
use crate::chart::scale::ScaleKind;
use crate::chart::{Border, LineChart, LinePoint, Series};
use crate::html::figures::generic::{Along, series_along};
use crate::runs::{Probe, Runs};
use crate::words::COMMA;

const LATENCY: &str = "memory.latency";
const MEASURED: Text = term!("measured");
const REPORTED: Text = term!("reported");

pub(in crate::html) static KIND: FigureKind = FigureKind { id: "latency_by_size", probes: &[LATENCY, HIERARCHY], draw };

/// The default line over size, with the ranges of the caches and the nearest reference's line behind it.
pub(super) fn leading(runs: &Runs) -> Option<Figure> {
    let probe = runs.probe(LATENCY)?;
    let mut series = series_along(runs, probe, &Along { axis: "size", least: 3, but: &["size"] });
    let behind = reference_along_size(runs, probe);
    if let ([one], Some(_)) = (series.as_mut_slice(), &behind) {
        one.label = term!("this machine").into();
    }
    figure(runs, series, behind)
}

/// All lines over size, where there are more than the leading ones.
fn draw(runs: &Runs) -> Vec<Figure> {
    let Some(probe) = runs.probe(LATENCY) else { return Vec::new() };
    let along = |but| series_along(runs, probe, &Along { axis: "size", least: 3, but });
    let (every, leading) = (along(&[]), along(&["size"]));
    let is_more = every.len() > leading.len();
    let title = term!("Memory latency by size and pattern").into();
    is_more.then(|| figure(runs, every, None)).flatten().map(|figure| Figure { title, ..figure }).into_iter().collect()
}

/// Borders of the memory hierarchy's levels, of one run or of several alike, and the name of the part behind the last.
pub(super) fn borders_of(runs: &Runs) -> (Vec<Border>, Option<Message>) {
    match runs.all {
        [run] => borders(run),
        all => (reported_alike(all), None),
    }
}

/// Values of the nearest reference of a run alone for a probe over size; none under three points.
pub(super) fn reference_along_size(runs: &Runs, probe: &Probe) -> Option<Series> {
    let reference = runs.reference?.reference;
    let point = |value: &ReferenceValue| {
        let id: CaseId = value.id.parse().ok().filter(|id: &CaseId| id.probe == probe.id)?;
        let is_meant =
            value.quantity.is_empty() && value.differs.is_none() && probe.is_default_but(&id.params, &["size"]);
        let x = id.params.get("size")?.parse().ok().filter(|_| is_meant)?;
        Some(LinePoint { x, y: value.value, interval: None, reading: "".into() })
    };
    let mut points: Vec<LinePoint> = reference.values.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    let name = probe.title();
    let label = Message::joined([visible(&reference.name).into(), name], " · ");
    (points.len() >= 3).then(|| Series::joining(label, points))
}

fn figure(runs: &Runs, series: Vec<Series>, behind: Option<Series>) -> Option<Figure> {
    let (borders, beyond) = borders_of(runs);
    let note = (!borders.is_empty()).then(|| match runs.all {
        [_] => Message::from(term!(
            "Solid verticals: where a level ends as measured; dotted: where it ends by what the host reports."
        )),
        _ => term!("Dotted verticals: where a level ends by what all these hosts report.").into(),
    });
    let lines = LineChart::of(
        (term!("size of the buffer").into(), ScaleKind::Size),
        (term!("latency of a load").into(), ScaleKind::Value(Unit::Nanoseconds)),
        series,
    );
    let chart = LineChart { borders, beyond, behind, ..lines }.draw()?;
    let probes = vec![LATENCY.to_owned(), HIERARCHY.to_owned()];
    Some(Figure { title: term!("Memory latency by size").into(), note, chart, probes })
}

/// Ends of levels that every host reports; none where one reports another size than the others.
fn reported_alike(runs: &[Run]) -> Vec<Border> {
    let alike = |level: &Level| -> Option<Border> {
        let mut sizes = runs.iter().map(|run| level.reported(run).map(|cache| cache.size_bytes));
        let bytes = sizes.next()??;
        let size = amount(bytes as f64, Unit::Bytes);
        let reading = reading(level.name, [(REPORTED, size)]);
        sizes.all(|size| size == Some(bytes)).then_some(Border { at: bytes as f64, name: None, reading })
    };
    LEVELS.iter().filter_map(alike).collect()
}

/// The end of a level: who says it, and the size.
fn reading(level: impl Into<Message>, ends: impl IntoIterator<Item = (Text, Message)>) -> Message {
    let ends = ends.into_iter().map(|(word, size)| Message::joined([word.into(), size], " "));
    Message::joined([level.into(), Message::joined(ends, COMMA)], ": ")
}

/// Ends of levels, ascending, and the name of the part behind the last one.
fn borders(run: &Run) -> (Vec<Border>, Option<Message>) {
    let bytes = |size: f64| amount(size, Unit::Bytes);
    let mut all = Vec::new();
    for level in LEVELS.iter().filter(|level| level.cache.is_some()) {
        let bracket = level.bracket(run);
        let parts = bracket.and_then(|bracket| bracket_text(&bracket));
        let reported = level.reported(run).map(|cache| cache.size_bytes as f64);
        // As reported where that is not contradicted: the bracket is as wide as the points are apart.
        let measured = bracket.and_then(|bracket| bracket.size(reported));
        let parts = parts.map(|parts| (MEASURED, parts));
        let reading = reading(level.name, parts.into_iter().chain(reported.map(|size| (REPORTED, bytes(size)))));
        if let Some(at) = measured {
            all.push(Border { at, name: Some(level.name.into()), reading: reading.clone() });
        }
        if let Some(at) = reported.filter(|_| measured != reported) {
            all.push(Border { at, name: None, reading });
        }
    }
    for case in unnamed(run) {
        let Some(bracket) = bracket_of(case).filter(|bracket| bracket.leaves.is_some()) else { continue };
        let (Some(at), Some(parts)) = (bracket.size(None), bracket_text(&bracket)) else { continue };
        let reading = reading(UNNAMED, [(MEASURED, parts)]);
        all.push(Border { at, name: Some("–".into()), reading });
    }
    all.sort_by(|one, other| one.at.total_cmp(&other.at));
    let last = LEVELS.last().filter(|level| level.case(run).and_then(|case| case.measured()).is_some());
    let has_names = all.iter().any(|border| border.name.is_some());
    (all, last.filter(|_| has_names).map(|level: &Level| level.name.into()))
}
